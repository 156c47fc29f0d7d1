// Checks that the program under node behaves like the native program, for the console blocks of every
// page and for commands with files, pipes and exit codes.
//
//     node tests/web/node.mjs build/dev/app/attn-explain build/web/npm
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const [program, npm] = process.argv.slice(2).map((path) => resolve(path));
const source = join(dirname(fileURLToPath(import.meta.url)), "../..");
const folder = mkdtempSync(join(tmpdir(), "attn-node-"));
const both = ["program", "node"].map((name) => {
    const [bin, place] = [join(folder, name, "bin"), join(folder, name, "here")];
    for (const each of [bin, place]) mkdirSync(each, { recursive: true });
    symlinkSync(name === "node" ? join(npm, "cli.js") : program, join(bin, "attn-explain"));
    symlinkSync(join(source, "data"), join(place, "data"));
    for (const shown of ["app", "lib", "tests", "README.md"]) symlinkSync(join(source, shown), join(place, shown));
    return { name, place, PATH: `${bin}:${process.env.PATH}` };
});
let failures = 0;
let count = 0;

/** Returns every file below a folder with its relative path. */
function filesIn(place, below = "") {
    return readdirSync(join(place, below), { withFileTypes: true }).flatMap((entry) => {
        const name = join(below, entry.name);
        if (entry.isDirectory()) return filesIn(place, name);
        return entry.isFile() ? [[name, readFileSync(join(place, name))]] : [];
    });
}

function firstDifference(one, other) {
    const [a, b] = [one.split("\n"), other.split("\n")];
    const at = a.findIndex((line, i) => line !== b[i]);
    return `${a[at]}\n    ${b[at]}`;
}

/** Runs a shell line with either program: exit codes, outputs and files must be the same. */
function compare(line) {
    ++count;
    const [own, theirs] = both.map(({ place, PATH }) => {
        const env = { ...process.env, PATH, TERM: "dumb" };
        const ran = spawnSync("sh", ["-c", line], { cwd: place, env, encoding: "utf8", maxBuffer: 1 << 28, input: "" });
        return { code: ran.status, out: ran.stdout, err: ran.stderr, files: filesIn(place) };
    });
    const names = ({ files }) => files.map(([name]) => name).join(" ");
    const other = own.files.find(([, bytes], i) => !theirs.files[i]?.[1].equals(bytes));
    const wrong =
        own.code !== theirs.code ? `exit codes ${own.code} and ${theirs.code}: ${theirs.err}`
        : own.out !== theirs.out ? `output\n    ${firstDifference(own.out, theirs.out)}`
        : own.err !== theirs.err ? `messages\n    ${firstDifference(own.err, theirs.err)}`
        : names(own) !== names(theirs) ? `files ${names(own)} and ${names(theirs)}`
        : other ? `the bytes of ${other[0]}`
        : "";
    if (!wrong) return;
    ++failures;
    console.log(`FAILED: ${line}: ${wrong}`);
}

/** Returns the commands of the console blocks of a page. */
function examplesOf(text) {
    const blocks = [...text.matchAll(/^```console\n(.*?)^```/gms)].map(([, block]) => block);
    return blocks.flatMap((block) => [...block.matchAll(/^\$ (.*)$/gm)].map(([, command]) => command));
}
for (const page of ["README.md", "app/README.md", "app/rules.md", "app/attentions.md", "data/formats.md"]) {
    for (const line of examplesOf(readFileSync(join(source, page), "utf8"))) compare(line);
}
for (const line of readFileSync(join(source, "tests/web/node_commands.txt"), "utf8").split("\n")) {
    if (line && !line.startsWith("#")) compare(line);
}
rmSync(folder, { recursive: true, force: true });
console.log(failures === 0 ? `node: ${count} commands behave like the program's` : `node: ${failures} of ${count} differ`);
process.exit(failures === 0 ? 0 : 1);
