// The first screen: follows one word from its query to its context.

/** Maximum number of keys in a box: those with the largest weights. */
const keysInBox = 10;
/** Maximum number of features of a row with a number or a colour. */
const featuresInBox = 8;

/** Returns the tensors of the first screen, or nothing if a walk does not have all of them. */
function rolesOf(walk) {
    const named = (name) => walk.byName.get(name);
    const context = named("context");
    const reads = (context?.view.reads ?? []).map(named).filter((one) => one?.isTensor);
    const weights = reads.find((one) => one.isOfPairs);
    const value = reads.find((one) => !one.isOfPairs && one.axes.at(-1) === "feature");
    if (!walk.scores || !context?.isTensor || !weights || !value) return undefined;
    const [exponentials, softmax, rowSum] = ["exponentials", "weights", "row_sum"].map(named);
    const { scores, hider: last } = walk;
    // Softmax by another rule does not follow from its usual parts.
    const shared = softmax?.margin ? { softmax } : { exponentials, softmax, rowSum };
    return { scores, last, ...shared, weights, value, context };
}

function percent(weight) {
    if (!Number.isFinite(weight)) return exact(weight);
    return weight > 0 && weight < 0.005 ? "< 1 %" : `${Math.round(100 * weight)} %`;
}

class Strip {
    constructor(app) {
        this.app = app;
        this.wholeRow = false;
        this.element = element("section", { id: "follow", "aria-label": "follow one word" });
    }

    /** Shows a new walk, and selects the middle of its sentence, or the last word if it sees no key. */
    make() {
        this.roles = rolesOf(this.app.walk);
        this.element.hidden = !this.roles;
        if (!this.roles) return;
        const { state } = this.app;
        const [queries, keys] = this.roles.weights.shape.slice(-2);
        this.middle = (queries - 1) >> 1;
        if (!(state.query < queries)) {
            Object.assign(state, { query: this.middle, key: undefined });
            if (!this.keys().some((one) => !one.hidden)) state.query = queries - 1;
        }
        state.key = Math.min(state.key ?? this.mostSeen(), keys - 1);
        this.update();
    }

    /** Returns the keys of the selected query: word, weight, and whether it is hidden. */
    keys() {
        const { weights } = this.roles;
        const start = this.app.cellAt(weights, { key: 0 });
        const indices = weights.indices(start);
        const last = weights.shape.length - 1;
        return times(weights.shape[last], (key) => ({
            key,
            flat: start + key,
            label: weights.label(last, key, indices),
            weight: weights.values[start + key],
            hidden: weights.hides(start + key),
        }));
    }

    /** Returns the key with the largest weight. */
    mostSeen() {
        const seen = this.keys().filter((one) => !one.hidden && one.weight > -Infinity);
        return seen.reduce((best, one) => (one.weight > best.weight ? one : best), seen[0])?.key ?? 0;
    }

    queryLabel(query = this.app.state.query) {
        const { weights } = this.roles;
        const indices = weights.indices(this.app.cellAt(weights, { query, key: 0 }));
        return weights.label(weights.shape.length - 2, query, indices);
    }
    quoted(most) {
        return `“${shortened(this.queryLabel(), most)}”`;
    }

    update() {
        if (!this.roles) return;
        const focused = CSS.escape(root.activeElement?.dataset?.strip ?? "");
        const keys = this.keys();
        const purpose = "Each word looks at others and takes from them: press one, then any number.";
        this.element.replaceChildren(element("p.origin", purpose), this.sentence(keys), this.answer(keys), this.origin(), ...this.boxes(keys));
        this.element.querySelector(`[data-strip="${focused}"]`)?.focus({ preventScroll: true });
    }

    /** Scrolls the selected number above a panel that covers the page. */
    bringUp() {
        const pressed = this.element.querySelector('.number[aria-pressed="true"]');
        pressed?.scrollIntoView({ block: "nearest", behavior: "instant" });
    }

    // --- the sentence

    wordButton(query, label) {
        return button(shortened(label, 18), () => this.app.follow({ query }), {
            class: "word",
            dir: "auto",
            "aria-pressed": String(query === this.app.state.query),
            "data-strip": `query ${query}`,
            "data-token": label.slice(0, 200),
        });
    }

