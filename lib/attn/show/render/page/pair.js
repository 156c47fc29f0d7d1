// One pair of words on the first screen: query · key = score → share × value → the word.

/** Maximum number of features of a vector drawn as columns. */
const columnsDrawn = 16;

/** Duration of a whole sum, in milliseconds. */
const playTime = 4000;

/** Draws the numbers of a vector as columns in the colour of its role, up for positive numbers. */
function columnsOf(role, values, limit = largestOf(values)) {
    const column = (value) => {
        const share = clipped(value / (limit || 1), -1);
        return element(share < 0 ? "i.under" : "i", { style: `--share:${Math.abs(share).toFixed(3)}` });
    };
    const shown = [...values].slice(0, columnsDrawn).map(column);
    return element(`span.columns-of.${role}`, mute, shown, values.length > columnsDrawn ? "…" : "");
}

class Pair {
    constructor(strip) {
        this.strip = strip;
        this.element = element("div.product");
        this.timer = undefined;
        /** @type {any[] | undefined} the keys added so far, while the sum runs */
        this.played = undefined;
        this.button = button("▶ play", () => this.play(), { id: "run", "data-strip": "run" });
    }

    elements() {
        this.button.textContent = "▶ play";
        return [isCalm.matches ? "" : this.button, this.element, this.next()];
    }

    /** Returns a vector as columns that open its tensor. */
    vector(role, cells, words) {
        const [{ section, flat }] = cells;
        const values = cells.map((cell) => cell.section.values[cell.flat]);
        const about = { "aria-label": `${words}: ${section.address(flat)}`, "data-strip": role };
        const made = button("", () => this.strip.app.choose(section, flat, { stay: true }), about);
        made.append(columnsOf(role, values));
        return element("span.part", made, element(`small.${role}`, words));
    }
    part(sign, shown, words, role = "") {
        return element("span.part", element("span", sign, shown), element(role ? `small.${role}` : "small", words));
    }

    /** Returns the weight of a pair, behind its score. */
    share(one) {
        const { app, roles } = this.strip;
        const made = button(this.strip.weightText(one), () => app.follow({ key: one.key }), { "data-strip": "share" });
        return this.part(roles.scores === roles.weights ? "" : "→ ", made, roles.areShares ? "share" : roles.weights.name, "weight");
    }

    /** Shows a pair; `sums` are those of a sum that runs. */
    show(one, sums = undefined) {
        const { app, roles } = this.strip;
        const { scores, last, context } = roles;
        const [asks, offers] = [this.strip.quoted(14), `“${shortened(one.label, 14)}”`];
        const at = (section) => this.strip.at(section, one.key);
        const { terms } = derive(app.walk, scores, at(scores));
        const isProduct = terms.length > 0 && terms.every(({ factors }) => factors.length === 2);
        const factors = (i) => terms.map((term) => term.factors[i]);
        const [query, key] = [`what ${asks} looks for (query)`, `what ${offers} offers (key)`];
        const number = (section) => this.strip.number(section, at(section), "pair ");
        const start = app.cellAt(context);
        const whole = context.values.slice(start, start + context.shape.at(-1));
        const scaled = scores === roles.weights ? undefined : app.walk.byName.get("scaled_scores");
        const isLast = last === scaled || (scaled && scaled.values[at(scaled)] === last.values[at(last)]);
        this.element.replaceChildren(
            ...(isProduct ? [this.vector("query", factors(0), query), "·", this.vector("key", factors(1), key)] : []),
            ...(scores === roles.weights ? [] : [this.part(isProduct ? "= " : "", number(scores), "score")]),
            ...(scaled ? [this.part(`${this.divisor(scores.values[at(scores)] / scaled.values[at(scaled)])} = `, number(scaled), "scaled")] : []),
            ...(last === scores || isLast ? [] : [this.part("→ ", number(last), last.name.replace(/_?scores$/, ""))]),
            this.share(one),
            "×",
            this.vector("value", this.strip.valueOf(one), `what ${offers} gives (value)`),
            this.part("→ ", columnsOf("value", sums ?? whole, largestOf(whole)), sums ? "added up so far" : `sum of all, into ${asks}`),
        );
    }

    /** Returns what scores are divided by, as a square root if it is that of the width of a head. */
    divisor(number) {
        const { head_dim: width } = this.strip.app.walk.config;
        if (Math.abs(number * number - width) < 1e-3 * width) return `/ √${width}`;
        return Number.isFinite(number) ? `/ ${Number(number.toPrecision(3))}` : "→";
    }

    /** Runs the sum once, one word after another. */
    play() {
        const { strip } = this;
        const keys = strip.keys().filter((one) => !one.hidden && one.weight !== 0);
        if (this.timer !== undefined || keys.length === 0) return strip.update();
        const sums = strip.weighted(keys[0], Infinity).map(() => 0);
        let count = 0;
        const step = () => {
            if (count === keys.length) return strip.update();
            strip.weighted(keys[count], Infinity).forEach((one, i) => (sums[i] += one));
            this.played = keys.slice(0, ++count);
            this.show(keys[count - 1], sums);
            strip.curves.draw();
        };
        this.button.textContent = "■ stop";
        this.timer = setInterval(step, playTime / (keys.length + 1));
        step();
    }
    stop() {
        clearInterval(this.timer);
        this.timer = this.played = undefined;
    }

    /** Returns the next word of the model on this page: next.js. */
    next() {
        return "";
    }
}
