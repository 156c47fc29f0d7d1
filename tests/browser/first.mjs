// Tests the picture of the first screen: curves, one pair of words, play, a memory, and the number of
// Tab stops before it; and that each control of an opened list can be touched.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { checkContrast } from "./in_page.mjs";
import { check, checkQuiet, folder, jsonOf, pageOf, picture, printed } from "./pages.mjs";

const flags = ["--text", "we saw the red boat near the red pier", "--heads", "2", "--mask", "causal", "--seed", "3"];
const stories = ["--model-file", "stories", "--text", "Lily lost her ball. She"];
const screens = [390, 800, 1024, 1440].map((width) => ({ width, height: width < 600 ? 844 : 900 }));
const stepOf = (walk, name) => walk.steps.find((step) => step.name === name).data;

/** Returns the drawn curves: key, width, both ends, and the middles of the words. */
function readCurves() {
    const svg = document.querySelector(".curves");
    const { x, y } = svg.getBoundingClientRect();
    const isDown = document.querySelector(".scene").classList.contains("down");
    const middle = (one) => {
        const box = one.getBoundingClientRect();
        return isDown ? box.y + box.height / 2 - y : box.x + box.width / 2 - x;
    };
    const numbers = (path) => path.getAttribute("d").match(/[\d.-]+/g).map(Number);
    const along = isDown ? 1 : 0;
    return {
        isDown,
        words: [...document.querySelectorAll(".scene .sentence li")].map(middle),
        query: document.querySelector('.word[aria-pressed="true"]').dataset.strip,
        curves: [...svg.querySelectorAll("[data-key]")].map((path) => ({
            key: Number(path.dataset.key),
            width: Number(path.getAttribute("stroke-width")),
            from: numbers(path)[along],
            to: numbers(path).slice(-2)[along],
        })),
    };
}

export async function testCurves() {
    const opened = await pageOf(flags);
    const { page } = opened;
    const weights = stepOf(jsonOf(flags), "weights")[0][4];
    for (const screen of screens) {
        await page.look(screen);
        await page.run(() => new Promise((done) => setTimeout(done, 100)));
        const { curves, words, isDown, query } = await page.run(readCurves);
        check(query === "query 4" && curves.length === 5, `${screen.width}: each visible word has a curve`, curves);
        check(isDown === (screen.width === 390), `${screen.width}: the line of words fits on the screen`);
        const widest = Math.max(...weights);
        const [{ width }] = curves.filter(({ key }) => weights[key] === widest);
        const wrong = curves.filter((one) => Math.abs(one.width / width - weights[one.key] / widest) > 0.01);
        check(wrong.length === 0, `${screen.width}: a curve is as wide as its weight`, wrong);
        const off = curves.filter((one) => Math.abs(one.from - words[one.key]) > 10 || Math.abs(one.to - words[4]) > 10);
        check(off.length === 0, `${screen.width}: a curve goes from its word to the word that looks`, { off, words });
    }
    await page.run(() => document.querySelector('.curves [data-key="1"] + .touch').dispatchEvent(new MouseEvent("click", { bubbles: true })));
    const title = await page.run(() => document.querySelector("#why h2").textContent);
    check(title.startsWith("weights[0,4,1] = "), "a curve opens its number", title);
    const faint = await page.run(() => [...document.querySelectorAll(".scene .word")].map((one) => one.classList.contains("faint")));
    check(faint.every((is, key) => is === key > 4), "hidden words are faint", faint);
    checkQuiet(opened);
    await page.close();
}

