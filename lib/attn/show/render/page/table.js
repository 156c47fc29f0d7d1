// A tensor as tables: one for each matrix, shaded, labelled by tokens, with arrow keys.

/** Longer tables keep their header visible. */
const rowsInSight = 24;

/**
 * Returns the labels along an axis, with numbers that distinguish equal words and name the words of
 * a vocabulary.
 */
function labelsOf(walk, section, axis, indices) {
    const labels = times(section.shape[axis], (i) => section.label(axis, i, indices));
    const { vocabulary } = walk.config?.input ?? {};
    if (section.axes[axis] === "vocab" && vocabulary) return { labels, places: vocabulary };
    const isTwice = (label) => labels.indexOf(label) !== labels.lastIndexOf(label);
    return { labels, places: labels.map((label, i) => (isTwice(label) ? i : undefined)) };
}

function header(label, scope, place) {
    const short = shortened(label, 16);
    const whole = label.slice(0, 200);
    const title = short === label ? undefined : whole;
    const more = { "data-token": whole, "data-place": place, title };
    return element("th", { scope, dir: "auto", ...more }, short);
}

const emptyCell = element("td", { tabindex: -1 });

/** Returns a cell; `differs` marks it if the other walk has another number. */
function cellOf(walk, section, flat, differs) {
    const shade = section.shade(flat, walk.levels, walk.rowScale);
    const made = emptyCell.cloneNode();
    made.dataset.cell = section.address(flat);
    made.className = differs ? `${shade} differs` : shade;
    made.textContent = section.number(section.values[flat]);
    Section.mark?.(made, section, flat);
    return made;
}

/** Returns the matrix whose first cell is `start` as a table. */
function matrixOf(walk, section, start, differs) {
    const { shape, axes } = section;
    const last = shape.length - 1;
    const columns = shape[last] ?? 1;
    const rows = shape[last - 1] ?? 1;
    const indices = section.indices(start);
    const places = indices.slice(0, Math.max(last - 1, 0)).map((index, i) => `${axes[i]} ${index}`);
    const style = `--columns:${columns}`;
    const table = element("table.tensor", { role: "grid", style });
    table.append(element("caption", [section.name, ...places].join(", ")));
    if (last >= 0) {
        const { labels, places } = labelsOf(walk, section, last, indices);
        const names = last < 1 ? "" : element("th.axes", `${axes[last - 1]} \\ ${axes[last]}`);
        const heads = labels.map((label, i) => header(label, "col", places[i]));
        table.append(element("thead", element("tr", names, heads)));
    }
    const side = last < 1 ? undefined : labelsOf(walk, section, last - 1, indices);
    const rowOf = (r) => {
        const flat = start + r * columns;
        const head = side ? header(side.labels[r], "row", side.places[r]) : "";
        const cells = times(columns, (c) => cellOf(walk, section, flat + c, differs(flat + c)));
        return element("tr", head, cells);
    };
    table.append(element("tbody", times(rows, rowOf)));
    const first = table.querySelector("td");
    if (first) first.tabIndex = 0;
    return element(rows > rowsInSight ? "div.scroll.tall" : "div.scroll", table);
}

/** Returns the first cell of each matrix of a tensor, and its indices on axes with tabs. */
function matricesOf(section) {
    const inside = productOf(section.shape.slice(-2));
    const outer = section.axes.slice(0, -2);
    return times(inside > 0 ? section.size / inside : 0, (i) => {
        const indices = section.indices(i * inside);
        return { start: i * inside, place: Object.fromEntries(outer.map((axis, k) => [axis, indices[k]])) };
    });
}

/** Returns the colour scale of a section with its ends. */
function legendOf(walk, section) {
    const { low, high, scale } = section.view;
    if (!section.isTensor || high === undefined) return "";
    return element("p.legend", low, scaleBar(scale, walk.levels), high);
}
function scaleBar(scale, levels) {
    const level = (i) => element(`i.${scale}${2 * i}`);
    return element("span.bar", mute, times((levels + 1) / 2, level));
}
