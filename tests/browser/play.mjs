// Tests the page that contains the whole program: its command line, files and links.
import { readFileSync } from "node:fs";

import { check, checkQuiet, pageOf, picture, printed } from "./pages.mjs";

/** Returns the output of a command in the page, once it has ended or waits for an answer. */
async function said(page, command) {
    const count = await page.run(() => document.querySelectorAll(".ran").length);
    await page.run((line) => {
        document.querySelector("#line").value = line;
        document.querySelector(".entry").requestSubmit();
    }, command);
    return settled(page, count + 1);
}
async function settled(page, count) {
    const look = () =>
        page.run(() => ({
            count: document.querySelectorAll(".ran").length,
            busy: document.body.classList.contains("busy"),
            text: [...document.querySelectorAll(".ran pre")].at(-1)?.textContent ?? "",
            asks: document.querySelector(".entry label").textContent,
        }));
    for (let tries = 0; tries < 600; ++tries) {
        const now = await look();
        if (now.count >= count && !now.busy && (now.text || tries > 100)) return now;
        await new Promise((done) => setTimeout(done, 50));
    }
    return look();
}

const line = (words) => words.map((word) => (/ |\[/.test(word) ? `'${word}'` : word)).join(" ");

/** The page prints what the program prints. */
export async function testPlaygroundCommands() {
    const opened = await pageOf(["playground"]);
    const { page } = opened;
    for (const words of [
        ["--only", "weights", "--variant", "loop"],
        ["--heads", "2", "--mask", "causal", "--variant", "loop", "--format", "numpy"],
        ["why", "weights[5,3]", "--variant", "loop"],
        ["attentions", "retention"],
        ["--attention", "retention", "--form", "recurrent", "--variant", "loop"],
        ["bugs", "scale-missing"],
        ["tolerance"],
        ["lint", "--heads", "2", "--mask", "causal"],
        ["notebook", "sentence", "--variant", "loop"],
        ["quiz", "--sheet", "3"],
        ["heads", "--model-file", "stories", "--text", "Lily and Tom went to the park"],
        ["generate", "--text", "Once", "--tokens", "4"],
        ["--text", "the cat 日本語 sat", "--variant", "loop"],
    ]) {
        const { text } = await said(page, line(words));
        check(text === printed(words), `playground: ${line(words)} prints the program's output`, text.slice(0, 300));
    }
    checkQuiet(opened);
    await page.close();
}

/** Files pass from command to command, pages are shown, mistakes are named, links contain commands. */
export async function testPlayground() {
    const opened = await pageOf(["playground"]);
    const { page } = opened;
    const wrong = await said(page, "--nonsense");
    check(wrong.text.includes("there is no flag --nonsense") && wrong.text.includes("exit code 2"), "an error is printed with its exit code", wrong.text);
    await said(page, "--bug softmax-axis=query --variant loop -o mine.npz");
    const named = await said(page, "diagnose mine.npz --variant loop");
    check(named.text.includes("softmax-axis=query") && named.text.includes("exit code 1"), "a file is diagnosed", named.text.slice(0, 300));
    await picture(page, "playground");
    // numpy.savez_compressed of x (of one table for all words), scores, weights with a softmax over
    // the queries, and context.
    const theirs = readFileSync(new URL("compressed.npz", import.meta.url)).toString("base64");
    for (const [title, cut] of [["theirs.npz", 0], ["damaged.npz", 300]]) {
        await page.run((title, letters, cut) => {
            const bytes = Uint8Array.from(atob(letters), (letter) => letter.charCodeAt(0)).fill(7, 40, 40 + cut);
            const dataTransfer = new DataTransfer();
            dataTransfer.items.add(new File([bytes], title));
            document.body.dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true }));
        }, title, theirs, cut);
        await new Promise((done) => setTimeout(done, 300));
        const told = await said(page, `diagnose ${title} --variant loop --vocab text`);
        const right = cut === 0 ? "softmax-axis=query" : "damaged";
        check(told.text.includes(right), `${title} is read`, told.text.slice(0, 300));
    }
    await said(page, "--heads 2 -o walk.html");
    const shown = await page.run(() => document.querySelector("iframe")?.title);
    check(shown === "walk.html", "a page that a command wrote is shown", shown);
    const asked = await said(page, "quiz --topic softmax --seed 11 --count 1");
    check(asked.asks === "your answer" && asked.text.includes("What is"), "a quiz asks a question", asked);
    await page.run(() => {
        document.querySelector("#line").value = "5/9";
        document.querySelector(".entry").requestSubmit();
    });
    await new Promise((done) => setTimeout(done, 300));
    const told = await settled(page, 1);
    check(told.text.includes("1 of 1 right"), "the quiz judges the answer", told.text);
    await said(page, "--only weights");
    await page.run(() => [...document.querySelectorAll("a")].find((one) => one.title.startsWith("attn-explain why"))?.click());
    await new Promise((done) => setTimeout(done, 300));
    const why = await settled(page, 1);
    check(why.text.startsWith("weights["), "a command in the output can be clicked", why.text.slice(0, 200));
    const address = await page.run(() => decodeURIComponent(location.hash));
    check(address.startsWith("#why+'weights["), "the address contains the command", address);
    await page.run(() => {
        location.hash = "#bugs+scale-missing";
    });
    await new Promise((done) => setTimeout(done, 300));
    const linked = await settled(page, 1);
    check(linked.text.startsWith("scale-missing"), "a link runs its command", linked.text.slice(0, 200));
    await page.run(() => {
        const field = document.querySelector("#line");
        field.value = "toler";
        field.dispatchEvent(new KeyboardEvent("keydown", { key: "Tab", bubbles: true }));
    });
    await new Promise((done) => setTimeout(done, 1500));
    const completed = await page.run(() => document.querySelector("#line").value);
    check(completed === "tolerance ", "Tab completes", completed);
    checkQuiet(opened);
    await page.close();
}