/** The word under the mouse shows its curves and weights; the selected word and its panel stay. */
export async function testTouchedWord() {
    const opened = await pageOf(flags);
    const { page } = opened;
    await page.look({ width: 1440, height: 900 });
    const weights = stepOf(jsonOf(flags), "weights")[0];
    const read = () => page.run(async () => {
        // The browser moves the mouse with its next frame.
        for (let frame = 0; frame < 2; ++frame) await new Promise((resolve) => requestAnimationFrame(resolve));
        return {
            keys: [...document.querySelectorAll(".curves [data-key]")].map((one) => Number(one.dataset.key)).sort(),
            looks: [...document.querySelectorAll(".look")].map((one) => one.textContent),
            title: document.querySelector("#why h2").textContent,
            places: [...document.querySelectorAll(".scene .word")].map((one) => one.getBoundingClientRect().x),
        };
    });
    const texts = (query) => weights[query].map((one, key) => (key > query ? "hidden" : `${Math.round(100 * one)} %`));
    const before = await read();
    await page.send("Page.bringToFront");
    await page.mouse('.scene .word[data-strip="query 2"]');
    const during = await read();
    check(String(during.keys) === "0,1,2" && String(during.looks) === String(texts(2)) && during.title === before.title && String(during.places) === String(before.places), "a touched word shows its weights", during);
    await page.mouse("h1");
    const after = await read();
    check(String(after.keys) === "0,1,2,3,4" && String(after.looks) === String(texts(4)), "the selected word is shown again", after);
    checkQuiet(opened);
    await page.close();
}

/** The columns of a pair are its vectors, and the numbers between them those of the walk. */
export async function testPair() {
    const opened = await pageOf(flags);
    const { page } = opened;
    const walk = jsonOf(flags);
    await page.mouse("#follow .sentence li:nth-child(3) .look", true);
    const read = await page.run(() => ({
        columns: [...document.querySelectorAll(".product .columns-of")].map((one) =>
            [...one.children].map((i) => Number(i.style.getPropertyValue("--share")) * (i.className ? -1 : 1))),
        numbers: [...document.querySelectorAll(".product .number")].map((one) => Number(one.textContent)),
        share: document.querySelector('.product [data-strip="share"]').textContent,
    }));
    const row = (name, i) => stepOf(walk, name)[0][i];
    const [query, key, value, sum] = [row("query", 4), row("key", 2), row("value", 2), row("context", 4)];
    [query, key, value, sum].forEach((vector, i) => {
        const most = Math.max(...vector.map(Math.abs));
        const right = vector.every((one, f) => Math.abs(one / most - read.columns[i][f]) < 0.001);
        check(right, "columns are as high as the numbers of their vector", { vector, columns: read.columns[i] });
    });
    const wanted = [stepOf(walk, "scores")[0][4][2], stepOf(walk, "masked_scores")[0][4][2]];
    const right = wanted.every((one, i) => Math.abs(one - read.numbers[i]) <= 0.50001e-4);
    check(right && read.share === `${Math.round(100 * stepOf(walk, "weights")[0][4][2])} %`, "the numbers of the pair are the walk's", read);
    checkQuiet(opened);
    await page.close();
}

/** Play adds one word after another in four seconds; there is no button if motion is reduced. */
export async function testRun() {
    const opened = await pageOf(flags);
    const { page } = opened;
    await page.look({ width: 1440, height: 900 });
    const counts = await page.run(async () => {
        const begin = performance.now();
        const counts = [];
        document.getElementById("run").click();
        const sums = () => document.querySelector(".product .part:last-child small").textContent === "added up so far";
        while (sums() && performance.now() - begin < 8000) {
            const count = document.querySelectorAll(".curves [data-key]").length;
            if (counts.at(-1) !== count) counts.push(count);
            await new Promise((done) => setTimeout(done, 20));
        }
        return { counts, seconds: (performance.now() - begin) / 1000 };
    });
    check(String(counts.counts) === "1,2,3,4,5", "the curves come one after another", counts);
    check(counts.seconds > 3 && counts.seconds < 6, "the sum takes four seconds", counts);
    await page.look({ width: 1440, height: 900, calm: true });
    await page.mouse("#follow .sentence li:nth-child(2) .word", true);
    check(await page.run(() => document.getElementById("run") === null), "nothing plays if reduced motion is preferred");
    checkQuiet(opened);
    await page.close();
}

