// Tests the first screen: a word is selected, its numbers are those of the walk, and all views show
// the same state.
import { check, checkQuiet, jsonOf, pageOf, picture } from "./pages.mjs";

const flags = ["--text", "we saw the red boat near the red pier", "--heads", "2"].concat(
    "--mask causal --output-projection --seed 3".split(" "),
);

/** Returns the visible text of the first screen. */
function readStrip() {
    const text = (element) => element.textContent.trim();
    const strip = document.getElementById("follow");
    return {
        words: [...strip.querySelectorAll(".sentence .word")].map(text),
        query: strip.querySelector('.word[aria-pressed="true"]')?.textContent,
        shares: [...strip.querySelectorAll(".look")].map(text),
        hatched: [...strip.querySelectorAll(".look")].map((one) => one.classList.contains("hid")),
        answer: strip.querySelector(".answer").textContent,
        numbers: [...strip.querySelectorAll(".box .number[title]")].map((one) => [one.title, text(one)]),
        boxes: [...strip.querySelectorAll(".box")].map((box) => box.getBoundingClientRect().bottom),
    };
}

function at(walk, address) {
    const [, name, indices] = /^(.+)\[(.*)\]$/.exec(address);
    const { data } = walk.steps.find((step) => step.name === name);
    return indices.split(",").reduce((part, index) => part[Number(index)], data);
}

function checkStrip(walk, read, head, query) {
    const weights = walk.steps.find((step) => step.name === "weights").data[head][query];
    const words = walk.tokens.query[0];
    check(read.query === words[query], "the selected word is marked", read.query);
    const shares = weights.map((weight, key) => (key > query ? "hidden" : `${Math.round(100 * weight)} %`));
    check(String(read.shares) === String(shares), "the shares are the weights of its row", read.shares);
    check(read.hatched.every((hid, key) => hid === key > query), "hidden words are hatched", read.hatched);
    const most = words[weights.indexOf(Math.max(...weights))];
    check(read.answer.includes(`“${words[query]}” looks most at “${most}”`), "a sentence names the word it looks at most", read.answer);
    for (const [address, text] of read.numbers) {
        const value = at(walk, address);
        const right = typeof value === "string" ? text === value : Math.abs(Number(text) - value) <= 0.50001e-4;
        check(right, `the box shows ${address}`, `${text} instead of ${value}`);
    }
    const names = new Set(read.numbers.map(([address]) => address.split("[")[0]));
    const wanted = ["scores", "masked_scores", "exponentials", "weights", "row_sum", "context"];
    check(wanted.every((name) => names.has(name)), "the four boxes link to all steps", [...names]);
}

export async function testFollow() {
    const walk = jsonOf(flags);
    const opened = await pageOf(flags);
    const { page } = opened;
    await page.look({ width: 1440, height: 900 });
    const first = await page.run(readStrip);
    check(first.boxes.length === 4 && first.boxes.every((end) => end < 900), "the four boxes fit on one screen", first.boxes);
    checkStrip(walk, first, 0, 4);
    const word = (i) => `#follow .sentence li:nth-child(${i + 1}) .word`;
    await page.mouse(word(7), true);
    checkStrip(walk, await page.run(readStrip), 0, 7);
    const title = () => page.run(() => document.querySelector("#why h2").textContent);
    check((await title()).startsWith("weights[0,7,"), "the panel follows the selected word", await title());
    await page.mouse("#tabs [data-axis=head] [role=tab]:nth-of-type(2)", true);
    checkStrip(walk, await page.run(readStrip), 1, 7);
    check((await title()).startsWith("weights[1,7,"), "the panel follows the selected head", await title());
    const note = await page.run(() => document.querySelector("#step-scores .note").textContent);
    check(note.includes("head 1") && !note.includes("head 0"), "notes describe the selected head", note);
    await page.mouse("#follow .sentence li:nth-child(3) .look", true);
    check((await title()).startsWith("weights[1,7,2] = "), "a share links to its weight", await title());
    const hash = () => page.run(() => location.hash);
    check((await hash()) === "#weights[1,7,2]", "the address names the cell", await hash());
    await page.mouse(".box:nth-of-type(1) tr:nth-child(2) .number", true);
    check((await title()).startsWith("scores[1,7,1] = "), "a number links to its derivation", await title());
    checkStrip(walk, await page.run(readStrip), 1, 7);
    const inStrip = await page.run(() => document.activeElement.closest("#follow") !== null);
    check(inStrip, "the focus stays in the first screen");
    await page.run(() => history.back());
    await page.run(() => new Promise((done) => setTimeout(done, 200)));
    check((await title()).startsWith("weights[1,7,2] = "), "the browser's Back returns to the last cell", await title());
    await page.run(() => (location.hash = "#scores[0,boat,saw]"));
    await page.run(() => new Promise((done) => setTimeout(done, 200)));
    check((await title()).startsWith("scores[0,4,1] = "), "words name a cell in the address", await title());
    for (const odd of ["#%", "#weights[9,9,9]", "#weights[0,"])
        await page.run((text) => (location.hash = text), odd);
    checkQuiet(opened);
    await picture(page, "follow");
    await page.close();
}

