// The page itself: steps down the side, tensors in the middle, the derivation of a cell beside
// them.

/** Up to so many cells a page is built at once; a larger one piece by piece, as it is scrolled. */
const builtAtOnce = 20000;

class App {
    constructor() {
        const heads = document.getElementById("heads");
        this.model = heads ? new Model(heads.textContent) : undefined;
        this.walk = this.model ? this.model.walk(0) : new Walk("");
        this.other = document.getElementById("other-walk") ? new Walk("other-") : undefined;
        this.command = heads ? heads.dataset.command : this.walk.command;
        this.levels = this.walk.levels;
        this.selected = undefined;
        this.trail = []; // cells that were chosen before
        this.linesShown = new Set();
        this.observer = new IntersectionObserver(
            (entries) => {
                for (const entry of entries)
                    if (entry.isIntersecting) this.build(entry.target.dataset.step);
            },
            { rootMargin: "600px" },
        );
        makeFrame(this);
        this.model ? document.body.classList.add("closed") : this.makeSteps();
        document.addEventListener("keydown", (event) => onKey(this, event));
        document.addEventListener("mousemove", (event) => {
            this.mouse = { x: event.screenX, y: event.screenY };
        });
        window.addEventListener("beforeprint", () => this.buildAll());
        this.begin();
    }

    /** Goes to the cell that the address of the page names, else to that of --only. */
    begin() {
        const [, layer, address] = /^#(?:layer-(\d+):)?(.*)$/.exec(location.hash) ?? [];
        if (this.model && Number(layer) < this.model.layers) this.openLayer(Number(layer), 0);
        const asked = this.walk.sections.find((section) => section.view.opened_at);
        const named = address && this.walk.cell(decodeURIComponent(address));
        const cell = named ?? (asked && this.walk.cell(`${asked.name}[${asked.view.opened_at}]`));
        if (cell) this.choose(cell.section, cell.flat);
    }

    /** On a model's page: shows the walk through a layer, its weights in front. */
    openLayer(layer, head) {
        document.body.classList.remove("closed");
        this.walk = this.model.walk(layer);
        this.layer = layer;
        this.selected = undefined;
        this.trail = [];
        this.tabs.chosen.head = head;
        this.makeSteps();
        this.clear();
        this.overview.mark(layer, head);
        this.build("weights");
        const { part } = this.parts.get("weights");
        // The tools stand above what is scrolled to, in as many lines as they need.
        const tools = document.querySelector(".tools");
        const over = getComputedStyle(tools).position === "sticky" ? tools.offsetHeight : 0;
        document.documentElement.style.scrollPaddingTop = `${over + 8}px`;
        part.scrollIntoView({ block: "start", behavior: "instant" });
        part.querySelector('.panel:not([hidden]) td[tabindex="0"]')?.focus({ preventScroll: true });
    }

    /** The same step of the other walk, where its cells can be compared one by one. */
    twin(section) {
        const theirs = this.other?.byName.get(section.name);
        const fits = theirs?.isTensor && String(theirs.shape) === String(section.shape);
        return fits ? theirs : undefined;
    }

    // --- the steps

    makeSteps() {
        this.cells = new Map();
        this.parts = new Map();
        this.lit = [];
        this.tabs.make({ batch: this.walk.extent("batch"), head: this.walk.extent("head") });
        this.makeSwitch();
        const list = element("ol");
        const parts = this.walk.sections.map((section) => {
            list.append(
                element(
                    "li",
                    { "data-nav": section.name },
                    element("a", { href: `#step-${section.name}` }, section.name),
                ),
            );
            return this.makePart(section);
        });
        this.nav.replaceChildren(list);
        this.main.replaceChildren(...this.madeBy(), ...parts);
        const size = this.walk.sections.reduce((sum, section) => sum + (section.size ?? 0), 0);
        if (size <= builtAtOnce) {
            this.buildAll();
        } else {
            for (const { section, part, body } of this.parts.values()) {
                body.style.minHeight = `${1.7 * (section.shape?.at(-2) ?? 1)}rem`;
                this.observer.observe(part);
            }
        }
        for (const section of this.walk.sections) {
            if (this.other && differenceText(this, section)) {
                this.nav
                    .querySelector(`[data-nav="${CSS.escape(section.name)}"]`)
                    .classList.add("differs");
            }
        }
    }

