// Small multiples: tensors that open as squares, and rows of weights as tiles over a picture.
import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { check, checkQuiet, folder, jsonOf, pageOf, picture } from "./pages.mjs";

const flags = ["--text", "a red fox runs", "--text", "one dog", "--mask", "causal,padding", "--embed-dim", "16"];

/** Opens all groups of a page, and waits until the squares of a step are drawn. */
async function openSquares(page, step) {
    await page.run(async (step) => {
        for (const group of document.querySelectorAll("details.group")) group.open = true;
        const isDrawn = () => document.querySelectorAll(`#step-${step} .squares .picture i`).length > 0;
        for (let tries = 0; tries < 100 && !isDrawn(); ++tries) {
            document.querySelector(`#step-${step} .squares`)?.scrollIntoView({ block: "center", behavior: "instant" });
            await new Promise((next) => setTimeout(next, 30));
        }
    }, step);
}

const title = (page) => page.run(() => document.querySelector("#why h2")?.textContent ?? "");

/** A tensor of four axes opens as squares; digits appear when one is pressed. */
export async function testSquares() {
    const opened = await pageOf([...flags, "--heads", "4"]);
    const { page } = opened;
    await page.look({ width: 1440, height: 1000 });
    await openSquares(page, "weights");
    const seen = () => page.run(() => document.querySelector("#step-weights .panel:not([hidden]) td").checkVisibility());
    check(!(await seen()), "digits are hidden at first");
    const captions = await page.run(() => [...document.querySelectorAll("#step-weights [data-square] > span:first-child")].map((one) => one.textContent));
    const wanted = [0, 1].flatMap((batch) => [0, 1, 2, 3].map((head) => `batch ${batch}, head ${head}`));
    check(String(captions) === String(wanted), "there is a square for each sample and head", captions);
    const names = await page.run(() => [...document.querySelectorAll("#step-weights [data-square]:last-child .names li")].map((one) => one.textContent));
    check(String(names) === "one,dog,<pad>,<pad>", "squares have the words of their sequence", names);

    // Every cell of the pictures: weights, and scores with their sign.
    for (const step of ["weights", "query"]) {
        await openSquares(page, step);
        const drawn = await page.run(async (step) => {
            const squares = [...document.querySelectorAll(`#step-${step} [data-square] .picture`)];
            return Promise.all(squares.map(async (square) => {
                const cells = [];
                for (const layer of square.children) {
                    const image = new Image();
                    image.src = getComputedStyle(layer).maskImage.slice(5, -2);
                    await image.decode();
                    const brush = document.createElement("canvas").getContext("2d");
                    brush.drawImage(image, 0, 0);
                    const sign = layer.className === "d0" ? -1 : 1;
                    const { data } = brush.getImageData(0, 0, image.width, image.height);
                    for (let i = 0; i < data.length / 4; ++i) cells[i] = (cells[i] ?? 0) + (sign * data[4 * i + 3]) / 255;
                }
                return cells;
            }));
        }, step);
        const { data } = jsonOf([...flags, "--heads", "4"]).steps.find(({ name }) => name === step);
        const whole = Math.max(...data.flat(3).map(Math.abs));
        const wrong = data.flat().filter((head, h) => head.some((row, r) => {
            const most = step === "weights" ? Math.max(...row) : whole;
            return row.some((value, c) => {
                const isHidden = step === "weights" && value === 0;
                return !isHidden && Math.abs(drawn[h][r * row.length + c] - value / most) > 0.04;
            });
        }));
        check(wrong.length === 0, `squares show the numbers of ${step}`, wrong);
    }

    await openSquares(page, "weights");
    const place = "#step-weights [data-square]:nth-of-type(3) .picture";
    await page.mouse(place);
    const [, row, column] = /^weights\[0,2,(\d),(\d)\] = /.exec(await title(page)) ?? [];
    check(row !== undefined, "the cell under the mouse is derived", await title(page));
    check(!(await seen()), "the mouse alone shows no digits");
    await page.mouse(place, true);
    check((await title(page)).startsWith(`weights[0,2,${row},${column}] = `), "a pressed cell is selected", await title(page));
    check(await seen(), "a pressed square shows its digits");
    const isFound = await page.run(() => {
        const cell = document.querySelector("td[aria-current]");
        const { x, y, width, height } = cell.getBoundingClientRect();
        return document.elementFromPoint(x + width / 2, y + height / 2) === cell;
    });
    check(isFound, "the selected cell is in sight");
    await picture(page, "squares");

    await page.run(() => document.querySelector('#step-weights [data-square][tabindex="0"]').focus());
    await page.key("ArrowRight");
    await page.key("Enter");
    check((await title(page)).startsWith("weights[0,3,0,0] = "), "arrow keys and Enter open the next square", await title(page));
    const dark = await page.run(() => document.querySelector("#step-scores .panel:not([hidden]) td").checkVisibility());
    check(!dark, "other tensors stay squares");
    await page.look({ print: true });
    check(await page.run(() => document.querySelector("#step-scores .panel td").checkVisibility()), "on paper there are digits");
    checkQuiet(opened);
    await page.close();
}

/** A row of weights is tiles over a picture; a pressed tile is derived. */
export async function testTiles() {
    const file = join(folder, "dot.png");
    writeFileSync(file, Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/VscvDQAAAABJRU5ErkJggg==", "base64"));
    for (const keys of [12, 13]) {
        const walk = ["--seq-len", String(keys), "--heads", "2"];
        const opened = await pageOf([...walk, "--grid", "3x4", "--image", file]);
        const { page } = opened;
        await page.look({ width: 1440, height: 1000 });
        await page.run(async () => {
            for (const group of document.querySelectorAll("details.group")) group.open = true;
            await new Promise((next) => setTimeout(next, 300));
            document.querySelector(".tiles").scrollIntoView({ block: "center", behavior: "instant" });
        });
        const [said, opacities] = await page.run(async () => {
            const image = new Image();
            image.src = getComputedStyle(document.querySelector(".tiles i")).maskImage.slice(5, -2);
            await image.decode();
            const brush = document.createElement("canvas").getContext("2d");
            brush.drawImage(image, 0, 0);
            const { data } = brush.getImageData(0, 0, image.width, image.height);
            return [document.querySelector(".tiles").textContent, [...data].filter((_, i) => i % 4 === 3)];
        });
        const query = Number(/^weights\[0,(\d+),:\]/.exec(said)?.[1]);
        const { data } = jsonOf(walk).steps.find(({ name }) => name === "weights");
        const tiles = data[0][query].slice(-12);
        const most = Math.max(...data[0][query]);
        const isRight = opacities.length === 12 && tiles.every((weight, i) => Math.abs(opacities[i] / 255 - 0.8 * (1 - weight / most)) < 0.005);
        check(isRight, `tiles are as dark as weights of ${keys} keys are small`, opacities);
        await page.mouse(".tiles .picture", true);
        const [, key] = new RegExp(`^weights\\[0,${query},(\\d+)\\] = `).exec(await title(page)) ?? [];
        check([5, 6, 9, 10].includes(Number(key) - keys + 12), "a pressed tile is derived", await title(page));
        await picture(page, `tiles-${keys}`);
        checkQuiet(opened);
        await page.close();
    }
}