/** A model and an example open on a head that means something; drawn parameters are said to have learned nothing. */
export async function testOpening() {
    const pages = [
        [stories, "“She” looks most at “Lily”, 42 %", "trained model stories, layer 0, head 7"],
        [["--example", "pronoun"], "“she” looks most at “anna”, 96 %", "set by hand"],
        [["--example", "adjective"], "“dog” looks most at “big”", "set by hand"],
        [[], "looks most at", "has learned nothing"],
    ];
    for (const [words, answer, origin] of pages) {
        const opened = await pageOf(words);
        const read = await opened.page.run(() => [".answer", ".origin"].map((one) => document.querySelector(one).textContent));
        check(read[0].includes(answer) && read[1].includes(origin), `${words.join(" ")}: the first screen`, read);
        checkQuiet(opened);
        await opened.page.close();
    }
}

/** A recurrence shows a square for each token, and its decay. */
export async function testMemory() {
    const words = ["--attention", "retention", "--form", "recurrent"];
    const opened = await pageOf(words);
    const { page } = opened;
    const walk = jsonOf(words);
    const read = await page.run(() => ({
        words: [...document.querySelectorAll(".memory .word")].map((one) => one.textContent),
        squares: [...document.querySelectorAll(".memory .square")].map((one) => [...one.children].map((i) => Number(i.className.slice(1)))),
        decays: [...document.querySelectorAll(".memory .number")].map((one) => Number(one.textContent)),
        height: document.documentElement.scrollHeight,
    }));
    const state = stepOf(walk, "state");
    const most = Math.max(...state.flat(3).map(Math.abs));
    const wrong = read.squares.flatMap((square, token) =>
        square.filter((level, i) => Math.abs(level - 20 * (1 + state[0][token].flat()[i] / most)) > 0.51));
    check(String(read.words) === String(walk.tokens.query[0]) && wrong.length === 0, "the squares are the state after each word", wrong);
    check(read.decays.length === 6 && read.decays.every((one) => Math.abs(one - stepOf(walk, "decay")[0]) < 1e-4), "the decay is beside it", read.decays);
    await page.mouse(".memory li:nth-child(3) .word", true);
    const title = await page.run(() => document.querySelector("#why h2").textContent);
    check(title.startsWith("state[0,2,0,0] = "), "a word opens its state", title);
    check(read.height < 2500, "the tables of a recurrence are folded", read.height);
    checkQuiet(opened);
    await picture(page, "memory");
    await page.close();
}

/** At most ten Tab stops lead to the first word. */
export async function testTabStops() {
    for (const words of [flags, [...flags, "--live"], [...stories, "--live"], ["--attention", "retention", "--form", "recurrent"]]) {
        const opened = await pageOf(words);
        const { page } = opened;
        await page.look({ width: 1440, height: 900 });
        let stops = 0;
        await page.run(() => new Promise((done) => setTimeout(done, 1500)));
        const isWord = () => page.run(() => document.activeElement.classList.contains("word"));
        do await page.key("Tab");
        while (++stops < 30 && !(await isWord()));
        check(stops <= 10, `${words.slice(-2).join(" ")}: at most ten Tab stops to the first word`, stops);
        await page.close();
    }
}

