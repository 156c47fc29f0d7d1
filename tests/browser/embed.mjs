// The page inside another one: as a fragment, and in a frame without its own address.
import { readFileSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

import { check, checkQuiet, pageOf, picture } from "./pages.mjs";

const walk = ["--text", "a small green frog", "--heads", "2", "--mask", "causal"];

export async function testEmbed() {
    const opened = await pageOf([...walk, "--embed", "--format", "html"]);
    const { page, file } = opened;
    const fragment = readFileSync(file, "utf8");
    const host =
        `<!doctype html><meta charset="utf-8"><style>h1 { color: rgb(1, 2, 3); }</style>` +
        `<h1>Lecture 4</h1><button id="own">j</button>${fragment}<p class="terms">between</p>${fragment}`;
    writeFileSync(file, host);
    await page.open(pathToFileURL(file).href);
    const seen = await page.run(() => {
        const trees = [...document.querySelectorAll("[data-attn-explain]")].map((one) => one.shadowRoot);
        const cell = trees[1].querySelector('[data-cell="weights[0,2,1]"]');
        cell.click();
        return {
            titles: trees.map((tree) => tree.querySelector("#why h2").textContent),
            background: getComputedStyle(document.body).backgroundColor,
            color: getComputedStyle(document.querySelector("h1")).color,
            family: getComputedStyle(document.querySelector("p.terms")).fontFamily,
            inside: getComputedStyle(trees[0].querySelector(".number")).fontFamily,
            hash: location.hash,
        };
    });
    check(seen.titles[1].startsWith("weights[0,2,1] = "), "a fragment responds to a click", seen.titles);
    check(!seen.titles[0].startsWith("weights[0,2,1] = "), "the other fragment does not respond", seen.titles);
    check(
        seen.color === "rgb(1, 2, 3)" && seen.background === "rgba(0, 0, 0, 0)" && seen.hash === "",
        "the surrounding page stays unchanged",
        seen,
    );
    check(seen.inside.includes("Mono") && !seen.family.includes("Mono"), "styles do not mix", seen);
    checkQuiet(opened);
    await picture(page, "embed");
    await page.close();
}

export async function testSrcdoc() {
    const opened = await pageOf([...walk, "--format", "html"]);
    const { page, file } = opened;
    const text = readFileSync(file, "utf8").replace(/&/g, "&amp;").replace(/"/g, "&quot;");
    writeFileSync(file, `<!doctype html><iframe srcdoc="${text}" width="1200" height="700"></iframe>`);
    await page.open(pathToFileURL(file).href);
    const seen = await page.run(() => {
        const { document } = window.frames[0];
        const cell = document.querySelector('[data-cell="scores[1,3,0]"]');
        cell.closest(".group").open = true;
        document.querySelectorAll("[role=tab]")[1].click();
        cell.click();
        return {
            title: document.querySelector("#why h2").textContent,
            current: document.querySelector("[aria-current]")?.dataset.cell,
            focus: document.activeElement.dataset.cell,
        };
    });
    const right = seen.title.startsWith("scores[1,3,0] = ") && seen.current === "scores[1,3,0]";
    check(right && seen.focus === "scores[1,3,0]", "a cell is selected inside srcdoc", seen);
    checkQuiet(opened);
    await page.close();
}
