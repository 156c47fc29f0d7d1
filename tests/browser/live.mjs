// A live page: its controls are changed, and it then shows what the program prints.
import { readFileSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

import { checkNumbers } from "./in_page.mjs";
import { check, checkQuiet, jsonOf, pageOf, picture, printed, withoutCommand } from "./pages.mjs";

const start = ["--text", "a red fox runs by", "--heads", "2", "--mask", "causal", "--live"];

/** Waits until the core has started. */
const started = (page) => page.run(async () => {
    for (let i = 0; i < 600 && document.querySelector("#live fieldset").disabled; ++i) {
        await new Promise((done) => setTimeout(done, 50));
    }
    return document.querySelector("#live p").textContent;
});

/** Changes one control like a user; returns the message shown then. */
const turn = (page, name, value) => page.run((name, value) => {
    const field = document.querySelector(`[data-knob="${name}"]`);
    field.value = value;
    field.dispatchEvent(new Event("change", { bubbles: true }));
    return document.querySelector("#live p").textContent;
}, name, value);

const turns = [
    ["--seed", "7"], ["--heads", "4"], ["--heads", "1"], ["--mask", "none"], ["--mask", "window:2"],
    ["--mask", "causal,window:3"], ["--scale", "none"], ["--scale", "embed-dim"], ["--scale", "0.125"],
    ["--scale", ""], ["--rope", "half"], ["--rope", "interleaved"], ["--rope", ""],
    ["--position-embedding", "sinusoidal"], ["--position-embedding", "learned"],
    ["--position-embedding", ""], ["--position-bias", "alibi"], ["--position-bias", "t5"],
    ["--position-bias", ""], ["--softcap", "2"], ["--softcap", ""], ["--text", "two words"],
    ["--text", "she sells sea shells by the sea shore"], ["--mask", "causal"], ["--heads", "2"],
    ["--bug", "scale-missing"], ["--bug", "mask-after-softmax"], ["--bug", ""],
    ["--rule", "scaled_scores[h,q,k] = scores[h,q,k] / D"], ["--rule", ""], ["--seed", "1"],
];

export async function testLive() {
    const opened = await pageOf(start);
    const { page, file } = opened;
    const text = readFileSync(file, "utf8");
    check(text.includes("script-src 'unsafe-inline' 'wasm-unsafe-eval';"), "the policy allows only the core");
    check(text.length <= 1.2e6, "a live page has at most 1.2 MB", String(text.length));
    check((await started(page)) === "", "the core starts without a message", await started(page));
    const said = { "--text": start[1], "--heads": "2", "--mask": "causal" };
    for (const [name, value] of turns) {
        said[name] = value;
        const told = await turn(page, name, value);
        await answersOf(page);  // on a slow machine a worker computes the walk
        const flags = Object.entries(said).filter(([, one]) => one !== "").flat();
        const walk = withoutCommand(await page.run(() => JSON.parse(document.getElementById("walk").textContent)));
        const right = withoutCommand(jsonOf([...flags, "--variant", "loop"]));
        check(JSON.stringify(walk) === JSON.stringify(right), `${name} ${value}: the walk is the program's`, told);
        const { read, wrong } = await page.run(checkNumbers);
        check(read > 100 && wrong.length === 0, `${name} ${value}: the numbers on the page are right`, wrong);
    }
    await turn(page, "--mask", "none");
    const ghosts = await page.run(() => [...document.querySelectorAll("[data-was]")].map((one) => [one.dataset.was, one.textContent]));
    check(ghosts.length > 50 && ghosts.every(([was, now]) => was !== now), "old values stay next to new ones", ghosts.length);
    await picture(page, "live");
    const refused = await turn(page, "--heads", "-3");
    const kept = await page.run(() => document.querySelector('[data-knob="--heads"]').getAttribute("aria-invalid"));
    check(refused.includes("--heads") && kept === "true", "an invalid setting is reported, and the page stays", refused);
    await turn(page, "--heads", "2");
    const selected = await page.run(() => {
        document.querySelector('[data-cell="weights[1,3,2]"]').click();
        const field = document.querySelector('[data-knob="--seed"]');
        field.value = "5";
        field.dispatchEvent(new Event("change"));
        return [document.querySelector("#why h2").textContent, document.querySelector('td[aria-current]')?.dataset.cell];
    });
    check(selected[0].startsWith("weights[1,3,2] = ") && selected[1] === "weights[1,3,2]", "the selected cell stays selected", selected);
    for (const [title, look] of [["live-phone", { width: 390, height: 844 }], ["live-dark", { width: 1440, height: 900, dark: true }]]) {
        await page.look(look);
        await picture(page, title);
    }
    checkQuiet(opened);
    await page.close();
}

/** The address after other words opens the page at the same word. */
export async function testLinkOfWords() {
    const opened = await pageOf(start);
    const { page } = opened;
    await started(page);
    for (const text of ["x", "she sells sea shells by the sea shore"]) await turn(page, "--text", text);
    const read = () => page.run(() => [location.href, document.querySelector(".answer").textContent]);
    const [address, answer] = await read();
    await page.open("about:blank");
    await page.open(address);
    await started(page);
    check((await read())[1] === answer, "a link opens at the word that the page showed", [answer, await read()]);
    checkQuiet(opened);
    await page.close();
}

/** Counts how often the page responds while a worker computes a walk. */
const answersOf = (page) => page.run(async () => {
    let answers = 0;
    for (; document.querySelector("#live[aria-busy]") && answers < 10000; ++answers) await new Promise((done) => setTimeout(done, 1));
    return answers;
});

/** The page responds during a long walk; of two changes the last one is shown. Without a worker it computes the walk itself. */
export async function testLongWalks() {
    const words = Array.from({ length: 180 }, (_, i) => ["the", "dog", "was", "big"][i % 4]).join(" ");
    const flags = ["--model-file", "stories", "--text", words];
    const opened = await pageOf([...flags, "--live"]);
    const { page, file } = opened;
    const isRight = async (layer) => {
        const walk = withoutCommand(await page.run(() => JSON.parse(document.getElementById("walk").textContent)));
        const right = withoutCommand(jsonOf([...flags, "--layer", layer, "--variant", "loop"]));
        return JSON.stringify(walk) === JSON.stringify(right);
    };
    check((await started(page)) === "", "the core starts without a message", await started(page));
    for (const layer of ["1", "3"]) check((await turn(page, "--layer", layer)) === "walking …", "a worker computes the walk");
    const answers = await answersOf(page);
    check(answers > 20, "the page responds during the walk", answers);
    check(await isRight("3"), "the last change is shown");
    checkQuiet(opened);
    const text = readFileSync(file, "utf8");
    writeFileSync(file, text.replace("; worker-src data:", ""));
    await page.open(pathToFileURL(file).href);
    await started(page);
    await turn(page, "--layer", "2");
    await answersOf(page);
    check(text.includes("; worker-src data:") && (await isRight("2")), "a page without workers computes the walk itself");
    await page.close();
}

/** Returns the rows of the bars: the text of each column. */
const barsOf = (page) => page.run(() => [...document.querySelectorAll("#writes table")].map((table) =>
    [...table.querySelectorAll("tbody tr")].map((row) => [row.querySelector("th").textContent, row.lastChild.textContent])));

/** A live page with a model generates text: the digits of its bars are those of `why next[...]`. */
export async function testWriting() {
    const opened = await pageOf(["--model-file", "stories", "--text", "The big dog", "--live"]);
    const { page, file } = opened;
    const size = readFileSync(file).length;
    check(size <= 2.5e6, "a live page with its model has at most 2.5 MB", String(size));
    check((await started(page)) === "", "the core starts without a message", await started(page));
    let text = "The big dog";
    for (let word = 0; word < 4; ++word) {
        const [tokens, parts] = await barsOf(page);
        const token = tokens[0][0].slice(1, -1);
        const id = await page.run(() => JSON.parse(document.getElementById("next").textContent)[0].id);
        const asked = ["why", `next[${id}]`, "--model-file", "stories", "--text", text];
        const told = JSON.parse(printed([...asked, "--json"]));
        check(Math.abs(told.probability - tokens[0][1]) <= 0.5001e-4, `${text}: the likeliest token has the program's probability`, tokens);
        const logits = new Map(told.parts.map(({ part, logit }) => [part, logit]));
        const headsOf = (layer) => told.parts.filter(({ part }) => part.startsWith(`${layer}, head `));
        for (const layer of ["layer 0", "layer 1", "layer 2", "layer 3", "layer 4"])
            logits.set(`${layer}, all heads`, headsOf(layer).reduce((sum, { logit }) => sum + logit, 0));
        const isRight = ([part, shown]) => Math.abs(logits.get(part) - shown) <= 0.5001e-4;
        check(parts.length === 1 + 5 * 2 + 8 && parts.every(isRight), `${text}: the parts of its logit are the program's`, parts);
        const others = parts.filter(([part]) => !/head \d/.test(part));
        const sum = others.reduce((all, [, shown]) => all + Number(shown), 0);
        check(Math.abs(sum - told.logit) < 11 * 0.5001e-4, `${text}: the path adds up to the logit`, [sum, told.logit]);
        await page.run(() => document.getElementById("write").click());
        await answersOf(page);  // on a slow machine the walk is computed beside the page
        text += token;
        const field = await page.run(() => document.querySelector('[data-knob="--text"]').value);
        check(field === text, "the token is written", field);
    }
    const unfolded = await page.run(() => {
        const heads = () => [...document.querySelectorAll("#writes .inner th")].map((one) => one.textContent[6]).join("");
        const press = (layer) => document.querySelector(`#writes [data-layer="${layer}"]`).click();
        return [1, 3, 3, 2].map((layer) => (press(layer), heads()));
    });
    check(String(unfolded) === "11111111,33333333,,22222222", "a layer of the path opens and closes", unfolded);
    const says = await page.run(() => document.querySelector("#follow .says").textContent);
    const [[likeliest, probability]] = (await barsOf(page))[0];
    const word = likeliest.slice(1, -1).trim();
    check(says === `then the model says  “${word}” ${Math.round(100 * probability)} %`, "the first screen ends with the next word", says);
    const copied = await page.run(() => document.querySelector(".command code").textContent);
    check(copied.endsWith(" --live"), "the command makes a live page", copied);
    const walk = await page.run(() => JSON.parse(document.getElementById("walk").textContent));
    const right = jsonOf(["--model-file", "stories", "--text", text, "--variant", "loop"]);
    check(JSON.stringify(walk.steps) === JSON.stringify(right.steps), "the walk over the generated text is right");
    await picture(page, "writing");
    const head = [await page.run(() => {
        const button = [...document.querySelectorAll("#writes button")].find((one) => /head \d/.test(one.textContent));
        button.click();
        return button.textContent;
    })];
    await answersOf(page);
    head.push(await page.run(() => {
        const tab = document.querySelector('[data-axis=head] [aria-selected=true]').textContent;
        return `layer ${document.querySelector('[data-knob="--layer"]').value}, head ${tab}`;
    }));
    check(head[0] === head[1], "a head in the list links to its tab", head);
    await turn(page, "--text", "Lily saw");
    await answersOf(page);
    const { read, wrong } = await page.run(checkNumbers);
    check(read > 1000 && wrong.length === 0, "the numbers on the page are right", wrong);
    for (const [title, look] of [["writing-phone", { width: 390, height: 844 }], ["writing-dark", { width: 1440, height: 900, dark: true }]]) {
        await page.look(look);
        await picture(page, title);
    }
    checkQuiet(opened);
    await page.close();
}

/** The tour in the page has the text of the terminal, at the box it refers to. */
export async function testTour() {
    const opened = await pageOf(start);
    const { page } = opened;
    await started(page);
    const read = () => page.run(() => ({
        title: document.querySelector("#stop h2").textContent,
        text: document.querySelector("#stop p").textContent,
        boxes: [...document.querySelectorAll(".box, .sentence")].map((one) => getComputedStyle(one).outlineStyle),
        hidden: document.getElementById("stop").hidden,
        hash: location.hash,
    }));
    const press = (word) => page.run((word) => {
        [...document.querySelectorAll("#live button, #stop button")].find((one) => one.textContent === word).click();
    }, word);
    const toldOf = (number) => printed(["tour", String(number)]).replaceAll("\n", " ");
    await press("tour");
    for (let number = 1; number < 25; ++number) {
        const { title, text, boxes, hash } = await read();
        check(title.startsWith(`${number} of 25. `) && hash === `#tour=${number}`, `stop ${number}: title and address agree`, { title, hash });
        check(toldOf(number).includes(`${title} ${text ? ` ${text} ` : ""}`), `stop ${number}: the text is that of the terminal`, { title, text });
        check(boxes.filter((style) => style === "solid").length === 1, `stop ${number}: one box is marked`, boxes);
        if (number === 7) await picture(page, "tour");
        await press("next");
    }
    await page.run(() => (location.hash = "#tour=7"));
    await new Promise((done) => setTimeout(done, 200));
    const six = await read();
    check(six.title.startsWith("7 of 25. How do scores") && six.boxes.indexOf("solid") === 3, "an address opens a stop", six);
    await page.look({ width: 390, height: 844 });
    await picture(page, "tour-phone");
    await press("end");
    check((await read()).hidden && (await read()).hash === "", "the tour ends", await read());
    checkQuiet(opened);
    await page.close();
}
