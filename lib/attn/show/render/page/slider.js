// Sliders for outer axes of a tensor other than heads and sequences: the state of a recurrence after
// each token.

const tabsAlone = { make: Tabs.prototype.make, mark: Tabs.prototype.mark };

/** Returns the tensors whose matrices have a slider, by its axis. */
function underSliders(walk) {
    const found = new Map();
    for (const section of walk.sections) {
        const outer = section.axes.slice(0, -2);
        for (const axis of outer.filter((one) => one !== "batch" && one !== "head")) {
            if (!found.has(axis)) found.set(axis, []);
            found.get(axis).push(section);
        }
    }
    return found;
}

/** Returns the label of an index of an axis: its number, and its token if it counts tokens. */
function placeText(section, axis, index) {
    const token = section.token(section.axes.indexOf(axis), index, section.indices(0));
    return token === undefined ? String(index) : `${index} ${shortened(token, 16)}`;
}

Tabs.prototype.make = function (walk) {
    tabsAlone.make.call(this, walk);
    for (const [axis, sections] of underSliders(walk)) {
        this.extents[axis] = walk.extent(axis);
        this.chosen[axis] = Math.min(this.chosen[axis] ?? 0, this.extents[axis] - 1);
        const oninput = (event) => this.turnTo({ [axis]: Number(event.target.value) });
        const about = { type: "range", min: 0, max: this.extents[axis] - 1, "aria-label": axis, oninput };
        const names = sections.map((section) => section.name).join(", ");
        const label = element("label", `${names}, ${axis} `, element("input", about), element("output"));
        this.element.append(element("div.slider", { "data-axis": axis }, label));
        label.place = (index) => placeText(sections[0], axis, index);
    }
    this.mark();
};

Tabs.prototype.mark = function () {
    tabsAlone.mark.call(this);
    for (const label of this.element.querySelectorAll(".slider label")) {
        const index = this.chosen[label.parentElement.dataset.axis];
        const [input, output] = label.children;
        input.value = index;
        output.value = label.place(index);
        input.setAttribute("aria-valuetext", output.value);
    }
};