/** A long sentence has ten rows and the sum of the rest; other forms of attention have a first screen, too. */
export async function testFollowOthers() {
    const long = await pageOf("--seq-len 40 --heads 2 --embed-dim 8 --mask causal".split(" "));
    const rows = await long.page.run(() => document.querySelectorAll(".box:nth-of-type(3) tbody tr").length);
    const more = await long.page.run(() => document.querySelector("#follow .more").textContent);
    check(rows === 10 && /30 others, together 0\.\d{4}/.test(more), "ten keys of forty are shown", more);
    await long.page.mouse("#follow .more", true);
    const all = await long.page.run(() => document.querySelectorAll(".box:nth-of-type(3) tbody tr").length);
    check(all === 40, "all keys are shown on request", String(all));
    checkQuiet(long);
    await long.page.close();
    const forms = [
        ["--text", "le chat dort", "--memory-text", "the cat sleeps now"],
        "--preset llama3 --ids 3,1,4,1".split(" "),
        "--preset t5 --ids 3,1,4".split(" "),
        "--ids 3,1,4 --heads 2 --past 3".split(" "),
        "--ids 3,1,4 --heads 2 --embed-dim 8 --differential 1".split(" "),
        "--ids 1,2,0 --pad-id 0 --mask padding --softmax-axis query".split(" "),
    ];
    for (const form of forms) {
        const opened = await pageOf(form);
        const read = await opened.page.run(readStrip);
        const walk = jsonOf(form);
        const wrong = read.numbers.filter(([address, text]) => {
            const value = at(walk, address);
            return typeof value === "string" ? text !== value : Math.abs(Number(text) - value) > 0.50001e-4;
        });
        check(read.boxes.length === 4 && wrong.length === 0, `${form.join(" ")}: the first screen has the walk's numbers`, wrong);
        checkQuiet(opened);
        await opened.page.close();
    }
}

/** Bars have a sign, and partial sums are right. */
export async function testSums() {
    const opened = await pageOf(flags);
    const { page } = opened;
    await page.look({ width: 1440, height: 900, calm: true });
    await page.mouse(".box:nth-of-type(1) tr:nth-child(3) .number", true);
    const bars = await page.run(() =>
        [...document.querySelectorAll(".terms tbody tr")].map((row) => {
            const bar = row.querySelector(".signed");
            const drawn = getComputedStyle(bar, "::after");
            const middle = bar.getBoundingClientRect().width / 2;
            const toLeft = parseFloat(drawn.left) < middle - 0.01;
            return { value: Number(row.dataset.value), toLeft, wide: parseFloat(drawn.width) };
        }),
    );
    const signed = bars.every(({ value, toLeft, wide }) => wide < 0.3 || toLeft === value < 0);
    check(bars.length === 4 && signed, "bars of negative numbers go to the left", bars);
    const sums = await page.run(() =>
        [...document.querySelectorAll(".terms .so-far")].map((cell) => Number(cell.textContent)),
    );
    let sum = 0;
    const adds = bars.every(({ value }, i) => Math.abs((sum += value) - sums[i]) < 2e-6);
    check(adds, "the partial sums are right", sums);
    checkQuiet(opened);
    await picture(page, "sums");
    await page.close();
}

