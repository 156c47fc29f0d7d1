// Draws attention as lines: queries on the left, keys on the right, each line as thick as its
// weight.

const svgSpace = "http://www.w3.org/2000/svg";
const linePitch = 26;
const linesWidth = 320;

function drawn(name, attributes, ...children) {
    const made = document.createElementNS(svgSpace, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
}

/** True if a section can be drawn as lines: a share for each query and key. */
function hasLines(section) {
    return section.isOfPairs && section.name.startsWith("weights");
}

/** Returns the tokens of one side, as buttons that show only their own lines. */
function tokenColumn(section, axis, start, side, choose) {
    const indices = section.indices(start);
    const token = (i) => {
        const label = section.label(axis, i, indices);
        const about = { dir: "auto", "data-token": label.slice(0, 200) };
        const made = button(shortened(label, 18), undefined, about);
        for (const event of ["pointerenter", "focus"]) made.addEventListener(event, () => choose(side, i));
        for (const event of ["pointerleave", "blur"]) made.addEventListener(event, () => choose(side));
        return element("li", made);
    };
    return element(`ol.tokens.${side}`, times(section.shape[axis], token));
}

/** Returns the line of one weight, or nothing if it is 0. */
function lineOf(section, flat, pick) {
    const weight = section.values[flat];
    if (!(weight > 0)) return undefined;
    const [query, key] = section.indices(flat).slice(-2);
    const [from, to] = [query, key].map((i) => linePitch * (i + 0.5));
    const bend = `${linesWidth / 2} ${from} ${linesWidth / 2} ${to}`;
    const about = {
        d: `M0 ${from}C${bend} ${linesWidth} ${to}`,
        "stroke-width": Math.max(9 * weight, 0.3),
        opacity: Math.min(1, 0.15 + weight),
        "data-line": section.address(flat),
    };
    const title = drawn("title", {}, `${section.address(flat)} = ${section.exact(flat)}`);
    const line = drawn("path", about, title);
    line.addEventListener("click", () => pick(section, flat));
    return { line, query, key, weight };
}

/** Returns the matrix that begins at `start` as lines; `pick` gets the selected cell. */
function linesOf(section, start, head, pick) {
    const last = section.shape.length - 1;
    const [queries, keys] = section.shape.slice(-2);
    const height = linePitch * Math.max(queries, keys);
    const size = { viewBox: `0 0 ${linesWidth} ${height}`, width: linesWidth, height };
    const lines = times(queries * keys, (i) => lineOf(section, start + i, pick)).filter(Boolean);
    const about = { ...size, class: `l${head % 7}`, ...mute };
    const picture = drawn("svg", about, ...lines.map(({ line }) => line));
    const said = element("output.said");
    const indices = section.indices(start);
    const choose = (side, i) => {
        for (const each of lines) each.line.classList.toggle("away", i !== undefined && each[side] !== i);
        const own = lines.filter((each) => each[side] === i).sort((a, b) => b.weight - a.weight);
        const [other, axis] = side === "query" ? ["key", last] : ["query", last - 1];
        const word = (each) => shortened(section.label(axis, each[other], indices), 18);
        const texts = own.slice(0, 3).map((each) => `${word(each)} ${section.number(each.weight)}`);
        said.textContent = texts.join(", ");
    };
    const words =
        "queries left, keys right; a line is as thick as its weight. " +
        "Point at a token for its lines, click one to see why.";
    const left = tokenColumn(section, last - 1, start, "query", choose);
    const right = tokenColumn(section, last, start, "key", choose);
    const between = element("div.between", left, picture, right);
    return element("figure.lines", element("figcaption", words), between, said);
}