    /** On a model's page: which command makes the walk through this layer. */
    madeBy() {
        if (!this.model) return [];
        const whole = this.walk.sections.length > 1;
        const words = whole ? "this layer by itself: " : "too large for this page; its whole walk: ";
        return [element("p", { class: "made" }, words, element("code", {}, this.walk.command))];
    }

    makePart(section) {
        const words = [];
        const say = (kind, text) => {
            if (text) words.push(element("p", { class: kind }, text));
        };
        say("formula", section.formula);
        if (section.isTensor) {
            say(
                "shape",
                section.axes.map((axis, i) => `${axis} ${section.shape[i]}`).join(" × ") +
                    (section.axes.length > 0 ? ", " : "a scalar, ") +
                    section.dtype,
            );
        }
        say("note", section.note);
        say("margin", section.margin);
        if (this.other) say("difference", differenceText(this, section));
        if (section.code) words.push(element("pre", { class: "code" }, section.code));
        const body = element("div", { class: "body" });
        const open = this.model ? section.name === "weights" : section.view.shown;
        const part = element(
            "details",
            { id: `step-${section.name}`, "data-step": section.name, open },
            element("summary", {}, element("h2", {}, section.name), " ", section.title),
            ...words,
            body,
            legendOf(this.walk, section),
        );
        part.addEventListener("toggle", () => {
            if (part.open && part.getBoundingClientRect().top < innerHeight)
                this.build(section.name);
        });
        this.parts.set(section.name, { section, part, body, built: new Set() });
        return part;
    }

    buildAll() {
        for (const name of this.parts.keys()) this.build(name, true);
    }

    /** Makes the tables of a step: those in front, or all. */
    build(name, all = false) {
        const { section, body, part, built } = this.parts.get(name);
        if (!section.isTensor) {
            body.replaceChildren(element("pre", {}, section.text));
            return;
        }
        if (!part.open && !all) return;
        if (hasLines(section) && !part.querySelector(".view")) {
            body.before(
                element(
                    "button",
                    { type: "button", class: "view", onclick: () => this.turnLines(section) },
                    "show as lines",
                ),
            );
        }
        body.style.minHeight = "";
        const twin = this.other && this.twin(section);
        const differs = (flat) =>
            Boolean(twin) &&
            !Object.is(section.values[flat], twin.values[flat]) &&
            section.values[flat] !== twin.values[flat];
        for (const { start, place } of matricesOf(section)) {
            const inFront = this.tabs.isInFront(section, place);
            let panel = body.querySelector(`[data-start="${start}"]`);
            if (!panel && (inFront || all)) {
                panel = element("div", { class: "panel", "data-start": start });
                panel.append(tableOf(this.walk, section, start, differs));
                for (const cell of panel.querySelectorAll("td"))
                    this.cells.set(cell.dataset.cell, cell);
                this.listen(panel.querySelector("table"));
                body.append(panel);
                built.add(start);
            }
            if (!panel) continue;
            panel.hidden = !inFront;
            if (inFront) this.showView(section, panel, start, place.head ?? 0);
        }
    }

    turnLines(section) {
        const shown = this.linesShown;
        shown.has(section.name) ? shown.delete(section.name) : shown.add(section.name);
        this.parts.get(section.name).part.querySelector(".view").textContent = shown.has(
            section.name,
        )
            ? "show as a table"
            : "show as lines";
        this.build(section.name);
    }

    /** A matrix as a table or as lines. */
    showView(section, panel, start, head) {
        const lines = this.linesShown.has(section.name) && hasLines(section);
        panel.querySelector(".scroll").hidden = lines;
        const old = panel.querySelector(".lines");
        if (lines && !old)
            panel.append(linesOf(section, start, head, (s, flat) => this.choose(s, flat)));
        else if (old) old.hidden = !lines;
    }

    listen(table) {
        const at = (event) => {
            const cell = event.target.closest("td[data-cell]");
            return cell && this.walk.cell(cell.dataset.cell);
        };
        const preview = (event) => {
            // A page that scrolls under a mouse that rests is nobody's question.
            const rests = event.screenX === this.mouse?.x && event.screenY === this.mouse?.y;
            if (event.type === "mouseover" && event.isTrusted && rests) return;
            const cell = at(event);
            const chosen = this.selected;
            if (!cell || (chosen?.section === cell.section && chosen.flat === cell.flat)) return;
            this.show(cell.section, cell.flat, false);
        };
        table.addEventListener("mouseover", preview);
        table.addEventListener("focusin", preview);
        table.addEventListener("mouseleave", () => this.showSelected());
        table.addEventListener("click", (event) => {
            const cell = at(event);
            if (cell) this.choose(cell.section, cell.flat);
        });
        table.addEventListener("keydown", (event) => onCellKey(this, event));
    }

