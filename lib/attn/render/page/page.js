// The page itself: the word that is followed, the tensors below it, the derivation of a cell
// beside them. One state says what is followed; strip, tables, panel and address show it.

/** Up to so many cells a page is built at once; a larger one piece by piece, as it is scrolled. */
const builtAtOnce = 20000;

class App {
    constructor() {
        const heads = root.getElementById("heads");
        this.model = heads ? new Model(heads.textContent) : undefined;
        this.walk = this.model ? this.model.walk(0) : new Walk("");
        this.other = root.getElementById("other-walk") ? new Walk("other-") : undefined;
        this.firstWalk = this.walk;
        this.command = heads ? heads.dataset.command : this.walk.command;
        this.levels = this.walk.levels;
        this.selected = undefined;
        /** What is followed, beside the head and the sequence that the tabs have in front. */
        this.state = { query: undefined, key: undefined };
        this.trail = []; // cells that were chosen before
        this.linesShown = new Set();
        this.inSight = new Set();
        this.observer = new IntersectionObserver((entries) => this.scrolled(entries), { rootMargin: "600px" });
        makeFrame(this);
        this.model ? frame.classList.add("closed") : this.makeSteps();
        root.addEventListener("keydown", (event) => onKey(this, event));
        root.addEventListener("mousemove", (event) => {
            this.mouse = { x: event.screenX, y: event.screenY };
        });
        if (!host) addEventListener("hashchange", () => this.goTo(hash.read()));
        addEventListener("beforeprint", () => this.buildAll());
        this.begin();
    }

    // --- the state

    /** Goes to the cell that the address of the page names, else to that of --only. */
    begin() {
        if (this.goTo(hash.read())) return;
        const asked = this.walk.sections.find((section) => section.view.opened_at);
        const cell = asked && this.walk.cell(`${asked.name}[${asked.view.opened_at}]`);
        if (cell) return this.choose(cell.section, cell.flat, { named: {} });
        if (this.model || !this.strip.roles) return;
        const { weights } = this.strip.roles;
        this.show(weights, this.cellAt(weights), true, false);
    }

    /** Shows what an address names: a cell and what is followed, or a step. */
    goTo(text) {
        const [, layer, cellText, more] = /^(?:layer-(\d+):)?([^&]*)(.*)$/s.exec(text);
        if (this.model && layer !== undefined && Number(layer) < this.model.layers && Number(layer) !== this.layer)
            this.openLayer(Number(layer), 0);
        const step = this.parts?.get(cellText.replace(/^step-/, ""));
        if (step) this.openStep(step);
        if (step) return true;
        const cell = this.walk.cell(cellText);
        if (!cell) {
            if (cellText.includes("[")) this.say(`this page has no cell ${cellText}`);
            return false;
        }
        const named = Object.fromEntries([...new URLSearchParams(more)].map(([key, value]) => [key, Number(value)]));
        if (named.head > 0) this.tabs.turnTo({ head: Math.min(named.head, this.tabs.extents.head - 1) });
        this.choose(cell.section, cell.flat, { named });
        return true;
    }

    /** The address of the chosen cell, with what of the state it does not tell by itself. */
    addressText() {
        const { section, flat } = this.selected;
        const layer = this.model ? `layer-${this.layer}:` : "";
        let more = "";
        if (this.strip.roles) {
            const { sides } = section.view;
            if (!sides.includes("key") && this.state.key !== this.strip.mostSeen()) more += `&key=${this.state.key}`;
            if (!sides.includes("query") && this.state.query !== this.strip.middle) more += `&query=${this.state.query}`;
            if (!section.axes.includes("head") && this.tabs.chosen.head > 0) more += `&head=${this.tabs.chosen.head}`;
        }
        return layer + section.address(flat) + more;
    }

    /** The cell of a section that the state names. */
    cellAt(section, changed = {}) {
        const at = { feature: 0, ...this.state, ...changed };
        const indices = section.axes.map((axis, i) => {
            const isTab = axis === "batch" || axis === "head";
            const index = isTab ? this.tabs.front(section, axis) ?? 0 : at[section.view.sides[i]] ?? 0;
            return Math.min(index, section.shape[i] - 1);
        });
        return section.flat(indices);
    }

