// The first screen: follows one word from its query to its context.

/** Maximum number of keys in a box: those with the largest weights. */
const keysInBox = 10;
/** Maximum number of features of a row with a number or a colour. */
const featuresInBox = 8;

/** Returns weights with their numbers of queries and keys, and whether all are between 0 and 1. */
function rolesOfWeights(weights, ends = weights.shape.slice(-2)) {
    return { weights, ends, areShares: !weights.values.some((one) => one < 0 || one > 1.005) };
}

/** True if the parameters are those of a model. */
function isTrained({ config }) {
    return Boolean(config.model_file) && config.model_file !== "none";
}

/** Returns a token as shown in the line of words: a blank is visible. */
function wordText(label) {
    return shortened(label.trim() === "" ? "␣" : label, 18);
}

/** Moves the focus along a line of words. */
function alongLine(event) {
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const all = [...event.currentTarget.querySelectorAll(`.${event.target.classList[0]}`)];
    const next = by && all[all.indexOf(event.target) + by];
    if (!next) return;
    event.preventDefault();
    next.focus();
}

function percent(weight) {
    if (!Number.isFinite(weight)) return exact(weight);
    return weight > 0 && weight < 0.005 ? "< 1 %" : `${Math.round(100 * weight)} %`;
}

class Strip {
    constructor(app) {
        this.app = app;
        this.wholeRow = false;
        /** False if the selected key is the one with the largest weight, which nobody chose. */
        this.pressed = false;
        this.opening = { head: 0, query: 0 };
        this.element = element("section", { id: "follow", "aria-label": "follow one word" });
        this.curves = new Curves(this);
        this.pair = new Pair(this);
        this.numbers = element("details.numbers");
    }

    /** Shows a new walk, and selects a word that means something. */
    make() {
        const { walk, state } = this.app;
        this.roles = this.rolesOf(walk);
        this.memory = this.memoryOf(walk);
        this.element.hidden = !this.roles && !this.memory;
        if (this.roles) {
            const [queries, keys] = this.roles.ends;
            const words = String(this.keys().map((one) => one.label));
            // Other words begin as on a new page: a link without a cell opens there.
            const isNew = words !== this.words;
            if (isNew || !(state.query < queries)) this.open(queries);
            if (isNew || !(state.key < keys)) this.pressed = false;
            this.words = words;
        }
        this.update();
    }

    /**
     * Selects the first word shown. For a trained model it is the last one, in the head with its
     * largest weight on an earlier whole word, neither the first nor its neighbour; for an example
     * the word with the largest weight on another word whose value is not 0; otherwise the middle
     * of the sentence, or the last word if that sees no key.
     */
    open(queries) {
        const { state, tabs, walk, model } = this.app;
        const [trained, made, last] = [isTrained(walk), walk.config.explicit_settings?.example, queries - 1];
        const heads = model ? [tabs.chosen.head ?? 0] : times(tabs.extents.head, (i) => i);
        const fits = ({ key, label }, query) => (trained ? key > 0 && key < query - 1 && /\p{L}{2}/u.test(label) : key !== query);
        this.opening = { head: heads[0], query: last >> 1 };
        let best = 0;
        for (const head of trained || made ? heads : []) {
            for (const query of trained ? [last] : times(queries, (i) => i)) {
                [tabs.chosen.head, state.query] = [head, query];
                const keys = this.keys();
                const [top, most] = [keys, keys.filter((one) => fits(one, query))].map((all) => largestOf(all.map(({ weight }) => weight)));
                // Prefers the sentence itself to the second best, and a key whose value is not 0.
                const rank = (most === top ? 1 : 0) + most + (made && this.gives(keys.find(({ weight }) => weight === most)) ? 1 : 0);
                if (rank > best) [best, this.opening] = [rank, { head, query }];
            }
        }
        tabs.chosen.head = this.opening.head;
        state.query = this.opening.query;
        if (!this.keys().some((one) => !one.hidden)) state.query = last;
        tabs.mark();
    }

    /** Returns whether the value of a key has a number other than 0. */
    gives(one) {
        return Boolean(one) && this.valueOf(one).some(({ section, flat }) => section.values[flat] !== 0);
    }