    // --- tabs and walks

    /** Makes what the tabs brought to the front. */
    buildFront() {
        if (this.model && this.layer !== undefined) {
            this.overview.mark(this.layer, this.tabs.chosen.head);
        }
        for (const [name, { part, built }] of this.parts) {
            if (built.size > 0 || part.open) this.build(name);
        }
    }

    makeSwitch() {
        if (this.model) {
            this.switch.replaceChildren(
                button("all heads", () => this.overview.focus()),
                ...Array.from({ length: this.model.layers }, (_, layer) =>
                    button(`layer ${layer}`, () => this.openLayer(layer, this.tabs.chosen.head), {
                        "aria-pressed": String(layer === this.layer),
                    }),
                ),
            );
        }
        if (!this.other) return;
        const both = [this.walk, this.other].sort((a, b) =>
            a === this.firstWalk() ? -1 : b === this.firstWalk() ? 1 : 0,
        );
        this.switch.replaceChildren(
            ...both.map((walk) =>
                element(
                    "button",
                    {
                        type: "button",
                        "aria-pressed": String(walk === this.walk),
                        onclick: () => this.turnWalk(walk),
                    },
                    walk.name,
                ),
            ),
        );
    }
    firstWalk() {
        return (this.first ??= this.walk);
    }

    turnWalk(walk) {
        if (walk === this.walk) return;
        [this.walk, this.other] = [this.other, this.walk];
        const address = this.selected && this.selected.section.address(this.selected.flat);
        this.selected = undefined;
        this.trail = [];
        this.makeSteps();
        const cell = address && this.walk.cell(address);
        if (cell) this.choose(cell.section, cell.flat);
    }

    // --- cells

    /** Shows where a cell comes from, and lights up its sources; `far` down to the inputs. */
    show(section, flat, far) {
        showWhy(this, this.panel, section, flat);
        for (const cell of this.lit) cell.classList.remove("lit", "far", "shown");
        this.lit = [];
        const light = (address, kind) => {
            const cell = this.cells.get(address);
            if (!cell) return;
            cell.classList.add(kind);
            this.lit.push(cell);
        };
        if (far)
            for (const address of upstream(this.walk, section, flat, 400).keys())
                light(address, "far");
        const sources = derive(this.walk, section, flat).sources;
        for (const source of sources) light(source.section.address(source.flat), "lit");
        light(section.address(flat), "shown");
        const steps = new Set(sources.map((source) => source.section.name));
        for (const item of this.nav.querySelectorAll("[data-nav]")) {
            item.classList.toggle("lit", steps.has(item.dataset.nav));
        }
        this.dock.classList.add("open");
    }

    showSelected() {
        if (this.selected) this.show(this.selected.section, this.selected.flat, true);
    }

    choose(section, flat, keep = true) {
        if (this.selected && keep) this.trail.push(this.selected);
        this.selected = { section, flat };
        const { part } = this.parts.get(section.name);
        part.open = true;
        this.tabs.bringToFront(section, flat);
        this.build(section.name);
        this.current?.removeAttribute("aria-current");
        this.current = this.cells.get(section.address(flat));
        this.show(section, flat, true);
        const layer = this.model ? `layer-${this.layer}:` : "";
        history.replaceState(null, "", "#" + layer + section.address(flat));
        if (!this.current) return;
        this.current.setAttribute("aria-current", "true");
        for (const cell of this.current.closest("table").querySelectorAll('td[tabindex="0"]'))
            cell.tabIndex = -1;
        this.current.tabIndex = 0;
        this.current.focus({ preventScroll: true });
        this.current.scrollIntoView({ block: "nearest", inline: "nearest" });
    }

    goBack() {
        const before = this.trail.pop();
        if (before) this.choose(before.section, before.flat, false);
    }

    clear() {
        this.selected = undefined;
        this.current?.removeAttribute("aria-current");
        for (const cell of this.lit) cell.classList.remove("lit", "far", "shown");
        this.dock.classList.remove("open");
        this.panel.replaceChildren(hint());
    }
}

new App();