    lookButton({ key, label, weight, hidden }) {
        const said = hidden ? "hidden" : percent(weight);
        const about = {
            class: hidden ? "look hid" : "look",
            "aria-pressed": String(key === this.app.state.key),
            "aria-label": `${said}: ${this.quoted(40)} looks at “${shortened(label, 40)}”`,
            "data-strip": `key ${key}`,
        };
        const made = button("", () => this.app.follow({ key }), about);
        const style = `--share:${clipped(weight, 0).toFixed(3)}`;
        made.append(element("i", { style }), said);
        return made;
    }

    /** Returns the sentence: the queries, each above its share if queries and keys are the same words. */
    sentence(keys) {
        const asking = times(this.roles.weights.shape.at(-2), (query) => this.queryLabel(query));
        const isSelf = String(asking) === String(keys.map((one) => one.label));
        const unit = (one) => {
            const word = element("span.word", { dir: "auto" }, shortened(one.label, 18));
            return element("li", isSelf ? this.wordButton(one.key, one.label) : word, this.lookButton(one));
        };
        const row = element("ol.sentence", { dir: "auto" }, keys.map(unit));
        if (isSelf) return row;
        const words = asking.map((label, query) => element("li", this.wordButton(query, label)));
        return element("div", element("ol.sentence.ask", words), row);
    }

    /** Returns the sentence that names the word with the largest weight. */
    answer(keys) {
        const seen = keys.filter((one) => !one.hidden && one.weight > 0);
        const [most, next] = seen.sort((a, b) => b.weight - a.weight);
        const named = (one) => [
            element("b", { dir: "auto" }, `“${shortened(one.label, 40)}”`),
            keys.some((other) => other !== one && other.label === one.label) ? `, word ${one.key + 1},` : "",
        ];
        const told = (one) => [...named(one), ` (${percent(one.weight)})`];
        const words = most ? [" looks most at "] : [" looks at no word"];
        const alike = seen.filter((one) => one.weight >= 0.999999 * most.weight);
        if (alike.length > 1) {
            const more = alike.length > 2 ? ` and ${alike.length - 2} more` : "";
            words.push(...named(most), " and ", ...named(next), more, ` alike (${percent(most.weight)} each)`);
        } else if (most) {
            words.push(...told(most));
            if (next) words.push(", then at ", ...told(next));
        }
        const sum = seen.reduce((all, one) => all + one.weight, 0);
        if (Math.abs(sum - 1) > 0.005) words.push(`; its weights add up to ${Math.round(100 * sum)} %`);
        const hidden = keys.filter((one) => one.hidden).length;
        const tail = hidden > 0 ? `. ${hidden} of ${keys.length} words are hidden from it.` : ".";
        return element("p.answer", element("b", { dir: "auto" }, this.quoted(40)), words, tail);
    }

    /** Returns the origin of the parameters, and the mistake or rule in this walk. */
    origin() {
        const { config, sections } = this.app.walk;
        const { seed, projection, weights, model_file: file, said } = config;
        const isDrawn = seed !== undefined && projection !== "none" && weights === "none";
        const drawn = isDrawn ? `The weights are random (seed ${seed}): this model has learned nothing yet.` : "";
        const trained = file && file !== "none" ? `The weights are those of a trained model, ${file}.` : drawn;
        const told = said?.example ? "An example: its numbers were set by hand." : trained;
        const changed = sections.find(({ margin }) => margin)?.margin ?? "";
        return element("div", changed && element("p.margin", changed), element("p.origin", told));
    }

    // --- the four boxes

    /** Returns the keys in the boxes, in the order of the sentence. */
    inBoxes(keys) {
        if (this.wholeRow || keys.length <= keysInBox) return keys;
        const rank = (one) => (one.key === this.app.state.key ? Infinity : one.weight);
        const order = [...keys].sort((a, b) => rank(b) - rank(a));
        const shown = new Set(order.slice(0, keysInBox));
        return keys.filter((one) => shown.has(one));
    }

    /** Returns a number that links to its derivation. */
    number(section, flat) {
        const address = section.address(flat);
        const chosen = this.app.isSelected({ section, flat });
        const written = section.number(section.values[flat]);
        const said = `${section.name}, ${tokensText(section, flat) || address}: ${written}`;
        const about = { class: "number", "data-strip": address, title: address, "aria-label": said, "aria-pressed": String(chosen) };
        return button(written, () => this.app.choose(section, flat, { stay: true }), about);
    }