    /** Returns the cells of the value of a key. */
    valueOf({ key }) {
        const { value } = this.roles;
        return times(value.shape.at(-1), (i) => ({ section: value, flat: this.at(value, key) + i }));
    }

    /** Returns the keys of a query: word, weight, and whether it is hidden. */
    keys(query = this.app.state.query) {
        const { weights, ends } = this.roles;
        return times(ends[1], (key) => {
            const flat = this.app.cellAt(weights, { query, key });
            return { key, flat, label: weights.wordOf("key", flat), weight: weights.values[flat], hidden: weights.hides(flat) };
        });
    }

    /** Returns the visible keys, those with the largest weights first. */
    seenKeys(keys = this.keys()) {
        const seen = keys.filter((one) => !one.hidden && Math.abs(one.weight) < Infinity);
        return seen.sort((a, b) => Math.abs(b.weight) - Math.abs(a.weight));
    }

    /** Returns the key with the largest weight. */
    mostSeen() {
        return this.seenKeys()[0]?.key ?? 0;
    }

    /** True for weights if their selected key is the one with the largest weight. */
    isFree(section) {
        return !this.pressed && section === this.roles?.weights;
    }

    queryLabel(query = this.app.state.query) {
        const { weights } = this.roles;
        return weights.wordOf("query", this.app.cellAt(weights, { query, key: 0 }));
    }
    quoted(most) {
        return `“${shortened(this.queryLabel(), most)}”`;
    }

    update() {
        this.pair.stop();
        this.touched = undefined;
        if (this.element.hidden) return;
        if (this.roles && !this.pressed) this.app.state.key = this.mostSeen();
        const focused = CSS.escape(root.activeElement?.dataset?.strip ?? "");
        const parts = this.roles ? this.parts(this.keys()) : [element("h2.answer", "Each word changes a memory of fixed size"), this.origin()];
        this.element.replaceChildren(...parts, this.memoryDrawn());
        this.curves.draw();
        this.element.querySelector(`[data-strip="${focused}"]`)?.focus({ preventScroll: true });
    }

    /** Returns the parts of the first screen: sentence, line of words, one pair, next word, numbers. */
    parts(keys) {
        this.numbers.replaceChildren(element("summary", "numbers"), ...this.boxes(keys));
        this.pair.show(keys[this.app.state.key]);
        this.curves.show(this.lines(keys));
        return [this.answer(keys), this.origin(keys), this.curves.element, ...this.pair.elements(), this.numbers];
    }

    /** Returns the tensors of the first screen, or nothing if a walk does not have all of them. */
    rolesOf(walk) {
        const named = (name) => walk.byName.get(name);
        const context = named("context");
        const reads = (context?.view.reads ?? []).map(named).filter((one) => one?.isTensor);
        const weights = reads.find((one) => one.isOfPairs);
        const value = reads.find((one) => ["key", "token"].includes(one.axes.at(-2)) && !one.isOfPairs);
        // Weights that are made in one step are their own scores.
        const similarity = (weights?.view.reads ?? []).map(named).find((one) => one?.isOfPairs) ?? weights;
        const { scores = similarity, hider: last = similarity } = walk;
        if (!context?.isTensor || !weights || !value) return undefined;
        const [exponentials, softmax, rowSum] = ["exponentials", "weights", "row_sum"].map(named);
        // Softmax by another rule does not follow from its usual parts.
        const shared = softmax?.margin ? { softmax } : { exponentials, softmax, rowSum };
        return { scores, last, ...shared, ...rolesOfWeights(weights), value, context };
    }

    /** Return the memory of a recurrence, and its picture: memory.js, on pages that have one. */
    memoryOf() {}
    memoryDrawn() {
        return "";
    }

    /** Scrolls the selected number above a panel that covers the page. */
    bringUp() {
        const pressed = '.number[aria-pressed="true"]';
        const shown = this.element.querySelector(`${pressed}:focus`) ?? this.element.querySelector(pressed);
        shown?.scrollIntoView({ block: "nearest", behavior: "instant" });
    }

    // --- the line of words

