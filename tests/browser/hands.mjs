// The page driven by mouse and keys.
import { checkNumbers } from "./in_page.mjs";
import { check, checkQuiet, pageOf, picture, walks } from "./pages.mjs";

export async function testHands() {
    const opened = await pageOf(walks[1]);
    const { page } = opened;
    const title = () => page.run(() => document.querySelector("#why h2")?.textContent ?? "");
    const lit = () =>
        page.run(() => [...document.querySelectorAll("td.lit")].map((cell) => cell.dataset.cell));
    await page.mouse('[data-cell="scores[0,2,1]"]');
    check(
        (await title()).startsWith("scores[0,2,1] = "),
        "resting on a cell shows why",
        await title(),
    );
    check(
        String(await lit()).includes("query[0,2,0]") && String(await lit()).includes("key[0,1,0]"),
        "its sources light up",
        await lit(),
    );
    await page.mouse('[data-cell="weights[0,3,1]"]', true);
    check((await title()).startsWith("weights[0,3,1] = "), "a click selects a cell", await title());
    const far = await page.run(() =>
        [...document.querySelectorAll("td.far")].map((cell) => cell.dataset.cell.split("[")[0]),
    );
    check(far.includes("embedding") && far.includes("w_query"), "the inputs light up too", [
        ...new Set(far),
    ]);
    await page.key("ArrowLeft");
    check((await title()).startsWith("weights[0,3,0] = "), "an arrow key moves to the next cell", await title());
    await page.key("ArrowDown");
    check((await title()).startsWith("weights[0,4,0] = "), "an arrow key moves down", await title());
    await page.key("Enter");
    check(
        await page.run(() => document.activeElement.closest("#why") !== null),
        "Enter goes into the derivation",
    );
    await page.key("Enter");
    check(!(await title()).startsWith("weights"), "Enter goes to a source from there", await title());
    await page.key("Backspace", "Backspace");
    check((await title()).startsWith("weights[0,4,0] = "), "Backspace returns to the cell", await title());
    check(
        (await page.run(() => document.activeElement.dataset.cell)) === "weights[0,4,0]",
        "Backspace returns the focus",
    );

    await page.mouse("#tabs [data-axis=head] [role=tab]:nth-of-type(2)", true);
    check(
        await page.run(
            () =>
                document.querySelector('[data-cell="weights[1,0,0]"]').offsetParent !== null &&
                document.querySelector('[data-cell="weights[0,0,0]"]').offsetParent === null,
        ),
        "a tab shows its head",
    );
    await page.key("ArrowLeft");
    check(
        await page.run(
            () => document.querySelector('[data-cell="weights[0,0,0]"]').offsetParent !== null,
        ),
        "arrow keys change tabs",
    );

    await page.run(() => document.activeElement.blur());
    await page.key("/", "Slash");
    for (const letter of "mat") await page.key(letter);
    await page.key("Enter");
    check(
        (await page.run(() => document.querySelectorAll("th.found").length)) > 2,
        "/ finds a token",
    );
    check(
        (await page.run(() => document.getElementById("search").value)) === "mat",
        "the search field has the typed text",
    );
    await page.key("Escape");
    check(
        (await page.run(() => document.querySelectorAll(".found").length)) === 0,
        "Escape ends the search",
    );

    checkQuiet(opened);
    await page.close();
}

export async function testTwoWalks() {
    const opened = await pageOf([...walks[1], "--html-compare", "--mask none"]);
    const { page } = opened;
    const marked = () =>
        page.run(() =>
            [...document.querySelectorAll("td.differs")].map((cell) => cell.dataset.cell),
        );
    check(
        (await marked()).includes("weights[0,0,1]") &&
            !(await marked()).some((cell) => cell.startsWith("query")),
        "cells that differ are marked",
        (await marked()).slice(0, 5),
    );
    const before = await page.run(
        () => document.querySelector('[data-cell="weights[0,0,1]"]').textContent,
    );
    await page.mouse("#switch button:nth-of-type(2)", true);
    const after = await page.run(
        () => document.querySelector('[data-cell="weights[0,0,1]"]').textContent,
    );
    check(
        before === "0.0000" && after !== before,
        "the switch shows the other walk",
        `${before} ${after}`,
    );
    await page.mouse('[data-cell="weights[0,0,1]"]', true);
    check(
        await page.run(() =>
            document.getElementById("why").textContent.includes("in “this walk”: 0"),
        ),
        "the panel names the value in the first walk",
    );
    checkQuiet(opened);
    await picture(page, "compare");
    await page.close();
    for (const number of ["000", "001", "002", "003"]) {
        const notebook = await pageOf(["notebook", number]);
        const names = await notebook.page.run(() =>
            [...document.querySelectorAll("#switch button")].map((one) => one.textContent),
        );
        check(String(names) === "as printed,corrected", `notebook ${number} has a switch`, names);
        check(
            (await notebook.page.run(() => document.querySelectorAll("p.margin").length)) > 0,
            `notebook ${number} has margin notes`,
        );
        check(
            (await notebook.page.run(checkNumbers)).wrong.length === 0,
            `notebook ${number}: every number is right`,
        );
        const commands = await notebook.page.run(() =>
            [...document.querySelectorAll("details[open] td[data-cell]")].map((cell) => {
                cell.dispatchEvent(new MouseEvent("mouseover", { bubbles: true }));
                return document.querySelector("#why .made code")?.textContent ?? "";
            }),
        );
        check(
            commands.some((line) => /^attn-explain .*--only .*--format html$/.test(line)),
            `notebook ${number}: a number names the command that derives it`,
            commands[0],
        );
        await notebook.page.mouse("#switch button:nth-of-type(2)", true);
        check(
            (await notebook.page.run(
                () => document.querySelector("#switch [aria-pressed=true]").textContent,
            )) === "corrected",
            "the switch shows the corrected walk",
        );
        checkQuiet(notebook);
        await picture(notebook.page, `notebook-${number}`);
        await notebook.page.close();
    }
}
