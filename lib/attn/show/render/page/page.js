// The page itself. One state has the selected word and the selected cell; the strip, the tables, the
// panel and the page's address show it.

class App {
    constructor() {
        const heads = root.getElementById("heads");
        this.model = heads ? new Model(heads.textContent) : undefined;
        this.walk = this.model ? this.model.walk(0) : new Walk("");
        this.other = root.getElementById("other-walk") ? new Walk("other-") : undefined;
        this.firstWalk = this.walk;
        this.command = heads ? heads.dataset.command : this.walk.command;
        this.levels = this.walk.levels;
        this.layer = undefined;
        this.current = undefined; // the element of the selected cell
        this.shown = undefined; // the cell in the panel
        this.mouse = undefined;
        /** The selected query and key; the tabs have the head and the sequence. */
        this.state = { query: undefined, key: undefined };
        this.selected = undefined;
        this.trail = []; // previously selected cells
        /** @type {any} the program beside the walk: listing.js */
        this.listing = undefined;
        this.letters = !host;
        this.turn = new Turn(this);
        this.tabs = new Tabs(() => this.turned());
        this.strip = new Strip(this);
        this.steps = new Steps(this);
        this.search = new Search(this);
        this.overview = this.model && new Overview(this);
        this.theme = themeButton(() => this.overview?.draw());
        this.switch = element("div", { id: "switch", role: "group", "aria-label": "walk shown" });
        this.said = element("p.away", { role: "status" });
        const about = { id: "why", tabindex: -1, "aria-label": "where this number comes from" };
        this.panel = element("section", about, hint());
        this.dock = dockOf(this);
        this.tools = toolsOf(this);
        layOut(this);
        this.model ? frame.classList.add("closed") : this.makeWalk();
        root.addEventListener("keydown", (event) => onKey(this, event));
        root.addEventListener("mousemove", (event) => {
            this.mouse = { x: event.screenX, y: event.screenY };
        });
        if (!host) addEventListener("hashchange", () => this.moved());
        this.begin();
    }

    // --- the state

    /** Called when the address has changed: a live page (live.js) sets its controls first. */
    moved() {
        this.goTo(hash.read());
    }

    /** Returns the flags of a live page, which come before the cell in its address. */
    flagsText() {
        return hash.flags().map((flag) => flag + "&").join("");
    }

    /** Goes to the cell in the address of the page, otherwise to that of --only. */
    begin() {
        if (this.goTo(hash.read()) || this.model) return;
        const asked = this.walk.sections.find((section) => section.view.opened_at);
        const cell = asked && this.walk.cell(`${asked.name}[${asked.view.opened_at}]`);
        const stay = Boolean(this.listing); // the verdict is above
        if (cell) return this.choose(cell.section, cell.flat, { named: {}, stay, open: !stay || isWide.matches });
        const first = this.strip.roles?.weights ?? this.strip.memory?.state;
        if (first) this.show(first, this.cellAt(first), true, false);
    }

    /** Shows the cell and the word, or the step, in an address. */
    goTo(text) {
        const [, layer, place, more] = /^(?:why=)?(?:layer-(\d+):)?([^&]*)(.*)$/s.exec(text);
        const isOther = layer !== undefined && Number(layer) !== this.layer;
        if (isOther && Number(layer) < (this.model?.layers ?? 0)) this.overview.turnLayer(Number(layer), 0);
        const step = this.steps.parts.get(place.replace(/^step-/, ""));
        const cell = this.walk.cell(place);
        if (step) this.steps.open(step);
        else if (cell && this.steps.parts.size > 0) this.goToCell(cell, new URLSearchParams(more));
        else if (place.includes("[")) this.say(`this page has no cell ${place}`);
        return Boolean(step || cell);
    }
    goToCell({ section, flat }, more) {
        const named = Object.fromEntries([...more].map(([key, value]) => [key, Number(value)]));
        if (named.head < this.tabs.extents.head) this.tabs.turnTo({ head: named.head });
        this.choose(section, flat, { named });
    }

    /** Returns the address of a cell, with the parts of the state that the cell does not determine. */
    addressText({ section, flat }) {
        const layer = this.model ? `layer-${this.layer}:` : "";
        const told = [...section.sides, ...section.axes];
        const usual = { key: this.strip.roles && this.strip.mostSeen(), ...this.strip.opening };
        const now = { ...this.state, head: this.tabs.chosen.head ?? 0 };
        const more = Object.keys(usual).filter((side) => !told.includes(side) && now[side] !== usual[side]);
        const tail = this.strip.roles ? more.map((side) => `&${side}=${now[side]}`) : [];
        const flags = this.flagsText();
        return flags + (flags && "why=") + layer + section.address(flat) + tail.join("");
    }

    /** Returns the cell of a section for the current state. */
    cellAt(section, changed = {}) {
        const at = { ...this.state, ...changed };
        const indices = section.axes.map((axis, i) => {
            const isTab = axis === "batch" || axis === "head";
            const front = isTab || i < section.axes.length - 2 ? this.tabs.front(section, axis) : undefined;
            return Math.min((isTab ? front : at[section.sides[i]] ?? front) ?? 0, section.shape[i] - 1);
        });
        return section.flat(indices);
    }

    /** Selects another query or another key. */
    follow(change) {
        Object.assign(this.state, change);
        if (change.query !== undefined) this.state.key = this.strip.mostSeen();
        const { weights } = this.strip.roles;
        this.choose(weights, this.cellAt(weights), { stay: true, open: isWide.matches });
    }

