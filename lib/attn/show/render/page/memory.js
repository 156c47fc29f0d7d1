// The memory of a recurrence on the first screen: its content after each token, as a square.

/** Maximum number of rows and columns of a square. */
const squareSide = 16;

/** @this {any} returns the state of a recurrence, a matrix for each token, and what makes it fade */
Strip.prototype.memoryOf = function (walk) {
    // A state reads its row of the token before; those over keys have no fixed size.
    const isState = ({ name, rule = "", axes, of }) => {
        const own = [...rule.matchAll(new RegExp(`\\b${name}\\[([^[\\]]*)\\]`, "g"))];
        return of.name === name && !axes.includes("key") && own.some(([, places]) => places.split(",")[axes.indexOf("token")]?.endsWith(" - 1"));
    };
    const [state, ...others] = walk.sections.filter((one) => one.isTensor && isState(one));
    const isAlone = ({ name, view, axes }) => !/(query|key|value)(_features)?$/.test(name) && view.sides.length < 4 && axes.at(-2) !== "vocab";
    const read = (state?.view.reads ?? []).map((name) => walk.byName.get(name));
    return state && { state, fades: others.concat(read.filter((one) => one?.isTensor && one !== state && isAlone(one))) };
};

/** @this {any} draws the memory: for each token its word, its square, and the decay beside it */
Strip.prototype.memoryDrawn = function () {
    if (!this.memory) return "";
    const { app, memory } = this;
    const { state, fades } = memory;
    const token = state.axes.indexOf("token");
    const at = (section, index) =>
        section.flat(section.axes.map((axis) => (axis === "token" ? index : axis === "head" || axis === "batch" ? (app.tabs.front(section, axis) ?? 0) : 0)));
    const [rows, columns] = [1, ...state.shape.slice(token + 1)].slice(-2);
    const cellsOf = (start) =>
        times(Math.min(rows, squareSide), (r) => times(Math.min(columns, squareSide), (c) => state.shade(start + r * columns + c, app.levels)));
    const isChosen = (index) => app.selected?.section === state && state.indices(app.selected.flat)[token] === index;
    const unit = (index) => {
        const start = at(state, index);
        const word = shortened(state.label(token, index, state.indices(start)), 18);
        const about = { class: "word", dir: "auto", "aria-pressed": String(isChosen(index)), "data-strip": `state ${index}`, "aria-label": `${word}: ${state.address(start)}` };
        const made = button("", () => app.choose(state, start, { stay: true }), about);
        const square = element("span.square", { ...mute, style: `--columns:${Math.min(columns, squareSide)}` }, cellsOf(start).flat().map((shade) => element(`i.${shade}`)));
        made.append(word, square);
        const fade = (section) => {
            const flat = at(section, index);
            const isRow = section.axes.at(-1) !== "token" && section.axes.at(-1) !== "head";
            const shown = isRow ? columnsOf("weight", section.values.subarray(flat, flat + section.shape.at(-1))) : app.strip.number(section, flat, `${index} `);
            return element("span.part", shown, element("small", section.name));
        };
        return element("li", made, fades.map(fade));
    };
    const words = `The square is ${state.name} after the word: ${state.title}.`;
    return element("figure.memory-of", element("figcaption", words), element("ol.memory", { onkeydown: alongLine }, times(state.shape[token], unit)));
};
