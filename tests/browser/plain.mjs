// Tests the pages of one table, or of text: lens, patch, heads --effect, generate, quiz, tour; and the
// page of a diagnosis. All have the frame of a walk's page, and a cell names the command that shows it.
import { execSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { checkContrast, checkNumbers, checkPaper } from "./in_page.mjs";
import { check, checkQuiet, folder, jsonOf, pageOf, picture, printed, program, reopen } from "./pages.mjs";

const text = ["--text", "Lily lost her ball. She"];
const tables = [
    ["lens", ...text, "--all"],
    ["patch", "--text", "The little girl was sad. One day,", "--from", "The little boy was sad. One day,", "--token", " she- he"],
    ["heads", ...text, "--effect"],
    ["generate", ...text, "--tokens", "6"],
];
const texts = [["quiz", "--sheet", "5"], ["tour"]];
const screens = [390, 800, 1024, 1440].map((width) => ({ width, height: width < 600 ? 844 : 900 }));

export async function testPlainPages() {
    for (const flags of [...tables, ...texts]) {
        const opened = await pageOf(flags);
        const { page } = opened;
        const name = flags[0];
        const read = await page.run(() => ({
            headings: document.querySelectorAll("h1").length,
            main: document.querySelectorAll("main").length,
            command: document.querySelector(".command code").textContent,
            title: document.title,
            viewport: document.querySelector("meta[name=viewport]") !== null,
        }));
        const isFramed = read.headings === 1 && read.main === 1 && read.viewport && read.title !== "";
        check(isFramed && read.command.startsWith(`attn-explain ${name}`), `${name}: the page has the frame`, read);
        for (const screen of screens) {
            for (const dark of [false, true]) {
                await page.look({ ...screen, dark });
                const wide = await page.run(() => document.documentElement.scrollWidth - innerWidth);
                check(wide <= 0, `${name}, ${screen.width}: the page is no wider than the screen`, wide);
                const poor = await page.run(checkContrast);
                check(poor.length === 0, `${name}, ${screen.width} ${dark ? "dark" : "light"}: contrast is at least AA`, poor);
                await picture(page, `plain-${name}-${screen.width}-${dark ? "dark" : "light"}`);
            }
        }
        const color = () => page.run(() => getComputedStyle(document.body).backgroundColor);
        const dark = await color();
        await page.run(() => document.getElementById("theme").click());
        check((await color()) !== dark, `${name}: the theme can be chosen`);
        checkQuiet(opened);
        await page.close();
    }
}

/** A page opens at its heading, also if its table is longer than the screen. */
export async function testPlainTop() {
    for (const flags of [...tables, ["generate", ...text, "--tokens", "80"]]) {
        const opened = await pageOf(flags);
        for (const width of [390, 1440]) {
            await reopen(opened, width);
            await opened.page.run(() => new Promise((done) => setTimeout(done, 200)));
            const place = await opened.page.run(() => [scrollY, document.querySelector("h1").getBoundingClientRect().top >= 0, document.querySelector("td[aria-current]").closest("div").scrollTop]);
            check(String(place) === "0,true,0", `${flags[0]}, ${width}: the page opens at its top`, place);
        }
        await opened.page.close();
    }
}

/** The command of a cell prints the number of the cell. */
export async function testCellCommands() {
    const numberOf = (shown) => Number(shown.match(/\d\.\d{3,}/)[0]);
    for (const flags of tables) {
        const opened = await pageOf(flags);
        const { page } = opened;
        await page.look({ width: 1440, height: 900 });
        const hasWords = ["lens", "generate"].includes(flags[0]);
        const first = await page.run(() => {
            const numbers = [...document.querySelectorAll("tbody td")].map((one) => Math.abs(parseFloat(one.textContent)));
            const { textContent } = document.querySelector("td[aria-current]");
            return { largest: Math.max(...numbers), opened: Math.abs(parseFloat(textContent)) };
        });
        check(hasWords || first.opened === first.largest, `${flags[0]}: the page opens at the largest number`, first);
        await page.mouse("#\\31 \\,3", true);
        await page.key("ArrowRight");
        const read = await page.run(() => ({
            told: document.querySelector("#told p").textContent,
            command: document.querySelector("#told code").textContent,
            current: document.querySelector("td[aria-current]").id,
            focus: document.activeElement.id,
            hash: decodeURIComponent(location.hash),
        }));
        check(read.current === "1,4" && read.focus === "1,4" && read.hash === "#1,4", `${flags[0]}: arrow keys select a cell`, read);
        const ran = String(execSync(read.command.replace("attn-explain", program), { stdio: ["ignore", "pipe", "ignore"] }));
        const isNear = Math.abs(numberOf(ran) - numberOf(read.told)) <= 0.501e-4;
        const isOther = read.command.includes("The little boy") && ran.startsWith("# context");
        check(flags[0] === "patch" ? isOther : isNear, `${flags[0]}: the command of a cell shows where it comes from`, { ...read, ran: ran.slice(0, 200) });
        checkQuiet(opened);
        await page.close();
    }
}

/** A diagnosis as a page: the user's own numbers, and the mistake beside the step. */
export async function testDiagnosis() {
    const walk = ["--text", "a small green frog", "--heads", "2", "--mask", "causal"];
    const mine = join(folder, "mine.json");
    writeFileSync(mine, printed([...walk, "--bug", "scale-missing", "--format", "json"]));
    const opened = await pageOf(["diagnose", mine, ...walk], 1);
    const { page } = opened;
    const read = await page.run(() => ({
        lines: [...document.querySelectorAll("#listing li.off")].map((one) => one.textContent),
        margins: [...document.querySelectorAll("p.margin")].map((one) => one.textContent),
        walks: [...document.querySelectorAll("#switch button")].map((one) => one.textContent),
        title: document.querySelector("#why h2").textContent,
        command: document.querySelector(".command code").textContent,
    }));
    check(read.lines.some((one) => one.includes("WRONG")) && read.margins.some((one) => one.includes("scale-missing")), "the wrong step is named", read);
    check(String(read.walks) === "your tensors,right" && read.command.startsWith("attn-explain diagnose "), "the page shows both walks, and its command", read);
    const own = jsonOf([...walk, "--bug", "scale-missing"]).steps.find(({ name }) => name === "scaled_scores").data;
    const [, indices, value] = /^scaled_scores\[([\d,]+)\] = (.*)$/.exec(read.title) ?? [, "0,0,0", "none"];
    const cell = indices.split(",").reduce((part, index) => part[Number(index)], own);
    check(Math.fround(Number(value)) === Math.fround(cell), "the page opens at the first wrong number", read.title);
    check((await page.run(checkNumbers)).wrong.length === 0, "every number of the diagnosis is right");
    await picture(page, "diagnosis");
    await page.look({ print: true, width: 794, height: 1123 });
    const beyond = await page.run(checkPaper);
    check(beyond.length === 0, "on paper no table of the diagnosis overlaps its neighbour", beyond);
    checkQuiet(opened);
    await page.close();
}

/** A page of a mistake opens at the number that is farthest off, and at a word that sees others. */
export async function testWorstNumber() {
    const walk = ["--text", "a small green frog", "--mask", "causal", "--bug", "scale-missing"];
    const file = join(folder, "worst.json");
    writeFileSync(file, printed([...walk, "--format", "json"]));
    const steps = JSON.parse(printed([...walk, "--format", "json"])).steps;
    const scores = steps.find(({ name }) => name === "scaled_scores").data;
    const seen = scores.flatMap((row, q) => row.slice(0, q + 1).map((score, k) => [Math.abs(score), q, k])).sort((a, b) => b[0] - a[0]);
    const opened = await pageOf(["diagnose", file], 1);
    const title = await opened.page.run(() => document.querySelector("#why h2").textContent);
    check(title.startsWith(`scaled_scores[${seen[0].slice(1)}]`), "the page opens at the worst number", { title, seen });
    checkQuiet(opened);
    await opened.page.close();
}

/** The page of a file says whether it is right; it opens at what differs, even without a known mistake. */
export async function testDiagnosisOpening() {
    const walk = ["--text", "a small green frog", "--heads", "2"];
    const [right, odd] = ["right.json", "odd.json"].map((name) => join(folder, name));
    writeFileSync(right, printed([...walk, "--format", "json"]));
    // Scores of no rule, and what follows from them.
    const rule = ["--rule", "scaled_scores[q,k] = scores[q,k] * (1 + 0.01 * (5 * q + 3 * k * k))"];
    writeFileSync(odd, printed([...walk, ...rule, "--format", "json"]));
    for (const [file, code, verdict, first] of [[right, 0, "all right", "weights"], [odd, 3, "scaled_scores", "scaled_scores"]]) {
        const opened = await pageOf(["diagnose", file, ...walk], code);
        await reopen(opened, 390);
        const read = await opened.page.run(() => ({
            scrolled: scrollY,
            heading: document.querySelector("h1").textContent,
            opening: [...document.querySelectorAll("#listing > p")].map((one) => one.textContent),
            why: document.querySelector("#why h2").textContent,
        }));
        check(read.scrolled === 0 && read.heading.endsWith(verdict), "the heading has the verdict", read);
        check(read.why.startsWith(first), `the page opens at ${first}`, read);
        check(read.opening.every((one) => !one.includes("\n")), "each remark is a paragraph", read);
        await picture(opened.page, `diagnosis-${first}`);
        checkQuiet(opened);
        await opened.page.close();
    }
}
