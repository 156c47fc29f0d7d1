// The steps of a walk: in folded groups, each with its text and its tables.

/** Cells up to which a page is built at once; a larger page is built as it is scrolled. */
const builtAtOnce = 20000;

/** Columns up to which two tables are side by side on paper. */
const columnsOnHalfPaper = 10;

/** Patterns of the names in each group; the first match counts. */
const groupNames = {
    input: /^(ids|\w*embedding|x|memory|segment\w*|[gb]_(x|memory)|normed_(x|memory))$/,
    positions: /^(inverse_freq|angles|cos$|sin$|rotated|positions|buckets|position_bias|relative_)/,
    scores: /scores$|^mask$|^similarity$/,
    memory: /^(\w+_)?(state|norm|decay|fade|gate|beta|dt)$/,
    softmax: /weights$|^(row_|exponentials|sink|lambda|running|correction)/,
    output: /context$|^(merged|[wb]_)?output$|^[gb]_(context|output)$|^merged$/,
    projections: /./,
};
const groupOrder = ["input", "projections", "positions", "scores", "memory", "softmax", "output"];

/** Returns the groups of a walk; a notebook's sections have none. */
function groupsOf(walk, isGrouped) {
    if (!isGrouped) return walk.sections.map((section) => ({ title: "", sections: [section] }));
    const groups = groupOrder.map((title) => ({ title, sections: [] }));
    for (const section of walk.sections) {
        const title = Object.keys(groupNames).find((name) => groupNames[name].test(section.of.name));
        groups[groupOrder.indexOf(title)].sections.push(section);
    }
    const place = (section) => walk.sections.indexOf(section.of);
    for (const { sections } of groups) sections.sort((a, b) => place(a) - place(b));
    return groups.filter((one) => one.sections.length > 0);
}

function shapeText(section) {
    if (!section.isTensor) return "";
    const axes = section.axes.map((axis, i) => `${axis} ${section.shape[i]}`).join(" × ");
    return `${axes ? axes + ", " : "a scalar, "}${section.dtype}`;
}

class Steps {
    constructor(app) {
        this.app = app;
        this.element = element("div", { id: "tensors" });
        this.inSight = new Set();
        this.parts = new Map();
        this.cells = new Map();
        this.lit = [];
        this.soon = undefined;
        const seen = (entries) => this.scrolled(entries);
        this.observer = new IntersectionObserver(seen, { rootMargin: "600px" });
        addEventListener("beforeprint", () => this.buildAll());
    }

    make() {
        const { walk, strip } = this.app;
        for (const kept of [this.cells, this.parts, this.inSight]) kept.clear();
        this.lit = [];
        this.observer.disconnect();
        const groups = groupsOf(walk, !strip.element.hidden);
        const size = walk.sections.reduce((sum, section) => sum + (section.size ?? 0), 0);
        this.isSmall = size <= builtAtOnce;
        this.element.replaceChildren(...this.madeBy(), ...groups.map((group) => this.groupOf(group)));
        if (this.isSmall) return this.buildAll();
        for (const { section, part, body } of this.parts.values()) {
            body.style.minHeight = `${1.7 * (section.shape?.at(-2) ?? 1)}rem`;
            this.observer.observe(part);
        }
    }

    // --- the frames of steps

    /** Returns the steps of a group, folded below the first screen. */
    groupOf({ title, sections }) {
        const heading = (section) => element("h3.away", section.name);
        if (!title) return this.partOf(sections[0]);
        const parts = sections.flatMap((section) => {
            const both = sections.filter((one) => one.of === section).map((one) => this.partOf(one));
            return both.length > 0 ? [heading(section), element("div.both", both)] : [];
        });
        const names = element("small", sections.map((section) => section.name).join(", "));
        const about = { "data-group": title, open: Boolean(this.app.model) };
        const group = element("details.group", about, element("summary", element("b", title), names), parts);
        return element("section", element("h2.away", title), group);
    }

    /** On a model's page: returns the command that makes the walk through this layer. */
    madeBy() {
        const { walk, model } = this.app;
        if (!model) return [];
        const whole = walk.sections.length > 1;
        const words = whole ? "this layer alone: " : "too large for this page; the whole walk: ";
        return [element("p.made", words, element("code", walk.command))];
    }

    partOf(section) {
        const { app } = this;
        const { name, title, formula, note, margin, code } = section;
        const difference = app.other && differenceText(app, section);
        const said = Object.entries({ formula, shape: shapeText(section), note, margin, difference });
        const words = said.filter(([, text]) => text).map(([kind, text]) => element(`p.${kind}`, text));
        const body = element("div.body");
        const open = app.model ? name === "weights" : !section.view.folded;
        const isBroad = !app.strip.roles || section.shape.at(-1) > columnsOnHalfPaper;
        const part = element(
            isBroad ? "details.step.wide" : "details.step",
            { id: `step-${name}`, "data-step": name, open },
            element("summary", element("b", { class: section.role }, name), " ", title),
            words,
            code ? element("pre.code", { tabindex: 0 }, code) : "",
            body,
            legendOf(app.walk, section),
        );
        part.addEventListener("toggle", () => {
            if (part.open && part.getBoundingClientRect().top < innerHeight) this.build(name);
        });
        this.parts.set(name, { section, part, body, built: new Set() });
        return part;
    }

