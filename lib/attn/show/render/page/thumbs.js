// Small multiples: every matrix of a tensor as a small square. The tab of each head has a picture of
// its weights; a step with several matrices opens as squares, and a pressed one shows its digits.

const tabsBare = { make: Tabs.prototype.make, mark: Tabs.prototype.mark };
const { make: makeBare, build: buildBare, lightUp: lightUpBare } = Steps.prototype;
const chooseBare = App.prototype.choose;

/** Rows up to which their names are beside the squares. */
const mostNames = 12;

/** Returns a picture as a mask; `opacityOf` returns the opacity of each cell, from 0 to 1. */
function maskOf(rows, columns, opacityOf) {
    const canvas = element("canvas", { width: columns, height: rows });
    const brush = canvas.getContext("2d");
    const image = brush.createImageData(columns, rows);
    for (let i = 0; i < rows * columns; ++i) image.data[4 * i + 3] = 255 * opacityOf(i);
    brush.putImageData(image, 0, 0);
    return `mask-image:url(${canvas.toDataURL()})`;
}

/** Returns the opacity of a weight: the largest weight of each row is opaque. */
function opacityIn(weights, flat) {
    return clipped(weights.values[flat] / (weights.rowLimit(flat) || 1), 0);
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
    const [rows, columns] = weights.shape.slice(-2);
    this.element.querySelectorAll("[data-axis=head] [role=tab]").forEach((tab, head) => {
        const start = weights.flat(weights.axes.map((axis) => ({ batch, head })[axis] ?? 0));
        const style = maskOf(rows, columns, (i) => opacityIn(weights, start + i));
        tab.replaceChildren(element("i.thumb", { style }), String(head));
    });
};

/**
 * Returns a layer for each class of colour: the ends of the scale, whose opacity is the size of a
 * number, and hidden or infinite cells.
 */
function layersOf(walk, section, start) {
    const [rows, columns] = section.shape.slice(-2);
    const most = walk.levels - 1;
    const inks = times(rows * columns, (i) => {
        const shade = section.shade(start + i, walk.levels, section.view.scale === "s");
        const level = Number(shade.slice(1));
        if (Number.isNaN(level)) return [shade, 1];
        const share = shade[0] === "s" ? level / most : (2 * level) / most - 1;
        return [shade[0] + (share < 0 ? 0 : most), Math.abs(share)];
    });
    return [...new Set(inks.map(([kind]) => kind))].map((kind) => {
        const style = maskOf(rows, columns, (i) => (inks[i][0] === kind ? inks[i][1] : 0));
        return element(`i.${kind}`, { style });
    });
}

/** Draws a picture when it comes into sight. */
const painter = new IntersectionObserver((/** @type {any[]} */ entries) => {
    for (const { target } of entries.filter((one) => one.isIntersecting)) {
        painter.unobserve(target);
        target.paint();
    }
});

/** Returns the names of the rows of a matrix, each as high as a cell. */
function namesOf(walk, section, start, size) {
    const last = section.shape.length - 1;
    if (section.shape[last - 1] > mostNames) return "";
    const { labels } = labelsOf(walk, section, last - 1, section.indices(start));
    const style = `line-height:${size}px`;
    return element("ol.names", { ...mute, style }, labels.map((label) => element("li", shortened(label, 12))));
}

/**
 * Returns the handlers of a picture of `rows` times `columns` cells, which begin at `startOf()`: a
 * cell under the mouse is previewed, a pressed one selected.
 */
function touch(app, section, picture, rows, columns, startOf) {
    const flatAt = ({ clientX, clientY }) => {
        const { left, top, width, height } = picture.getBoundingClientRect();
        const index = (share, length) => Math.max(0, Math.min(length - 1, Math.floor(share * length)));
        const row = index((clientY - top) / height, rows);
        return startOf() + row * columns + index((clientX - left) / width, columns);
    };
    return {
        onclick: (event) => {
            const flat = flatAt(event);
            if (!app.turn.takes({ section, flat })) app.choose(section, flat);
        },
        onmousemove: (event) => {
            const flat = flatAt(event);
            const isShown = app.shown?.section === section && app.shown.flat === flat;
            if (isWide.matches && !app.turn.isOn && !isShown) app.show(section, flat, false);
        },
        onmouseleave: () => app.showSelected(),
    };
}

