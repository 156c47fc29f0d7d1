// Compares two walks on one page: which cells differ, and by how much.

/** Returns the number of cells that differ from the twin's, and the largest difference. */
function differences(section, twin) {
    let count = 0;
    let largest = 0;
    for (let i = 0; i < section.size; ++i) {
        const [own, theirs] = [section.values[i], twin.values[i]];
        if (Object.is(own, theirs) || own === theirs) continue;
        ++count;
        const size = Math.abs(own - theirs);
        if (Number.isFinite(size)) largest = Math.max(largest, size);
    }
    return { count, largest };
}

/** Returns the sentence on a section of two walks; empty if both are the same. */
function differenceText(app, section) {
    const name = `“${app.other.name}”`;
    const theirs = app.other.byName.get(section.name);
    if (!theirs) return `${name} lacks this step`;
    if (!section.isTensor || !theirs.isTensor) {
        return section.text === theirs.text ? "" : `differs from ${name}: ${theirs.text ?? ""}`;
    }
    if (!app.twin(section)) return `in ${name} its shape is ${theirs.shape.join(" × ")}`;
    const { count, largest } = differences(section, theirs);
    return count === 0
        ? ""
        : `${count} of ${section.size} cells differ from ${name}, by at most ` +
              `${largest.toPrecision(4)}: they are marked`;
}
