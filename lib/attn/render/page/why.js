// The panel that says where a cell comes from.

/** A cell as a button that leads to it. */
function cellButton(app, { section, flat }) {
    return element(
        "button",
        { type: "button", class: "cell", onclick: () => app.choose(section, flat) },
        section.address(flat),
    );
}

/** The cell's value on its colour, as it stands in its table. */
function chip(app, { section, flat }) {
    const shade = section.shade(flat, app.walk.levels, app.walk.rowScale);
    return element("span", { class: `chip ${shade}` }, section.number(section.values[flat]));
}

/** A text in which addresses of cells become buttons. */
function withButtons(app, text) {
    const parts = text.split(/([a-z_]+\[[\d,]*\])/);
    return parts.map((part) => {
        const cell = app.walk.cell(part);
        return cell ? cellButton(app, cell) : part;
    });
}

/** One summand: its value, and what it is the product of. */
function termRow(app, term, decimals, largest) {
    const written = (show) => {
        const [first, second] = term.factors.map((cell) => show(app, cell));
        if (!second) return [first];
        return term.isExponential ? ["exp(", first, " − ", second, ")"] : [first, " × ", second];
    };
    const names = written(cellButton);
    const numbers = term.factors.length < 2 ? [] : written(chip);
    const share = largest > 0 && Number.isFinite(term.value) ? Math.abs(term.value) / largest : 0;
    return element(
        "tr",
        { "data-value": exact(term.value) },
        element("td", { class: "sum" }, decimals.text(term.value)),
        element(
            "td",
            {},
            element("meter", { min: 0, max: 1, value: share.toFixed(3), "aria-hidden": "true" }),
        ),
        element("td", {}, ...names, element("small", {}, ...numbers)),
    );
}

function closingRow(text, words, value) {
    return element(
        "tr",
        { "data-value": exact(value), "data-row": words },
        element("td", { class: "sum" }, text),
        element("td"),
        element("td", {}, words),
    );
}

/** The terms, the largest first, so that what is printed adds up to what is printed. */
function termsTable(app, derivation) {
    const decimals = new Decimals(derivation);
    const terms = [...derivation.terms].sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
    const largest = Math.abs(terms[0]?.value ?? 0);
    const table = element("table", { class: "terms" });
    const body = element(
        "tbody",
        {},
        ...terms.map((term) => termRow(app, term, decimals, largest)),
    );
    table.append(element("caption", {}, `${terms.length} terms, the largest first`), body);
    const all = [derivation.value, ...terms.map((term) => term.value)];
    const foot = element("tfoot");
    if (all.every(Number.isFinite)) {
        const left =
            decimals.units(derivation.value) -
            terms.reduce((sum, term) => sum + decimals.units(term.value), 0);
        if (left !== 0)
            foot.append(closingRow(decimals.ofUnits(left), "rounding", derivation.rounding));
    }
    foot.append(closingRow(decimals.text(derivation.value), "together", derivation.value));
    table.append(foot);
    return table;
}

/** Its tokens: `'short' looks at 'eat'`. */
function tokensText(section, flat) {
    const indices = section.indices(flat);
    const words = {};
    section.axes.forEach((axis, place) => {
        const token = section.token(place, indices[place], indices);
        if (token !== undefined) words[section.view.sides[place]] = `“${shortened(token, 40)}”`;
    });
    if (words.query && words.key) return `${words.query} looks at ${words.key}`;
    return words.query || words.key ? `token ${words.query ?? words.key}` : "";
}

/** The row of weights that the cell stands in, with its sum: other rows are no shares. */
function rowText(section, flat) {
    if (section.axes.at(-1) !== "key" || !section.name.startsWith("weights")) return "";
    const length = section.shape.at(-1);
    const row = section.values.slice(flat - (flat % length), flat - (flat % length) + length);
    const sum = row.reduce((a, b) => a + b, 0);
    const shown = [...row.slice(0, 8)].map(fourDecimals).join(" ") + (length > 8 ? " …" : "");
    return `row over keys: ${shown}  sum ${fourDecimals(sum)}`;
}

/** The steps that read this one. */
function readersText(walk, section) {
    const readers = walk.sections.filter((other) => other.view.reads.includes(section.name));
    return readers.length > 0 ? "used by " + readers.map((other) => other.name).join(", ") : "";
}

/** What the other walk has in this cell. */
function otherText(app, section, flat) {
    const twin = app.twin(section);
    if (!twin) return "";
    const name = app.other.name;
    return Object.is(section.values[flat], twin.values[flat])
        ? `the same in “${name}”`
        : `in “${name}”: ${twin.exact(flat)}`;
}

/** Fills the panel with the derivation of a cell. */
function showWhy(app, panel, section, flat) {
    const derivation = derive(app.walk, section, flat);
    const lines = [
        derivation.rule
            ? element("p", { class: "rule" }, ...withButtons(app, "= " + derivation.rule))
            : "",
        derivation.arithmetic
            ? element(
                  "p",
                  { class: "arithmetic" },
                  ...withButtons(app, "= " + derivation.arithmetic),
              )
            : "",
    ];
    if (derivation.isSum) {
        lines.push(termsTable(app, derivation));
    } else if (derivation.sources.length > 0) {
        lines.push(
            element(
                "p",
                { class: "sources" },
                "made of ",
                ...derivation.sources.map((cell) =>
                    element("span", { class: "pair" }, cellButton(app, cell), chip(app, cell)),
                ),
            ),
        );
    }
    for (const text of [
        tokensText(section, flat),
        rowText(section, flat),
        otherText(app, section, flat),
        readersText(app.walk, section),
    ]) {
        if (text) lines.push(element("p", { class: "remark" }, text));
    }
    const command = section.view.derived_by;
    if (command) {
        const words = "a page on which it says where it comes from: ";
        lines.push(element("p", { class: "made" }, words, element("code", {}, command)));
    }
    if (section.margin) lines.push(element("p", { class: "margin" }, section.margin));
    panel.replaceChildren(
        element(
            "h2",
            { "data-value": section.exact(flat) },
            `${section.address(flat)} = ${section.exact(flat)}`,
        ),
        ...lines.filter((line) => line !== ""),
    );
}
