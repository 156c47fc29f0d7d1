// Functions that run inside the page. They read visible text, and do not call the page's own script.

/** Compares every cell's text with the walk's JSON; returns the differences and the number of cells. */
export function checkNumbers() {
    const walk = JSON.parse(document.getElementById("walk").textContent);
    const wrong = [];
    let read = 0;
    const check = (name, value, path) => {
        if (Array.isArray(value)) {
            value.forEach((part, i) => check(name, part, [...path, i]));
            return;
        }
        const address = `${name}[${path.join(",")}]`;
        const cell = document.querySelector(`[data-cell="${CSS.escape(address)}"]`);
        const text = cell?.textContent;
        ++read;
        if (text === undefined) {
            wrong.push(`${address} has no cell`);
        } else if (typeof value === "boolean") {
            if (text !== (value ? "True" : "False")) wrong.push(`${address}: ${text}`);
        } else if (typeof value === "string") {
            if (text !== value) wrong.push(`${address}: ${text} instead of ${value}`);
        } else {
            const [digits, exponent] = text.split("e");
            const decimals = (digits.split(".")[1] ?? "").length - Number(exponent ?? 0);
            const shown = Number(text);
            const right = Math.abs(shown - value) <= 0.5000001 * 10 ** -decimals;
            if (!right || text === "") wrong.push(`${address}: ${text} instead of ${value}`);
        }
    };
    for (const step of walk.steps) if (step.data !== undefined) check(step.name, step.data, []);
    return { read, wrong: wrong.slice(0, 5) };
}

/** Returns what overlaps on paper: tables wider than their step, and steps beside the listing. */
export function checkPaper() {
    const box = (one) => one.getBoundingClientRect();
    const tables = [...document.querySelectorAll(".step[open] table.tensor")].filter((table) => table.offsetParent);
    const wide = tables.filter((table) => box(table).right > box(table.closest(".step")).right + 1);
    const listing = document.getElementById("listing");
    const beside = listing ? tables.filter((table) => box(table).top < box(listing).bottom) : [];
    const isNarrow = listing && box(listing).width < 0.9 * document.documentElement.clientWidth;
    return [...wide, ...beside].map((table) => table.caption.textContent).concat(isNarrow ? "the listing" : []);
}

