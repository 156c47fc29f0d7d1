// Compares two walks on one page: which cells differ, and by how much.

/** @this {any} returns the same step of the other walk if it has the same shape */
App.prototype.twin = function (section) {
    const theirs = this.other?.byName.get(section.name);
    const fits = theirs?.isTensor && String(theirs.shape) === String(section.shape);
    return fits ? theirs : undefined;
};

/** @this {any} returns a test of the cells of a step: true if the other walk has another number */
App.prototype.differs = function (section) {
    const twin = this.twin(section);
    const [absolute, relative] = section.view.near ?? [0, 0];
    const isNear = (one, other) => Math.abs(one - other) <= absolute + relative * Math.min(Math.abs(one), Math.abs(other));
    const alike = (one, other) => Object.is(one, other) || one === other || isNear(one, other);
    return (flat) => Boolean(twin) && !alike(section.values[flat], twin.values[flat]);
};

/** @this {any} shows the other walk, at the selected cell */
App.prototype.turnWalk = function (walk) {
    if (walk === this.walk) return;
    const { selected } = this;
    [this.walk, this.other] = [this.other, this.walk];
    this.makeWalk();
    const cell = selected && this.walk.cell(selected.section.address(selected.flat));
    if (cell) this.choose(cell.section, cell.flat);
};

/** Returns the sentence on a section of two walks; empty if both are the same. */
function differenceText(app, section) {
    const name = `“${app.other.name}”`;
    const theirs = app.other.byName.get(section.name);
    if (!theirs) return `${name} lacks this step`;
    if (!section.isTensor || !theirs.isTensor) {
        return section.text === theirs.text ? "" : `differs from ${name}: ${theirs.text ?? ""}`;
    }
    if (!app.twin(section)) return `in ${name} its shape is ${theirs.shape.join(" × ")}`;
    const flats = [...section.values.keys()].filter(app.differs(section));
    const sizes = flats.map((flat) => Math.abs(section.values[flat] - theirs.values[flat])).filter(Number.isFinite);
    const most = sizes.reduce((one, other) => Math.max(one, other), 0).toPrecision(4);
    return flats.length > 0 && `${flats.length} of ${section.size} cells differ from ${name}, by at most ${most}: they are marked`;
}