    /** Follows another word, or looks at another key of it. */
    follow(change) {
        Object.assign(this.state, change);
        if (change.query !== undefined) this.state.key = this.strip.mostSeen();
        const { weights } = this.strip.roles;
        this.choose(weights, this.cellAt(weights), { stay: true, open: screens.wide.matches });
    }

    /** The state that a cell brings with it. */
    takeState(section, flat, named) {
        const indices = section.indices(flat);
        const told = { ...named };
        section.view.sides.forEach((side, i) => (told[side] = indices[i]));
        if (!this.strip.roles) return;
        const [queries, keys] = this.strip.roles.weights.shape.slice(-2);
        if (told.query < queries) {
            this.state.query = told.query;
            if (told.key === undefined) this.state.key = this.strip.mostSeen();
        }
        if (told.key < keys) this.state.key = told.key;
    }

    // --- layers and walks

    /** On a model's page: shows the walk through a layer, its weights in front. */
    openLayer(layer, head) {
        frame.classList.remove("closed");
        this.walk = this.model.walk(layer);
        this.layer = layer;
        this.selected = undefined;
        this.trail = [];
        this.tabs.chosen.head = head;
        this.makeSteps();
        this.clear();
        this.overview.mark(layer, head);
        const step = this.parts.get("weights");
        this.openStep(step);
        step.part.querySelector('.panel:not([hidden]) td[tabindex="0"]')?.focus({ preventScroll: true });
    }

    /** The same step of the other walk, where its cells can be compared one by one. */
    twin(section) {
        const theirs = this.other?.byName.get(section.name);
        const fits = theirs?.isTensor && String(theirs.shape) === String(section.shape);
        return fits ? theirs : undefined;
    }