    /** Sets the state from the indices of a cell and the rest of an address. */
    takeState(section, flat, named) {
        if (!this.strip.roles) return;
        const told = { ...named };
        section.indices(flat).forEach((index, i) => (told[section.sides[i]] = index));
        const [queries, keys] = this.strip.roles.ends;
        this.state.part = told.part ?? this.state.part;
        if (told.query < queries) {
            this.state.query = told.query;
            this.state.key = this.strip.mostSeen();
        }
        if (!(told.key < keys)) return;
        this.state.key = told.key;
        this.strip.pressed = told.key !== this.strip.mostSeen();
    }

    // --- layers and walks

    makeWalk() {
        this.selected = undefined;
        this.current = undefined;
        this.trail = [];
        this.tabs.make(this.walk);
        this.makeSwitch();
        this.strip.make();
        this.steps.make();
    }

    /** Return the same step of the other walk, and a test of cells that differ: compare.js. */
    twin() {}
    differs() {
        return () => false;
    }
    turnWalk() {}

    makeSwitch() {
        const one = (text, isOn, act) => button(text, act, { "aria-pressed": String(isOn) });
        const { head } = this.tabs.chosen;
        const layerButton = (i) => one(`layer ${i}`, i === this.layer, () => this.overview.openLayer(i, head));
        const walkButton = (walk) => one(walk.name, walk === this.walk, () => this.turnWalk(walk));
        const both = [this.walk, this.other].sort((a) => (a === this.firstWalk ? -1 : 1));
        const layers = times(this.model?.layers ?? 0, layerButton);
        if (this.model) layers.unshift(button("all heads", () => this.overview.focus()));
        this.switch.replaceChildren(...layers, ...(this.other ? both.map(walkButton) : []));
    }

    /** Shows the matrices of the selected tabs, and moves the selected cell to them. */
    turned() {
        if (this.layer !== undefined) this.overview.mark(this.layer, this.tabs.chosen.head);
        this.steps.buildFront();
        this.strip.update();
        const { section, flat } = this.selected ?? this.shown ?? {};
        if (!section) return;
        const indices = section.indices(flat);
        section.axes.slice(0, -2).forEach((axis, i) => {
            indices[i] = this.tabs.front(section, axis) ?? indices[i];
        });
        const front = this.strip.isFree(section) ? this.cellAt(section) : section.flat(indices);
        if (front === flat) return;
        if (this.selected) this.choose(section, front, { stay: true, keep: false, open: isWide.matches });
        else {
            this.show(section, front, true, false);
            hash.write(this.addressText(this.shown), false);
        }
    }

    // --- cells

    isSelected({ section, flat }) {
        return this.selected?.section === section && this.selected.flat === flat;
    }

    /** Derives a cell in the panel, and highlights its sources, with `far` down to the inputs. */
    show(section, flat, far, open = true) {
        this.shown = { section, flat };
        const said = showWhy(this, this.panel, section, flat);
        this.steps.lightUp(section, flat, far);
        if (open) this.dock.classList.add("open");
        return said;
    }

    showSelected() {
        if (this.selected) this.show(this.selected.section, this.selected.flat, true);
    }

    /** Announces a sentence to screen readers. */
    say(text) {
        this.said.textContent = text;
    }

    /**
     * Selects a cell and goes to its table, unless that is folded or the focus must `stay`; `keep`
     * remembers the previous cell for Back; `named` comes from the page's address.
     */
    choose(section, flat, { keep = true, stay = false, open = true, named = undefined } = {}) {
        if (this.selected && keep) this.trail.push(this.selected);
        this.turn.end();
        this.selected = { section, flat };
        this.takeState(section, flat, named);
        this.tabs.bringToFront(section, flat);
        const { part } = this.steps.parts.get(section.name);
        if (named) this.steps.unfold(part);
        const goes = !stay && !this.steps.isFolded(section.name);
        const fromPanel = this.dock.contains(root.activeElement);
        this.steps.build(section.name);
        this.mark(this.steps.cells.get(section.address(flat)));
        this.say(this.show(section, flat, true, open));
        this.strip.update();
        hash.write(this.addressText(this.selected), keep && !named);
        this.makeRoom();
        if (stay && open && !isWide.matches) this.strip.bringUp();
        if (goes && this.current) this.goToCurrent();
        else if (fromPanel) this.panel.focus({ preventScroll: true });
    }

    goToCurrent() {
        this.current.focus({ preventScroll: true });
        this.current.scrollIntoView({ block: "nearest", inline: "nearest" });
    }

    /** Marks the selected cell, which Tab reaches. */
    mark(cell) {
        this.current?.removeAttribute("aria-current");
        this.current = cell;
        if (!cell) return;
        cell.setAttribute("aria-current", "true");
        const reached = cell.closest("table").querySelectorAll('td[tabindex="0"]');
        for (const each of reached) each.tabIndex = -1;
        cell.tabIndex = 0;
    }

    /** Makes scrolled elements stop below the tools and above a panel that covers the page. */
    makeRoom() {
        if (host) return;
        const { style, classList } = document.documentElement;
        const over = !isWide.matches && !classList.contains("stage") && this.dock.classList.contains("open");
        style.setProperty(`--dock`, `${over ? this.dock.offsetHeight : 0}px`);
        const sticks = getComputedStyle(this.tools).position === "sticky";
        style.setProperty(`--tools`, `${sticks ? this.tools.offsetHeight : 0}px`);
    }

    goBack() {
        const before = this.trail.pop();
        if (before) this.choose(before.section, before.flat, { keep: false });
    }

    clear() {
        const within = this.dock.contains(root.activeElement);
        const cell = this.current;
        this.turn.end();
        this.selected = undefined;
        this.shown = undefined;
        this.mark(undefined);
        this.steps.darken();
        this.dock.classList.remove("open");
        this.panel.replaceChildren(hint());
        this.makeRoom();
        this.strip.update();
        if (within) (cell?.offsetParent ? cell : firstStop(this))?.focus({ preventScroll: true });
    }
}
