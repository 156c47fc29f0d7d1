// "My turn": a number is hidden and asked for, and which cells it is made of.

/** The number of decimals that a cell shows, as half a unit of the last one. */
function halfUnit(text) {
    const [digits, exponent] = text.split("e");
    return 0.5000001 * 10 ** (Number(exponent ?? 0) - (digits.split(".")[1] ?? "").length);
}

/** What common mistakes would make of a cell, each with its name. */
function mistakesOf(app, section, flat) {
    const { roles } = app.strip;
    if (!roles) return [];
    const count = section.shape.at(-1);
    const start = flat - (flat % count);
    const row = (of) => [...of.values.slice(start, start + count)];
    const share = (numbers) => {
        const powers = numbers.map((number) => Math.exp(number));
        return powers[flat - start] / powers.reduce((a, b) => a + b, 0);
    };
    if (section === roles.softmax && section.axes.at(-1) === "key") {
        const seen = row(roles.last).filter(Number.isFinite).length;
        return [
            ["the mask is forgotten", share(row(app.walk.byName.get("scaled_scores") ?? roles.scores))],
            ["the scores are not scaled", share(row(roles.scores).map((score, i) => (section.hides(start + i) ? -Infinity : score)))],
            ["softmax is left out", roles.last.values[flat]],
            ["all words get the same", section.hides(flat) ? 0 : 1 / seen],
        ];
    }
    const { terms } = derive(app.walk, section, flat);
    if (terms.length < 2 || terms[0].factors.length < 2) return [];
    const [first, second] = [0, 1].map((i) => terms.map((term) => term.factors[i].section.values[term.factors[i].flat]));
    const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);
    return [
        ["added instead of multiplied", sum(first) + sum(second)],
        ["only the first term", first[0] * second[0]],
        ["the sum of the products without their signs", sum(first.map((one, i) => Math.abs(one * second[i])))],
        ["one row upside down", sum(first.map((one, i) => one * second[second.length - 1 - i]))],
    ];
}

class Turn {
    constructor(app) {
        this.app = app;
        this.isOn = false;
        this.button = button("My turn", () => (this.isOn ? this.giveUp() : this.begin()), { id: "turn", "aria-pressed": "false" });
    }

    /** Hides the number of the cell in the panel and asks for it. */
    begin() {
        const { app } = this;
        if (!app.shown || !app.panel.querySelector("h2")) return;
        const { section, flat } = app.shown;
        if (!app.selected) app.choose(section, flat, { stay: true });
        this.isOn = true;
        this.text = section.number(section.values[flat]);
        this.met = new Set();
        this.sources = derive(app.walk, section, flat).sources;
        this.button.setAttribute("aria-pressed", "true");
        frame.classList.add("asking");
        for (const element of app.cells.values()) element.classList.toggle("asked", element === app.current);
        this.answer = element("input", { id: "answer", inputmode: "text", autocomplete: "off", "aria-label": "your number" });
        this.told = element("p", { class: "told", role: "status" });
        this.hints = 0;
        const check = (event) => {
            event.preventDefault();
            this.check(Number(this.answer.value.replace(",", ".")));
        };
        const form = element(
            "form",
            { class: "turn", onsubmit: check },
            element("p", {}, `What is ${section.address(flat)}? ${this.wanted()}`),
            this.answer,
            " ",
            button("Check", undefined, { type: "submit" }),
            " ",
            button("Hint", () => this.hint()),
            " ",
            button("Show it", () => this.giveUp()),
            this.choices(section, flat),
            this.told,
        );
        app.panel.querySelector("h2").after(form);
        app.strip.update();
        this.answer.focus({ preventScroll: true });
    }

    /** Whose cells are to be touched. */
    wanted() {
        const steps = [...new Set(this.sources.map((source) => source.section.name))];
        return steps.length > 0 ? `Which cells of ${steps.join(" and ")} meet here? Touch them, or type the number.` : "";
    }

    /** The number among what mistakes would make of it. */
    choices(section, flat) {
        const value = section.values[flat];
        const different = new Map();
        for (const [name, other] of mistakesOf(this.app, section, flat)) {
            const text = section.number(other);
            if (text !== this.text && !different.has(text)) different.set(text, name);
        }
        if (different.size === 0 || !Number.isFinite(value)) return "";
        const all = [...different.keys(), this.text].sort((a, b) => Number(a) - Number(b));
        const one = (text) =>
            button(text, () => (text === this.text ? this.right() : this.tell(`${text} is what comes out when ${different.get(text)}`)));
        return element("p", { class: "choices" }, "one of these: ", ...all.map(one));
    }

    tell(text) {
        this.told.textContent = text;
    }

    check(number) {
        const { section, flat } = this.app.shown;
        const value = section.values[flat];
        const right = Number.isFinite(value) ? Math.abs(number - value) <= halfUnit(this.text) : Object.is(number, value);
        if (right) return this.right();
        this.tell(this.answer.value === "" ? "Type a number." : "Not yet. A hint is the next term.");
    }

    right() {
        this.end();
        this.app.showSelected();
        this.app.panel.prepend(element("p", { class: "right", role: "status" }, `Right: ${this.text}`));
    }

    /** Brings the next term of the sum, or the rule. */
    hint() {
        const rows = this.app.panel.querySelectorAll(".terms tbody tr");
        if (this.hints < rows.length - 1) rows[this.hints++].classList.add("given");
        else this.app.panel.classList.add("ruled");
        this.tell(rows.length > 0 ? `${this.hints} of ${rows.length} terms` : "the rule stands below");
    }

    /** A cell was touched: whether it is one that meets here. Nothing is chosen then. */
    takes(cell) {
        if (!this.isOn) return false;
        const wanted = this.sources.find((one) => one.section === cell.section && one.flat === cell.flat);
        const address = cell.section.address(cell.flat);
        if (!wanted) {
            this.tell(`${address} does not meet here`);
            return true;
        }
        this.met.add(address);
        this.app.light(address, "lit");
        const all = new Set(this.sources.map((one) => one.section.address(one.flat))).size;
        this.tell(this.met.size === all ? "These are all that meet here." : `${address} meets here: ${this.met.size} of ${all}`);
        return true;
    }

    giveUp() {
        this.end();
        this.app.showSelected();
    }

    end() {
        if (!this.isOn) return;
        this.isOn = false;
        this.button.setAttribute("aria-pressed", "false");
        frame.classList.remove("asking");
        this.app.panel.classList.remove("ruled");
        for (const cell of this.app.cells.values()) cell.classList.remove("asked");
        this.app.strip.update();
    }
}
