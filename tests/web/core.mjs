// Checks that the core of live pages prints what the program prints, byte for byte.
//
//     node tests/web/core.mjs build/dev/app/attn-explain [core.wasm.gz]
//
// Without a file the core is taken from a page that the program makes. If it is older than the
// program's sources, some digits or sentences below differ: build it again with cmake --workflow
// --preset web.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync, inflateSync } from "node:zlib";

const [program, file] = process.argv.slice(2);
const page = join(dirname(fileURLToPath(import.meta.url)), "../../lib/attn/show/render/page");
const text = (name) => readFileSync(join(page, name), "utf8");
const times = (count, act) => Array.from({ length: count }, (_, i) => act(i));
const { Core, bytesOf } = new Function("times", `${text("letters.js")}${text("core.js")}; return { Core, bytesOf };`)(times);

const run = (words) => spawnSync(program, words, { encoding: "utf8", maxBuffer: 1 << 28 });
const scripts = (page) =>
    [...page.matchAll(/<script type="application\/json" id="([^"]*)">(.*?)<\/script>/gs)]
        .map(([, id, text]) => ({ id, text }));
const scriptIn = (page, name) => scripts(page).find(({ id }) => id === name).text;

const live = run(["--live", "--format", "html", "--model-file", "stories", "--text", "a cat"]).stdout;
const core = await Core.from(gunzipSync(file ? readFileSync(file) : bytesOf(scriptIn(live, "core"))));
core.hold(inflateSync(bytesOf(scriptIn(live, "model"))));

let failures = 0;
function check(holds, what, more = "") {
    if (holds) return;
    ++failures;
    console.log(`FAILED: ${what}${more && "\n    "}${more}`);
}

/** Returns both texts around their first difference. */
function parting(own, theirs) {
    const at = [...own].findIndex((letter, i) => letter !== theirs[i]);
    return `core:    …${own.slice(Math.max(0, at - 60), at + 40)}\n    program: …${theirs.slice(Math.max(0, at - 60), at + 40)}`;
}

const same = [
    `--model-file stories --layer 3 --ids 1,${times(179, (i) => 300 + (i % 90)).join()}`, // more memory than a core starts with
    "",
    "--text 'a dog sees the moon' --heads 3 --mask causal --output-projection --bias --embed-dim 6",
    "--text 'Größe ÖL über' --text 'zwei' --mask padding --lengths 3,1 --heads 2",
    "--text 'שלום world 日本' --split chars",
    "--ids 4,1,4,2 --heads 2 --embed-dim 12 --rope half --kv-heads 1 --mask window:2",
    "--seq-len 5 --embed-dim 6 --heads 3 --position-bias alibi --scale none --seed 9",
    "--seq-len 4 --position-embedding sinusoidal --embed-dim 8 --detail",
    "--text 'one two three' --bug scale-missing",
    "--text 'one two three' --mask causal --bug mask-after-softmax",
    "--text 'one two' --rule 'scaled_scores[q,k] = scores[q,k] / (D + 1)'",
    "--seq-len 6 --past 3 --sink zero --random rand --embed-dim 4",
    "--preset gpt-oss --ids 3,1,4",
    "--text 'x y' --memory-text 'p q r' --seed 7 --qk-norm head",
    "--seq-len 24 --heads 2 --embed-dim 16 --rope interleaved --torch-build portable",
    "--text 'it was' --backward --heads 2",
    "--seq-len 150 --embed-dim 4 --rope half --position-embedding sinusoidal --past 3000 --only cos,sin,position_embedding",
    "--model-file stories --text 'Once upon a time' --layer 3 --live",
    "--model-file stories --ids 1,403,407,261 --mask window:2 --live",
];
// In these, logarithms of float64 and tanh of float32 have another last bit than the C library's.
const near = [
    "--batch 2 --seq-len 3 --embed-dim 4 --rng numpy --seed 3",
    "--text 'x y' --heads 2 --softcap 2",
];
const shortened = (text) => text.replace(/-?\d+\.\d+(e[-+]\d+)?/g, (digits) => String(Math.fround(Number(Number(digits).toFixed(5)))));
for (const line of [...same, ...near]) {
    const given = near.includes(line) ? shortened : (text) => text;
    const words = (line.match(/'[^']*'|\S+/g) ?? []).map((word) => word.replaceAll("'", ""));
    words.push("--variant", "loop", "--format", "html");
    const theirs = run(words);
    const own = core.run(words);
    check(own.code === theirs.status, `${line}: exit code`, `${own.messages}\n${theirs.stderr}`);
    check(own.messages === theirs.stderr, `${line}: messages`, `${own.messages}\n${theirs.stderr}`);
    for (const { id, text } of scripts(theirs.stdout)) {
        if (["core", "model", "tour"].includes(id)) continue; // the core has none of them
        const mine = own.code === 0 ? scriptIn(own.text, id) : "";
        const read = id === "next" ? shortened : given; // exponentials of float64, as above
        if (read(mine) !== read(text)) check(false, `${line}: ${id}`, parting(read(mine), read(text)));
    }
}

// Invalid walks are refused with the program's messages, and the next walk is right again.
for (const words of [["--heads", "three"], ["--mask", "casual"], ["--bug", "nonsense"], ["--scale", "none", "--bug", "scale-missing"]]) {
    const theirs = run([...words, "--format", "html"]);
    const own = core.run([...words, "--format", "html"]);
    check(own.code === 2 && own.messages === theirs.stderr, words.join(" "), `${own.messages}${theirs.stderr}`);
}
for (const [flag, file] of [["--x", "data.npy"], ["--model-file", "model.bin"]]) {
    const { messages } = core.run([flag, file, "--format", "html", ...(flag === "--x" ? [] : ["--ids", "1"])]);
    check(messages.includes(`${file} is not on this page`), `${flag} ${file}`, messages);
}
const begin = performance.now();
check(core.run(["--text", "the cat sat on the mat and slept", "--format", "html"]).code === 0, "a valid walk works after invalid ones");
console.log(`${same.length} command lines, ${(performance.now() - begin).toFixed(0)} ms for the last walk`);
process.exit(failures === 0 ? 0 : 1);