/** Each control of an opened list is on the screen and on top. */
export async function testLists() {
    for (const words of [flags, [...flags, "--live"], ["notebook", "000"]]) {
        const opened = await pageOf(words);
        const { page } = opened;
        for (const screen of screens) {
            for (const dark of [false, true]) {
                await page.look({ ...screen, dark, calm: true });
                const covered = await page.run(async () => {
                    document.querySelector("td[data-cell]")?.click();
                    const found = [];
                    for (const list of document.querySelectorAll("#keys, #take, #live details")) {
                        for (const other of document.querySelectorAll("#keys, #take, #live details")) other.open = other === list;
                        list.scrollIntoView({ block: "nearest", behavior: "instant" });
                        await new Promise((done) => setTimeout(done, 60));
                        for (const one of list.querySelectorAll("button, select, input, textarea, dt, dd")) {
                            // A list that is higher than the window scrolls inside itself.
                            one.scrollIntoView({ block: "nearest", behavior: "instant" });
                            const box = one.getBoundingClientRect();
                            const top = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
                            if (!top || !one.contains(top)) found.push(one.textContent || one.dataset.knob);
                        }
                        list.open = false;
                    }
                    return found;
                });
                check(covered.length === 0, `${words[0]} ${screen.width} ${dark ? "dark" : "light"}: no control of a list is covered`, covered);
                const poor = await page.run(checkContrast);
                check(poor.length === 0, `${words[0]} ${screen.width} ${dark ? "dark" : "light"}: contrast is at least AA`, poor);
            }
        }
        checkQuiet(opened);
        await page.close();
    }
}

/** Weights that are no shares of 1 are numbers with a sign, and play adds all of them. */
export async function testSignedWeights() {
    const words = ["--attention", "retention"];
    const opened = await pageOf(words);
    const { page } = opened;
    const walk = jsonOf(words);
    const [query] = await page.run(() => document.querySelector('.word[aria-pressed="true"]').dataset.strip.match(/\d+/).map(Number));
    const context = stepOf(walk, "context")[0][query];
    const read = await page.run(() => ({
        texts: [".answer", ".origin"].map((one) => document.querySelector(one).textContent).concat([...document.querySelectorAll(".look")].map((one) => one.textContent)),
        signs: [...document.querySelectorAll(".curves [data-key]")].map((one) => [Number(one.dataset.key), one.classList.contains("minus")]),
    }));
    check(!read.texts.some((text) => text.includes("%")), "weights that do not add up to 1 have no %", read.texts);
    check(!read.texts.includes("-0.0000"), "a weight of 0 has no sign", read.texts);
    const looks = read.texts.slice(2).map(Number);
    check(read.signs.some(([, isMinus]) => isMinus) && read.signs.every(([key, isMinus]) => isMinus === looks[key] < 0), "curves have the sign of their weight", { signs: read.signs, looks });
    const most = looks.reduce((best, one, i) => (Math.abs(one) > Math.abs(looks[best]) ? i : best), 0);
    const named = await page.run((i) => document.querySelectorAll(".scene .word")[i].textContent, most);
    check(read.texts[0].includes(`looks most at “${named}”`), "the answer names the largest in size", read.texts[0]);
    const shares = await page.run(async () => {
        const last = () => document.querySelector(".product .part:last-child");
        let shares = [];
        document.getElementById("run").click();
        for (const begin = performance.now(); performance.now() - begin < 8000; await new Promise((done) => setTimeout(done, 20))) {
            if (last().querySelector("small").textContent !== "added up so far") break;
            shares = [...last().querySelectorAll("i")].map((i) => Number(i.style.getPropertyValue("--share")) * (i.className ? -1 : 1));
        }
        return shares;
    });
    const size = Math.max(...context.map(Math.abs));
    check(shares.length === context.length && shares.every((one, i) => Math.abs(one - context[i] / size) < 0.002), "play ends with the whole sum", { shares, context });
    checkQuiet(opened);
    await page.close();
}

/** Weights without scores of their own, and values of another name, have a first screen. */
export async function testOtherRoles() {
    for (const file of ["gated-linear", "mamba2", "rwkv6", "latent"]) {
        const opened = await pageOf(["--attention", file]);
        const read = await opened.page.run(() => ({ answer: document.querySelector("#follow .answer")?.textContent ?? "", numbers: document.querySelectorAll(".product .number").length }));
        check(/ looks most at /.test(read.answer), `${file} has a first screen`, read);
        checkQuiet(opened);
        await opened.page.close();
    }
    const opened = await pageOf(["--attention", "additive"]);
    const origin = await opened.page.run(() => document.querySelector(".origin").textContent);
    check(origin.includes("random"), "drawn parameters of a file are random", origin);
    await opened.page.close();
}