    row({ key, label, hidden }, hides, ...cells) {
        const name = ["tr", key === this.app.state.key ? "now" : "", hides && hidden ? "hid" : ""];
        const word = element("th", { scope: "row", dir: "auto" }, shortened(label, 9));
        return element(name.filter(Boolean).join("."), word, cells.map((cell) => element("td", cell)));
    }

    box(title, words, rows, foot = []) {
        const table = tableOf("table", { rows, foot });
        return element("section.box", element("h2", title), element("p", words), table);
    }

    boxes(keys) {
        const rows = this.inBoxes(keys);
        const { scores, last, weights, exponentials } = this.roles;
        const limit = largestOf(keys.flatMap(({ key }) => [scores, last].map((of) => of.values[this.at(of, key)])));
        const hides = last === scores ? "nothing is scaled or hidden here" : last.formula || last.title;
        const shares = exponentials ? "exp(score − largest), divided by their sum" : weights.formula;
        const boxes = element(
            "div.boxes",
            this.box("1 Match", `query of ${this.quoted(14)} · key of each word`, this.measured(scores, rows, limit)),
            this.box("2 Scale and hide", hides, this.measured(last, rows, limit)),
            this.box("3 Share out", shares, this.shared(rows), this.rowSum()),
            this.collected(rows),
        );
        return keys.length > keysInBox ? [boxes, this.moreButton(keys, rows)] : [boxes];
    }

    at(section, key) {
        return this.app.cellAt(section, { key });
    }

    /** Returns rows of scores, before or after scaling and mask, on one scale. */
    measured(section, rows, limit) {
        return rows.map((one) => {
            const flat = this.at(section, one.key);
            const hides = section === this.roles.last && section !== this.roles.scores;
            return this.row(one, hides, signedBar(section.values[flat], limit), this.number(section, flat));
        });
    }

    shared(rows) {
        const { exponentials, weights } = this.roles;
        return rows.map((one) => {
            const power = exponentials ? [this.number(exponentials, this.at(exponentials, one.key))] : [];
            return this.row(one, true, ...power, shareBar(one.weight), this.number(weights, one.flat));
        });
    }
    rowSum() {
        const { rowSum, softmax, weights } = this.roles;
        if (!rowSum || softmax !== weights || rowSum.axes.at(-1) !== "query") return [];
        const sum = element("td", this.number(rowSum, this.app.cellAt(rowSum)));
        return [element("tr", element("th", "sum"), sum)];
    }

    /** Returns the drawn features of a value times its weight. */
    weighted({ key, weight }) {
        const { value } = this.roles;
        const start = this.at(value, key);
        const end = start + Math.min(value.shape.at(-1), featuresInBox);
        return [...value.values.slice(start, end)].map((one) => one * weight);
    }

    /** Returns the last box: each value times its weight, and their sum. */
    collected(rows) {
        const { weights, value, context } = this.roles;
        const limit = largestOf(rows.flatMap((one) => this.weighted(one)));
        const taken = (one) => {
            const start = this.at(value, one.key);
            const about = { class: "number", "aria-label": value.address(start), "data-strip": `value ${one.key}` };
            const made = button("", () => this.app.choose(value, start, { stay: true }), about);
            made.append(swatches(this.app.levels, this.weighted(one), limit));
            return this.row(one, true, this.number(weights, one.flat), "×", made);
        };
        const start = this.app.cellAt(context);
        const count = context.shape.at(-1);
        const numbers = times(Math.min(count, featuresInBox), (i) => this.number(context, start + i));
        const words = `= context of ${this.quoted(14)} `;
        const sum = element("td.sum", { colspan: 4 }, words, numbers, count > featuresInBox ? " …" : "");
        return this.box("4 Collect", "weight × value of each word, added up", rows.map(taken), [element("tr", sum)]);
    }

    moreButton(keys, rows) {
        const others = keys.filter((one) => !rows.includes(one));
        const sum = fixed(others.reduce((all, one) => all + one.weight, 0), 4);
        const words = `and ${others.length} others, together ${sum}: show all`;
        const turn = () => {
            this.wholeRow = !this.wholeRow;
            this.update();
        };
        const about = { class: "more", "data-strip": "more" };
        return button(this.wholeRow ? "only the largest" : words, turn, about);
    }
}
