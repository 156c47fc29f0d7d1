// Tests the page of `explain`: a program next to its tensors. The program is not Python: its numbers are
// computed here, and its scale is wrong.
import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { checkPaper } from "./in_page.mjs";
import { check, checkQuiet, folder, pageOf, picture, pictures, reopen } from "./pages.mjs";

const rows = [0, 1, 2, 3, 4];
const features = [0, 1, 2, 3];
const matrix = (height, width, of) =>
    Array.from({ length: height }, (_, i) => Array.from({ length: width }, (_, j) => of(i, j)));
const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);
const drawn = (seed) => (i, j) => Math.fround(Math.sin(seed + 3.7 * i + 1.3 * j * j) * 1.5);

const source = `q = draw(1)
k = draw(2)
v = draw(3)

s = matmul(q, transpose(k))
s = s / 4
p = softmax(s)
o = matmul(p, v)
total = sum(o)
`;

/** Returns the arrays of the program by line and name, and the right scaled scores. Without a scale,
 * line 6 hides later keys. */
function traced(scale = 4) {
    const [q, k, v] = [1, 2, 3].map((seed) => matrix(5, 4, drawn(seed)));
    const s = matrix(5, 5, (i, j) => sum(features.map((f) => q[i][f] * k[j][f])));
    const scaled = matrix(5, 5, (i, j) => (scale === 1 && j > i ? -Infinity : s[i][j] / scale));
    const exps = matrix(5, 5, (i, j) => Math.exp(scaled[i][j]));
    const p = matrix(5, 5, (i, j) => exps[i][j] / sum(exps[i]));
    const o = matrix(5, 4, (i, f) => sum(rows.map((j) => p[i][j] * v[j][f])));
    const total = features.map((f) => sum(o.map((row) => row[f])));
    const tensors = { "1:q": q, "2:k": k, "3:v": v, "5:s": s, "6:s": scaled, "7:p": p, "8:o": o, "9:total": total };
    return { tensors, right: s[1][2] / 2 };
}

/** Returns what a page shows when it is opened on a screen of that width. */
async function opening(opened, width) {
    await reopen(opened, width);
    return opened.page.run(() => ({
        scrolled: scrollY,
        heading: document.querySelector("h1").textContent,
        why: document.querySelector("#why h2").textContent,
        marked: [...document.querySelectorAll("#listing [aria-current]")].map((one) => one.textContent),
        isSeen: [...document.querySelectorAll("#listing em")].some((one) => {
            const { x, y } = one.getBoundingClientRect();
            return one.contains(document.elementFromPoint(x + 2, y + 4));
        }),
        off: [...new Set([...document.querySelectorAll("td.differs")].map((cell) => cell.closest(".step").dataset.step))],
        told: [...document.querySelectorAll("p.difference")].map((one) => one.closest(".step").dataset.step),
    }));
}

/** A page opens at its top, with its verdict in sight; what is right is not marked; it can be printed. */
export async function testProgramOpening() {
    for (const [scale, line, verdict] of [[4, "s = s / 4", "6"], [1, "s = masked(s)", "5"]]) {
        const [program, trace] = ["py", "json"].map((end) => join(folder, `opening-${scale}.${end}`));
        writeFileSync(program, source.replace("s = s / 4", line));
        const infinite = (_, number) => (number === -Infinity ? "-inf" : number);
        writeFileSync(trace, JSON.stringify(traced(scale).tensors, infinite));
        const opened = await pageOf(["explain", program, "--trace", trace], 1);
        for (const width of [390, 1440]) {
            const read = await opening(opened, width);
            check(read.scrolled === 0 && read.isSeen, `${width}: the page opens with its verdict in sight`, read);
            check(read.heading.endsWith(`1 wrong: line ${verdict}`), "the heading has the verdict", read.heading);
            check(read.why.startsWith("scaled_scores["), "the page opens at the first wrong number", read.why);
            check(read.marked.some((one) => one.includes("WRONG")), "and marks its line", read.marked);
            const right = ["query", "key", "value", "scores"].filter((step) => [...read.off, ...read.told].includes(step));
            check(right.length === 0 && read.off.includes("scaled_scores"), "rounding is no difference", read);
            await picture(opened.page, `program-opening-${scale}-${width}`);
        }
        await opened.page.look({ print: true, width: 794, height: 1123 });
        const beyond = await opened.page.run(checkPaper);
        check(beyond.length === 0, "on paper no table overlaps its neighbour or the program", beyond);
        await picture(opened.page, `program-print-${scale}`);
        if (pictures) writeFileSync(join(pictures, `program-print-${scale}.pdf`), await opened.page.pdf());
        checkQuiet(opened);
        await opened.page.close();
    }
}

