// What is drawn of a derivation: sums term by term, softmax as bars, a context as a stack of rows.

/** A bar from a zero line, to the right for what is more than zero. */
function signedBar(value, limit) {
    const share = limit > 0 && Number.isFinite(value) ? Math.max(-1, Math.min(1, value / limit)) : 0;
    const kind = share < 0 ? "minus" : "plus";
    const style = `--share:${share.toFixed(3)}`;
    return element("i", { class: `signed ${kind}`, style, "aria-hidden": "true" });
}

/** A bar from the left for a number between 0 and `limit`. */
function shareBar(value, limit = 1) {
    const share = Number.isFinite(value) ? Math.max(0, Math.min(1, value / limit)) : 0;
    return element("i", { class: "share", style: `--share:${share.toFixed(3)}`, "aria-hidden": "true" });
}

function largestOf(values) {
    return values.filter(Number.isFinite).reduce((most, one) => Math.max(most, Math.abs(one)), 0);
}

/** One summand: its factors side by side, their product, its bar, the sum so far. */
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
        element("td", {}, element("span", { class: "meet" }, ...numbers), element("small", {}, ...written(cellButton))),
        element("td", { class: "sum" }, decimals.text(term.value)),
        element("td", {}, signedBar(term.value, largest)),
        element("td", { class: "so-far" }, Number.isFinite(soFar) ? decimals.text(soFar) : exact(soFar)),
    );
}

function closingRow(text, words, value) {
    const attributes = { "data-value": exact(value), "data-row": words };
    return element("tr", attributes, element("td", {}, words), element("td", { class: "sum" }, text), element("td"), element("td"));
}

/** Sums of more terms than this are read by their largest terms. */
const termsInOrder = 16;

/** The terms, so that what is printed adds up to what is printed. */
function termsTable(app, derivation) {
    const decimals = new Decimals(derivation);
    const inOrder = derivation.terms.length <= termsInOrder;
    const terms = inOrder
        ? derivation.terms
        : [...derivation.terms].sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
    const largest = largestOf(terms.map((term) => term.value));
    let soFar = 0;
    const rows = terms.map((term) => termRow(app, term, decimals, largest, (soFar += term.value)));
    const foot = element("tfoot");
    if ([derivation.value, ...terms.map((term) => term.value)].every(Number.isFinite)) {
        const printed = terms.reduce((sum, term) => sum + decimals.units(term.value), 0);
        const left = decimals.units(derivation.value) - printed;
        if (left !== 0) foot.append(closingRow(decimals.ofUnits(left), "rounding", derivation.rounding));
    }
    foot.append(closingRow(decimals.text(derivation.value), "together", derivation.value));
    const order = inOrder ? "in their order" : "the largest first";
    const heads = ["", "product", "", "so far"].map((text) => element("th", { scope: "col" }, text));
    if (terms.every((term) => term.factors.length < 2)) heads[1].textContent = "term";
    app.player.take(rows, terms);
    return element(
        "table",
        { class: "terms" },
        element("caption", {}, `${terms.length} terms, ${order}`),
        element("thead", {}, element("tr", {}, ...heads)),
        element("tbody", {}, ...rows),
        foot,
    );
}

/** Plays a sum term by term; where motion is not wanted, a term for each press. */
class Player {
    constructor(app) {
        this.app = app;
        this.button = button("Play", () => this.press(), { id: "play", title: "term by term (Space)" });
        this.take([], []);
    }

    /** The rows that stand in the panel now. */
    take(rows, terms) {
        clearInterval(this.timer);
        Object.assign(this, { rows, terms, shown: rows.length, timer: undefined });
        this.button.hidden = rows.length < 2;
        this.say();
    }

    say() {
        const done = this.shown >= this.rows.length;
        this.button.textContent = this.timer ? "Pause" : done ? "Play" : "Next term";
    }

    press() {
        if (this.timer) {
            clearInterval(this.timer);
            this.timer = undefined;
        } else {
            if (this.shown >= this.rows.length) this.shown = 0;
            this.step();
            if (!calm.matches) this.timer = setInterval(() => this.step(), 900);
        }
        this.say();
    }

    /** Brings one more term, and lights what meets in it. */
    step() {
        this.shown = Math.min(this.shown + 1, this.rows.length);
        this.rows.forEach((row, i) => {
            row.classList.toggle("yet", i >= this.shown);
            row.classList.toggle("now", i === this.shown - 1);
        });
        const table = this.rows[0].closest("table");
        table.tFoot.classList.toggle("yet", this.shown < this.rows.length);
        this.rows[this.shown - 1].scrollIntoView({ block: "nearest" });
        this.app.lightTerm(this.terms[this.shown - 1].factors);
        if (this.shown < this.rows.length) return;
        clearInterval(this.timer);
        this.timer = undefined;
        this.say();
    }
}

/** A row of weights as it came about: score, exponential and share of each key. */
function softmaxDrawn(app, section, flat) {
    const roles = app.strip.roles;
    if (!roles?.exponentials || section !== roles.softmax || section.axes.at(-1) !== "key") return "";
    const count = section.shape.at(-1);
    const start = flat - (flat % count);
    const at = (of, i) => of.values[start + i];
    const keys = Array.from({ length: count }, (_, i) => i);
    const own = (of) => largestOf(keys.map((i) => at(of, i)));
    const [score, power] = [own(roles.last), own(roles.exponentials)];
    const indices = section.indices(flat);
    const rows = keys.slice(0, 64).map((i) =>
        element(
            "tr",
            { class: [start + i === flat ? "now" : "", section.hides(start + i) ? "hid" : ""].join(" ").trim() },
            element("th", { scope: "row", dir: "auto" }, shortened(section.label(section.axes.length - 1, i, indices), 12)),
            element("td", {}, signedBar(at(roles.last, i), score)),
            element("td", {}, shareBar(at(roles.exponentials, i), power)),
            element("td", {}, shareBar(at(section, i))),
        ),
    );
    const heads = ["", "score", "exp(score − largest)", "share of 1"].map((text) => element("th", { scope: "col" }, text));
    return element(
        "table",
        { class: "drawn" },
        element("caption", {}, "the row of this weight: score, exponential, share"),
        element("thead", {}, element("tr", {}, ...heads)),
        element("tbody", {}, ...rows),
    );
}

/** Numbers as colours. */
function swatches(levels, values, limit) {
    const level = (value) => Math.round(((Math.max(-1, Math.min(1, value / (limit || 1))) + 1) / 2) * (levels - 1));
    const cells = values.map((value) => element("i", { class: Number.isFinite(value) ? `d${level(value)}` : "nan" }));
    return element("span", { class: "swatches", "aria-hidden": "true" }, ...cells);
}
