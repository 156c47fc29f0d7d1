// The page around the tensors: the command, the tools, the panel for derivations.

/** Returns the contents of the panel if no cell is selected. */
function hint() {
    const words =
        "Select a number, by touch or with the arrow keys, to see where it comes from.";
    return element("p", words);
}

/** Returns the list of settings of the view, and of the keys. */
function viewList(app) {
    const ofModel = {
        "arrows, Enter": "in the overview: from head to head, and into its layer",
        o: "to the overview of all heads",
        l: "next layer",
    };
    const keys = {
        ...(app.model && ofModel),
        "arrows, Home, End, Page keys": "from cell to cell",
        Enter: "into the derivation",
        p: "play the sum over all words",
        Backspace: "back to the last cell",
        Escape: "deselect",
        "/": "find a word, a step or a cell; Enter for the next",
        "j, k": "next, previous step",
        "h, b": "next head, next sequence of the batch",
        t: "light or dark",
    };
    const list = Object.entries(keys).flatMap(([key, does]) => [element("dt", key), element("dd", does)]);
    const letters = toggle("single-letter keys", app.letters, (isOn) => (app.letters = isOn));
    const turns = element("p", scaleButton(app), " ", stageButton(app), " ", app.theme, " ", letters);
    return element("details", { id: "keys" }, element("summary", "View"), element("div", turns, element("dl", list)));
}

/** Returns the button for projectors: large type, the panel below, no list of steps. */
function stageButton(app) {
    const turn = (isOn) => {
        document.documentElement.classList.toggle("stage", isOn);
        app.makeRoom();
    };
    return host ? "" : toggle("stage", false, turn);
}

/** Returns the button that scales the colours of each row to its own maximum. */
function scaleButton(app) {
    return toggle("colours by row", app.walk.rowScale, (isOn) => {
        for (const walk of [app.walk, app.other]) if (walk) walk.rowScale = isOn;
        for (const [place, cell] of app.steps.cells) {
            const { section, flat } = app.walk.cell(place);
            const shade = section.shade(flat, app.levels, isOn);
            cell.className = cell.className.replace(/\b[sd]\d+\b/, shade);
        }
    });
}

/** Returns the panel: tools above, the derivation below. */
function dockOf(app) {
    const less = button("Less", () => {
        less.textContent = app.dock.classList.toggle("peek") ? "More" : "Less";
        app.makeRoom();
    });
    less.id = "less";
    const back = button("Back", () => app.goBack(), { id: "back" });
    const close = button("Close", () => app.clear(), { id: "close" });
    const tools = [back, app.turn.button, takeMenu(app), less, close];
    const about = { id: "dock", "aria-label": "derivation" };
    return element("aside", about, element("div.dock-tools", tools), app.panel);
}

function toolsOf(app) {
    const { field, count } = app.search;
    const about = { "aria-label": "tools" };
    return element("section.tools", about, app.switch, app.tabs.element, field, count, viewList(app));
}

/** Returns the first control, even if steps are folded. */
function firstStop(app) {
    const word = app.strip.element.querySelector('button[aria-pressed="true"]');
    return word ?? app.steps.element.querySelector('td[tabindex="0"], summary');
}

/** Adds the parts of the app to the page. */
function layOut(app) {
    const [, notebook] = /^attn-explain notebook (\w+)/.exec(app.command) ?? [];
    const plain = notebook ? `Notebook ${notebook}` : "Attention, step by step";
    const title = app.model ? `Layers and heads of ${app.model.name}` : plain;
    const command = element("p.command", "made by ", element("code", app.command));
    const below = element("div.below", app.steps.element);
    const role = app.walk.extent("head") > 1 ? "tabpanel" : undefined;
    const panels = { id: "panels", role, "aria-label": "walk" };
    const main = element(app.model ? "section" : "main", element("div", panels, app.strip.element, below));
    const skip = (event) => {
        event.preventDefault();
        firstStop(app)?.focus();
    };
    frame.prepend(
        element("a.skip", { href: "#tensors", onclick: skip }, "to the numbers"),
        element("header", element("h1", title), command),
        app.tools,
        app.overview?.element ?? "",
        element("div.columns", main, app.dock),
        app.said,
    );
    new ResizeObserver(() => app.makeRoom()).observe(app.tools);
    isWide.addEventListener("change", () => app.makeRoom());
}