/** Every published attention, and a file of the user's own, opens with words and numbers. */
export async function testFirstScreens() {
    const names = printed(["attentions"]).split("\n").map((line) => line.split(" ")[0]).filter(Boolean);
    const mine = join(folder, "mine.attn");
    writeFileSync(mine, printed(["attentions", "aft"]).replaceAll("share", "portion").replace("attention  aft", "attention  mine"));
    for (const file of [...names, mine]) {
        const opened = await pageOf(["--attention", file]);
        const read = await opened.page.run(() => ({
            answer: document.querySelector("#follow:not([hidden]) .answer")?.textContent ?? "",
            words: document.querySelectorAll("#follow .word").length,
            boxes: document.querySelector("#follow .margin") !== null,
        }));
        check(/ looks most at |a memory of fixed size/.test(read.answer) && read.words > 2 && !read.boxes, `${file} has a first screen`, read);
        checkQuiet(opened);
        await opened.page.close();
    }
}

/** Weights for each feature: the curves are those of one feature, and the sum precedes its gate. */
export async function testFeatureWeights() {
    const words = ["--attention", "aft"];
    const opened = await pageOf(words);
    const { page } = opened;
    const walk = jsonOf(words);
    const read = () => page.run(() => ({
        query: Number(document.querySelector('.scene .word[aria-pressed="true"]').dataset.strip.match(/\d+/)),
        looks: [...document.querySelectorAll(".look")].map((one) => one.textContent),
        columns: [...document.querySelectorAll(".product .columns-of")].map((one) => [...one.children].map((i) => Number(i.style.getPropertyValue("--share")) * (i.className ? -1 : 1))),
        title: document.querySelector("#why h2").textContent,
    }));
    const percents = (query, feature) => stepOf(walk, "share")[0][query].map((row) => `${Math.round(100 * row[feature])} %`);
    const first = await read();
    check(String(first.looks) === String(percents(first.query, 0)), "the weights are those of feature 0", first.looks);
    const [, sum, context] = first.columns;
    const sums = sum.map((_, f) => stepOf(walk, "share")[0][first.query].reduce((all, row, key) => all + row[f] * stepOf(walk, "value")[0][key][f], 0));
    const isLike = (columns, numbers) => numbers.every((one, i) => Math.abs(one / Math.max(...numbers.map(Math.abs)) - columns[i]) < 0.002);
    check(isLike(sum, sums) && isLike(context, stepOf(walk, "context")[0][first.query]), "the sum and the gated context are the walk's", { sum, context });
    await page.run(() => document.querySelector('[data-strip="part"]').click());
    const second = await read();
    check(String(second.looks) === String(percents(second.query, 1)) && /^share\[0,\d,\d,1\]/.test(second.title), "the next feature has its own weights", second);
    checkQuiet(opened);
    await page.close();
}

/** A form without a memory shows that of the form that has one. */
export async function testMemoryOfOtherForm() {
    // A step that reads all rows before its own, as in the parallel form of deltanet, is no memory.
    for (const [file, name, ...form] of [["retention", "state"], ["rwkv4", "numerator"], ["deltanet", "state", "--form", "parallel"]]) {
        const opened = await pageOf(["--attention", file, ...form]);
        const state = stepOf(jsonOf(["--attention", file, "--form", "recurrent"]), name).flat(4);
        const most = Math.max(...state.map(Math.abs));
        const read = await opened.page.run(() => ({
            answer: document.querySelector("#follow .answer").textContent,
            squares: [...document.querySelectorAll(".memory .square")].flatMap((one) => [...one.children].map((i) => Number(i.className.slice(1)))),
        }));
        const first = state.slice(0, read.squares.length);
        const wrong = read.squares.filter((level, i) => Math.abs(level - 20 * (1 + first[i] / most)) > 0.51);
        check(read.squares.length > 0 && wrong.length === 0 && (form.length > 0 || / looks most at /.test(read.answer)), `${file} shows weights and memory`, read);
        checkQuiet(opened);
        await opened.page.close();
    }
}