/** Moves the mouse over every cell and recomputes its derivation. */
export function checkDerivations() {
    const walk = JSON.parse(document.getElementById("walk").textContent);
    const special = { nan: NaN, inf: Infinity, "-inf": -Infinity };
    const numberAt = (address) => {
        const [, name, indices] = /^(.+)\[(.*)\]$/.exec(address);
        const step = walk.steps.find((one) => one.name === name);
        let part = step.data;
        for (const index of indices === "" ? [] : indices.split(",")) part = part[Number(index)];
        if (typeof part === "string") return special[part];
        return step.dtype === "float32" ? Math.fround(part) : Number(part);
    };
    const near = (a, b, size) => Object.is(a, b) || a === b || Math.abs(a - b) <= size;
    const wrong = [];
    const count = { sums: 0, lines: 0, given: 0 };
    const epsilon = walk.config.compute_dtype === "float64" ? 2 ** -52 : 2 ** -23;
    for (const cell of document.querySelectorAll("td[data-cell]")) {
        const address = cell.dataset.cell;
        cell.dispatchEvent(new MouseEvent("mouseover", { bubbles: true }));
        const why = document.getElementById("why");
        const value = numberAt(address);
        const title = why.querySelector("h2").textContent;
        const shown = title.slice(title.indexOf(" = ") + 3);
        const words = { ...special, True: 1, False: 0 };
        const digits = shown in words ? words[shown] : Number(shown);
        if (/^(True|False)$/.test(cell.textContent) && shown !== cell.textContent)
            wrong.push(`mask: ${title}`);
        if (why.textContent.includes("row over keys") !== address.startsWith("weights["))
            wrong.push(`${address}: only weights have rows with their sum`);
        const isFloat32 =
            walk.steps.find((step) => step.name === address.split("[")[0]).dtype === "float32";
        const said = isFloat32 ? Math.fround(digits) : digits;
        if (!title.startsWith(address + " = ") || !Object.is(said, value))
            wrong.push(`title: ${title}`);
        const rows = [...why.querySelectorAll(".terms tbody tr")];
        const line = why.querySelector(".arithmetic");
        if (rows.length > 0) {
            ++count.sums;
            const read = (row) =>
                row.dataset.value in special
                    ? special[row.dataset.value]
                    : Number(row.dataset.value);
            const terms = rows.map(read);
            const sum = terms.reduce((a, b) => a + b, 0);
            const size = terms.reduce((a, b) => a + Math.abs(b), 0);
            const bound = (terms.length + 2) * epsilon * size;
            if (Number.isNaN(value) ? !Number.isNaN(sum) : !near(sum, value, bound))
                wrong.push(`${address}: ${terms} adds up to ${sum}`);
            // The printed terms add up to the printed sum, and each product equals its factors
            // multiplied.
            const printed = [...why.querySelectorAll(".terms .sum")].map(
                (each) => each.textContent,
            );
            if (Number.isFinite(value) && terms.every(Number.isFinite)) {
                const decimals = Math.max(
                    ...printed.map(
                        (text) =>
                            (text.split("e")[0].split(".")[1] ?? "").length -
                            Number(text.split("e")[1] ?? 0),
                    ),
                );
                const units = printed.map((text) => Math.round(Number(text) * 10 ** decimals));
                const together = units.pop();
                if (units.reduce((a, b) => a + b, 0) !== together)
                    wrong.push(`${address}: printed ${printed}`);
            }
            rows.forEach((row, i) => {
                const factors = [...row.querySelectorAll(".cell")].map((button) =>
                    numberAt(button.textContent),
                );
                const made = row.textContent.includes("exp(")
                    ? Math.exp(factors[0] - factors[1])
                    : factors.reduce((a, b) => a * b, 1);
                if (!near(made, terms[i], 1e-12 * Math.abs(made)))
                    wrong.push(`${address}: term ${row.textContent}`);
            });
        } else if (line) {
            ++count.lines;
            for (const side of line.textContent
                .split(" = ")
                .map((text) => text.replace(/^= /, ""))) {
                const formula = side
                    .replace(/[a-z_]+\[[\d,]*\]/g, (name) => `(${numberAt(name)})`)
                    .replace(/\b(exp|log|sqrt|tanh|cos|sin|min|max)\b/g, "Math.$1")
                    .replace(/\bsigmoid\(/g, "((x) => 1 / (1 + Math.exp(-x)))(")
                    .replace(/ and /g, " && ")
                    .replace(/ or /g, " || ")
                    .replace(/\bnot /g, "!")
                    .replace(/\^/g, "**")
                    .replace(/-inf/g, "(-Infinity)")
                    .replace(/\bnan\b/g, "NaN")
                    .replace(/- -/g, "+ ");
                let result;
                try {
                    result = Function(`return ${formula}`)();
                } catch {
                    wrong.push(`${address}: cannot evaluate ${formula}`);
                    continue;
                }
                if (!near(result, value, 2e-3 * Math.max(1, Math.abs(value))))
                    wrong.push(`${address}: ${side} gives ${result}`);
            }
        } else {
            ++count.given;
        }
    }
    return { ...count, wrong: wrong.slice(0, 5) };
}

/** Returns the texts whose contrast with their background is below WCAG's AA. */
export function checkContrast() {
    const parse = (text) => (text.match(/[\d.]+/g) ?? []).map(Number);
    const luminance = ([r, g, b]) => {
        const [x, y, z] = [r, g, b]
            .map((v) => v / 255)
            .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
        return 0.2126 * x + 0.7152 * y + 0.0722 * z;
    };
    const behind = (element) => {
        for (let at = element; at; at = at.parentElement) {
            const color = parse(getComputedStyle(at).backgroundColor);
            if (color.length === 3 || color[3] === 1) return color;
        }
        return [255, 255, 255];
    };
    const poor = [];
    for (const element of document.querySelectorAll("body *")) {
        const own = [...element.childNodes].some(
            (node) => node.nodeType === 3 && node.data.trim() !== "",
        );
        if (
            !own ||
            element.getClientRects().length === 0 ||
            ["SCRIPT", "STYLE"].includes(element.tagName)
        )
            continue;
        const [a, b] = [
            luminance(parse(getComputedStyle(element).color)),
            luminance(behind(element)),
        ];
        const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        if (contrast < 4.5)
            poor.push(
                `${element.tagName}.${element.className} "${element.textContent.slice(0, 20)}" ${contrast.toFixed(2)}`,
            );
    }
    return poor.slice(0, 5);
}
