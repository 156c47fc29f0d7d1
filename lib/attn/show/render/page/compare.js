// Compares two walks on one page: which cells differ, and by how much.

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
