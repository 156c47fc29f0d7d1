// "Try: my turn": hides a number and asks for it and for its sources.

/** Returns half a unit of the last digit of a number. */
function halfUnit(text) {
    const [digits, exponent] = text.split("e");
    return 0.5000001 * 10 ** (Number(exponent ?? 0) - (digits.split(".")[1] ?? "").length);
}

/** Returns the numbers that common mistakes would give for this cell, by mistake. */
function mistakesOf(app, section, flat) {
    const told = {};
    const shape = String(section.shape);
    for (const other of app.walk.sections) {
        if (other === section || String(other.shape) !== shape) continue;
        told[`${other.address(flat)} is used instead`] = other.values[flat];
    }
    const indices = section.indices(flat);
    const swapped = [...indices.slice(0, -2), ...indices.slice(-2).reverse()];
    const isSquare = section.shape.at(-1) === section.shape.at(-2);
    if (isSquare) told["query and key are swapped"] = section.values[section.flat(swapped)];
    if (indices.at(-1) > 0) told["the column before is read"] = section.values[flat - 1];
    return told;
}

class Turn {
    constructor(app) {
        this.app = app;
        this.isOn = false;
        this.text = "";
        this.hints = 0;
        /** @type {any[]} */
        this.sources = [];
        /** @type {Set<string>} the sources found so far */
        this.met = new Set();
        const press = () => (this.isOn ? this.giveUp() : this.begin());
        this.button = button("Try: my turn", press, { id: "turn", "aria-pressed": "false" });
    }

    /** Hides the number of the cell in the panel and asks for it. */
    begin() {
        const { app } = this;
        if (!app.shown) return app.say("choose a cell first");
        const { section, flat } = app.shown;
        app.choose(section, flat, { stay: true, keep: !app.isSelected(app.shown) });
        this.text = section.number(section.values[flat]);
        this.met = new Set();
        this.sources = derive(app.walk, section, flat).sources;
        this.hints = 0;
        this.turn(true);
        app.panel.querySelector("h2").after(this.form(section, flat));
        this.answer.focus({ preventScroll: true });
    }

    turn(on) {
        this.isOn = on;
        this.button.setAttribute("aria-pressed", String(on));
        frame.classList.toggle("asking", on);
        this.app.current?.classList.toggle("asked", on);
        this.app.panel.classList.remove("ruled");
    }

    form(section, flat) {
        const check = (event) => {
            event.preventDefault();
            this.check(this.answer.value.replace(",", "."));
        };
        this.answer = element("input", { id: "answer", autocomplete: "off", "aria-label": "your number" });
        this.told = element("p.told", { role: "status" });
        const help = [button("Hint", () => this.hint()), button("Show it", () => this.giveUp())];
        const steps = [...new Set(this.sources.map((source) => source.section.name))].join(" and ");
        const asks = steps && ` Which cells of ${steps} go in? Touch them, or type the number.`;
        const words = element("p", `What is ${section.address(flat)}?${asks}`);
        const asked = [words, this.answer, button("Check", undefined, { type: "submit" }), help];
        return element("form.turn", { onsubmit: check }, asked.flat(), this.choices(section, flat), this.told);
    }

    /** Returns the right number among those that mistakes give. */
    choices(section, flat) {
        const told = new Map();
        for (const [mistake, value] of Object.entries(mistakesOf(this.app, section, flat)))
            told.set(section.number(value), `${section.number(value)} results if ${mistake}`);
        told.delete(this.text);
        if (told.size === 0) return "";
        const all = [...told.keys(), this.text].sort((a, b) => Number(a) - Number(b));
        const press = (text) => (text === this.text ? this.right() : this.tell(told.get(text)));
        return element("p.choices", "one of these: ", all.map((text) => button(text, () => press(text))));
    }

    tell(text) {
        this.told.textContent = text;
        return true;
    }

    check(text) {
        const { section, flat } = this.app.shown;
        const value = section.values[flat];
        const near = text !== "" && Math.abs(Number(text) - value) <= halfUnit(this.text);
        if (near || text === this.text) return this.right();
        this.tell(text === "" ? "Type a number." : "Not yet. Try a hint.");
    }

    right() {
        this.giveUp();
        this.app.panel.prepend(element("p.right", { role: "status" }, `Right: ${this.text}`));
    }

    /** Shows the next term of the sum, or the rule. */
    hint() {
        const rows = this.app.panel.querySelectorAll(".terms tbody tr");
        if (this.hints < rows.length - 1) rows[this.hints++].classList.add("given");
        else this.app.panel.classList.add("ruled");
        this.tell(rows.length > 0 ? `${this.hints} of ${rows.length} terms` : "The rule is below.");
    }

    /** Checks a touched cell; returns true, because it is not selected then. */
    takes({ section, flat }) {
        if (!this.isOn) return false;
        const place = section.address(flat);
        const all = new Set(this.sources.map((one) => one.section.address(one.flat)));
        if (!all.has(place)) return this.tell(`${place} is not used here.`);
        this.met.add(place);
        this.app.steps.light(place, "lit");
        if (this.met.size === all.size) return this.tell("These are all.");
        return this.tell(`${place} is used: ${this.met.size} of ${all.size}.`);
    }

    giveUp() {
        this.end();
        this.app.showSelected();
        this.app.panel.focus({ preventScroll: true });
    }

    end() {
        if (this.isOn) this.turn(false);
    }
}
