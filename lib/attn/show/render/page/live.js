// A live page: flags become controls, and the core runs again when one changes.

/** Rounds a walk's numbers to four digits: browsers and C libraries may differ in the last ones. */
function roughly(walk) {
    return walk.replace(/-?\d+\.\d+(e[-+]\d+)?/g, (digits) => Number(digits).toPrecision(4));
}

/** The parts of a walk, each in its own script element. */
const walkParts = ["walk", "views", "next"];

/** Returns these parts from the text of a page; their text cannot end a script. */
function partsIn(text) {
    return walkParts.map((id) => {
        const [, part] = text.split(`" id="${id}">`);
        return part?.slice(0, part.indexOf("<\/script>"));
    });
}

/** The next words of a model, and the contribution of each of its parts. */
class Next {
    constructor(live) {
        this.live = live;
        this.element = element("section", { id: "writes", "aria-label": "what comes next" });
        this.make();
    }

    make() {
        this.tokens = JSON.parse(root.getElementById("next").textContent);
        this.open = undefined;
        this.show(this.tokens[0]);
    }

    row(name, about, act, bar, number) {
        const word = element("th", { scope: "row" }, act ? button(name, act, about) : name);
        return element("tr", word, element("td", bar), element("td", number));
    }

    /** Returns the path through the model: x, then the contributions of heads and MLP of each layer. */
    path(chosen) {
        const parts = Object.entries(chosen.parts);
        const layerOf = (part) => /^layer (\d+), head/.exec(part)?.[1];
        const heads = parts.filter(([part]) => layerOf(part));
        const [strongest] = heads.sort(([, a], [, b]) => Math.abs(b) - Math.abs(a));
        this.open ??= layerOf(strongest?.[0]);
        const sums = new Map();
        for (const one of parts) {
            const layer = layerOf(one[0]);
            const sum = layer && `layer ${layer}, all heads`;
            if (sum) sums.set(sum, { layer, logit: (sums.get(sum)?.logit ?? 0) + one[1] });
            if (!sum || layer === this.open) sums.set(one[0], { logit: one[1], isHead: Boolean(sum) });
        }
        const most = largestOf([...sums.values()].map(({ logit }) => logit));
        return [...sums].map(([part, { logit, layer, isHead }]) => {
            const unfold = () => {
                this.open = layer === this.open ? "" : layer;
                this.show(chosen);
                this.element.querySelector(`[data-layer="${layer}"]`).focus();
            };
            const go = () => this.live.goToHead(...part.match(/\d+/g));
            const about = layer ? { "data-layer": layer, "aria-expanded": String(layer === this.open) } : {};
            const made = this.row(part, about, layer ? unfold : isHead && go, signedBar(logit, most), fixed(logit, 4));
            made.classList.toggle("inner", Boolean(isHead));
            return made;
        });
    }

    show(chosen) {
        const tokens = this.tokens.map((one) => {
            const about = { "data-token": one.token, "aria-pressed": String(one === chosen) };
            const bar = shareBar(one.probability);
            return this.row(`“${one.token}”`, about, () => this.show(one), bar, fixed(one.probability, 4));
        });
        const apart = ofOneLayer(this.live.app.walk, chosen).map((name) => `--${name.replaceAll("_", "-")}`);
        const remark = `the trained model: ${apart.join(", ")} change${apart.length > 1 ? "" : "s"} only one layer`;
        const write = button(`write “${chosen.token}”`, () => this.live.write(chosen), { id: "write" });
        const next = tableOf("table.drawn", { caption: "the likeliest words", rows: tokens });
        const sum = element("tr", element("th", "sum: its logit"), element("td"), element("td", fixed(chosen.logit, 4)));
        const caption = `what makes “${chosen.token}” likely`;
        const path = tableOf("table.drawn.path", { caption, rows: this.path(chosen), foot: [sum] });
        const note = apart.length > 0 ? element("p.margin", remark) : "";
        this.element.replaceChildren(element("h2", "What comes next"), element("p", "Each layer adds context and MLP to x; the last sum points to a word."), element("div", next, write), path, note);
        this.element.classList.toggle("dim", apart.length > 0);
    }
}

/** Characters of an address that mail programs and messengers keep. */
const longestAddress = 2000;