/** A notebook opens with its weights, and no tensor of it is called a memory. */
export async function testNotebookFirst() {
    for (const [name, answer] of [["000", /^“\d” looks most at/], ["003", /^“\w+” looks most at/]]) {
        const opened = await pageOf(["notebook", name]);
        const read = await opened.page.run(() => ({
            answer: document.querySelector("#follow .answer")?.textContent ?? "",
            looks: document.querySelectorAll("#follow .look").length,
            memory: document.querySelectorAll(".memory-of").length,
        }));
        check(answer.test(read.answer) && read.looks > 3 && read.memory === 0, `notebook ${name} opens with its weights`, read);
        checkQuiet(opened);
        await opened.page.close();
    }
}

/** The next word of a model comes after the last word, also on a page that is not live. */
export async function testNextWord() {
    const opened = await pageOf(stories);
    const { page } = opened;
    const says = () => page.run(() => document.querySelector("#follow .says").textContent);
    const top = printed(["generate", "--model-file", "stories", "--text", "Lily lost her ball. She", "--top", "1", "--tokens", "1"]);
    const first = await says();
    const [, word] = /“(.+)” \d+ %$/.exec(first) ?? [];
    check(first.startsWith("then the model says") && Boolean(word) && top.includes(word), "the first screen ends with the next word", { first, top });
    await page.mouse("#follow .sentence li:nth-child(5) .word", true);
    check((await says()).startsWith("after “She” the model says"), "another word does not become the last", await says());
    checkQuiet(opened);
    await page.close();
    const masked = await pageOf([...stories, "--mask", "none"]);
    check(await masked.page.run(() => !document.querySelector("#follow .says")), "a mask of one layer has no next word");
    await masked.page.close();
}

/** On a phone nothing covers the panel of a number. */
export async function testPanelOnTop() {
    for (const words of [[], ["--attention", "retention", "--form", "recurrent"], stories]) {
        const opened = await pageOf(words);
        const { page } = opened;
        await page.look({ width: 390, height: 844 });
        await page.run(() => document.querySelector("#follow .number").click());
        await page.run(() => new Promise((done) => setTimeout(done, 200)));
        const covered = await page.run(() => {
            const dock = document.getElementById("dock");
            const box = dock.getBoundingClientRect();
            const points = [];
            for (let x = box.left + 4; x < box.right; x += 20) {
                for (let y = box.top + 4; y < Math.min(box.bottom, innerHeight); y += 20) points.push(document.elementFromPoint(x, y));
            }
            return points.filter((one) => one && !dock.contains(one)).map((one) => one.tagName + "." + one.className);
        });
        check(covered.length === 0, `${words.join(" ")}: the panel is on top at 390`, [...new Set(covered)]);
        await page.close();
    }
}

/** A key that nobody chose follows the largest weight; the address keeps the head. */
export async function testHeadKept() {
    const opened = await pageOf(stories);
    const { page } = opened;
    await page.run(() => document.querySelectorAll('[data-axis="head"] [role="tab"]')[2].click());
    const read = await page.run(() => ({
        answer: document.querySelector(".answer").textContent,
        picked: [...document.querySelectorAll(".scene .seen")].map((one) => one.textContent),
        hash: location.hash,
    }));
    check(read.answer.includes(`at “${read.picked[0]}”`), "the pair is the one of the sentence", read);
    await page.open("about:blank");
    await page.open(pathToFileURL(opened.file).href + read.hash);
    const head = await page.run(() => [...document.querySelectorAll('[data-axis="head"] [role="tab"]')].findIndex((tab) => tab.ariaSelected === "true"));
    check(head === 2, "the address keeps the head", { head, hash: read.hash });
    await page.close();
}
