// Tests the functions of the page's scripts without a browser: numbers as text, cells by address,
// derivations from patterns, copied text, halves of a last digit.
//
//     node tests/web/functions.mjs
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const folder = join(dirname(fileURLToPath(import.meta.url)), "../../lib/attn/show/render/page");
// The parts of a browser that root.js uses while it loads.
const nothing = { querySelectorAll: () => [], createElement: () => ({ append() {}, setAttribute() {} }) };
const told = { fixed: 0, scientific: 0, exact: 0, fourDecimals: 0, Section: 0, Walk: 0, derive: 0, Decimals: 0 };
Object.assign(told, { written: 0, halfUnit: 0, percent: 0, shortened: 0, times: 0, clipped: 0, largestOf: 0 });
Object.assign(told, { upstream: 0, groupsOf: 0, App: 0, bytesOf: 0, askedOf: 0, roughly: 0 });
const files = "root walk derive table draw why curves pair strip turn take steps page compare letters core tour live".split(" ");
const scripts = files.map((name) => readFileSync(join(folder, `${name}.js`), "utf8").replace('"use strict";', ""));
const page = new Function("document", "matchMedia", `${scripts.join("\n")}; return { ${Object.keys(told)} };`)(nothing, () => ({}));

const tests = {
    "numbers are rounded to even, as C rounds them": () => {
        assert.equal(page.fixed(0.125, 2), "0.12");
        assert.equal(page.fixed(0.375, 2), "0.38");
        assert.equal(page.fixed(2.5, 0), "2");
        assert.equal(page.fixed(-0, 4), "-0.0000");
        assert.equal(page.fixed(-1.00005, 4), (-1.00005).toFixed(4));
        assert.equal(page.scientific(0.000012345, 4), "1.2345e-05");
        assert.equal(page.scientific(1e-120, 2), "1.00e-120");
    },
    "all digits are printed, and nan and infinities": () => {
        assert.deepEqual([NaN, Infinity, -Infinity, -0, 0.1].map(page.exact), ["nan", "inf", "-inf", "-0", "0.1"]);
        assert.equal(page.fourDecimals(3e-6), "3.000e-06");
        assert.equal(page.fourDecimals(2.00005), "2.0000");
        assert.equal(page.percent(0.0001), "< 1 %");
        assert.equal(page.percent(0), "0 %");
    },
    "words are cut between letters, not inside one": () => {
        assert.equal(page.shortened("👩‍🚀abc", 3), [..."👩‍🚀abc"].slice(0, 2).join("") + "…");
        assert.equal(page.shortened("moon", 4), "moon");
    },
    "a cell is found by numbers or words, and other text is not a cell": () => {
        const { walk } = small();
        assert.equal(walk.cell("sum[1,0]").flat, 2);
        assert.equal(walk.cell("left[owl,1]").flat, 3);
        for (const none of ["sum[2,0]", "sum[0]", "sum", "nope[0,0]", "left[elk,0]", "sum[-1,0]"]) {
            assert.equal(walk.cell(none), undefined, none);
        }
    },
    "float32 prints the shortest digits that read back": () => {
        const { walk } = small();
        assert.equal(walk.byName.get("left").exact(0), "0.1");
        assert.equal(walk.byName.get("left").number(walk.byName.get("left").values[0]), "0.1000");
    },
    "a sum has its terms and the remaining rounding error": () => {
        const { walk } = small();
        const { rule, isSum, terms, rounding, sources } = page.derive(walk, walk.byName.get("sum"), 1);
        assert.equal(rule, "sum f: left[q,f] * right[k,f]");
        assert.ok(isSum);
        assert.deepEqual(sources.map(({ section, flat }) => section.address(flat)), ["left[0,0]", "right[1,0]", "left[0,1]", "right[1,1]"]);
        const added = terms.reduce((sum, { value }) => sum + value, 0);
        assert.equal(added + rounding, walk.byName.get("sum").values[1]);
        assert.deepEqual([...page.upstream(walk, walk.byName.get("sum"), 1)].sort(), ["left[0,0]", "left[0,1]", "right[1,0]", "right[1,1]"]);
    },
    "a cell without an equation has a sentence, a bare name has another": () => {
        const { walk, section } = small();
        assert.equal(page.derive(walk, walk.byName.get("left"), 0).words, "a parameter: given here");
        assert.equal(page.derive(walk, section("left", "left[0]"), 0).words, "drawn or given: the walk starts from it");
        assert.equal(page.derive(walk, section("left", "left[q,f] = 2 * right[q,f]"), 0).rule, "2 * right[q,f]");
    },
    "printed terms add up to the printed sum": () => {
        const decimals = new page.Decimals({ value: 0.3, terms: [{ value: 0.1 }, { value: 0.2 }] });
        assert.equal(decimals.text(0.1), "0.100000");
        assert.equal(decimals.units(0.1) + decimals.units(0.2), decimals.units(0.3));
        assert.equal(new page.Decimals({ value: 3e-9, terms: [] }).text(3e-9), "3.00000e-09");
    },
    "a tensor is copied in the syntax of four languages": () => {
        const { walk } = small();
        const left = walk.byName.get("left");
        const whole = (language) => page.written(left, left.shape, 0, language);
        assert.equal(whole("numpy"), "np.array([[0.1, -2],\n [np.inf, 0.5]], dtype=np.float32)");
        assert.equal(whole("torch"), "torch.tensor([[0.1, -2],\n [torch.inf, 0.5]], dtype=torch.float32)");
        assert.equal(whole("csv"), "0.1,-2\ninf,0.5\n");
        assert.equal(whole("latex"), "\\begin{pmatrix}\n0.1000 & -2.0000 \\\\\n\\infty & 0.5000\n\\end{pmatrix}");
    },
    "an answer is right within half a unit of its last digit": () => {
        assert.ok(page.halfUnit("0.38") > 0.005 && page.halfUnit("0.38") < 0.00500001);
        assert.ok(Math.abs(page.halfUnit("1.5e-03") / 5e-5 - 1) < 1e-6);
        assert.ok(page.halfUnit("12") > 0.5);
    },
    "walks are compared cell by cell, nan with nan, within a tolerance": () => {
        const twin = { values: [1, NaN, 5] };
        const off = (near) => [0, 1, 2].filter(page.App.prototype.differs.call({ twin: () => twin }, { values: [1, NaN, 3], view: { near } }));
        assert.deepEqual([off(undefined), off([1.5, 0]), off([0, 0.7])], [[2], [2], []]);
        assert.equal(page.largestOf([1, -7, Infinity, NaN]), 7);
        assert.equal(page.clipped(NaN, -1), 0);
    },
    "steps are in their groups, a gradient next to its step": () => {
        const step = (name) => ({ name });
        const [x, query, scores, weights, context] = ["x", "query", "scores", "weights", "context"].map(step);
        const back = { name: "d_scores", of: scores };
        const sections = [x, query, scores, weights, context, back];
        for (const one of sections) one.of ??= one;
        const groups = page.groupsOf({ sections }, true).map(({ title, sections }) => [title, ...sections.map(({ name }) => name)]);
        assert.deepEqual(groups, [["input", "x"], ["projections", "query"], ["scores", "scores", "d_scores"], ["softmax", "weights"], ["output", "context"]]);
    },
    "packed text decodes to the program's bytes": () => {
        assert.deepEqual([...page.bytesOf("#~#~c")], [255, 255, 255, 255]);
        assert.deepEqual([...page.bytesOf("!!")], [0]);
        assert.deepEqual([...page.bytesOf("")], []);
    },
    "the core gets lower case, direction and rounded numbers": () => {
        assert.equal(page.askedOf("l", "Ö".codePointAt(0)), "ö".codePointAt(0));
        assert.equal(page.askedOf("r", "ש".codePointAt(0)), 1);
        assert.equal(page.roughly("[0.123456,1.5e-07]"), page.roughly("[0.123459,1.50000001e-07]"));
    },
};