    /** Returns the keys with a curve, the query, and the word whose curve is emphasised. */
    drawnKeys() {
        const { state } = this.app;
        const { played } = this.pair;
        const { touched = state.query } = this;
        const keys = played ?? this.keys(touched);
        return { keys, query: touched, picked: played ? played.at(-1).key : touched === state.query ? state.key : this.seenKeys(keys)[0]?.key };
    }

    /** Shows the weights of the word under the mouse, or those of the selected word again. */
    touch(query) {
        if (this.pair.played) return;
        this.touched = query;
        const keys = this.keys(query);
        const looks = [...this.element.querySelectorAll(".look")];
        // A share of another length would move the words under the mouse.
        const widths = looks.map(({ parentElement }) => parentElement.getBoundingClientRect().width);
        looks.forEach((look, i) => {
            look.parentElement.style.flex = `0 0 ${widths[i]}px`;
            look.textContent = this.weightText(keys[i]);
        });
        this.curves.draw();
    }

    wordButton(query, label, more = "") {
        const isOn = query === this.app.state.query;
        return button(wordText(label), () => this.app.follow({ query }), {
            class: "word" + more,
            onmouseenter: () => this.touch(query),
            onmouseleave: () => this.touch(),
            dir: "auto",
            "aria-pressed": String(isOn),
            tabindex: isOn ? 0 : -1,
            "data-strip": `query ${query}`,
            "data-token": label.slice(0, 200),
        });
    }

    /** Returns the weight of a key as shown in the line of words. */
    weightText({ weight, hidden }) {
        if (hidden) return "hidden";
        return this.roles.areShares ? percent(weight) : this.roles.weights.number(weight + 0);
    }
    lookText(one) {
        const { label } = one;
        return `${this.weightText(one)}: ${this.quoted(40)} looks at “${shortened(label, 40)}”`;
    }
    lookButton(one) {
        const isOn = one.key === this.app.state.key;
        return button(this.weightText(one), () => this.app.follow({ key: one.key }), {
            class: one.hidden ? "look hid" : "look",
            "aria-pressed": String(isOn),
            "aria-label": this.lookText(one),
            tabindex: isOn ? 0 : -1,
            "data-strip": `key ${one.key}`,
        });
    }

    /** Returns the line of words, each above its share, below that of the queries if those are other words. */
    lines(keys) {
        const asking = times(this.roles.ends[0], (query) => this.queryLabel(query));
        const isSelf = String(asking) === String(keys.map((one) => one.label));
        const unit = (one) => {
            const more = (one.hidden || one.weight === 0 ? " faint" : "") + (one.key === this.app.state.key ? " seen" : "");
            const word = element("span", { class: "word" + more, dir: "auto" }, wordText(one.label));
            return element("li", isSelf ? this.wordButton(one.key, one.label, more) : word, this.lookButton(one));
        };
        const most = Math.max(...this.roles.ends);
        const size = most > 24 ? ".many" : most > 12 ? ".some" : "";
        const line = (name, items) => element(`ol.sentence${size}${name}`, { dir: "auto", onkeydown: alongLine }, items);
        const row = line("", keys.map(unit));
        return isSelf ? [row] : [line(".ask", asking.map((label, query) => element("li", this.wordButton(query, label)))), row];
    }

    /** Returns the sentence that names the word with the largest weight. */
    answer(keys) {
        const seen = this.seenKeys(keys).filter((one) => one.weight !== 0);
        const [most, next] = seen;
        const named = (one) => [
            element("b", { dir: "auto" }, `“${shortened(one.label, 40)}”`),
            keys.some((other) => other !== one && other.label === one.label) ? `, word ${one.key + 1}` : "",
        ];
        const words = most ? [" looks most at ", ...named(most)] : [" looks at no word"];
        const alike = seen.filter((one) => Math.abs(one.weight - most.weight) <= 1e-6 * Math.abs(most.weight));
        if (alike.length > 1) {
            const more = alike.length > 2 ? ` and ${alike.length - 2} more` : "";
            words.push(" and ", ...named(next), more, `, ${this.weightText(most)} each`);
        } else if (most) words.push(`, ${this.weightText(most)}`);
        return element("h2.answer", element("b", { dir: "auto" }, this.quoted(40)), words);
    }

