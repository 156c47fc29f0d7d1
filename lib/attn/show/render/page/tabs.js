// Tabs for heads and for sequences of a batch, with one selection for all tensors.

class Tabs {
    /** `turned` is called when another tab is selected. */
    constructor(turned) {
        this.turned = turned;
        this.chosen = {};
        this.element = element("div", { id: "tabs" });
    }

    /** Makes a row of tabs for samples and one for heads; other axes, such as the tokens of a state, have squares. */
    make(walk) {
        const rows = ["batch", "head"];
        this.extents = {};
        for (const axis of walk.sections.flatMap(({ axes }) => axes.slice(0, -2)).concat(rows)) {
            this.extents[axis] = walk.extent(axis) || 1;
            this.chosen[axis] = Math.min(this.chosen[axis] ?? 0, this.extents[axis] - 1);
        }
        this.element.replaceChildren(...rows.filter((axis) => this.extents[axis] > 1).map((axis) => this.rowOf(axis)));
        this.mark();
    }

    rowOf(axis) {
        const length = this.extents[axis];
        const about = (i) => ({
            role: "tab",
            "aria-label": `${axis} ${i}`,
            "aria-controls": "panels",
            onkeydown: (event) => this.onKey(event, axis),
        });
        const tab = (i) => button(String(i), () => this.turnTo({ [axis]: i }), about(i));
        const row = { role: "tablist", "aria-label": axis, "data-axis": axis };
        return element("div", row, element("span", { role: "presentation" }, axis), times(length, tab));
    }

    mark() {
        for (const row of this.element.children) {
            row.querySelectorAll("[role=tab]").forEach((tab, i) => {
                const front = i === this.chosen[row.dataset.axis];
                tab.setAttribute("aria-selected", front);
                tab.tabIndex = front ? 0 : -1;
            });
        }
    }

    turnTo(place) {
        Object.assign(this.chosen, place);
        this.mark();
        this.turned();
    }

    turnBy(axis, step) {
        const length = this.extents[axis];
        if (length > 1) this.turnTo({ [axis]: (this.chosen[axis] + step + length) % length });
    }

    onKey(event, axis) {
        const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
        if (!step) return;
        event.preventDefault();
        this.turnBy(axis, step);
        this.element.querySelector(`[data-axis=${axis}] [aria-selected=true]`).focus();
    }

    /**
     * Returns the selected index of an axis of a tensor. A tensor with fewer heads than the walk shows
     * the head that the selected one shares.
     */
    front(section, axis) {
        if (!(this.extents[axis] > 1)) return undefined;
        const length = section.shape[section.axes.indexOf(axis)];
        return Math.floor((this.chosen[axis] * length) / this.extents[axis]);
    }

    isInFront(section, place) {
        const fits = ([axis, index]) => (this.front(section, axis) ?? index) === index;
        return Object.entries(place).every(fits);
    }

    /** Selects the tabs of the matrix that contains a cell. */
    bringToFront(section, flat) {
        const indices = section.indices(flat);
        const place = {};
        section.axes.slice(0, -2).forEach((axis, i) => {
            if ((this.front(section, axis) ?? indices[i]) === indices[i]) return;
            place[axis] = Math.ceil((indices[i] * this.extents[axis]) / section.shape[i]);
        });
        if (Object.keys(place).length > 0) this.turnTo(place);
    }
}
