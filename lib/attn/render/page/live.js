// A live page: flags become knobs, and the core walks again whenever one is turned.

/** The bytes that stand in the page, packed in this way and as letters. */
async function unpacked(id, /** @type {CompressionFormat} */ way) {
    const packed = bytesOf(root.getElementById(id).textContent);
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream(way));
    return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** A walk's numbers to four digits: in the last ones, browsers and C libraries may differ. */
function roughly(walk) {
    return walk.replace(/-?\d+\.\d+(e[-+]\d+)?/g, (digits) => Number(digits).toPrecision(4));
}

/** What a walk brings along, each in a script of its own. */
const walkParts = ["walk", "views", "next"];

/** These parts in the text of a page. */
function partsIn(text) {
    const page = new DOMParser().parseFromString(text, "text/html");
    return walkParts.map((id) => page.getElementById(id)?.textContent);
}

/** What a model writes next: its likeliest tokens, and which heads added to the one in front. */
class Next {
    constructor(live) {
        this.live = live;
        this.element = element("section", { id: "writes", "aria-label": "what comes next" });
        this.make();
    }

    make() {
        this.tokens = JSON.parse(root.getElementById("next").textContent);
        this.show(this.tokens[0]);
    }

    show(chosen) {
        const row = (about, text, act, bar, number) => {
            const word = element("th", { scope: "row" }, act ? button(text, act, about) : text);
            return element("tr", word, element("td", bar), element("td", number));
        };
        const tokens = this.tokens.map((one) => {
            const about = { "data-token": one.token, "aria-pressed": String(one === chosen) };
            const bar = shareBar(one.probability);
            return row(about, `“${one.token}”`, () => this.show(one), bar, fixed(one.probability, 4));
        });
        const heads = Object.entries(chosen.parts).filter(([part]) => part.includes("head"));
        heads.sort(([, a], [, b]) => Math.abs(b) - Math.abs(a));
        const added = heads.slice(0, this.tokens.length).map(([part, logit]) => {
            const go = () => this.live.goToHead(...part.match(/\d+/g));
            return row({}, part, go, signedBar(logit, heads[0][1]), fixed(logit, 4));
        });
        const table = (caption, rows) => element("table.drawn", element("caption", caption), element("tbody", rows));
        const write = button(`write “${chosen.token}”`, () => this.live.write(chosen), { id: "write" });
        const words = `which heads did it: what they add to its logit, ${fixed(chosen.logit, 4)}`;
        this.element.replaceChildren(table("what comes next", tokens), table(words, added), write);
    }
}

/** Whether Enter ends what is typed in a field of several lines. */
function isDone(event) {
    if (event.key !== "Enter") return false;
    event.preventDefault();
    return true;
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
        this.next = root.getElementById("next") ? new Next(this) : undefined;
        this.element.append(this.next?.element ?? "");
        new MutationObserver((changes) => this.markNew(changes)).observe(frame, { childList: true, subtree: true });
        this.start();
    }

    async start() {
        try {
            this.core = await Core.from(await unpacked("core", "gzip"));
            if (this.next) this.core.hold(await unpacked("model", "deflate"));
            const told = this.core.run(this.commandWords());
            const isOwn = told.code === 0 && roughly(partsIn(told.text)[0]) === roughly(root.getElementById("walk").textContent);
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
        const act = () => this.turn(knob);
        const about = { title, "data-knob": name, placeholder: usual, onchange: act };
        const isChoice = takes === "choice";
        const list = choices.length > 0 && !isChoice ? `choices${name}` : undefined;
        const type = takes === "number" ? "number" : "text";
        const typed = { ...about, autocomplete: "off", spellcheck: "false" };
        const field = isChoice
            ? element("select", about, this.optionsOf(choices, usual))
            : takes === "text"
              ? element("textarea", { ...typed, rows: 1, onkeydown: (event) => isDone(event) && act() })
              : element("input", { ...typed, type, list, step: "any" });
        field.value = said ?? "";
        const offered = list ? element("datalist", { id: list }, choices.map((word) => element("option", { value: word }))) : "";
        const word = name.slice(2).replaceAll("-", " ");
        const label = element(takes === "text" ? "label.broad" : "label", element("span", word), field, offered);
        const knob = { name, field, label, first: said ?? "" };
        return knob;
    }

    optionsOf(choices, usual) {
        const none = element("option", { value: "" }, usual || "none");
        const others = choices.filter((word) => word !== usual);
        return [none, ...others.map((word) => element("option", { value: word }, word))];
    }

    commandWords() {
        const said = this.knobs.filter(({ field }) => field.value !== "");
        return [...this.words, ...said.map(({ name, field }) => `${name}=${field.value}`)];
    }

    fieldOf(word) {
        return this.knobs.find(({ name }) => name === `--${word}`)?.field;
    }

    /** Writes a token behind the text, and follows it. */
    write({ id, piece }) {
        const ids = this.fieldOf("ids");
        ids ? (ids.value += `,${id}`) : (this.fieldOf("text").value += piece);
        this.turn();
        const { weights } = this.app.strip.roles;
        this.app.follow({ query: weights.shape.at(-2) - 1 });
        root.getElementById("write").focus({ preventScroll: true });
    }

    /** Goes to a head of the model. */
    goToHead(layer, head) {
        this.fieldOf("layer").value = layer;
        this.turn();
        this.app.tabs.turnTo({ head: Number(head) });
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
        if (!failed) this.show(partsIn(told.text));
        this.say(told.messages);
    }

    /** Shows another walk in the place of the one before; what is followed stays. */
    show(texts) {
        const { app } = this;
        const { selected } = app;
        walkParts.forEach((id, i) => texts[i] && (root.getElementById(id).textContent = texts[i]));
        this.next?.make();
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
