// Draws derivations: sums term by term, softmax as bars, a context as a stack of rows.

/** Longer sums list their largest terms first. */
const termsInOrder = 16;

function clipped(value, low) {
    return Number.isFinite(value) ? Math.max(low, Math.min(1, value)) : 0;
}

/** Draws a bar from a zero line, to the right for positive numbers. */
function signedBar(value, limit) {
    const share = clipped(value / (limit || 1), -1);
    const style = `--share:${share.toFixed(3)}`;
    return element(share < 0 ? "i.signed.minus" : "i.signed", { style, ...mute });
}

/** Draws a bar from the left for a number between 0 and `limit`, with a line at an even share. */
function shareBar(value, limit = 1, even = 0) {
    const style = `--share:${clipped(value / (limit || 1), 0).toFixed(3)};--even:${even.toFixed(3)}`;
    return element(even > 0 ? "i.share.even" : "i.share", { style, ...mute });
}

/** Returns the place of an even share on a bar: all visible keys weighted alike. */
function evenShare(keys, limit) {
    const seen = keys.filter((one) => !one.hidden).length;
    return seen > 1 && limit > 0 ? 1 / seen / limit : 0;
}

/** Draws numbers as colours. */
function swatches(levels, values, limit) {
    const level = (value) => Math.round(((clipped(value / (limit || 1), -1) + 1) / 2) * (levels - 1));
    const cell = (value) => element(Number.isFinite(value) ? `i.d${level(value)}` : "i.nan");
    return element("span.swatches", mute, values.map(cell));
}

/** Returns the largest finite magnitude. */
function largestOf(values) {
    return values.reduce((most, one) => (Number.isFinite(one) ? Math.max(most, Math.abs(one)) : most), 0);
}

function headRow(...texts) {
    const head = (text) => (text ? element("th", { scope: "col" }, text) : element("td"));
    return element("thead", element("tr", texts.map(head)));
}

/** Returns the row of a term: its factors, their product, its bar, the partial sum. */
function termRow(app, term, decimals, largest, soFar) {
    const written = (show) => {
        const [first, second] = term.factors.map((cell) => show(app, cell));
        if (!second) return [first];
        return term.isExponential ? ["exp(", first, " − ", second, ")"] : [first, " × ", second];
    };
    const numbers = term.factors.length < 2 ? [] : written(chip);
    return element(
        "tr",
        { "data-value": exact(term.value) },
        element("td", element("span.meet", numbers), element("small", written(cellButton))),
        element("td.sum", decimals.text(term.value)),
        element("td", signedBar(term.value, largest)),
        element("td.so-far", decimals.text(soFar)),
    );
}

function closingRow(text, words, value) {
    const about = { "data-value": exact(value), "data-row": words };
    return element("tr", about, element("td", words), element("td.sum", text), element("td"), element("td"));
}

/** Returns the row for the rounding error, so that the printed terms add up to the printed sum. */
function closingRows({ value, terms, rounding }, decimals) {
    const together = closingRow(decimals.text(value), "sum", value);
    if (![value, ...terms.map((term) => term.value)].every(Number.isFinite)) return [together];
    const printed = terms.reduce((sum, term) => sum + decimals.units(term.value), 0);
    const left = decimals.units(value) - printed;
    return left === 0 ? [together] : [closingRow(decimals.ofUnits(left), "rounding", rounding), together];
}

/** Returns a sum as a table. */
function termsTable(app, derivation) {
    const decimals = new Decimals(derivation);
    const inOrder = derivation.terms.length <= termsInOrder;
    const terms = [...derivation.terms];
    if (!inOrder) terms.sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
    const largest = largestOf(terms.map((term) => term.value));
    let soFar = 0;
    const rows = terms.map((term) => termRow(app, term, decimals, largest, (soFar += term.value)));
    const caption = `${terms.length} terms, ${inOrder ? "in order" : "the largest first"}`;
    const head = headRow("", terms[0]?.factors.length > 1 ? "product" : "term", "", "so far");
    return tableOf("table.terms", { caption, head, rows, foot: closingRows(derivation, decimals) });
}

/** Returns the table of a row of weights: score, exponential and share of each key. */
function softmaxDrawn(app, section, flat) {
    const { roles } = app.strip;
    if (!roles?.exponentials || section !== roles.softmax || !section.isOfPairs) return "";
    const keys = app.strip.keys().slice(0, 64);
    const start = flat - section.indices(flat).at(-1);
    const at = (of) => keys.map(({ key }) => of.values[start + key]);
    const [scores, powers, shares] = [roles.last, roles.exponentials, section].map(at);
    const [score, power, share] = [scores, powers, shares].map(largestOf);
    const even = evenShare(app.strip.keys(), share);
    const row = ({ key, label }) => {
        const name = start + key === flat ? "tr.now" : section.hides(start + key) ? "tr.hid" : "tr";
        const bars = [signedBar(scores[key], score), shareBar(powers[key], power), shareBar(shares[key], share, even)];
        const word = element("th", { scope: "row", dir: "auto" }, shortened(label, 12));
        return element(name, word, bars.map((bar) => element("td", bar)));
    };
    const head = headRow("", "score", "exponential", "share of 1");
    return tableOf("table.drawn", { caption: "the row of this weight", head, rows: keys.map(row) });
}
