// What can be taken away: numbers as code or as a table, the address of a cell, a figure.

/** A number as a language writes it. */
function literal(value, language) {
    if (Number.isFinite(value)) return exact(value);
    const words = { numpy: ["np.nan", "np.inf"], torch: ["torch.nan", "torch.inf"], latex: ["\\mathrm{nan}", "\\infty"] };
    const [nan, infinity] = words[language] ?? ["nan", "inf"];
    return Number.isNaN(value) ? nan : value > 0 ? infinity : "-" + infinity;
}

/** Nested brackets around what `write` makes of each cell from `start` on. */
function nested(shape, start, write) {
    if (shape.length === 0) return write(start);
    const inside = shape.slice(1).reduce((product, length) => product * length, 1);
    const parts = Array.from({ length: shape[0] }, (_, i) => nested(shape.slice(1), start + i * inside, write));
    return `[${parts.join(shape.length > 1 ? ",\n " : ", ")}]`;
}

/** A part of a tensor, from cell `start` on, as text. */
function written(section, shape, start, language) {
    const text = (flat) => {
        if (section.dtype === "bool" && language !== "latex") return section.number(section.values[flat]);
        const value = section.values[flat];
        return Number.isFinite(value) ? section.exact(flat) : literal(value, language);
    };
    if (language === "numpy") return `np.array(${nested(shape, start, text)}, dtype=np.${section.dtype})`;
    if (language === "torch") return `torch.tensor(${nested(shape, start, text)}, dtype=torch.${section.dtype})`;
    const columns = shape.at(-1) ?? 1;
    const size = shape.reduce((product, length) => product * length, 1);
    const rows = Array.from({ length: size / columns }, (_, r) =>
        Array.from({ length: columns }, (_, c) => (language === "latex" ? latexOf(section, start + r * columns + c) : text(start + r * columns + c))),
    );
    if (language === "csv") return rows.map((row) => row.join(",")).join("\n") + "\n";
    return `\\begin{pmatrix}\n${rows.map((row) => row.join(" & ")).join(" \\\\\n")}\n\\end{pmatrix}`;
}

/** As the page shows it: in print nobody wants eight digits. */
function latexOf(section, flat) {
    const value = section.values[flat];
    return Number.isFinite(value) ? section.number(value).replace(/e([+-])0*(\d+)/, " \\cdot 10^{$1$2}").replace("{+", "{") : literal(value, "latex");
}

/** Puts a text on the clipboard, in frames that may not by way of a field. */
async function copyText(text) {
    try {
        await navigator.clipboard.writeText(text);
    } catch {
        const field = frame.appendChild(element("textarea", { class: "away" }));
        field.value = text;
        field.select();
        document.execCommand("copy");
        field.remove();
    }
}

/** The matrix in front as an SVG picture: cells, digits, words along the edges. */
function figureOf(app, section, flat) {
    const [rows, columns] = [section.shape.at(-2) ?? 1, section.shape.at(-1) ?? 1];
    const start = flat - (flat % (rows * columns));
    const [left, top, width, height] = [90, 50, 62, 26];
    const style = { "font-family": "DejaVu Sans, sans-serif", "font-size": 12 };
    const probe = frame.appendChild(element("i", { hidden: true }));
    const label = (axis, i) => shortened(axis < 0 ? "" : section.label(axis, i, section.indices(start)), 10);
    const parts = [drawn("title", {}, `${section.name}: ${section.title}`), drawn("text", { x: 10, y: 18 }, `${section.name}: ${section.title}`)];
    for (let c = 0; c < columns; ++c)
        parts.push(drawn("text", { x: left + (c + 0.5) * width, y: top - 6, "text-anchor": "middle" }, label(section.axes.length - 1, c)));
    for (let i = 0; i < rows * columns; ++i) {
        const [x, y] = [left + (i % columns) * width, top + Math.floor(i / columns) * height];
        if (i % columns === 0) parts.push(drawn("text", { x: left - 6, y: y + 17, "text-anchor": "end" }, label(section.axes.length - 2, i / columns)));
        probe.className = section.shade(start + i, app.levels, app.walk.rowScale);
        const { backgroundColor, color } = getComputedStyle(probe);
        parts.push(drawn("rect", { x, y, width: width - 1, height: height - 1, fill: backgroundColor === "rgba(0, 0, 0, 0)" ? "none" : backgroundColor }));
        const number = section.number(section.values[start + i]);
        parts.push(drawn("text", { x: x + width / 2, y: y + 17, "text-anchor": "middle", fill: color }, number));
    }
    probe.remove();
    const size = { width: left + columns * width + 10, height: top + rows * height + 10 };
    const { color, backgroundColor } = getComputedStyle(frame);
    const paper = drawn("rect", { ...size, fill: backgroundColor });
    return drawn("svg", { xmlns: svgSpace, ...size, viewBox: `0 0 ${size.width} ${size.height}`, fill: color, ...style }, paper, ...parts);
}

function save(name, url) {
    element("a", { href: url, download: name }).click();
}

function saveFigure(app, { section, flat }, kind) {
    const figure = figureOf(app, section, flat);
    const url = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(figure.outerHTML);
    if (kind === "svg") return save(`${section.name}.svg`, url);
    const image = new Image();
    image.onload = () => {
        const canvas = element("canvas", { width: 2 * image.width, height: 2 * image.height });
        canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
        save(`${section.name}.png`, canvas.toDataURL("image/png"));
    };
    image.src = url;
}

/** The menu of the panel: of the cell that it shows. */
function takeMenu(app) {
    const languages = { numpy: "NumPy", torch: "torch", latex: "LaTeX", csv: "CSV" };
    const options = Object.entries(languages).map(([value, name]) => element("option", { value }, name));
    const language = element("select", { "aria-label": "as" }, ...options);
    const copied = (text) => copyText(text).then(() => app.say("copied"), () => app.say("not copied"));
    const part = (of) => () => {
        const { section, flat } = app.shown ?? {};
        if (!section) return app.say("choose a cell first");
        if (of === "number") return copied(section.exact(flat));
        const shape = of === "row" ? section.shape.slice(-1) : section.shape;
        const start = of === "row" ? flat - (flat % (section.shape.at(-1) ?? 1)) : 0;
        copied(written(section, shape, start, language.value));
    };
    const link = () => app.shown && copied(location.href.split("#")[0] + "#" + (app.selected ? app.addressText() : app.shown.section.address(app.shown.flat)));
    const figure = (kind) => () => app.shown && saveFigure(app, app.shown, kind);
    return element(
        "details",
        { id: "take" },
        element("summary", {}, "Take"),
        element(
            "div",
            {},
            element("p", {}, "copy ", button("number", part("number")), button("row", part("row")), button("tensor", part("tensor")), " as ", language),
            element("p", {}, button("copy link", link), button("svg", figure("svg")), button("png", figure("png"))),
        ),
    );
}
