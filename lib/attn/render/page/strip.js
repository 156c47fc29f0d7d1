// The first screen: one word is followed from what it asks to what it gets.

/** So many keys have a row in a box; of more, those with the largest weights. */
const keysInBox = 10;
/** So many features of a row have a swatch or a number. */
const featuresInBox = 8;

/** The tensors that are followed, or nothing where a walk has not all of them. */
function rolesOf(walk) {
    const context = walk.byName.get("context");
    const scores = walk.sections.filter((one) => one.isOfPairs && one.name.endsWith("scores"));
    const reads = (context?.view.reads ?? []).map((name) => walk.byName.get(name)).filter((one) => one?.isTensor);
    const weights = reads.find((one) => one.isOfPairs);
    const value = reads.find((one) => !one.isOfPairs && one.axes.at(-1) === "feature");
    if (scores.length === 0 || !context?.isTensor || !weights || !value) return undefined;
    const named = (name) => walk.byName.get(name);
    return {
        scores: scores[0],
        last: scores.at(-1),
        exponentials: named("exponentials"),
        softmax: named("weights"),
        rowSum: named("row_sum"),
        weights,
        value,
        context,
    };
}

function percent(weight) {
    if (!Number.isFinite(weight)) return exact(weight);
    const share = 100 * weight;
    return share > 0 && share < 0.5 ? "< 1 %" : `${Math.round(share)} %`;
}

class Strip {
    constructor(app) {
        this.app = app;
        this.wholeRow = false;
        this.element = element("section", { id: "follow", "aria-label": "follow one word" });
    }

    /** Begins anew with a walk; in the middle of its sentence, where something is to be seen. */
    make() {
        this.roles = rolesOf(this.app.walk);
        this.element.hidden = !this.roles;
        if (!this.roles) return;
        const { weights } = this.roles;
        const [queries, keys] = weights.shape.slice(-2);
        const { state } = this.app;
        if (state.query === undefined || state.query >= queries) {
            Object.assign(state, { query: (queries - 1) >> 1, key: 0 });
            if (this.visible().length === 0) state.query = queries - 1;
            state.key = undefined;
        }
        state.key = Math.min(state.key ?? this.mostSeen(), keys - 1);
        this.update();
    }

    /** The keys of the query that is followed: their words, weights, and what is hidden. */
    keys() {
        const { weights } = this.roles;
        const start = this.app.cellAt(weights, { key: 0 });
        const indices = weights.indices(start);
        const last = weights.shape.length - 1;
        return Array.from({ length: weights.shape[last] }, (_, key) => ({
            key,
            flat: start + key,
            label: weights.label(last, key, indices),
            weight: weights.values[start + key],
            hidden: weights.hides(start + key),
        }));
    }
    visible() {
        return this.keys().filter((one) => !one.hidden);
    }
    /** The key that the query looks at most. */
    mostSeen() {
        const most = this.visible().reduce((best, one) => (one.weight > (best?.weight ?? -Infinity) ? one : best), undefined);
        return most?.key ?? 0;
    }

    queryLabel(query = this.app.state.query) {
        const { weights } = this.roles;
        const indices = weights.indices(this.app.cellAt(weights, { query, key: 0 }));
        return weights.label(weights.shape.length - 2, query, indices);
    }

    /** Whether the words that ask are those that are looked at. */
    isSelf(keys) {
        const queries = this.roles.weights.shape.at(-2);
        return queries === keys.length && keys.every(({ key, label }) => this.queryLabel(key) === label);
    }