/** Milliseconds for which a page may not respond. */
const longestWait = 250;

/** A walk has one of these. */
const inputs = ["text", "ids", "seq-len", "random"].map((word) => `--${word}`);

/** The controls that are not folded. */
const firstKnobs = [...inputs, ...["mask", "bug"].map((word) => `--${word}`)];

/** Describes a control for readers who do not know its flag, which is printed next to it in small type. */
const plainly = {
    text: "the words",
    ids: "the words as ids",
    "seq-len": "how many words",
    layer: "which layer",
    heads: "how many heads",
    mask: "who may look at whom",
    scale: "how sharply it looks",
    seed: "which random numbers",
    variant: "how it is computed",
    rope: "order, by rotation",
    "position-embedding": "order, added to words",
    "position-bias": "order, by distance",
    softcap: "a cap on scores",
    bug: "break it",
    rule: "your own rule",
};

/** True if the key is Enter, which ends the input of a field of several lines. */
function isDone(event) {
    if (event.key !== "Enter") return false;
    event.preventDefault();
    return true;
}

/** Encodes a flag for an address: spaces are +, as in addresses of forms. */
const flagText = (name, value) =>
    `${name}=${encodeURIComponent(value).replaceAll("%20", "+").replaceAll("%2C", ",").replaceAll("%3A", ":")}`;
/** @returns {[string, string]} */
function flagOf(text) {
    const [name, ...value] = decoded(text.replaceAll("+", " ")).split("=");
    return [name, value.join("=")];
}

class Live {
    constructor(app) {
        this.app = app;
        const { words, flag, knobs } = JSON.parse(root.getElementById("knobs").textContent);
        this.words = words;
        this.flag = flag;
        /** The cell that was selected when the page was saved. */
        this.at = root.getElementById("knobs").dataset.at;
        /** Flags of the address that have no control here. */
        this.others = [];
        this.knobs = knobs.map((knob) => this.knobOf(knob));
        this.turns = 0;
        this.apart = undefined;
        /** The walk before the last change, whose numbers are next to the new ones. */
        this.before = undefined;
        this.said = element("p", { role: "status" }, "unpacking the core …");
        const acts = [
            button("reset", () => this.reset()),
            button("link", () => this.link(), { title: "copy the address of this view" }),
            button("save", () => this.save(), { title: "save this page to a file" }),
            button("tour", () => this.tour.show(1)),
        ];
        const labels = (isFirst) => this.knobs.filter(({ name }) => firstKnobs.includes(name) === isFirst).map(({ label }) => label);
        const others = element("details", element("summary", "change more, take the tour"), element("div.knobs", labels(false), acts));
        this.fields = element("fieldset", { disabled: true }, element("legend.away", "settings"), element("div.knobs", labels(true)), others);
        this.element = element("section", { id: "live", "aria-label": "settings of this walk" }, this.fields, this.said);
        app.strip.element.before(this.element);
        this.tour = new Tour(this);
        this.tour.takes(hash.read());
        this.next = root.getElementById("next") ? new Next(this) : undefined;
        if (this.next) app.strip.element.after(this.next.element);
        new MutationObserver((changes) => this.markNew(changes)).observe(frame, { childList: true, subtree: true });
        this.sayCommand();
        this.start();
    }

    async start() {
        try {
            const bytes = await unpacked("core", "gzip");
            const packed = this.next && (await unpacked("model", "deflate"));
            this.packed = [bytes, packed];
            this.core = await Core.from(bytes, packed);
            const begin = performance.now();
            const told = this.core.run(this.commandWords());
            this.took = performance.now() - begin;
            const isOwn = told.code === 0 && roughly(partsIn(told.text)[0]) === roughly(root.getElementById("walk").textContent);
            this.fields.disabled = false;
            this.say(isOwn ? "" : `the core and the program that made this page differ: ${told.messages || "digits may differ"}`);
            this.app.moved = () => this.moved();
            if (hash.flags().length > 0) await this.moved();
            else if (hash.read() === "" && this.at) this.app.goTo(this.at);
            this.app.flagsText = () => this.flagsText();
        } catch (error) {
            this.say(`the settings do not work here: ${error.message}`);
        }
    }