    isFolded(name) {
        const { part } = this.parts.get(name);
        return !part.open || part.closest(".group")?.open === false;
    }
    unfold(part) {
        part.open = true;
        const group = part.closest(".group");
        if (group) group.open = true;
    }

    /** Opens a step and goes there. */
    open({ section, part }) {
        this.unfold(part);
        this.build(section.name);
        part.scrollIntoView({ block: "start", behavior: "instant" });
    }

    // --- the tables of steps

    scrolled(entries) {
        for (const { isIntersecting, target } of entries) {
            const name = target.dataset.step;
            isIntersecting ? this.inSight.add(name) : this.inSight.delete(name);
            if (isIntersecting && this.parts.has(name)) this.build(name);
        }
    }

    buildAll() {
        for (const name of this.parts.keys()) this.build(name, true);
    }

    /** Builds the matrices of the selected tabs: visible ones at once, near ones soon. */
    buildFront() {
        const isSeen = ({ part }) => {
            const { top, bottom } = part.getBoundingClientRect();
            return this.isSmall || (top < innerHeight && bottom > 0);
        };
        const near = [...this.parts].filter(([name, { part, built }]) => {
            return (built.size > 0 || part.open) && (this.isSmall || this.inSight.has(name));
        });
        const seen = near.filter(([, one]) => isSeen(one)); // measure all before building any
        const later = near.filter((one) => !seen.includes(one)).map(([name]) => name);
        for (const [name] of seen) this.build(name);
        clearTimeout(this.soon);
        const next = () => {
            const name = later.shift();
            if (name === undefined || !this.parts.has(name)) return;
            this.build(name);
            this.soon = setTimeout(next, 30);
        };
        this.soon = setTimeout(next, 30);
    }

    /** Builds the tables of a step: those of the selected tabs, or all. */
    build(name, all = false) {
        const step = this.parts.get(name);
        if (!step) return;  // a changed setting has removed it since it was opened
        const { section, body, part } = step;
        if (!section.isTensor) return body.replaceChildren(element("pre", { tabindex: 0 }, section.text));
        if (!part.open && !all) return;
        body.style.minHeight = "";
        matricesOf(section).forEach(({ start, place }, number) => {
            const inFront = this.app.tabs.isInFront(section, place);
            const old = body.querySelector(`[data-start="${start}"]`);
            const panel = old ?? (inFront || all ? this.panelOf(section, start) : undefined);
            if (!panel) return;
            panel.hidden = !inFront;
            if (!inFront) return;
            const note = part.querySelector(".note");
            if (note) note.textContent = section.view.notes?.[number] || section.note;
        });
    }

    panelOf(section, start) {
        const { app } = this;
        const { body, built } = this.parts.get(section.name);
        const table = matrixOf(app.walk, section, start, app.differs(section));
        const panel = element("div.panel", { "data-start": start }, table);
        for (const cell of panel.querySelectorAll("td")) this.cells.set(cell.dataset.cell, cell);
        this.listen(panel.querySelector("table"));
        body.append(panel);
        built.add(start);
        return panel;
    }

    listen(table) {
        const { app } = this;
        const at = (event) => {
            const cell = event.target.closest("td[data-cell]");
            return cell && app.walk.cell(cell.dataset.cell);
        };
        // If the panel covers the tables, only a click opens it.
        const previews = () => isWide.matches && !app.turn.isOn;
        const preview = (event) => {
            // If the page scrolls under a mouse that does not move, the user has selected nothing.
            const rests = event.screenX === app.mouse?.x && event.screenY === app.mouse?.y;
            if (!previews() || (event.type === "mouseover" && event.isTrusted && rests)) return;
            const cell = at(event);
            if (cell && !app.isSelected(cell)) app.show(cell.section, cell.flat, false);
        };
        table.addEventListener("mouseover", preview);
        table.addEventListener("focusin", preview);
        table.addEventListener("mouseleave", () => previews() && app.showSelected());
        table.addEventListener("click", (event) => {
            const cell = at(event);
            if (cell && !app.turn.takes(cell)) app.choose(cell.section, cell.flat);
        });
        table.addEventListener("keydown", (event) => onCellKey(app, event));
    }

    // --- highlights

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

    /** Highlights a cell and its sources, with `far` down to the inputs. */
    lightUp(section, flat, far) {
        const { walk } = this.app;
        const { sources } = derive(walk, section, flat);
        this.darken();
        if (far) for (const each of upstream(walk, section, flat)) this.light(each, "far");
        for (const source of sources) this.light(source.section.address(source.flat), "lit");
        this.light(section.address(flat), "shown");
    }
}
