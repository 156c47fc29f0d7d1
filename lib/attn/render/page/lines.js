// Attention as lines: the queries on the left, the keys on the right, each line as thick as its
// weight.

const svgSpace = "http://www.w3.org/2000/svg";
const linePitch = 26;

function drawn(name, attributes, ...children) {
    const made = document.createElementNS(svgSpace, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
}

/** Whether a section can be drawn as lines: a share for each query and key. */
function hasLines(section) {
    return (
        section.isTensor &&
        section.name.startsWith("weights") &&
        section.axes.at(-1) === "key" &&
        section.shape.length >= 2
    );
}

/** The tokens of one side, as buttons that leave only their own lines. */
function tokenColumn(section, axis, start, side, choose) {
    const column = element("ol", { class: `tokens ${side}` });
    const indices = section.indices(start);
    for (let i = 0; i < section.shape[axis]; ++i) {
        const label = section.label(axis, i, indices);
        const button = element(
            "button",
            { type: "button", dir: "auto", "data-token": label.slice(0, 200) },
            shortened(label, 18),
        );
        for (const event of ["pointerenter", "focus"]) {
            button.addEventListener(event, () => choose(side, i));
        }
        for (const event of ["pointerleave", "blur"]) {
            button.addEventListener(event, () => choose(side, undefined));
        }
        column.append(element("li", {}, button));
    }
    return column;
}

/** The attention view of the matrix that begins at `start`; `pick` is told which cell is chosen. */
function linesOf(section, start, head, pick) {
    const last = section.shape.length - 1;
    const [queries, keys] = [section.shape[last - 1], section.shape[last]];
    const width = 220;
    const height = linePitch * Math.max(queries, keys);
    const middle = (i) => linePitch * (i + 0.5);
    const picture = drawn("svg", {
        viewBox: `0 0 ${width} ${height}`,
        width,
        height,
        class: `l${head % 7}`,
        "aria-hidden": "true",
    });
    const indices = section.indices(start);
    const lines = [];
    for (let q = 0; q < queries; ++q) {
        for (let k = 0; k < keys; ++k) {
            const flat = start + q * keys + k;
            const weight = section.values[flat];
            if (!(weight > 0)) continue;
            const bend = `${width / 2} ${middle(q)} ${width / 2} ${middle(k)}`;
            const path = `M0 ${middle(q)}C${bend} ${width} ${middle(k)}`;
            const line = drawn(
                "path",
                {
                    d: path,
                    "stroke-width": Math.max(9 * weight, 0.3),
                    opacity: 0.3 + 0.7 * weight,
                    "data-line": section.address(flat),
                },
                drawn("title", {}, `${section.address(flat)} = ${section.exact(flat)}`),
            );
            line.addEventListener("click", () => pick(section, flat));
            lines.push({ line, query: q, key: k, weight });
            picture.append(line);
        }
    }
    const said = element("output", { class: "said" });
    const choose = (side, i) => {
        for (const each of lines) {
            each.line.classList.toggle("away", i !== undefined && each[side] !== i);
        }
        const own = lines.filter((each) => each[side] === i).sort((a, b) => b.weight - a.weight);
        const other = side === "query" ? "key" : "query";
        const axis = side === "query" ? last : last - 1;
        said.textContent =
            i === undefined
                ? ""
                : own
                      .slice(0, 3)
                      .map(
                          (each) =>
                              `${shortened(section.label(axis, each[other], indices), 18)} ` +
                              section.number(each.weight),
                      )
                      .join(", ");
    };
    return element(
        "figure",
        { class: "lines" },
        element(
            "figcaption",
            {},
            "queries on the left, keys on the right; a line is as thick as its weight. " +
                "Rest on a token to see its own lines, press a line to see why.",
        ),
        element(
            "div",
            { class: "between" },
            tokenColumn(section, last - 1, start, "query", choose),
            picture,
            tokenColumn(section, last, start, "key", choose),
        ),
        said,
    );
}