    makeSwitch() {
        const one = (text, pressed, act) => button(text, act, { "aria-pressed": String(pressed) });
        const layers = this.model
            ? Array.from({ length: this.model.layers }, (_, layer) =>
                  one(`layer ${layer}`, layer === this.layer, () => this.openLayer(layer, this.tabs.chosen.head)),
              )
            : [];
        const both = [this.walk, this.other].sort((a) => (a === this.firstWalk ? -1 : 1));
        const walks = this.other ? both.map((walk) => one(walk.name, walk === this.walk, () => this.turnWalk(walk))) : [];
        if (this.model) layers.unshift(button("all heads", () => this.overview.focus()));
        this.switch.replaceChildren(...layers, ...walks);
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

    // --- the steps

    makeSteps() {
        this.cells = new Map();
        this.parts = new Map();
        this.lit = [];
        this.observer.disconnect();
        this.inSight.clear();
        this.tabs.make({ batch: this.walk.extent("batch"), head: this.walk.extent("head") });
        this.makeSwitch();
        this.strip.make();
        const groups = groupsOf(this.walk, Boolean(this.strip.roles));
        const size = this.walk.sections.reduce((sum, section) => sum + (section.size ?? 0), 0);
        this.isSmall = size <= builtAtOnce;
        this.nav.replaceChildren(element("ol", {}, ...groups.map((group) => this.navOf(group))));
        this.main.replaceChildren(...this.madeBy(), ...groups.map((group) => this.makeGroup(group)));
        if (this.isSmall) return this.buildAll();
        for (const { section, part, body } of this.parts.values()) {
            body.style.minHeight = `${1.7 * (section.shape?.at(-2) ?? 1)}rem`;
            this.observer.observe(part);
        }
    }

    navOf({ title, sections }) {
        const items = sections.map((section) => {
            const differs = this.other && differenceText(this, section) !== "";
            const link = element("a", { href: `#step-${section.name}` }, section.name);
            link.addEventListener("click", (event) => {
                event.preventDefault();
                this.openStep(this.parts.get(section.name));
            });
            return element("li", { "data-nav": section.name, class: differs ? "differs" : undefined }, link);
        });
        return title ? element("li", {}, element("span", {}, title), element("ol", {}, ...items)) : items[0];
    }

    /** Steps that belong together, folded below the word that is followed. */
    makeGroup({ title, sections }) {
        const parts = sections.flatMap((section) => [
            element("h3", { class: "away" }, section.name),
            this.makePart(section),
        ]);
        if (!title) return parts[1];
        const open = Boolean(this.model);
        const names = element("small", {}, sections.map((section) => section.name).join(", "));
        const summary = element("summary", {}, element("b", {}, title), " ", names);
        const group = element("details", { class: "group", "data-group": title, open }, summary, ...parts);
        return element("section", {}, element("h2", { class: "away" }, title), group);
    }

    /** On a model's page: which command makes the walk through this layer. */
    madeBy() {
        if (!this.model) return [];
        const whole = this.walk.sections.length > 1;
        const words = whole ? "this layer by itself: " : "too large for this page; its whole walk: ";
        return [element("p", { class: "made" }, words, element("code", {}, this.walk.command))];
    }

    makePart(section) {
        const said = {
            formula: section.formula,
            shape: shapeText(section),
            note: section.note,
            margin: section.margin,
            difference: this.other && differenceText(this, section),
        };
        const words = Object.entries(said).filter(([, text]) => text);
        const body = element("div", { class: "body" });
        const open = this.model ? section.name === "weights" : section.view.shown;
        const part = element(
            "details",
            { id: `step-${section.name}`, class: "step", "data-step": section.name, open },
            element("summary", {}, element("b", {}, section.name), " ", section.title),
            ...words.map(([kind, text]) => element("p", { class: kind }, text)),
            section.code ? element("pre", { class: "code" }, section.code) : "",
            hasLines(section) ? button("show as lines", () => this.turnLines(section), { class: "view" }) : "",
            body,
            legendOf(this.walk, section),
        );
        part.addEventListener("toggle", () => {
            if (part.open && part.getBoundingClientRect().top < innerHeight) this.build(section.name);
        });
        this.parts.set(section.name, { section, part, body, built: new Set() });
        return part;
    }

    scrolled(entries) {
        for (const { isIntersecting, target } of entries) {
            const name = target.dataset.step;
            isIntersecting ? this.inSight.add(name) : this.inSight.delete(name);
            if (isIntersecting && this.parts.has(name)) this.build(name);
        }
    }

    /** Opens a step and goes there. */
    openStep({ section, part }) {
        this.unfold(part);
        this.build(section.name);
        part.scrollIntoView({ block: "start", behavior: "instant" });
    }
    unfold(part) {
        part.open = true;
        const group = part.closest(".group");
        if (group) group.open = true;
    }

    buildAll() {
        for (const name of this.parts?.keys() ?? []) this.build(name, true);
    }

    /** Makes the tables of a step: those in front, or all. */
    build(name, all = false) {
        const { section, body, part, built } = this.parts.get(name);
        if (!section.isTensor) return body.replaceChildren(element("pre", {}, section.text));
        if (!part.open && !all) return;
        body.style.minHeight = "";
        const twin = this.other && this.twin(section);
        const differs = (flat) => Boolean(twin) && !same(section.values[flat], twin.values[flat]);
        matricesOf(section).forEach(({ start, place }, number) => {
            const inFront = this.tabs.isInFront(section, place);
            let panel = body.querySelector(`[data-start="${start}"]`);
            if (!panel && (inFront || all)) {
                panel = element("div", { class: "panel", "data-start": start }, tableOf(this.walk, section, start, differs));
                for (const cell of panel.querySelectorAll("td")) this.cells.set(cell.dataset.cell, cell);
                this.listen(panel.querySelector("table"));
                body.append(panel);
                built.add(start);
            }
            if (!panel) return;
            panel.hidden = !inFront;
            if (!inFront) return;
            this.showView(section, panel, start, place.head ?? 0);
            const note = part.querySelector(".note");
            if (note) note.textContent = section.view.notes?.[number] || section.note;
        });
    }

    turnLines(section) {
        const shown = this.linesShown;
        shown.has(section.name) ? shown.delete(section.name) : shown.add(section.name);
        this.parts.get(section.name).part.querySelector(".view").textContent =
            shown.has(section.name) ? "show as a table" : "show as lines";
        this.build(section.name);
    }

    /** A matrix as a table or as lines. */
    showView(section, panel, start, head) {
        const lines = this.linesShown.has(section.name) && hasLines(section);
        panel.querySelector(".scroll").hidden = lines;
        const old = panel.querySelector(".lines");
        if (lines && !old) panel.append(linesOf(section, start, head, (s, flat) => this.choose(s, flat)));
        else if (old) old.hidden = !lines;
    }

    listen(table) {
        const at = (event) => {
            const cell = event.target.closest("td[data-cell]");
            return cell && this.walk.cell(cell.dataset.cell);
        };
        const preview = (event) => {
            // Where the panel lies over the tables, only what is chosen opens it.
            if (!screens.wide.matches || this.turn.isOn) return;
            // A page that scrolls under a mouse that rests is nobody's question.
            const rests = event.screenX === this.mouse?.x && event.screenY === this.mouse?.y;
            if (event.type === "mouseover" && event.isTrusted && rests) return;
            const cell = at(event);
            if (cell && !this.isSelected(cell)) this.show(cell.section, cell.flat, false);
        };
        table.addEventListener("mouseover", preview);
        table.addEventListener("focusin", preview);
        table.addEventListener("mouseleave", () => screens.wide.matches && !this.turn.isOn && this.showSelected());
        table.addEventListener("click", (event) => {
            const cell = at(event);
            if (cell && !this.turn.takes(cell)) this.choose(cell.section, cell.flat);
        });
        table.addEventListener("keydown", (event) => onCellKey(this, event));
    }

    /** Shows what the tabs brought to the front; the chosen cell goes along. */
    turned() {
        if (this.model && this.layer !== undefined) this.overview.mark(this.layer, this.tabs.chosen.head);
        for (const [name, { part, built }] of this.parts) {
            if ((built.size > 0 || part.open) && (this.isSmall || this.inSight.has(name))) this.build(name);
        }
        this.strip.update();
        if (!this.selected) return;
        const { section, flat } = this.selected;
        const indices = section.indices(flat);
        section.axes.slice(0, -2).forEach((axis, i) => (indices[i] = this.tabs.front(section, axis) ?? indices[i]));
        const front = section.flat(indices);
        if (front !== flat) this.choose(section, front, { stay: true, keep: false });
    }

    // --- cells

    isSelected(cell) {
        return this.selected?.section === cell.section && this.selected.flat === cell.flat;
    }

    light(address, kind) {
        const cell = this.cells.get(address);
        if (!cell) return;
        cell.classList.add(kind);
        this.lit.push(cell);
    }
    darken() {
        for (const cell of this.lit) cell.classList.remove("lit", "far", "shown");
        this.lit = [];
    }
    /** Lights what meets in one term of a sum. */
    lightTerm(factors) {
        this.darken();
        for (const { section, flat } of factors) this.light(section.address(flat), "lit");
    }

    /** Shows where a cell comes from, and lights up its sources; `far` down to the inputs. */
    show(section, flat, far, open = true) {
        this.shown = { section, flat };
        const said = showWhy(this, this.panel, section, flat);
        this.darken();
        const { sources } = derive(this.walk, section, flat);
        if (far) for (const each of upstream(this.walk, section, flat, 400).keys()) this.light(each, "far");
        for (const source of sources) this.light(source.section.address(source.flat), "lit");
        this.light(section.address(flat), "shown");
        const steps = new Set(sources.map((source) => source.section.name));
        for (const item of this.nav.querySelectorAll("[data-nav]"))
            item.classList.toggle("lit", steps.has(item.dataset.nav));
        if (open) this.dock.classList.add("open");
        return said;
    }

    showSelected() {
        if (this.selected) this.show(this.selected.section, this.selected.flat, true);
    }

    /** One sentence for those who listen. */
    say(text) {
        this.said.textContent = text;
    }

    /**
     * Chooses a cell. Its table is gone to unless it is folded away, or unless the focus shall
     * `stay`; `keep` remembers the cell before for Back.
     */
    choose(section, flat, { keep = true, stay = false, open = true, named = undefined, push = true } = {}) {
        const { part } = this.parts.get(section.name);
        const folded = part.closest(".group")?.open === false || !part.open;
        const before = this.selected;
        if (before && keep) this.trail.push(before);
        this.turn.end();
        this.selected = { section, flat };
        this.takeState(section, flat, named);
        this.tabs.bringToFront(section, flat);
        this.current?.removeAttribute("aria-current");
        const fromPanel = this.dock.contains(root.activeElement);
        if (!stay && (!folded || named)) this.unfold(part);
        else stay ||= folded;
        this.build(section.name);
        this.current = this.cells.get(section.address(flat));
        this.say(this.show(section, flat, true, open));
        this.strip.update();
        hash.write(this.addressText(), push && keep);
        this.makeRoom();
        this.mark(this.current);
        if (!stay) this.current?.focus({ preventScroll: true });
        if (!stay) this.current?.scrollIntoView({ block: "nearest", inline: "nearest" });
        if (stay && fromPanel) this.panel.focus({ preventScroll: true });
    }

    /** Marks a cell as the chosen one, the one that Tab reaches. */
    mark(cell) {
        if (!cell) return;
        cell.setAttribute("aria-current", "true");
        for (const each of cell.closest("table").querySelectorAll('td[tabindex="0"]')) each.tabIndex = -1;
        cell.tabIndex = 0;
    }

    /** What scrolls into sight stops above the panel that lies over the page. */
    makeRoom() {
        if (host) return;
        const over = !screens.wide.matches && this.dock.classList.contains("open");
        const height = over ? this.dock.offsetHeight : 0;
        document.documentElement.style.setProperty("--dock", `${height}px`);
        const tools = frame.querySelector(".tools");
        const sticks = getComputedStyle(tools).position === "sticky";
        document.documentElement.style.setProperty("--tools", `${sticks ? tools.offsetHeight : 0}px`);
    }

    goBack() {
        const before = this.trail.pop();
        if (before) this.choose(before.section, before.flat, { keep: false });
    }

    clear() {
        const within = this.dock.contains(root.activeElement);
        const cell = this.current;
        this.selected = undefined;
        this.turn.end();
        this.current?.removeAttribute("aria-current");
        this.darken();
        this.dock.classList.remove("open");
        this.player.take([], []);
        this.panel.replaceChildren(hint());
        this.makeRoom();
        this.strip.update();
        if (within) (cell?.offsetParent ? cell : frame.querySelector(".skip")).focus({ preventScroll: true });
    }
}

/** Equal numbers, and nan twice. */
function same(one, other) {
    return Object.is(one, other) || one === other;
}

function shapeText(section) {
    if (!section.isTensor) return "";
    const axes = section.axes.map((axis, i) => `${axis} ${section.shape[i]}`).join(" × ");
    return `${axes ? axes + ", " : "a scalar, "}${section.dtype}`;
}

/** The groups of a walk, in its order; a notebook's sections stand by themselves. */
function groupsOf(walk, grouped) {
    if (!grouped) return walk.sections.map((section) => ({ title: "", sections: [section] }));
    const groups = new Map(groupNames.map(([title]) => [title, []]));
    for (const section of walk.sections) {
        const [title] = groupNames.find(([, names]) => names.test(section.name));
        groups.get(title).push(section);
    }
    return [...groups].map(([title, sections]) => ({ title, sections })).filter((one) => one.sections.length > 0);
}
/** What belongs where; the first that fits counts, and what fits nowhere is a projection. */
const groupNames = [
    ["input", /^(ids|\w*embedding|x|memory|segment\w*|[gb]_(x|memory)|normed_(x|memory))$/],
    ["projections", /^(?!\w*(scores|weights|context|mask|output|merged)$|row_|exponentials|sink|lambda|running|correction|inverse_freq|angles|cos$|sin$|rotated|positions|buckets|position_bias|relative_)/],
    ["positions", /^(inverse_freq|angles|cos$|sin$|rotated|positions|buckets|position_bias|relative_)/],
    ["scores", /scores$|^mask$/],
    ["softmax", /weights$|^(row_|exponentials|sink|lambda|running|correction)/],
    ["output", /./],
];

new App();
