// On screens where the panel covers the page: the touched and the focused element stay in sight.
import { check, checkQuiet, pageOf, picture } from "./pages.mjs";

const screens = [
    { width: 1024, height: 768 },
    { width: 720, height: 450 },
    { width: 390, height: 844 },
];

/** True if no other element covers the middle of an element. */
function isSeen(selector) {
    const element = selector ? document.querySelector(selector) : document.activeElement;
    const box = element.getBoundingClientRect();
    const top = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
    return top !== null && (element.contains(top) || top.contains(element)) && top.closest("#dock") === null;
}

export async function testTouchedIsSeen() {
    for (const screen of screens) {
        const opened = await pageOf("--text,one fox saw the other fox run,--heads,2,--mask,causal".split(","));
        const { page } = opened;
        await page.look(screen);
        await page.run(() => document.querySelectorAll("main details").forEach((one) => (one.open = true)));
        for (const [i, share] of [0.3, 0.55, 0.7, 0.85, 0.95].entries()) {
            const address = `scaled_scores[0,${i + 1},${i % 2}]`;
            const place = await page.run(
                (wanted, y) => {
                    const cell = document.querySelector(`[data-cell="${wanted}"]`);
                    const box = cell.getBoundingClientRect();
                    scrollBy({ top: box.y + box.height / 2 - y * innerHeight, behavior: "instant" });
                    const now = cell.getBoundingClientRect();
                    return { x: now.x + now.width / 2, y: now.y + now.height / 2 };
                },
                address,
                share,
            );
            await page.send("Input.dispatchMouseEvent", { type: "mouseMoved", ...place });
            await page.run(() => new Promise((done) => setTimeout(done, 60)));
            for (const type of ["mousePressed", "mouseReleased"])
                await page.send("Input.dispatchMouseEvent", { type, ...place, button: "left", clickCount: 1 });
            await page.run(() => new Promise((done) => setTimeout(done, 500)));
            const { title, current, hash } = await page.run(() => ({
                title: document.querySelector("#why h2")?.textContent ?? "",
                current: document.querySelector("[aria-current]")?.dataset.cell,
                hash: decodeURIComponent(location.hash),
            }));
            const chosen = title.startsWith(`${address} = `) && current === address && hash === `#${address}`;
            const where = `${screen.width}: a cell at ${share} of the height`;
            check(chosen, `${where} is selected`, { title, current, hash });
            check(await page.run(isSeen, `[data-cell="${address}"]`), `${where} is visible`);
            await page.key("Escape");
        }
        await page.mouse(".box:nth-of-type(2) tr:nth-child(5) .number", true);
        const pressed = ".box:nth-of-type(2) tr:nth-child(5) .number";
        check(await page.run(isSeen, pressed), `${screen.width}: a selected number of the first screen is visible`);
        checkQuiet(opened);
        await page.close();
    }
}

export async function testFocusIsSeen() {
    for (const screen of screens) {
        const opened = await pageOf("--seq-len 32 --heads 2 --embed-dim 8 --mask causal".split(" "));
        const { page } = opened;
        await page.look({ ...screen, calm: true });
        await page.mouse("#step-weights [data-cell='weights[0,2,1]']", true);
        const hidden = [];
        for (let i = 0; i < 28; ++i) {
            await page.key("ArrowDown");
            if (!(await page.run(isSeen))) hidden.push(i);
        }
        check(hidden.length === 0, `${screen.width}: the focus is never under the panel`, hidden);
        await picture(page, `focus-${screen.width}`);
        for (let i = 0; i < 12; ++i) {
            await page.key("Tab");
            const inDock = await page.run(() => document.activeElement.closest("#dock") !== null);
            const stop = await page.run(() => document.activeElement.outerHTML.slice(0, 80));
            const seen = inDock || stop.startsWith("<body") || (await page.run(isSeen));
            check(seen, `${screen.width}: element ${i} in the tab order is visible`, stop);
        }
        checkQuiet(opened);
        await page.close();
    }
}