export async function testProgramBesideItsTensors() {
    const { tensors, right } = traced();
    const [program, trace] = ["mine.js", "trace.json"].map((name) => join(folder, name));
    writeFileSync(program, source);
    writeFileSync(trace, JSON.stringify(tensors));
    const opened = await pageOf(["explain", program, "--trace", trace], 1);
    const { page } = opened;
    const seen = () =>
        page.run(() => ({
            title: document.querySelector("#why h2")?.textContent ?? "",
            why: document.querySelector("#why").textContent,
            lines: [...document.querySelectorAll("#listing li.own > code")].map((one) => one.textContent),
            off: [...document.querySelectorAll("#listing li.off > code")].map((one) => one.textContent),
            marked: [...document.querySelectorAll("#listing [aria-current]")].map((one) => one.textContent),
            wide: document.documentElement.scrollWidth - innerWidth,
        }));
    const first = await seen();
    check(first.lines.length === 7, "each line of attention is listed with its step", first.lines);
    check(first.off.length === 1 && first.off[0].includes("s = s / 4"), "the wrong line is marked", first.off);
    check(first.title.startsWith("scaled_scores["), "the page opens at the mistake", first.title);
    check(first.marked.some((one) => one.startsWith("scaled_scores")), "the line of the mistake is marked", first.marked);
    await page.run(() => (location.hash = "scaled_scores[1,2]"));
    await page.run(() => new Promise((done) => setTimeout(done, 100)));
    const cell = await seen();
    const near = (text, number) => Math.abs(Number(text) - number) < 1e-6 * Math.abs(number);
    const own = /= (\S+)$/.exec(cell.title)?.[1];
    check(near(own, tensors["6:s"][1][2]), "a number is the program's", cell.title);
    const beside = /in “right”: (-?[\d.e-]+\d)/.exec(cell.why)?.[1];
    check(near(beside, right), "the right number is next to it", [cell.why, right]);
    await page.run(() => [...document.querySelectorAll("#listing button")].find((one) => one.textContent.startsWith("weights")).click());
    const pressed = await seen();
    check(pressed.title.startsWith("weights["), "a step in the listing opens its tensor", pressed.title);
    check(pressed.marked.length === 1 && pressed.marked[0].startsWith("weights"), "the open step is marked", pressed.marked);
    for (const width of [390, 800, 1024, 1440]) {
        for (const dark of [false, true]) {
            await page.look({ width, height: 900, dark });
            const hits = await page.run(() =>
                [...document.querySelectorAll("#listing button")].map((one) => {
                    one.scrollIntoView({ block: "center", behavior: "instant" });
                    const box = one.getBoundingClientRect();
                    return one.contains(document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2));
                }),
            );
            check(hits.every(Boolean), `${width}: every step can be clicked`, hits);
            check((await seen()).wide <= 0, `${width}: nothing is outside the screen`);
            await page.run(() => scrollTo(0, 0));
            await picture(page, `program-${width}${dark ? "-dark" : ""}`);
        }
    }
    checkQuiet(opened);
    await page.close();
}
