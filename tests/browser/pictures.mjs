// Makes the two pictures of the README: the stepper in a terminal and the page in a browser.
//
//     node tests/browser/pictures.mjs build/release/app/attn-explain
//
// Writes them to app/pictures, next to the program's pages; needs tmux and Chromium.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { Chromium, installedChromium } from "./chromium.mjs";

const program = resolve(process.argv[2]);
const pictures = join(dirname(fileURLToPath(import.meta.url)), "../../app/pictures");
const folder = mkdtempSync(join(tmpdir(), "attn-pictures-"));
const walk = ["--text", "the cat sat on the mat", "--heads", "2", "--mask", "causal"];

function run(command, ...words) {
    const { status, stdout, stderr } = spawnSync(command, words, { encoding: "utf8" });
    if (status !== 0) throw new Error(`${command} ${words.join(" ")}: ${stderr}`);
    return stdout;
}

/** Returns the screen of an 80x24 terminal after these keys, with the colours as escape sequences. */
async function screen(keys) {
    const session = `attn-pictures-${process.pid}`;
    const tmux = (...words) => run("tmux", "-L", session, ...words);
    const quoted = [program, "step", ...walk].map((word) => `'${word}'`).join(" ");
    tmux("new-session", "-d", "-x", "80", "-y", "24", `env COLORTERM=truecolor ${quoted}`);
    const settled = async () => {
        for (let last = "", now; (now = tmux("capture-pane", "-ep")) !== last || !now.trim(); last = now)
            await new Promise((wait) => setTimeout(wait, 200));
    };
    for (const key of keys) {
        await settled();
        tmux("send-keys", ...key);
    }
    await settled();
    const text = tmux("capture-pane", "-ep");
    tmux("kill-server");
    return text;
}

const basic = ["#22272e", "#e5534b", "#57ab5a", "#c69026", "#539bf5", "#b083f0", "#39c5cf", "#adbac7"];
const bright = ["#636e7b", "#ff938a", "#8ddb8c", "#daaa3f", "#6cb6ff", "#dcbdfb", "#56d4dd", "#ffffff"];

/** Returns colour `i` of 256: the 16 named ones, a cube of 6 levels per channel, and greys. */
function colour(i) {
    if (i < 16) return i < 8 ? basic[i] : bright[i - 8];
    if (i >= 232) return `rgb(${Array(3).fill(8 + 10 * (i - 232))})`;
    const level = (n) => (n === 0 ? 0 : 55 + 40 * n);
    return `rgb(${[Math.floor((i - 16) / 36), Math.floor((i - 16) / 6) % 6, (i - 16) % 6].map(level)})`;
}

/** Returns the style after a list of SGR numbers. */
function styled(style, numbers) {
    for (let i = 0; i < numbers.length; ++i) {
        const n = numbers[i];
        const extended = () => {
            const [kind, ...rest] = numbers.slice(i + 1);
            i += kind === 5 ? 2 : 4;
            return kind === 5 ? colour(rest[0]) : `rgb(${rest.slice(0, 3)})`;
        };
        if (n === 0) style = {};
        else if (n === 1) style.bold = true;
        else if (n === 2) style.dim = true;
        else if (n === 4) style.underline = true;
        else if (n === 7) style.reverse = true;
        else if (n === 38) style.ink = extended();
        else if (n === 48) style.paper = extended();
        else if (n === 39) delete style.ink;
        else if (n === 49) delete style.paper;
        else if (n >= 30 && n < 38) style.ink = basic[n - 30];
        else if (n >= 40 && n < 48) style.paper = basic[n - 40];
        else if (n >= 90 && n < 98) style.ink = bright[n - 90];
        else if (n >= 100 && n < 108) style.paper = bright[n - 100];
    }
    return style;
}

/** Converts a terminal's text with escape sequences to a page. */
function terminalPage(text) {
    let style = {};
    const spans = text.split(/\x1b\[/).map((part, i) => {
        const end = i === 0 ? -1 : part.search(/[A-Za-z]/);
        if (part[end] === "m") style = styled({ ...style }, part.slice(0, end).split(/[;:]/).map(Number));
        let ink = style.ink ?? "#d6dde6";
        let paper = style.paper ?? "transparent";
        if (style.reverse) [ink, paper] = [style.paper ?? "#1c2128", style.ink ?? "#d6dde6"];
        const css = `color:${ink};background:${paper};font-weight:${style.bold ? 700 : 400};opacity:${style.dim ? 0.65 : 1};text-decoration:${style.underline ? "underline" : "none"}`;
        const words = part.slice(end + 1).replace(/\x1b\(B|\x0f/g, "").replace(/&/g, "&amp;").replace(/</g, "&lt;");
        return `<span style="${css}">${words}</span>`;
    });
    return `<!doctype html><meta charset="utf-8"><style>body{margin:0;background:#1c2128}
pre{margin:14px;font:15px/1.28 "DejaVu Sans Mono",monospace}</style><pre>${spans.join("")}</pre>`;
}

const browser = new Chromium(installedChromium());
try {
    const picture = async (name, file, size, act = async () => {}) => {
        const page = await browser.page();
        await page.look({ ...size, calm: true });
        await page.open(`file://${file}`);
        await act(page);
        writeFileSync(join(pictures, `${name}.png`), await page.screenshot());
        await page.close();
    };
    const html = join(folder, "stepper.html");
    writeFileSync(html, terminalPage(await screen([["g"], ["weights", "Enter"], ["j"], ["j"], ["j"], ["j"], ["m"]])));
    await picture("stepper", html, { width: 752, height: 490 });
    const file = join(folder, "walk.html");
    run(program, ...walk, "-o", file);
    await picture("page", file, { width: 1280, height: 720 }, async (page) => {
        await page.mouse("#follow .sentence li:nth-child(5) .word", true);
        await page.mouse(".box:nth-of-type(1) tr:nth-child(3) .number", true);
        await page.run(() => scrollTo({ top: 0, behavior: "instant" }));
    });
} finally {
    await browser.close();
    rmSync(folder, { recursive: true });
}
