// Tests every number and every derivation, hostile words, and sizes.
import { statSync } from "node:fs";

import { checkDerivations, checkNumbers } from "./in_page.mjs";
import { check, checkQuiet, jsonOf, pageOf, picture, printed, walks, withoutCommand } from "./pages.mjs";

export async function testNumbers() {
    for (const flags of walks) {
        const opened = await pageOf(flags);
        const numbers = await opened.page.run(checkNumbers);
        check(
            numbers.read > 20 && numbers.wrong.length === 0,
            `${flags.join(" ")}: every number is right`,
            numbers,
        );
        const json = jsonOf(flags);
        const inside = await opened.page.run(() =>
            JSON.parse(document.getElementById("walk").textContent),
        );
        check(
            JSON.stringify(withoutCommand(inside)) === JSON.stringify(withoutCommand(json)),
            `${flags.join(" ")}: the walk is that of --format json`,
        );
        const derivations = await opened.page.run(checkDerivations);
        check(
            derivations.sums > 0 && derivations.wrong.length === 0,
            `${flags.join(" ")}: every derivation adds up`,
            derivations,
        );
        console.log(
            `${flags.join(" ")}: ${numbers.read} numbers, ${derivations.sums} sums, ${derivations.lines} lines`,
        );
        checkQuiet(opened);
        await opened.page.close();
    }
}

export async function testHostile() {
    const hostile = "</script><img src=x onerror=alert(1)>'\"\u202e";
    const opened = await pageOf([
        "--text",
        hostile + " " + "a".repeat(10000),
        "--html-compare",
        `--text '${hostile.replace("'", "")}'`,
    ]);
    check(
        (await opened.page.run(() => document.querySelectorAll("img").length)) === 0,
        "hostile words are shown as text",
    );
    check(
        await opened.page.run(() =>
            document.querySelector(".command").textContent.includes("</script><img"),
        ),
        "the command shows hostile words",
    );
    const wide = await opened.page.run(() => document.documentElement.scrollWidth - innerWidth);
    check(wide <= 0, "ten thousand letters do not widen the page", String(wide));
    checkQuiet(opened);
    await opened.page.close();
}

export async function testSizes() {
    const small = await pageOf(walks[1]);
    const bytes = statSync(small.file).size;
    check(bytes <= 133 * 1024, "8 tokens and 2 heads take at most 133 KB", String(bytes));
    await small.page.close();
    const large = await pageOf([
        "--seq-len",
        "64",
        "--heads",
        "8",
        "--embed-dim",
        "64",
        "--mask",
        "causal",
    ]);
    const times = await large.page.run(async () => {
        const [entry] = performance.getEntriesByType("navigation");
        const wait = (time) => new Promise((resolve) => setTimeout(resolve, time));
        document.querySelector('[data-group="scores"]').open = true;
        document.getElementById("step-scores").scrollIntoView({ behavior: "instant" });
        let cell;
        for (let tries = 0; !cell && tries < 100; ++tries) {
            await wait(20);
            cell = document.querySelector("#step-scores td[data-cell]");
        }
        const touches = [];
        for (let i = 0; i < 20; ++i) {
            const start = performance.now();
            cell.dispatchEvent(new MouseEvent("mouseover", { bubbles: true }));
            touches.push(performance.now() - start);
        }
        return { open: entry.loadEventEnd, touch: touches.sort((a, b) => a - b)[10] };
    });
    console.log(
        `8 tokens, 2 heads: ${bytes} bytes; 64 tokens, 8 heads: ${statSync(large.file).size} bytes, ` +
            `open in ${times.open.toFixed(0)} ms, a touch takes ${times.touch.toFixed(1)} ms`,
    );
    // Ten times the duration on an idle machine: this tests growth, not speed.
    check(times.open < 3000 && times.touch < 160, "a large page opens and responds quickly", times);
    await large.page.close();
}

/** The page marks the same digits that the text has in brackets. */
export async function testCertainDigits() {
    for (const [type, precision] of [["float32", "7"], ["bfloat16", "4"], ["float16", "4"]]) {
        const walk = ["--seq-len", "5", "--heads", "2", "--mask", "causal", "--dtype", type];
        const flags = [...walk, "--digits", "certain", "--precision", precision, "--sci-mode", "off"];
        const opened = await pageOf(flags);
        const onPage = await opened.page.run(() => {
            for (const group of document.querySelectorAll("details")) group.open = true;
            const written = (cell) => [cell.textContent, cell.querySelector("s")?.textContent ?? ""];
            const cellsOf = (name) => [...document.querySelectorAll(`td[data-cell^="${name}["]`)];
            return ["scores", "weights", "context"].map((name) => [name, cellsOf(name).map(written)]);
        });
        for (const [name, cells] of onPage) {
            const text = printed([...flags, "-q", "--only", name]).replace(/dtype=.*|#.*/g, "");
            const numbers = text.split(/[\s,]+/).filter((word) => /\d/.test(word));
            const inText = numbers.map((word) => [
                word.replace(/tensor|[[\]()]/g, ""),
                /\[([\d.]+)\]/.exec(word)?.[1] ?? "",
            ]);
            const same = JSON.stringify(cells) === JSON.stringify(inText);
            check(same, `${type} ${name}: the same digits are marked as in the text`, [cells.slice(0, 6), inText.slice(0, 6)]);
            check(cells.some(([, marked]) => marked), `${type} ${name}: some digits are marked`);
        }
        checkQuiet(opened);
        await opened.page.close();
    }
}

/** A square for each token shows the state of a recurrence; selecting a cell moves to its token. */
export async function testStates() {
    const flags = ["--attention", "retention", "--form", "recurrent", "--text", "one two three four five"];
    const opened = await pageOf(flags);
    const { page } = opened;
    const state = jsonOf(flags).steps.find((step) => step.name === "state");
    const shown = () =>
        page.run(() => {
            document.querySelector("#step-state").open = true;
            const panels = [...document.querySelectorAll("#step-state .panel")].filter((one) => !one.hidden);
            return {
                panels: panels.map((one) => one.querySelector("caption").textContent),
                cells: panels.flatMap((one) => [...one.querySelectorAll("td")].map((cell) => Number(cell.textContent))),
                at: document.querySelector('#step-state [data-square][aria-pressed="true"] span').textContent,
            };
        });
    await shown();
    const is = async (token, what) => {
        const now = await shown();
        check(now.panels.length === 1 && now.panels[0].endsWith(`token ${token}`), `${what}: one matrix is shown`, now.panels);
        check(now.at === `head 0, token ${token}`, `${what}: its square is pressed`, now);
        const wanted = state.data[0][token].flat();
        const isSo = now.cells.length === wanted.length && now.cells.every((cell, i) => Math.abs(cell - wanted[i]) < 6e-5);
        check(isSo, `${what}: the numbers are right`, now.cells);
    };
    await is(0, "at first");
    await page.run(() => document.querySelectorAll("#step-state [data-square]")[3].click());
    await is(3, "after pressing a square");
    await page.run(() => {
        location.hash = "#why=state[0,1,2,2]";
    });
    await page.run(() => new Promise((done) => setTimeout(done, 50)));
    await is(1, "after selecting a cell");
    await picture(page, "states");
    checkQuiet(opened);
    await page.close();
}
