// The page on small and large screens, dark, without motion and on paper; its tables.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { checkContrast, checkPaper } from "./in_page.mjs";
import { check, checkQuiet, folder, jsonOf, pageOf, picture, pictures, printed, walks } from "./pages.mjs";

export async function testLooks() {
    const opened = await pageOf(walks[1]);
    const { page } = opened;
    for (const width of [360, 800, 1600]) {
        for (const dark of [false, true]) {
            await page.look({ width, height: width === 360 ? 740 : 1000, dark });
            await page.run(() => scrollTo({ top: 0, behavior: "instant" }));
            await picture(page, `${width}-${dark ? "dark" : "light"}-top`);
            await page.mouse('[data-cell="weights[0,3,1]"]', true);
            const wide = await page.run(() => document.documentElement.scrollWidth - innerWidth);
            check(wide <= 0, `${width}: the page is no wider than the screen`, String(wide));
            const poor = await page.run(checkContrast);
            check(poor.length === 0, `${width} ${dark ? "dark" : "light"}: contrast is at least AA`, poor);
            const inSight = await page.run(() => {
                const cell = document
                    .querySelector('[data-cell="weights[0,3,1]"]')
                    .getBoundingClientRect();
                const at = document.elementFromPoint(
                    cell.x + cell.width / 2,
                    cell.y + cell.height / 2,
                );
                return (
                    at?.dataset.cell === "weights[0,3,1]" &&
                    document.getElementById("why").getBoundingClientRect().height > 50
                );
            });
            check(inSight, `${width}: cell and derivation are both visible`);
            await picture(page, `${width}-${dark ? "dark" : "light"}`);
            await page.key("Escape");
        }
    }
    await page.look({ calm: true });
    check(
        (await page.run(() => getComputedStyle(document.documentElement).scrollBehavior)) ===
            "auto",
        "nothing moves if reduced motion is preferred",
    );
    const color = () => page.run(() => getComputedStyle(document.body).backgroundColor);
    const light = await color();
    await page.run(() => document.activeElement.blur());
    await page.key("t", "KeyT");
    await page.key("t", "KeyT");
    check((await color()) !== light, "t makes the page dark");
    await page.look({ print: true, width: 794, height: 1123 });
    check((await color()) === light, "the printed page is white");
    check(
        await page.run(() =>
            [...document.querySelectorAll("#step-weights .panel")].every(
                (panel) => panel.offsetParent !== null,
            ),
        ),
        "the print shows every head",
    );
    const beyond = await page.run(checkPaper);
    check(beyond.length === 0, "no printed table overlaps its neighbour", beyond);
    await page.run(() => scrollTo(0, 0));
    await picture(page, "print");
    if (pictures) writeFileSync(join(pictures, "print.pdf"), await page.pdf());
    await page.look({});
    checkQuiet(opened);
    await page.close();
}

export async function testTables() {
    const opened = await pageOf(walks[2]);
    const shape = await opened.page.run(() =>
        [...document.querySelectorAll("table.tensor")].every(
            (table) =>
                table.caption &&
                [...table.tBodies[0].rows].every(
                    (row) =>
                        row.querySelectorAll("td").length > 0 &&
                        row.querySelectorAll('th:not([scope="row"])').length === 0,
                ),
        ),
    );
    check(shape, "a table has a caption, and rows with headers");
    const reachable = await opened.page.run(() =>
        [...document.querySelectorAll("table.tensor")].every(
            (table) => table.querySelectorAll('td[tabindex="0"]').length === 1,
        ),
    );
    check(reachable, "Tab reaches each table once");
    check(
        await opened.page.run(() =>
            [...document.querySelectorAll("button, input, summary, a")].every(
                (one) => (one.textContent || one.getAttribute("aria-label")).trim() !== "",
            ),
        ),
        "every control has an accessible name",
    );
    await opened.page.close();
}