/** Returns a walk of three tensors: sum[q,k] = sum f: left[q,f] * right[k,f]. */
function small() {
    const tokens = { query: [["elm", "owl"]], key: [["elm", "owl"]] };
    const view = (more) => ({ reads: [], high: "1", limit: 1, ...more });
    const step = (name, axes, data, more) => ({ name, axes, shape: [2, 2], dtype: "float32", data, title: "", ...more });
    const sources = [[2, ["left", [0, 2, 0, 1]], ["right", [0, 0, 2, 1]]]];
    const derivations = [{ rule: "sum f: left[q,f] * right[k,f]", sum: true, cells: [0, 4], terms: sources }];
    const section = (name, formula) =>
        new page.Section(step(name, ["query", "feature"], [[0.1, -2], ["inf", 0.5]], { formula }), view(), tokens);
    const right = step("right", ["key", "feature"], [[3, 4], [5, 6]]);
    const sum = step("sum", ["query", "key"], [[1, 2], [3, 4.25]]);
    const sections = [
        section("left", "a parameter: given here"),
        new page.Section(right, view(), tokens),
        new page.Section(sum, view({ reads: ["left", "right"], derivations }), tokens),
    ];
    const walk = Object.assign(Object.create(page.Walk.prototype), { sections, config: {}, command: "" });
    walk.byName = new Map(sections.map((one) => [one.name, one]));
    return { walk, section };
}

let failures = 0;
for (const [title, test] of Object.entries(tests)) {
    try {
        test();
    } catch (error) {
        ++failures;
        console.log(`FAILED: ${title}\n${error.stack}`);
    }
}
console.log(`${Object.keys(tests).length} tests of the page's scripts`);
process.exit(failures === 0 ? 0 : 1);
