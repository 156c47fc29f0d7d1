// Pages that the program makes, opened in the browser, and checks of them.
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { Chromium, installedChromium } from "./chromium.mjs";

export const [program, pictures] = process.argv.slice(2);
const name = installedChromium();
if (!name) {
    console.log(
        "SKIPPED: no page was tested in a browser: there is no Chromium (.ci/setup --browser)",
    );
    process.exit(0);
}
export const folder = mkdtempSync(join(tmpdir(), "attn-pages-"));
if (pictures) mkdirSync(pictures, { recursive: true });
const browser = new Chromium(name);
let failures = 0;
let pages = 0;

export function check(holds, what, more = "") {
    if (holds) return;
    ++failures;
    console.log(`FAILED: ${what} ${typeof more === "string" ? more : JSON.stringify(more)}`);
}

/** Opens the page for these flags in a new tab; returns it and its file. Exit code 1 is a finding. */
export async function pageOf(flags, code = 0) {
    const file = join(folder, `${++pages}.html`);
    const { status, stderr } = spawnSync(program, [...flags, "-o", file]);
    if (status !== code) throw new Error(`${flags.join(" ")} ends with ${status}: ${stderr}`);
    const page = await browser.page();
    await page.look({});
    await page.open(pathToFileURL(file).href);
    return { page, file, flags };
}

/** Opens a page again on a screen of that width, on which nothing moves slowly. */
export async function reopen({ page, file }, width) {
    await page.look({ width, height: width < 600 ? 844 : 900, calm: true });
    await page.open("about:blank");
    await page.open(pathToFileURL(file).href);
}

/** Checks that the page reported no errors and requested only its own file and its own blob URLs. */
export function checkQuiet({ page, flags }) {
    const makesFiles = flags[0] === "playground";
    check(
        page.complaints.length === 0,
        `${flags.join(" ")}: the console is silent`,
        page.complaints,
    );
    const others = page.requests.filter(
        (url) => !url.startsWith("file://" + folder) && !url.startsWith("data:") && !(makesFiles && url.startsWith("blob:null/")),
    );
    check(others.length === 0, `${flags.join(" ")}: the page makes no request`, others);
}

/** The output of the program. */
export function printed(words, input = "") {
    return String(execFileSync(program, words, { input, stdio: ["pipe", "pipe", "ignore"], maxBuffer: 1 << 28 }));
}
export function jsonOf(flags) {
    return JSON.parse(printed([...flags, "--format", "json"]));
}

/** Removes the command, which depends on the format, from a walk's record. */
export function withoutCommand({ command, ...walk }) {
    return walk;
}

/** Saves a screenshot of the page, if a folder was named. */
export async function picture(page, title) {
    if (pictures) writeFileSync(join(pictures, `${title}.png`), await page.screenshot());
}

/** Ends the browser; returns the exit code. */
export async function finish() {
    await browser.close();
    rmSync(folder, { recursive: true, force: true });
    console.log(failures === 0 ? "browser: all tests passed" : `browser: ${failures} failed`);
    return failures === 0 ? 0 : 1;
}

export const words = ["--text", "the cat sat on the mat and slept"];
export const walks = [
    [],
    words.concat("--heads", "2", "--mask", "causal", "--output-projection"),
    ["--text", "the black cat", "--text", "日本語 א", "--mask", "padding", "--heads", "2"],
    ["--text", "le chat noir", "--memory-text", "the black cat sat", "--bias"],
    ["--rng", "numpy", "--seed", "0", "--projection", "none", "--seq-len", "3", "--embed-dim", "3"],
    ["--ids", "1,2,3;3,2,1", "--heads", "2", "--projection", "fused", "--bias", "--mask", "causal"],
    [
        "--ids",
        "1,2,0",
        "--pad-id",
        "0",
        "--mask",
        "padding",
        "--empty-row",
        "nan",
        "--softmax-axis",
        "query",
    ],
    [
        "--seq-len",
        "5",
        "--embed-dim",
        "6",
        "--heads",
        "3",
        "--projection",
        "stacked",
        "--scale",
        "none",
    ],
    ["--heads", "2", "--variant", "fused"],
    [
        "--batch",
        "2",
        "--seq-len",
        "4",
        "--embed-dim",
        "8",
        "--heads",
        "4",
        "--projection",
        "mha",
        "--output-projection",
        "--output-bias",
        "--dtype",
        "float64",
    ],
    words.concat(
        "--heads 4 --kv-heads 2 --embed-dim 16 --mask window:3 --rope half --qk-norm head".split(" "),
        "--rope-scaling linear:2 --softcap 2 --sink randn --variant loop".split(" "),
    ),
    "--ids 3,1,4 --heads 2 --past 3 --position-bias alibi --mask causal".split(" "),
    "--ids 3,1,4 --heads 2 --position-bias t5 --position-embedding sinusoidal".split(" "),
    "--preset deepseek --ids 3,1,4 --mla-absorbed".split(" "),
    "--ids 3,1,4 --heads 2 --embed-dim 8 --differential 1 --output-projection".split(" "),
    "--ids 3,1,4 --heads 2 --weights-by sigmoid --mask causal".split(" "),
    ["--ids", "3,1,4", "--rule", "row_sum[q] = 1 + (sum k: exponentials[q,k])"],
    ["--model-file", "stories", "--layer", "1", "--text", "Once upon a time"],
];