/** Returns a square: a button with the picture of a matrix. */
function squareOf(app, section, { start, place }) {
    const [rows, columns] = section.shape.slice(-2);
    const size = Math.min(14, 144 / Math.max(rows, columns));
    const style = `width:${columns * size}px;height:${rows * size}px`;
    const picture = element("span.picture", { style });
    picture.paint = () => picture.append(...layersOf(app.walk, section, start));
    painter.observe(picture);
    const caption = Object.entries(place).map((pair) => pair.join(" ")).join(", ");
    const names = namesOf(app.walk, section, start, size);
    const about = { type: "button", "data-square": start, ...touch(app, section, picture, rows, columns, () => start) };
    return element("button", about, element("span", caption), element("span.row", names, picture));
}

/** Returns the row of the selected query as tiles over the picture of --grid. */
function tilesOf(app, section) {
    const { rows, columns, picture } = JSON.parse(root.getElementById("grid").textContent);
    const keys = section.shape.at(-1);
    const before = keys - rows * columns; // 1 with a class token
    if (before !== 0 && before !== 1) return ""; // of a changed live page
    const rowStart = () => {
        const flat = app.cellAt(section);
        return flat - (flat % keys);
    };
    const veil = element("i");
    const sheet = element("span.picture", { style: `background-image:url(${picture});aspect-ratio:${columns}/${rows}` }, veil);
    const said = element("span");
    const about = touch(app, section, sheet, rows, columns, () => rowStart() + before);
    const tiles = element("button.tiles", { type: "button", ...about }, said, sheet);
    tiles.paint = () => {
        const start = rowStart();
        veil.style = maskOf(rows, columns, (i) => 0.8 * (1 - opacityIn(section, start + before + i)));
        said.textContent = `${section.address(start).replace(/\d+\]$/, ":]")}, dark: 0, clear: its largest weight`;
    };
    return tiles;
}

/** Returns the squares of a tensor; arrow keys lead from one to the next. */
function squaresOf(app, section) {
    const axes = section.axes.slice(-2).join(" \\ ");
    const squares = matricesOf(section).map((matrix) => squareOf(app, section, matrix));
    const onkeydown = (event) => {
        const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        if (!step) return;
        event.preventDefault();
        squares[(squares.indexOf(root.activeElement) + step + squares.length) % squares.length].focus();
    };
    const about = { role: "group", "aria-label": `${section.name}, each ${axes}`, onkeydown };
    return element("div.squares", about, element("span.axes", axes), squares);
}

/** @this {any} */
Steps.prototype.make = function () {
    this.touched ??= new Set();
    makeBare.call(this);
};

/** @this {any} */
Steps.prototype.build = function (name, all) {
    buildBare.call(this, name, all);
    const { section, body, built } = this.parts.get(name) ?? {};
    if (!(built?.size > 0) || section.dtype === "int64") return;
    if (section.name === "weights" && root.getElementById("grid")) {
        if (!body.querySelector(".tiles")) body.prepend(tilesOf(this.app, section));
        body.querySelector(".tiles")?.paint();
    }
    const matrices = matricesOf(section);
    if (matrices.length < 3) return;
    body.classList.add("squared");
    body.classList.toggle("touched", this.touched.has(name));
    if (!body.querySelector(".squares")) body.querySelector(".panel").before(squaresOf(this.app, section));
    body.querySelectorAll("[data-square]").forEach((square, i) => {
        const isFront = this.app.tabs.isInFront(section, matrices[i].place);
        square.setAttribute("aria-pressed", isFront);
        square.tabIndex = isFront ? 0 : -1;
    });
};

/** @this {any} */
Steps.prototype.lightUp = function (...cell) {
    lightUpBare.apply(this, cell);
    this.element.querySelector(".tiles")?.paint();
};

/** Shows the digits of a tensor once one of its cells is selected. @this {any} */
App.prototype.choose = function (section, ...more) {
    this.steps.touched.add(section.name);
    chooseBare.call(this, section, ...more);
};
