// A live page: flags become knobs, and the core walks again whenever one is turned.

/** The bytes of the core that stands in the page, packed and as letters. */
async function unpackedCore() {
    const letters = atob(root.getElementById("core").textContent);
    const packed = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).arrayBuffer();
}

/** A walk's numbers to four digits: in the last ones, browsers and C libraries may differ. */
function roughly(walk) {
    return walk.replace(/-?\d+\.\d+(e[-+]\d+)?/g, (digits) => Number(digits).toPrecision(4));
}

/** The walk that stands in the text of a page. */
function walkIn(text) {
    const page = new DOMParser().parseFromString(text, "text/html");
    return ["walk", "views"].map((id) => page.getElementById(id).textContent);
}

class Live {
    constructor(app) {
        this.app = app;
        const { words, knobs } = JSON.parse(root.getElementById("knobs").textContent);
        this.words = words;
        this.knobs = knobs.map((knob) => this.knobOf(knob));
        /** The walk before the last turn, whose numbers stand beside the new ones. */
        this.before = undefined;
        this.said = element("p", { role: "status" }, "the core is unpacked …");
        const reset = button("as it was made", () => this.reset());
        const fields = element("div.knobs", this.knobs.map(({ label }) => label), reset);
        this.fields = element("fieldset", { disabled: true }, element("legend.away", "settings"), fields);
        const folded = element("details", { open: isWide.matches }, element("summary", "Change it"), this.fields);
        this.element = element("section", { id: "live", "aria-label": "settings of this walk" }, folded, this.said);
        app.strip.element.before(this.element);
        new MutationObserver((changes) => this.markNew(changes)).observe(frame, { childList: true, subtree: true });
        this.start();
    }

    async start() {
        try {
            this.core = await Core.from(await unpackedCore());
            const told = this.core.run(this.commandWords());
            const isOwn = told.code === 0 && roughly(walkIn(told.text)[0]) === roughly(root.getElementById("walk").textContent);
            this.fields.disabled = false;
            this.say(isOwn ? "" : `the core is not that of the program that made this page: ${told.messages || "digits may differ"}`);
        } catch (error) {
            this.say(`no knob can be turned here: ${error.message}`);
        }
    }

    say(text) {
        this.said.textContent = text.replaceAll(/^attn-explain: (error: |note: )?/gm, "").trim();
    }

    // --- the knobs

    /** A flag as a field, by what it takes. */
    knobOf({ name, help, takes, choices, usual, said }) {
        const title = `${name}: ${help}`;
        const about = { title, "data-knob": name, placeholder: usual, value: said ?? "" };
        const act = () => this.turn(knob);
        const isChoice = takes === "choice";
        const list = choices.length > 0 && !isChoice ? `choices${name}` : undefined;
        const type = takes === "number" ? "number" : "text";
        const field = isChoice
            ? element("select", { title, "data-knob": name, onchange: act }, this.optionsOf(choices, usual))
            : element("input", { ...about, type, list, step: "any", autocomplete: "off", spellcheck: "false", onchange: act });
        if (isChoice) field.value = said ?? "";
        const offered = list ? element("datalist", { id: list }, choices.map((word) => element("option", { value: word }))) : "";
        const word = name.slice(2).replaceAll("-", " ");
        const label = element(takes === "text" ? "label.broad" : "label", element("span", word), field, offered);
        const knob = { name, field, label, first: said ?? "" };
        return knob;
    }

    optionsOf(choices, usual) {
        const none = element("option", { value: "" }, choices.includes(usual) ? usual : "none");
        const others = choices.filter((word) => word !== usual);
        return [none, ...others.map((word) => element("option", { value: word }, word))];
    }

    commandWords() {
        const said = this.knobs.filter(({ field }) => field.value !== "");
        return [...this.words, ...said.map(({ name, field }) => `${name}=${field.value}`)];
    }

    reset() {
        for (const { field, first } of this.knobs) field.value = first;
        this.turn();
    }

    /** Walks again; what cannot be walked is said, and the page stays as it is. */
    turn(knob = undefined) {
        let told;
        try {
            told = this.core.run(this.commandWords());
        } catch (error) {
            told = { code: 2, messages: error.message };
        }
        const failed = told.code !== 0;
        for (const { field } of this.knobs) field.removeAttribute("aria-invalid");
        if (failed) knob?.field.setAttribute("aria-invalid", "true");
        if (!failed) this.show(walkIn(told.text));
        this.say(told.messages);
    }

    /** Shows another walk in the place of the one before; what is followed stays. */
    show(texts) {
        const { app } = this;
        const { selected } = app;
        ["walk", "views"].forEach((id, i) => (root.getElementById(id).textContent = texts[i]));
        this.before = app.walk;
        app.walk = app.firstWalk = new Walk("");
        app.walk.rowScale = this.before.rowScale;
        app.command = app.walk.command;
        frame.querySelector(".command code").textContent = app.command;
        const open = new Set([...app.steps.element.querySelectorAll("details.group[open]")].map((one) => one.dataset.group));
        app.makeWalk();
        for (const group of app.steps.element.querySelectorAll("details.group")) group.open = open.has(group.dataset.group);
        const cell = selected && app.walk.cell(selected.section.address(selected.flat));
        const weights = app.strip.roles?.weights;
        const isOpen = app.dock.classList.contains("open");
        if (cell) app.choose(cell.section, cell.flat, { keep: false, stay: true, open: isOpen });
        else if (weights) app.show(weights, app.cellAt(weights), true, false);
    }

    // --- what was there before

    markNew(changes) {
        if (!this.before) return;
        for (const { addedNodes } of changes) {
            for (const node of addedNodes) {
                const cells = node.querySelectorAll?.("[data-cell], [data-strip]") ?? [];
                for (const cell of [node, ...cells]) this.mark(cell);
            }
        }
    }

    /** The old value beside a new one, where both are printed otherwise. */
    mark(cell) {
        const address = cell.dataset?.cell ?? cell.dataset?.strip;
        if (!address) return;
        const key = /^key (\d+)$/.exec(address);
        const weights = this.app.strip.roles?.weights;
        const now = key && weights
            ? { section: weights, flat: this.app.cellAt(weights, { key: Number(key[1]) }) }
            : this.app.walk.cell(address);
        const old = now && this.before.byName.get(now.section.name);
        if (!old || String(old.shape) !== String(now.section.shape)) return;
        const written = (section) => {
            const value = section.values[now.flat];
            if (!key) return section.number(value);
            return section.hides(now.flat) ? "hidden" : percent(value);
        };
        if (written(old) !== written(now.section)) cell.dataset.was = written(old);
    }
}