    /** Shows the command with --live, so that it makes a live page. */
    sayCommand() {
        frame.querySelector(".command code").textContent = `${this.app.command} ${this.flag}`;
    }

    say(text) {
        this.said.textContent = text.replaceAll(/^attn-explain: (error: |note: )?/gm, "").trim();
    }

    // --- the address

    /** Returns the flags that differ from those of the original page. */
    flagsText() {
        const turned = this.knobs.filter(({ field, first }) => field.value !== first);
        const flags = [...turned.map(({ name, field }) => [name, field.value]), ...this.others];
        return flags.map(([name, value]) => flagText(name, value) + "&").join("");
    }

    /** Sets the controls to the values in the address, and the others to their first values. */
    async moved() {
        const place = hash.read();
        if (hash.flags().map((flag) => flag + "&").join("") !== this.flagsText()) {
            const said = new Map(hash.flags().map(flagOf));
            const hasInput = inputs.some((name) => said.has(name));
            for (const { name, field, first } of this.knobs) {
                field.value = said.get(name) ?? (hasInput && inputs.includes(name) ? "" : first);
            }
            this.others = [...said].filter(([name]) => !this.knobs.some((knob) => knob.name === name));
            if (!(await this.turn(undefined, false))) return;
        }
        if (!this.tour.takes(place) && place) this.app.goTo(place);
    }

    /** Copies the address of this view; a truncated address would show something else. */
    link() {
        const { app } = this;
        const address = app.selected ? app.addressText(app.selected) : this.flagsText().slice(0, -1);
        const href = `${location.href.split("#")[0]}#${address}`;
        copyText(app, href);
        this.say(href.length <= longestAddress ? "" : `the address has ${href.length} characters; some programs cut those above ${longestAddress}: save the page instead`);
    }

    /** Saves the page in its current state. */
    save() {
        const page = /** @type {any} */ (document.documentElement.cloneNode(true));
        page.removeAttribute("class");
        page.removeAttribute("style");
        const body = page.querySelector("body");
        body.replaceChildren(...[...body.children].filter((one) => /^(no)?script$/i.test(one.tagName)));
        const told = JSON.parse(root.getElementById("knobs").textContent);
        const now = this.knobs.map(({ name, field }) => [name, field.value || undefined]);
        const knobs = told.knobs.map((knob) => ({ ...knob, value: new Map(now).get(knob.name) }));
        const words = [...told.words, ...this.othersSaid()];
        page.querySelector("#knobs").textContent = JSON.stringify({ ...told, words, knobs }).replaceAll("<", "\\u003c");
        const address = this.app.selected && this.app.selected.section.address(this.app.selected.flat);
        if (address) page.querySelector("#knobs").dataset.at = address;
        const url = URL.createObjectURL(new Blob(["<!doctype html>\n", page.outerHTML], { type: "text/html" }));
        save("attention.html", url);
        setTimeout(() => URL.revokeObjectURL(url), 1000);
    }

    // --- the controls

    /** Returns the field of a flag, by the type of its value. */
    knobOf({ name, help, takes, choices, default: usual, value: start }) {
        const act = () => this.turn(knob);
        const about = { title: `${name}: ${help}`, "data-knob": name, onchange: act };
        const none = usual || (takes === "text" ? "" : "none");
        const typed = { ...about, placeholder: none, autocomplete: "off", spellcheck: "false" };
        const others = choices.filter((word) => word !== usual);
        const list = takes === "word" ? `choices${name}` : undefined;
        const onkeydown = (event) => isDone(event) && act();
        const fields = {
            choice: () => choiceOf([["", none], ...others.map((word) => [word, word])], about),
            text: () => element("textarea", { ...typed, rows: 1, onkeydown }),
            word: () => element("input", { ...typed, type: "text", list }),
            number: () => element("input", { ...typed, type: "number", step: "any" }),
        };
        const field = fields[takes]();
        field.value = start ?? "";
        const offered = choices.map((value) => element("option", { value }));
        const below = list ? element("datalist", { id: list }, offered) : "";
        const word = element("span", plainly[name.slice(2)] ?? "", " ", element("small", name));
        const label = element(takes === "text" ? "label.broad" : "label", word, field, below);
        const knob = { name, field, label, first: start ?? "" };
        return knob;
    }

