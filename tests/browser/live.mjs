// A live page: its knobs are turned, and what it shows then is what the program prints.
import { readFileSync } from "node:fs";

import { checkNumbers } from "./in_page.mjs";
import { check, checkQuiet, jsonOf, pageOf, picture, withoutCommand } from "./pages.mjs";

const start = ["--text", "a red fox runs by", "--heads", "2", "--mask", "causal", "--live"];

/** Waits until the core has started. */
const started = (page) => page.run(async () => {
    for (let i = 0; i < 100 && document.querySelector("#live fieldset").disabled; ++i) {
        await new Promise((done) => setTimeout(done, 50));
    }
    return document.querySelector("#live p").textContent;
});

/** Turns one knob as a person does; gives what is said then. */
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
    check(text.includes("script-src 'unsafe-inline' 'wasm-unsafe-eval';"), "a policy that names the core");
    check(text.length <= 1.2e6, "a live page has 1.2 MB", String(text.length));
    check((await started(page)) === "", "the core is the program's own", await started(page));
    const said = { "--text": start[1], "--heads": "2", "--mask": "causal" };
    for (const [name, value] of turns) {
        said[name] = value;
        const told = await turn(page, name, value);
        const flags = Object.entries(said).filter(([, one]) => one !== "").flat();
        const walk = withoutCommand(await page.run(() => JSON.parse(document.getElementById("walk").textContent)));
        const right = withoutCommand(jsonOf([...flags, "--variant", "loop"]));
        check(JSON.stringify(walk) === JSON.stringify(right), `${name} ${value}: the program's walk`, told);
        const { read, wrong } = await page.run(checkNumbers);
        check(read > 100 && wrong.length === 0, `${name} ${value}: the numbers on the page`, wrong);
    }
    await turn(page, "--mask", "none");
    const ghosts = await page.run(() => [...document.querySelectorAll("[data-was]")].map((one) => [one.dataset.was, one.textContent]));
    check(ghosts.length > 50 && ghosts.every(([was, now]) => was !== now), "old values stay beside new ones", ghosts.length);
    await picture(page, "live");
    const refused = await turn(page, "--heads", "-3");
    const kept = await page.run(() => document.querySelector('[data-knob="--heads"]').getAttribute("aria-invalid"));
    check(refused.includes("--heads") && kept === "true", "what cannot be is said", refused);
    await turn(page, "--heads", "2");
    const selected = await page.run(() => {
        document.querySelector('[data-cell="weights[1,3,2]"]').click();
        const field = document.querySelector('[data-knob="--seed"]');
        field.value = "5";
        field.dispatchEvent(new Event("change"));
        return [document.querySelector("#why h2").textContent, document.querySelector('td[aria-current]')?.dataset.cell];
    });
    check(selected[0].startsWith("weights[1,3,2] = ") && selected[1] === "weights[1,3,2]", "the chosen cell stays", selected);
    for (const [title, look] of [["live-phone", { width: 390, height: 844 }], ["live-dark", { width: 1440, height: 900, dark: true }]]) {
        await page.look(look);
        await picture(page, title);
    }
    checkQuiet(opened);
    await page.close();
}