export async function testTurn() {
    const opened = await pageOf(flags);
    const { page } = opened;
    const walk = jsonOf(flags);
    await page.look({ width: 1440, height: 900 });
    await page.mouse('[data-cell="scores[0,5,2]"]', true);
    await page.mouse("#turn", true);
    const shown = () => page.run(() => document.getElementById("why").innerText);
    const value = at(walk, "scores[0,5,2]");
    check(!(await shown()).includes(`= ${value}`), "the panel hides the number", await shown());
    const hidden = await page.run(
        () => getComputedStyle(document.querySelector('[data-cell="scores[0,5,2]"]')).color,
    );
    check(/, 0\)$/.test(hidden), "the cell hides the number", hidden);
    const told = () => page.run(() => document.querySelector(".told, .right")?.textContent ?? "");
    const type = async (text) => {
        await page.run(() => (document.getElementById("answer").value = ""));
        await page.run(() => document.getElementById("answer").focus());
        for (const letter of text) await page.key(letter);
        await page.key("Enter");
    };
    await page.mouse('[data-cell="query[0,5,1]"]', true);
    check((await told()).startsWith("query[0,5,1] is used: 1 of 8"), "a row that the cell reads is confirmed", await told());
    await page.mouse('[data-cell="query[0,4,1]"]', true);
    check((await told()).includes("is not used here"), "a row that it does not read is rejected", await told());
    await type((value + 0.0002).toFixed(4));
    check((await told()).startsWith("Not yet"), "an answer two units off is wrong", await told());
    await page.mouse(".turn button:nth-of-type(2)", true);
    check((await told()).startsWith("1 of 4 terms"), "a hint is the next term", await told());
    const choices = await page.run(() => [...document.querySelectorAll(".choices button")].map((one) => one.textContent));
    check(choices.includes(value.toFixed(4)) && choices.length > 2, "the choices include mistakes", choices);
    const wrong = choices.findIndex((text) => text !== value.toFixed(4));
    await page.mouse(`.choices button:nth-of-type(${wrong + 1})`, true);
    check((await told()).includes("results if"), "a wrong choice names its mistake", await told());
    await type(value.toFixed(4));
    check((await told()).startsWith("Right"), "the digits shown are right", await told());
    check((await shown()).includes("scores[0,5,2] = "), "the panel shows the number after a right answer");
    checkQuiet(opened);
    await page.close();
}

export async function testTake() {
    const opened = await pageOf(flags);
    const { page } = opened;
    const walk = jsonOf(flags);
    await page.look({ width: 1440, height: 900 });
    await page.run(() => {
        window.taken = [];
        navigator.clipboard.writeText = async (text) => void window.taken.push(text);
        HTMLAnchorElement.prototype.click = function () {
            window.taken.push([this.download, this.href]);
        };
    });
    await page.mouse('[data-cell="weights[0,3,2]"]', true);
    const press = (text) =>
        page.run((wanted) => {
            document.getElementById("take").open = true;
            [...document.querySelectorAll("#take button")].find((one) => one.textContent === wanted).click();
            return new Promise((done) => setTimeout(() => done(window.taken.at(-1)), 300));
        }, text);
    const language = (name) =>
        page.run((wanted) => {
            const select = document.querySelector("#take select");
            select.value = wanted;
            select.dispatchEvent(new Event("change"));
        }, name);
    const weights = walk.steps.find((step) => step.name === "weights").data;
    check(Number(await press("number")) === weights[0][3][2], "a number is copied with all digits");
    const row = await press("row");
    check(row.startsWith("np.array([") && String(JSON.parse(row.slice(9, row.indexOf("]") + 1))) === String(weights[0][3]), "a row", row);
    await language("torch");
    const tensor = await press("tensor");
    check(
        JSON.stringify(JSON.parse(tensor.slice(13, tensor.lastIndexOf("]") + 1))) === JSON.stringify(weights) &&
            tensor.endsWith("dtype=torch.float32)"),
        "a tensor",
        tensor.slice(0, 60),
    );
    await language("csv");
    check((await press("row")) === weights[0][3].join(",") + "\n", "a row is copied as CSV");
    await language("latex");
    check(/^\\begin\{pmatrix\}\n1\.0000 & /.test(await press("tensor")), "a matrix is copied as LaTeX");
    check((await press("link")).endsWith("#weights[0,3,2]"), "a link to the cell is copied");
    const [name, url] = await press("svg");
    const svg = decodeURIComponent(url.split(",").slice(1).join(","));
    check(name === "weights.svg" && (svg.match(/<rect/g) ?? []).length === 82, "a figure", svg.slice(0, 80));
    const [, png] = await press("png");
    check(png.startsWith("data:image/png;base64,"), "a figure is copied as PNG", png.slice(0, 30));
    checkQuiet(opened);
    await page.close();
}