/** Gradients are shown next to their steps, and are not taken for scores. */
export async function testGradients() {
    const opened = await pageOf(["--heads", "2", "--mask", "causal", "--backward"]);
    const { page } = opened;
    await page.look({ width: 1500, height: 1000 });
    await page.run(() => {
        for (const group of document.querySelectorAll("details")) group.open = true;
    });
    const apart = await page.run(() => {
        const top = (name) => {
            const { x, y } = document.getElementById(`step-${name}`).getBoundingClientRect();
            return { x, y };
        };
        return ["scores", "weights", "context", "w_query", "x"].filter((name) => {
            const [forth, back] = [top(name), top(`d_${name}`)];
            return Math.abs(forth.y - back.y) > 1 || back.x <= forth.x;
        });
    });
    check(apart.length === 0, "each gradient is next to its step", apart);
    const scaled = await page.run(() => document.getElementById("follow").textContent);
    check(!scaled.includes("d_scaled_scores"), "the first screen shows no gradient", scaled);
    await picture(page, "gradients");
    checkQuiet(opened);
}

/** The tab of each head has a picture of its weights; with two heads there is none. */
export async function testThumbs() {
    const flags = ["--text", "a red fox runs", "--text", "one dog", "--mask", "causal,padding", "--embed-dim", "16"];
    const opened = await pageOf([...flags, "--heads", "4"]);
    const { page } = opened;
    const { data } = jsonOf([...flags, "--heads", "4"]).steps.find(({ name }) => name === "weights");
    for (const batch of [0, 1]) {
        const pictures = await page.run(async (batch) => {
            document.querySelectorAll("[data-axis=batch] [role=tab]")[batch].click();
            const thumbs = [...document.querySelectorAll("[data-axis=head] .thumb")];
            return Promise.all(thumbs.map(async (thumb) => {
                const image = new Image();
                image.src = getComputedStyle(thumb).maskImage.slice(5, -2);
                await image.decode();
                const canvas = document.createElement("canvas");
                const brush = canvas.getContext("2d");
                brush.drawImage(image, 0, 0);
                const { width, height } = image;
                return [...brush.getImageData(0, 0, width, height).data].filter((_, i) => i % 4 === 3);
            }));
        }, batch);
        const isShare = (alpha, weight, row) => Math.abs(alpha / 255 - weight / Math.max(...row)) < 0.003;
        const isRight = pictures.length === 4 && data[batch].every((head, h) =>
            head.every((row, q) => row.every((weight, k) => isShare(pictures[h][row.length * q + k], weight, row))));
        check(isRight, `the tabs show the weights of sequence ${batch}`, pictures);
    }
    checkQuiet(opened);
    await page.close();
    const two = await pageOf(["--text", "a red fox runs", "--heads", "2"]);
    check(await two.page.run(() => document.querySelector(".thumb, .squares") === null), "two matrices are tables at once");
    await two.page.close();
}

/** In a figure for either page, digits are readable on their cells, which have the colours of the scale. */
export async function testFigureColors() {
    for (const theme of ["light", "dark"]) {
        const file = join(folder, `${theme}.svg`);
        const walk = ["--text", "a red fox runs", "--mask", "causal", "--only", "weights"];
        writeFileSync(file, printed([...walk, "--format", "svg", "--theme", theme]));
        const { page } = await pageOf(walk);
        await page.open(pathToFileURL(file).href);
        const cells = await page.run(() => [...document.querySelectorAll("[data-cell]")].map((cell) => {
            const [fill, ink] = ["rect", "text"].map((part) => getComputedStyle(cell.querySelector(part)).fill);
            const luminance = (color) => {
                const [r, g, b] = color.match(/\d+/g).map((part) => {
                    const value = part / 255;
                    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
                });
                return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
            };
            const [a, b] = [luminance(fill), luminance(ink)];
            return { class: cell.getAttribute("class"), fill, contrast: Math.max(a, b) / Math.min(a, b) };
        }));
        check(cells.length === 16 && cells.every(({ contrast }) => contrast >= 4.5), `${theme}: digits are readable`, cells);
        const largest = await page.run(() => getComputedStyle(document.querySelector(".bar rect:last-child")).fill);
        check(cells[0].class === "s40" && cells[0].fill === largest, `${theme}: a weight of 1 has the colour at the end of the scale`, [cells[0], largest]);
        await page.close();
    }
}
