// The page of a model: all its heads, and the walk through each layer.
import { statSync } from "node:fs";

import { checkContrast, checkDerivations, checkNumbers } from "./in_page.mjs";
import { check, checkQuiet, jsonOf, pageOf, picture, withoutCommand } from "./pages.mjs";

const text = ["--text", "Tom and his dog went to the park. The dog saw a ball."];

/** Returns the visible text of the overview. */
function readOverview() {
    const tiles = [...document.querySelectorAll(".tile")];
    return {
        heads: JSON.parse(document.getElementById("heads").textContent).heads,
        tiles: tiles.map((tile) => ({
            place: tile.dataset.head,
            name: tile.querySelector("b").textContent.trim(),
            figures: [...tile.querySelectorAll("small")].map((line) => line.textContent),
            label: tile.getAttribute("aria-label"),
        })),
    };
}

export async function testModel() {
    const opened = await pageOf(["heads", ...text]);
    const { page } = opened;
    const { heads, tiles } = await page.run(readOverview);
    check(tiles.length === 40 && heads.length === 40, "every head has a picture", tiles.length);
    heads.forEach((head, i) => {
        const tile = tiles[i];
        const words = [
            ["entropy", head.entropy],
            ["itself", head.self],
            ["previous", head.previous],
            ["first", head.first],
        ];
        const right =
            tile.place === `${head.layer}.${head.head}` &&
            tile.name === head.name &&
            tile.label.startsWith(`layer ${head.layer}, head ${head.head}`) &&
            words.every(([word, number], k) => {
                const [said, shown] = tile.figures[k].split(" ");
                return said === word && Math.abs(Number(shown) - number) <= 0.00501;
            });
        check(right, "a picture's label has the figures of its head", tile);
    });
    check(
        await page.run(() => getComputedStyle(document.querySelector(".columns")).display) ===
            "none",
        "no layer is open at first",
    );

    // One pixel per weight, darker for larger ones.
    const drawn = await page.run(async () => {
        await new Promise((resolve) => setTimeout(resolve, 200));
        const canvas = document.querySelector('[data-head="1.3"] canvas');
        const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
        const weights = JSON.parse(
            document.getElementById("layer-1-walk").textContent,
        ).steps.find((step) => step.name === "weights").data[3];
        const light = (q, k) => pixels[4 * (q * canvas.width + k)];
        let inOrder = 0;
        weights.forEach((row, q) => {
            const most = row.indexOf(Math.max(...row));
            if (row.every((_, k) => light(q, most) <= light(q, k))) ++inOrder;
        });
        return { width: canvas.width, tokens: weights.length, inOrder };
    });
    check(
        drawn.width === drawn.tokens && drawn.inOrder === drawn.tokens,
        "each row of a picture is darkest at its largest weight",
        drawn,
    );

    // By keyboard: into the table, two heads to the right, one layer down, and in.
    await page.run(() => document.querySelector('.tile[tabindex="0"]').focus());
    for (const key of ["ArrowRight", "ArrowRight", "ArrowRight", "ArrowDown"]) await page.key(key);
    check(
        (await page.run(() => document.activeElement.dataset.head)) === "1.3",
        "arrow keys move from head to head",
    );
    await page.key("Enter");
    const layer = await page.run(() => ({
        head: document.querySelector('[data-axis="head"] [aria-selected="true"]')?.textContent,
        focus: document.activeElement.className,
        hash: decodeURIComponent(location.hash),
        why: document.querySelector("#why h2")?.textContent,
        command: document.querySelector(".made code").textContent,
        top: document.getElementById("follow").getBoundingClientRect().top,
    }));
    check(
        layer.head === "3" && layer.focus.startsWith("word") && layer.top >= 0 && layer.top < 400,
        "Enter opens the layer at that head, with its curves in sight",
        layer,
    );
    check(
        layer.command.includes("--layer 1") && layer.why?.startsWith("weights[3,") && layer.hash.startsWith("#layer-1:weights[3,"),
        "the layer shows its command and the derivation of the cell",
        layer,
    );
    await picture(page, "model-layer");
    const json = jsonOf(["--model-file", "stories", "--layer", "1", ...text]);
    const inside = await page.run(() =>
        JSON.parse(document.getElementById("layer-1-walk").textContent),
    );
    check(
        JSON.stringify(withoutCommand(inside)) === JSON.stringify(withoutCommand(json)),
        "the layer's walk is that of --format json",
    );
    await page.key("l", "KeyL");
    check(
        (await page.run(() => document.querySelector("#switch [aria-pressed=true]").textContent)) ===
            "layer 2",
        "l goes to the next layer",
    );
    await page.key("o", "KeyO");
    check(
        (await page.run(() => document.activeElement.dataset.head)) === "2.3",
        "o returns to the pictures, at the head that was open",
    );
    await page.mouse('[data-head="0.5"]', true);
    await page.run(() => document.querySelector('[data-cell="weights[5,4,3]"]').click());
    check((await page.run(() => location.hash)) === "#layer-0:weights[5,4,3]", "the address names the layer and the cell");
    const loaded = new Promise((resolve) => {
        page.loaded = resolve;
    });
    await page.send("Page.reload");
    await loaded;
    check(
        (await page.run(() => document.querySelector("#why h2")?.textContent ?? "")).startsWith(
            "weights[5,4,3] = ",
        ),
        "the address opens the layer again",
    );
    checkQuiet(opened);
    console.log(`a model of 5 layers and 8 heads: ${statSync(opened.file).size} bytes`);
    await page.close();
}