/** A command has run before anything is typed; quotes and pipes are read as in a shell. */
export async function testPlaygroundLines() {
    const opened = await pageOf(["playground"]);
    const { page } = opened;
    await settled(page, 1);
    const drawn = await page.run(() => document.querySelector("#log img")?.naturalWidth ?? 0);
    check(drawn > 100, "the first screen shows a picture of attention", drawn);
    const prompted = await said(page, "$ attn-explain tolerance");
    check(prompted.text === printed(["tolerance"]), "a line may begin with its prompt", prompted.text.slice(0, 300));
    for (const open of ["why 'weights[5,3]", '--text "the cat']) {
        const { count } = await said(page, "tolerance");
        await page.run((line) => {
            document.querySelector("#line").value = line;
            document.querySelector(".entry").requestSubmit();
        }, open);
        const now = await page.run(() => ({
            count: document.querySelectorAll(".ran").length,
            line: document.querySelector("#line").value,
            told: [...document.querySelectorAll("#log > .message")].at(-1)?.textContent ?? "",
        }));
        const quote = /['"]/.exec(open)[0];
        check(now.count === count && now.line === open && now.told.includes(`The quote ${quote} is open`), `an open ${quote} is told`, now);
    }
    const piped = await said(page, "attn-explain man why | man -l -");
    check(piped.text === printed(["man", "why"]), "what is before a pipe is shown", piped.text.slice(0, 300));
    const told = await page.run(() => [...document.querySelectorAll(".ran .message")].at(-1)?.textContent);
    check(told?.startsWith("There is no man on this page"), "and the program behind it named", told);
    const walk = ["--text", "a b", "--only", "weights", "-q", "--format", "numpy", "--variant", "loop"];
    const looked = await said(page, `${line(walk)} | attn-explain look -`);
    check(looked.text === printed(["look", "-"], printed(walk)), "a command reads what the one before printed", looked.text.slice(0, 300));
    const quoted = await said(page, "help 'a | b'");
    check(quoted.text.includes("a | b"), "a quoted pipe is a word", quoted.text);
    checkQuiet(opened);
    await page.close();
}
