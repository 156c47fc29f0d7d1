// Copies numbers as code or as a table, and the address of a cell; saves figures.

/** The prefix of nan and inf in a language. */
const oddPrefix = { numpy: "np.", torch: "torch.", csv: "" };

/** Returns a cell in the syntax of a language: all digits, in LaTeX those of the page. */
function literal(section, flat, language) {
    const value = section.values[flat];
    const text = section.exact(flat);
    if (language !== "latex")
        return Number.isFinite(value) ? text : text.replace(/(nan|inf)/, `${oddPrefix[language]}$1`);
    const shown = section.number(value).replace(/e\+?(-?)0*(\d+)$/, " \\cdot 10^{$1$2}");
    return shown.replace("nan", "\\mathrm{nan}").replace("inf", "\\infty");
}

/** Returns nested brackets around `write` of each cell from `start` on. */
function bracketed(shape, start, write) {
    if (shape.length === 0) return write(start);
    const inside = shape.slice(1);
    const parts = times(shape[0], (i) => bracketed(inside, start + i * productOf(inside), write));
    return `[${parts.join(shape.length > 1 ? ",\n " : ", ")}]`;
}

/** Returns a part of a tensor, from cell `start` on, as text. */
function written(section, shape, start, language) {
    const write = (flat) => literal(section, flat, language);
    // NumPy has no bfloat16; its numbers are float32 numbers, too.
    const dtype = language === "numpy" && section.dtype === "bfloat16" ? "float32" : section.dtype;
    if (language === "numpy") return `np.array(${bracketed(shape, start, write)}, dtype=np.${dtype})`;
    if (language === "torch") return `torch.tensor(${bracketed(shape, start, write)}, dtype=torch.${dtype})`;
    const columns = shape.at(-1) ?? 1;
    const rows = times(productOf(shape) / columns, (r) => times(columns, (c) => write(start + r * columns + c)));
    if (language === "csv") return rows.map((row) => row.join(",") + "\n").join("");
    return `\\begin{pmatrix}\n${rows.map((row) => row.join(" & ")).join(" \\\\\n")}\n\\end{pmatrix}`;
}

/** Copies a text to the clipboard; in frames without permission, through a field. */
async function copyText(app, text) {
    try {
        await navigator.clipboard.writeText(text);
    } catch {
        const field = frame.appendChild(element("textarea.away"));
        field.value = text;
        field.select();
        document.execCommand("copy");
        field.remove();
    }
    app.say(`copied: ${shortened(text, 60)}`);
}

/** Returns the visible matrix as an SVG figure: cells, digits, words along the edges. */
function figureOf(app, { section, flat }) {
    const [left, top, width, height] = [90, 50, 62, 26];
    const [rows, columns] = [section.shape.at(-2) ?? 1, section.shape.at(-1) ?? 1];
    const start = flat - (flat % (rows * columns));
    const axis = section.axes.length - 1;
    const word = (of, i) => (of < 0 ? "" : shortened(section.label(of, i, section.indices(start)), 10));
    const text = (x, y, words, anchor = "middle", fill = "currentColor") =>
        drawn("text", { x, y, fill, "text-anchor": anchor }, words);
    const probe = frame.appendChild(element("i", { hidden: true }));
    const parts = [text(10, 18, `${section.name}: ${section.title}`, "start")];
    const cell = (i) => {
        const [x, y] = [left + (i % columns) * width, top + Math.floor(i / columns) * height];
        probe.className = section.shade(start + i, app.levels, app.walk.rowScale);
        const { backgroundColor, color } = getComputedStyle(probe);
        const box = { x, y, width: width - 1, height: height - 1, fill: backgroundColor };
        return [drawn("rect", box), text(x + width / 2, y + 17, section.number(section.values[start + i]), "middle", color)];
    };
    parts.push(...times(columns, (c) => text(left + (c + 0.5) * width, top - 6, word(axis, c))));
    parts.push(...times(rows, (r) => text(left - 6, top + r * height + 17, word(axis - 1, r), "end")));
    parts.push(...times(rows * columns, cell).flat());
    probe.remove();
    const size = { width: left + columns * width + 10, height: top + rows * height + 10 };
    const { color, backgroundColor } = getComputedStyle(frame);
    const style = { color, "font-family": "DejaVu Sans, sans-serif", "font-size": 12 };
    const paper = drawn("rect", { ...size, fill: backgroundColor });
    const title = drawn("title", {}, `${section.name}: ${section.title}`);
    return drawn("svg", { viewBox: `0 0 ${size.width} ${size.height}`, ...size, ...style }, title, paper, ...parts);
}

function save(name, href) {
    element("a", { href, download: name }).click();
}

function saveFigure(app, shown, kind) {
    const text = new XMLSerializer().serializeToString(figureOf(app, shown));
    const url = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(text);
    const name = `${shown.section.name}.${kind}`;
    if (kind === "svg") return save(name, url);
    const image = new Image();
    image.onload = () => {
        const canvas = element("canvas", { width: 2 * image.width, height: 2 * image.height });
        canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
        save(name, canvas.toDataURL("image/png"));
    };
    image.src = url;
}

/** Returns the copy menu for the cell in the panel. */
function takeMenu(app) {
    const names = { numpy: "NumPy", torch: "torch", latex: "LaTeX", csv: "CSV" };
    const language = choiceOf(Object.entries(names), { "aria-label": "copy as" });
    const act = (text, does) =>
        button(text, () => (app.shown ? does(app.shown) : app.say("choose a cell first")));
    const number = ({ section, flat }) => copyText(app, literal(section, flat, language.value));
    const row = ({ section, flat }) => {
        const start = flat - (section.indices(flat).at(-1) ?? 0);
        return copyText(app, written(section, section.shape.slice(-1), start, language.value));
    };
    const tensor = ({ section }) => copyText(app, written(section, section.shape, 0, language.value));
    const link = (shown) => copyText(app, location.href.split("#")[0] + "#" + app.addressText(shown));
    const copies = [act("number", number), act("row", row), act("tensor", tensor)];
    const figures = ["svg", "png"].map((kind) => act(kind, (shown) => saveFigure(app, shown, kind)));
    const lines = [element("p", "copy ", copies, " as ", language), element("p", act("link", link), " figure ", figures)];
    return element("details", { id: "take" }, element("summary", "Take"), element("div", lines));
}