export async function testModelLooks() {
    const opened = await pageOf(["heads", ...text]);
    const { page } = opened;
    for (const width of [360, 800, 1600]) {
        for (const dark of [false, true]) {
            await page.look({ width, height: width === 360 ? 740 : 1000, dark });
            await page.run(async () => {
                scrollTo({ top: 0, behavior: "instant" });
                await new Promise((resolve) => setTimeout(resolve, 200));
            });
            const wide = await page.run(() => document.documentElement.scrollWidth - innerWidth);
            check(wide <= 0, `model, ${width}: the page is no wider than the screen`, String(wide));
            const poor = await page.run(checkContrast);
            check(poor.length === 0, `model, ${width} ${dark ? "dark" : "light"}: contrast is at least AA`, poor);
            await picture(page, `model-${width}-${dark ? "dark" : "light"}`);
        }
    }
    await page.look({ print: true, width: 794, height: 1123 });
    await picture(page, "model-print");
    await page.look({});
    checkQuiet(opened);
    await page.close();
}

/** A word highlights its row in every picture; pictures can be sorted by a figure or filtered by kind. */
export async function testModelWords() {
    const opened = await pageOf(["heads", ...text]);
    const { page } = opened;
    await page.look({ width: 1440, height: 900 });
    await page.mouse("#heads-of-model .sentence li:nth-child(6) .word", true);
    const wrong = await page.run(() => {
        const walks = [];
        const words = [...document.querySelectorAll("#heads-of-model .word")].map((word) => word.textContent);
        return [...document.querySelectorAll(".tile")].slice(0, 16).flatMap((tile) => {
            const [layer, head] = tile.dataset.head.split(".").map(Number);
            walks[layer] ??= JSON.parse(document.getElementById(`layer-${layer}-walk`).textContent);
            const row = walks[layer].steps.find((step) => step.name === "weights").data[head][5];
            const most = Math.max(...row);
            const right = `→ ${words[row.indexOf(most)]} ${most.toFixed(2)}`;
            const said = tile.querySelector(".looks").textContent;
            return said === right ? [] : [`${said} instead of ${right}`];
        });
    });
    check(wrong.length === 0, "each picture names the word it looks at most", wrong);
    const { heads } = await page.run(readOverview);
    const choose = (place, value) =>
        page.run(
            (wanted, i) => {
                const select = document.querySelectorAll(".choose select")[i];
                select.value = wanted;
                select.dispatchEvent(new Event("change"));
            },
            value,
            place,
        );
    await choose(0, "previous");
    const sorted = (await page.run(readOverview)).tiles.map((tile) => Number(tile.figures[2].split(" ")[1]));
    const falls = sorted.every((one, i) => i === 0 || one <= sorted[i - 1]);
    check(sorted.length === 40 && falls, "pictures are sorted by a figure", sorted);
    await choose(1, "previous token");
    const kind = (await page.run(readOverview)).tiles;
    const wanted = heads.filter((head) => head.name === "previous token").length;
    check(
        kind.length === wanted && kind.every((tile) => tile.name === "previous token"),
        "pictures are filtered by kind",
        kind.map((tile) => tile.name),
    );
    await page.mouse(".tile");
    const lens = await page.run(() => [...document.querySelectorAll(".lens .down li")].map((one) => one.textContent));
    check(lens.length > 10, "the selected picture is enlarged with its words", lens);
    checkQuiet(opened);
    await picture(page, "model-words");
    await page.close();
}
