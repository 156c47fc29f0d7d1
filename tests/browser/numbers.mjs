// Every number and every derivation, hostile words, and sizes.
import { statSync } from "node:fs";

import { checkDerivations, checkNumbers } from "./in_page.mjs";
import { check, checkQuiet, jsonOf, pageOf, printed, walks, withoutCommand } from "./pages.mjs";

export async function testNumbers() {
    for (const flags of walks) {
        const opened = await pageOf(flags);
        const numbers = await opened.page.run(checkNumbers);
        check(
            numbers.read > 20 && numbers.wrong.length === 0,
            `${flags.join(" ")}: numbers`,
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
            `${flags.join(" ")}: derivations`,
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
        "hostile words stay text",
    );
    check(
        await opened.page.run(() =>
            document.querySelector(".command").textContent.includes("</script><img"),
        ),
        "and are shown",
    );
    const wide = await opened.page.run(() => document.documentElement.scrollWidth - innerWidth);
    check(wide <= 0, "ten thousand letters do not widen the page", String(wide));
    checkQuiet(opened);
    await opened.page.close();
}

export async function testSizes() {
    const small = await pageOf(walks[1]);
    const bytes = statSync(small.file).size;
    check(bytes <= 128 * 1024, "8 tokens and 2 heads take at most 128 KB", String(bytes));
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
    // Ten times what it takes on an idle machine: this is about growth, not about the clock.
    check(times.open < 3000 && times.touch < 160, "a large page opens and answers", times);
    await large.page.close();
}

/** The page marks the very digits that the text has in brackets. */
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
            check(same, `${type} ${name}: the marks of the text`, [cells.slice(0, 6), inText.slice(0, 6)]);
            check(cells.some(([, marked]) => marked), `${type} ${name}: some digits are marked`);
        }
        checkQuiet(opened);
        await opened.page.close();
    }
}
