// All heads at a glance: the tab of each head has a picture of its weights.

const tabsBare = { make: Tabs.prototype.make, mark: Tabs.prototype.mark };

/** Returns the weights of one head as an image: the largest weight of each row is opaque. */
function pictureOf(weights, start) {
    const [rows, columns] = weights.shape.slice(-2);
    const canvas = element("canvas", { width: columns, height: rows });
    const brush = canvas.getContext("2d");
    const image = brush.createImageData(columns, rows);
    for (let cell = 0; cell < rows * columns; cell += columns) {
        const row = weights.values.subarray(start + cell, start + cell + columns);
        const most = weights.rowLimit(start + cell) || 1;
        row.forEach((weight, i) => (image.data[4 * (cell + i) + 3] = 255 * clipped(weight / most, 0)));
    }
    brush.putImageData(image, 0, 0);
    return `url(${canvas.toDataURL()})`;
}

/** @this {any} */
Tabs.prototype.make = function (walk) {
    const weights = walk.byName.get("weights");
    const hasHeads = weights?.isOfPairs && weights.axes.includes("head") && weights.size > 0;
    this.pictured = hasHeads ? weights : undefined;
    this.batchDrawn = undefined;
    tabsBare.make.call(this, walk);
};

/** @this {any} */
Tabs.prototype.mark = function () {
    tabsBare.mark.call(this);
    const { pictured: weights } = this;
    const batch = this.chosen.batch ?? 0;
    if (!weights || batch === this.batchDrawn) return;
    this.batchDrawn = batch;
    this.element.querySelectorAll("[data-axis=head] [role=tab]").forEach((tab, head) => {
        const start = weights.flat(weights.axes.map((axis) => ({ batch, head })[axis] ?? 0));
        const style = `mask-image:${pictureOf(weights, start)}`;
        tab.replaceChildren(element("i.thumb", { style }), String(head));
    });
};