    commandWords() {
        const said = this.knobs.filter(({ field }) => field.value !== "");
        return [...this.words, ...said.map(({ name, field }) => `${name}=${field.value}`), ...this.othersSaid()];
    }

    othersSaid() {
        return this.others.map(([name, value]) => (value === "" ? name : `${name}=${value}`));
    }

    fieldOf(word) {
        return this.knobs.find(({ name }) => name === `--${word}`)?.field;
    }

    /** Appends a token to the text, and selects it. */
    async write({ id, piece }) {
        const ids = this.fieldOf("ids");
        ids ? (ids.value += `,${id}`) : (this.fieldOf("text").value += piece);
        if (!(await this.turn())) return;
        const { weights } = this.app.strip.roles;
        this.app.follow({ query: weights.shape.at(-2) - 1 });
        root.getElementById("write").focus({ preventScroll: true });
    }

    /** Shows a head of the model. */
    async goToHead(layer, head) {
        this.fieldOf("layer").value = layer;
        if (await this.turn()) this.app.tabs.turnTo({ head: Number(head) });
    }

    reset() {
        for (const { field, first } of this.knobs) field.value = first;
        this.others = [];
        this.turn();
    }

    /**
     * Runs the walk again; if it is refused, the page shows the message and stays unchanged. A change is
     * a step in the browser's history, unless it comes from the address. After a slow walk the next one
     * runs in a worker, and other controls may change meanwhile: returns true if this was the last change.
     */
    async turn(knob = undefined, isStep = true) {
        const turn = ++this.turns;
        const begin = performance.now();
        let told;
        if (this.took > longestWait) {
            this.apart ??= new CoreApart(this.core, ...this.packed);
            this.element.setAttribute("aria-busy", "true");
            this.say("walking …");
            told = await this.apart.run(this.commandWords());
            if (turn !== this.turns) return false;
            this.element.removeAttribute("aria-busy");
        } else told = this.core.answer(this.commandWords());
        const failed = told.code !== 0;
        if (!failed) this.took = performance.now() - begin;
        for (const { field } of this.knobs) field.removeAttribute("aria-invalid");
        if (failed) knob?.field.setAttribute("aria-invalid", "true");
        const { selected } = this.app;
        const address = selected ? this.app.addressText(selected) : this.flagsText().slice(0, -1);
        if (!failed && isStep) hash.write(address, true);
        if (!failed) this.show(partsIn(told.text));
        this.say(told.messages);
        return true;
    }

    /** Replaces the walk; the selected word stays. */
    show(texts) {
        const { app } = this;
        const { selected } = app;
        walkParts.forEach((id, i) => texts[i] && (root.getElementById(id).textContent = texts[i]));
        this.before = app.walk;
        app.walk = app.firstWalk = new Walk("");
        this.next?.make();
        app.walk.rowScale = this.before.rowScale;
        app.command = app.walk.command;
        this.sayCommand();
        const open = new Set([...app.steps.element.querySelectorAll("details.group[open]")].map((one) => one.dataset.group));
        app.makeWalk();
        for (const group of app.steps.element.querySelectorAll("details.group")) group.open = open.has(group.dataset.group);
        const cell = selected && app.walk.cell(selected.section.address(selected.flat));
        const weights = app.strip.roles?.weights;
        const isOpen = app.dock.classList.contains("open");
        if (cell) app.choose(cell.section, app.strip.isFree(cell.section) ? app.cellAt(weights) : cell.flat, { keep: false, stay: true, open: isOpen });
        else if (weights) app.show(weights, app.cellAt(weights), true, false);
    }

    // --- the old values

    markNew(changes) {
        if (!this.before) return;
        for (const { addedNodes } of changes) {
            for (const node of addedNodes) {
                const cells = node.querySelectorAll?.("[data-cell], [data-strip]") ?? [];
                for (const cell of [node, ...cells]) this.mark(cell);
            }
        }
    }

    /** Adds the old value to a new one if they print differently. */
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
            return key ? this.app.strip.weightText({ weight: value, hidden: section.hides(now.flat) }) : section.number(value);
        };
        if (written(old) !== written(now.section)) cell.dataset.was = written(old);
    }
}