    /** Returns the mistake or rule in this walk, the origin of its parameters, and what is unusual. */
    origin(keys = []) {
        const { walk, tabs } = this.app;
        const { seed, weights, layer, model_file: file, explicit_settings: said } = walk.config;
        const isDrawn = seed !== undefined && weights === "none" && walk.sections.some((one) => one.kind === "parameter");
        const drawn = isDrawn ? `The weights are random (seed ${seed}): this model has learned nothing yet.` : "";
        const head = tabs.extents.head > 1 ? `, head ${tabs.chosen.head}` : "";
        const trained = isTrained(walk) ? `The trained model ${file}, layer ${layer}${head}.` : drawn;
        const told = [said?.example ? "An example: its numbers were set by hand." : trained];
        const hidden = keys.filter((one) => one.hidden).length;
        if (hidden > 0) told.push(`${hidden} of ${keys.length} words ${hidden > 1 ? "are" : "is"} hidden from ${this.quoted(40)}.`);
        const sum = keys.reduce((all, one) => all + (one.hidden ? 0 : one.weight), 0);
        if (keys.length > 0 && this.roles.areShares && Math.abs(sum - 1) > 0.005) told.push(`Its weights add up to ${Math.round(100 * sum)} %.`);
        told.push(keys.length > 0 ? "Press another word, or a curve for its numbers." : "Press a word for its memory.");
        const changed = walk.sections.find(({ margin }) => margin)?.margin ?? "";
        return element("div", changed && element("p.margin", changed), element("p.origin", told.filter(Boolean).join(" ")));
    }

    // --- the four boxes

    /** Returns the keys in the boxes, in the order of the sentence. */
    inBoxes(keys) {
        if (this.wholeRow || keys.length <= keysInBox) return keys;
        const rank = (one) => (one.key === this.app.state.key ? Infinity : Math.abs(one.weight));
        const order = [...keys].sort((a, b) => rank(b) - rank(a));
        const shown = new Set(order.slice(0, keysInBox));
        return keys.filter((one) => shown.has(one));
    }

    /** Returns a number that links to its derivation; `place` distinguishes it from the same number elsewhere. */
    number(section, flat, place = "") {
        const address = section.address(flat);
        const chosen = this.app.isSelected({ section, flat });
        const written = section.number(section.values[flat]);
        const said = `${section.name}, ${tokensText(section, flat) || address}: ${written}`;
        const about = { class: "number", "data-strip": place + address, title: address, "aria-label": said, "aria-pressed": String(chosen) };
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
            scores === weights ? [] : [
                this.box("1 Match", `query of ${this.quoted(14)} · key of each word`, this.measured(scores, rows, limit)),
                this.box("2 Scale and hide", hides, this.measured(last, rows, limit)),
            ],
            this.box("3 Share out", shares, this.shared(rows, keys), this.rowSum()),
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

    shared(rows, keys) {
        const { exponentials, weights } = this.roles;
        const limit = largestOf(keys.map((one) => one.weight));
        const even = evenShare(keys, limit);
        return rows.map((one) => {
            const power = exponentials ? [this.number(exponentials, this.at(exponentials, one.key))] : [];
            return this.row(one, true, ...power, shareBar(one.weight, limit, even), this.number(weights, one.flat));
        });
    }
    rowSum() {
        const { rowSum, softmax, weights } = this.roles;
        if (!rowSum || softmax !== weights || rowSum.axes.at(-1) !== "query") return [];
        const sum = element("td", this.number(rowSum, this.app.cellAt(rowSum)));
        return [element("tr", element("th", "sum"), sum)];
    }

    /** Returns the drawn features of a value times its weight. */
    weighted(one, most = featuresInBox) {
        return this.valueOf(one).slice(0, most).map(({ section, flat }) => section.values[flat] * one.weight);
    }

    /** Returns the last box: each value times its weight, and their sum. */
    collected(rows) {
        const { weights, value, context } = this.roles;
        const limit = largestOf(rows.flatMap((one) => this.weighted(one)));
        const taken = (one) => {
            const [{ flat }] = this.valueOf(one);
            const about = { class: "number", "aria-label": value.address(flat), "data-strip": `value ${one.key}` };
            const made = button("", () => this.app.choose(value, flat, { stay: true }), about);
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
