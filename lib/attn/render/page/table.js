// A tensor as tables: one for each matrix, shaded, labelled by tokens, walked with the arrow keys.

function header(label, scope) {
    const short = shortened(label, 16);
    return element(
        "th",
        {
            scope,
            dir: "auto",
            "data-token": label.slice(0, 200),
            title: short === label ? undefined : label.slice(0, 200),
        },
        short,
    );
}

/** The cell itself; `differs` marks one that the other walk has another number in. */
function cellOf(walk, section, flat, differs) {
    const value = section.values[flat];
    const shade = section.shade(flat, walk.levels, walk.rowScale);
    return element(
        "td",
        {
            class: [shade, differs ? "differs" : ""].join(" ").trim() || undefined,
            tabindex: -1,
            "data-cell": section.address(flat),
        },
        section.number(value),
    );
}

/** The matrix whose first cell is `start`, as a table. */
function tableOf(walk, section, start, differs) {
    const shape = section.shape;
    const last = shape.length - 1;
    const columns = last < 0 ? 1 : shape[last];
    const rows = last < 1 ? 1 : shape[last - 1];
    const indices = section.indices(start);
    const table = element("table", { class: "tensor", role: "grid", style: `--columns:${columns}` });
    const caption = indices
        .slice(0, Math.max(last - 1, 0))
        .map((index, axis) => `${section.axes[axis]} ${index}`)
        .join(", ");
    table.append(element("caption", {}, [section.name, caption].filter(Boolean).join(", ")));
    if (last >= 0) {
        const names =
            last < 1 ? section.axes[0] : `${section.axes[last - 1]} \\ ${section.axes[last]}`;
        const head = element("tr", {}, last < 1 ? "" : element("th", { class: "axes" }, names));
        for (let c = 0; c < columns; ++c) {
            head.append(header(section.label(last, c, indices), "col"));
        }
        table.append(element("thead", {}, head));
    }
    const body = element("tbody");
    for (let r = 0; r < rows; ++r) {
        const row = element("tr");
        const at = section.indices(start + r * columns);
        if (last >= 1) row.append(header(section.label(last - 1, r, at), "row"));
        for (let c = 0; c < columns; ++c) {
            const flat = start + r * columns + c;
            row.append(cellOf(walk, section, flat, differs(flat)));
        }
        body.append(row);
    }
    table.append(body);
    const first = table.querySelector("td");
    if (first) first.tabIndex = 0;
    return element("div", { class: rows > 24 ? "scroll tall" : "scroll" }, table);
}

/** Where each matrix of a tensor begins, and its place on the axes that have tabs. */
function matricesOf(section) {
    const inside = section.shape.slice(-2).reduce((product, length) => product * length, 1);
    const matrices = [];
    for (let start = 0; start < section.size; start += inside) {
        const indices = section.indices(start);
        const place = {};
        section.axes.slice(0, -2).forEach((axis, i) => {
            place[axis] = indices[i];
        });
        matrices.push({ start, place });
    }
    return matrices;
}

/** The scale of a section, between its ends. */
function legendOf(walk, section) {
    if (!section.isTensor || section.view.low === undefined) return "";
    const bar = element("span", { class: "bar", "aria-hidden": "true" });
    for (let level = 0; level < walk.levels; level += 2) {
        bar.append(element("i", { class: section.view.scale + level }));
    }
    return element("p", { class: "legend" }, section.view.low, bar, section.view.high);
}

/** Where an arrow key leads from a cell, inside its table. */
function neighbour(cell, key) {
    const row = cell.parentElement;
    const cells = [...row.querySelectorAll("td")];
    const column = cells.indexOf(cell);
    const inColumn = (other) => other?.querySelectorAll("td")[column];
    const rows = [...row.parentElement.rows];
    switch (key) {
        case "ArrowLeft":
            return cells[column - 1];
        case "ArrowRight":
            return cells[column + 1];
        case "ArrowUp":
            return inColumn(row.previousElementSibling);
        case "ArrowDown":
            return inColumn(row.nextElementSibling);
        case "Home":
            return cells[0];
        case "End":
            return cells.at(-1);
        case "PageUp":
            return inColumn(rows[0]);
        case "PageDown":
            return inColumn(rows.at(-1));
        default:
            return undefined;
    }
}