    update() {
        if (!this.roles) return;
        const focused = root.activeElement?.dataset?.strip;
        const keys = this.keys();
        this.element.replaceChildren(this.sentence(keys), this.answer(keys), ...this.boxes(keys));
        if (focused) this.element.querySelector(`[data-strip="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
    }

    // --- the sentence

    wordButton(query, label) {
        return button(shortened(label, 18), () => this.app.follow({ query }), {
            class: "word",
            dir: "auto",
            "aria-pressed": String(query === this.app.state.query),
            "data-strip": `query ${query}`,
            title: `follow “${shortened(label, 200)}”`,
        });
    }

    lookButton(one) {
        const said = one.hidden ? "hidden" : percent(one.weight);
        const height = Number.isFinite(one.weight) ? Math.max(0, Math.min(1, one.weight)) : 0;
        const name = `“${shortened(this.queryLabel(), 40)}” looks at “${shortened(one.label, 40)}”: ${said}`;
        return element(
            "button",
            {
                type: "button",
                class: one.hidden ? "look hid" : "look",
                "aria-pressed": String(one.key === this.app.state.key),
                "aria-label": name,
                "data-strip": `key ${one.key}`,
                onclick: () => this.app.follow({ key: one.key }),
            },
            element("i", { style: `--share:${height.toFixed(3)}` }),
            element("span", {}, said),
        );
    }

    sentence(keys) {
        const isSelf = this.isSelf(keys);
        const unit = (one) => {
            const word = isSelf
                ? this.wordButton(one.key, one.label)
                : element("span", { class: "word", dir: "auto" }, shortened(one.label, 18));
            return element("li", {}, word, this.lookButton(one));
        };
        const row = element("ol", { class: "sentence" }, ...keys.map(unit));
        if (isSelf) return row;
        const queries = Array.from({ length: this.roles.weights.shape.at(-2) }, (_, query) =>
            element("li", {}, this.wordButton(query, this.queryLabel(query))),
        );
        return element("div", {}, element("ol", { class: "sentence asking" }, ...queries), row);
    }

    /** The sentence that answers: which word is looked at most. */
    answer(keys) {
        const seen = keys.filter((one) => !one.hidden && one.weight > 0).sort((a, b) => b.weight - a.weight);
        const quoted = (label) => element("b", { dir: "auto" }, `“${shortened(label, 40)}”`);
        const hidden = keys.filter((one) => one.hidden).length;
        const tail = hidden > 0 ? ` ${hidden} of ${keys.length} words are hidden from it.` : "";
        if (seen.length === 0) return element("p", { class: "answer" }, quoted(this.queryLabel()), ` looks at no word.${tail}`);
        const [most, next] = seen;
        const then = next ? [", then at ", quoted(next.label), ` (${percent(next.weight)})`] : [];
        const words = [quoted(this.queryLabel()), " looks most at ", quoted(most.label), ` (${percent(most.weight)})`, ...then];
        return element("p", { class: "answer" }, ...words, `.${tail}`);
    }

    // --- the four boxes

    /** The keys that have a row in the boxes, in the order of the sentence. */
    inBoxes(keys) {
        if (this.wholeRow || keys.length <= keysInBox) return keys;
        const { key } = this.app.state;
        const largest = keys
            .filter((one) => one.key !== key)
            .sort((a, b) => b.weight - a.weight)
            .slice(0, keysInBox - 1)
            .map((one) => one.key);
        return keys.filter((one) => one.key === key || largest.includes(one.key));
    }

    /** A number that leads to where it comes from. */
    number(section, flat) {
        const { selected } = this.app;
        return button(section.number(section.values[flat]), () => this.app.choose(section, flat, { stay: true }), {
            class: "number",
            "data-strip": section.address(flat),
            "aria-pressed": String(selected?.section === section && selected.flat === flat),
            title: section.address(flat),
        });
    }

    row(one, hides, ...cells) {
        const hidden = hides && one.hidden ? "hid" : "";
        const classes = [one.key === this.app.state.key ? "now" : "", hidden].join(" ").trim() || undefined;
        const word = element("th", { scope: "row", dir: "auto" }, shortened(one.label, 9));
        return element("tr", { class: classes }, word, ...cells.map((cell) => element("td", {}, ...[cell].flat())));
    }

    box(title, words, rows, foot) {
        return element(
            "section",
            { class: "box" },
            element("h3", {}, title),
            element("p", {}, words),
            element("table", {}, element("tbody", {}, ...rows), foot ? element("tfoot", {}, foot) : ""),
        );
    }

    boxes(keys) {
        const { scores, last, exponentials, softmax, rowSum, weights } = this.roles;
        const { app } = this;
        const rows = this.inBoxes(keys);
        const cell = (section, { key }) => app.cellAt(section, { key });
        const limit = largestOf(keys.flatMap((one) => [scores, last].map((of) => of.values[cell(of, one)])));
        const measured = (section) => (one) =>
            this.row(one, section === last, signedBar(section.values[cell(section, one)], limit), this.number(section, cell(section, one)));
        const shared = (one) =>
            this.row(
                one,
                true,
                ...(exponentials ? [this.number(exponentials, cell(exponentials, one))] : []),
                shareBar(weights.values[one.flat]),
                this.number(weights, one.flat),
            );
        const asks = `“${shortened(this.queryLabel(), 14)}”`;
        const rule = (section) => section.formula || section.title;
        const isPlain = last === scores;
        const sums = exponentials && rowSum && softmax === weights && rowSum.axes.at(-1) === "query";
        const total = sums ? element("tr", {}, element("th", {}, "sum"), element("td", {}, this.number(rowSum, app.cellAt(rowSum)))) : "";
        const boxes = element(
            "div",
            { class: "boxes" },
            this.box("1 Match", `query of ${asks} · key of each word`, rows.map(measured(scores))),
            this.box("2 Scale and hide", isPlain ? "nothing is scaled or hidden here" : rule(last), rows.map(measured(last))),
            this.box("3 Share out", exponentials ? "exp(score − largest), divided by their sum" : rule(weights), rows.map(shared), total),
            this.collected(rows, asks),
        );
        if (keys.length <= keysInBox) return [boxes];
        const others = keys.filter((one) => !rows.includes(one));
        const sum = fixed(others.reduce((all, one) => all + one.weight, 0), 4);
        const words = this.wholeRow ? "only the largest" : `and ${others.length} others, together ${sum}: show all`;
        const turn = () => {
            this.wholeRow = !this.wholeRow;
            this.update();
        };
        return [boxes, button(words, turn, { class: "more", "data-strip": "more" })];
    }

    /** The value of a key times its weight, as far as it is drawn. */
    taken({ key, weight }) {
        const { value } = this.roles;
        const start = this.app.cellAt(value, { key, feature: 0 });
        const count = Math.min(value.shape.at(-1), 2 * featuresInBox);
        return [...value.values.slice(start, start + count)].map((one) => one * weight);
    }

    /** The last box: each value times its weight, and what they add up to. */
    collected(rows, asks) {
        const { weights, value, context } = this.roles;
        const { app } = this;
        const limit = largestOf(rows.flatMap((one) => this.taken(one)));
        const taken = (one) => {
            const start = app.cellAt(value, { key: one.key, feature: 0 });
            const open = () => app.choose(value, start, { stay: true });
            const name = `value of ${one.label}: ${value.address(start)}`;
            const row = button("", open, { class: "number", "aria-label": name, "data-strip": `value ${one.key}` });
            row.append(swatches(app.levels, this.taken(one), limit));
            return this.row(one, true, this.number(weights, one.flat), "×", row);
        };
        const start = app.cellAt(context, { feature: 0 });
        const count = Math.min(context.shape.at(-1), featuresInBox);
        const numbers = Array.from({ length: count }, (_, i) => this.number(context, start + i));
        const more = context.shape.at(-1) > count ? [" …"] : [];
        const sum = element("td", { colspan: 4, class: "sum" }, `= context of ${asks} `, element("span", {}, ...numbers, ...more));
        return this.box("4 Collect", "weight × value of each word, added up", rows.map(taken), element("tr", {}, sum));
    }
}
