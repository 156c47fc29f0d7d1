// The panel that derives a cell.

/** Returns a button that goes to a cell. */
function cellButton(app, { section, flat }) {
    return button(section.address(flat), () => app.choose(section, flat), { class: `cell ${section.role ?? ""}` });
}

/** Returns the cell's value on its colour in the table. */
function chip(app, { section, flat }) {
    const shade = section.shade(flat, app.walk.levels, app.walk.rowScale);
    return element(`span.chip.${shade || "plain"}`, section.number(section.values[flat]));
}

/** Returns a text in which addresses of cells are buttons. */
function withButtons(app, text) {
    const parts = text.split(/([a-z_]+\[[^[\]]*\])/);
    return parts.map((part) => {
        const cell = app.walk.cell(part);
        return cell ? cellButton(app, cell) : part;
    });
}

/** Names the tokens of a cell: `query “short”, key “eat”`, or feature and token: `adjective of 'dog'`. */
function tokensText(section, flat) {
    const indices = section.indices(flat);
    const words = {};
    section.axes.forEach((axis, place) => {
        const token = section.token(place, indices[place], indices);
        if (token !== undefined) words[section.view.sides[place]] = `“${shortened(token, 40)}”`;
    });
    if (words.query && words.key) return `query ${words.query}, key ${words.key}`;
    const last = indices.length - 1;
    const feature = section.feature(last, indices[last], indices);
    return words.query || words.key ? `${feature ? `${feature} of` : "token"} ${words.query ?? words.key}` : "";
}

/** Returns the row of weights of a cell, with its sum; other rows have no meaningful sum. */
function rowText(section, flat) {
    if (section.axes.at(-1) !== "key" || !section.name.startsWith("weights")) return "";
    const length = section.shape.at(-1);
    const row = section.values.slice(flat - (flat % length), flat - (flat % length) + length);
    const sum = row.reduce((a, b) => a + b, 0);
    const shown = [...row.slice(0, 8)].map(fourDecimals).join(" ") + (length > 8 ? " …" : "");
    return `row over keys: ${shown}  sum ${fourDecimals(sum)}`;
}

/** Names the steps that read this one. */
function readersText(walk, section) {
    const readers = walk.sections.filter((other) => other.view.reads.includes(section.name));
    return readers.length > 0 ? "used by " + readers.map((other) => other.name).join(", ") : "";
}

/** Returns the value of this cell in the other walk. */
function otherText(app, section, flat) {
    const twin = app.twin(section);
    if (!twin) return "";
    const alike = Object.is(section.values[flat], twin.values[flat]);
    return alike ? `the same in “${app.other.name}”` : `in “${app.other.name}”: ${twin.exact(flat)}`;
}

/** Returns the remarks below the derivation: tokens, row, the other walk, readers. */
function remarks(app, section, flat) {
    const hidden = section.hides(flat) ? "hidden by the mask" : "";
    const own = [tokensText(section, flat), hidden, rowText(section, flat)];
    const texts = [...own, otherText(app, section, flat), readersText(app.walk, section)];
    return texts.filter(Boolean).map((text) => element("p.remark", text));
}

/** Returns the command that derives a cell on another page or in a terminal. */
function elsewhere(app, section, flat) {
    const page = section.view.derived_by;
    const command = page || commandOf(app.walk, section, flat);
    if (!command) return "";
    const why = page ? "a page that derives it" : "too large for this page; in a terminal";
    return element("p.made", `${why}: `, element("code", command));
}

/** Fills the panel with the derivation of a cell; returns it as a sentence. */
function showWhy(app, panel, section, flat) {
    const derivation = derive(app.walk, section, flat);
    const title = `${section.address(flat)} = ${section.exact(flat)}`;
    const lines = [element("h2", { "data-value": section.exact(flat) }, title)];
    if (derivation.words) lines.push(element("p.rule", derivation.words));
    for (const kind of ["rule", "arithmetic"]) {
        const text = derivation[kind];
        if (text) lines.push(element(`p.${kind}`, withButtons(app, "= " + text)));
    }
    if (derivation.isSum) {
        lines.push(termsTable(app, derivation));
    } else if (derivation.sources.length > 0) {
        const pair = (cell) => element("span.pair", cellButton(app, cell), chip(app, cell));
        lines.push(element("p.sources", "made of ", derivation.sources.map(pair)));
    }
    lines.push(softmaxDrawn(app, section, flat), ...remarks(app, section, flat));
    lines.push(elsewhere(app, section, flat));
    if (section.margin) lines.push(element("p.margin", section.margin));
    panel.replaceChildren(...lines.filter((line) => line !== ""));
    return [title, derivation.rule].filter(Boolean).join(" = ");
}
