// What stands around the tensors: the command, the tools, the panel for derivations.

/** Which style sheet applies: that of the reader's own setting, the light or the dark one. */
class Theme {
    constructor() {
        this.media = {
            auto: "screen and (prefers-color-scheme: dark)",
            light: "not all",
            dark: "screen",
        };
        this.sheet = root.getElementById("dark");
        this.names = Object.keys(this.media);
        this.now = this.names.findIndex((name) => this.media[name] === this.sheet.media);
        this.button = button("", () => this.turn(), { id: "theme" });
        this.say();
    }
    turn() {
        this.now = (this.now + 1) % this.names.length;
        this.sheet.media = this.media[this.names[this.now]];
        this.say();
        this.turned?.();
    }
    say() {
        this.button.textContent = `theme: ${this.names[this.now]}`;
    }
}

/** What stands in the panel while no cell is chosen. */
function hint() {
    const words =
        "Touch a number, rest on it or walk there with the arrow keys: " +
        "here stands where it comes from.";
    return element("p", {}, words);
}

function keyList(app) {
    const ofModel = [
        ["arrows, Enter", "in the overview: from head to head, and into its layer"],
        ["o", "to the overview of all heads"],
        ["l", "next layer"],
    ];
    const keys = [
        ...(app.model ? ofModel : []),
        ["arrows, Home, End, Page keys", "from cell to cell"],
        ["Enter", "into the derivation"],
        ["Backspace", "back to the cell before"],
        ["Escape", "choose nothing"],
        ["Space", "play the sum in the panel, term by term"],
        ["/", "find a word, a step or a cell; Enter for the next"],
        ["j, k", "next step, step before"],
        ["h, b", "next head, next sequence of the batch"],
        ["t", "light or dark"],
    ];
    const list = element("dl");
    for (const [key, does] of keys) list.append(element("dt", {}, key), element("dd", {}, does));
    const letters = element("input", { type: "checkbox", checked: true, "aria-label": "single letters are keys", onchange: () => (app.letters = letters.checked) });
    const label = element("label", {}, letters, " single letters are keys");
    return element("details", { id: "keys" }, element("summary", {}, "Keys"), element("div", {}, list, label));
}

/** Large type for a room: the panel goes below, the list of steps away. */
function stageButton(app) {
    const turn = () => {
        const on = document.documentElement.classList.toggle("stage");
        stage.setAttribute("aria-pressed", String(on));
        app.makeRoom();
    };
    const stage = button("stage", turn, { "aria-pressed": "false", title: "large type" });
    return host ? "" : stage;
}

/** Whether a row of weights has its own scale, for those that one large weight pales. */
function scaleButton(app) {
    const turn = () => {
        for (const walk of [app.walk, app.other]) if (walk) walk.rowScale = !walk.rowScale;
        scale.setAttribute("aria-pressed", String(app.walk.rowScale));
        for (const [address, cell] of app.cells) {
            const { section, flat } = app.walk.cell(address);
            cell.classList.remove(...[...cell.classList].filter((name) => /^[sd]\d+$/.test(name)));
            cell.classList.add(...[section.shade(flat, app.levels, app.walk.rowScale)].filter(Boolean));
        }
    };
    const title = "each row from 0 to its own largest number";
    const scale = button("colours by row", turn, { "aria-pressed": String(app.walk.rowScale), title });
    return scale;
}

/** The panel for derivations and its tools. */
function makeDock(app) {
    app.player = new Player(app);
    app.turn = new Turn(app);
    app.panel = element("section", { id: "why", tabindex: -1, "aria-label": "where this number comes from" }, hint());
    const less = button("Less", () => {
        less.textContent = app.dock.classList.toggle("peek") ? "More" : "Less";
        app.makeRoom();
    });
    less.id = "less";
    const back = button("Back", () => app.goBack(), { id: "back" });
    const close = button("Close", () => app.clear(), { id: "close" });
    const tools = [back, app.player.button, app.turn.button, takeMenu(app), less, close];
    app.dock = element(
        "aside",
        { id: "dock", "aria-label": "derivation" },
        element("div", { class: "dock-tools" }, ...tools),
        app.panel,
    );
}

/** Builds the frame and hands its parts to the app. */
function makeFrame(app) {
    app.theme = new Theme();
    app.letters = !host;
    app.search = new Search(app);
    app.tabs = new Tabs(() => app.turned());
    app.strip = new Strip(app);
    app.switch = element("div", { id: "switch", role: "group", "aria-label": "walk shown" });
    app.nav = element("nav", { id: "steps", "aria-label": "steps" });
    app.main = element("div", { id: "tensors" });
    app.said = element("p", { class: "away", role: "status" });
    makeDock(app);
    const title = app.model ? `Layers and heads of ${app.model.name}` : "Attention, step by step";
    app.overview = app.model && new Overview(app);
    app.theme.turned = () => app.overview?.draw(app.overview.seen);
    const command = element("p", { class: "command" }, "made by ", element("code", {}, app.command));
    const tools = [app.switch, app.tabs.element, app.search.field, app.search.count];
    tools.push(scaleButton(app), stageButton(app), app.theme.button, keyList(app));
    const below = element("div", { class: "below" }, app.nav, app.main);
    const panels = { id: "panels", role: app.walk.extent("head") > 1 ? "tabpanel" : undefined, "aria-label": "tensors" };
    frame.prepend(
        element("a", { class: "skip", href: "#tensors", onclick: (event) => skip(app, event) }, "to the tensors"),
        element("header", {}, element("h1", {}, title), command),
        element("div", { class: "tools", role: "toolbar", "aria-label": "page" }, ...tools),
        ...(app.overview ? [app.overview.element] : []),
        element("div", { class: "columns" }, element("main", {}, element("div", panels, app.strip.element, below)), app.dock),
        app.said,
    );
    app.makeRoom();
    new ResizeObserver(() => app.makeRoom()).observe(frame.querySelector(".tools"));
    screens.wide.addEventListener("change", () => app.makeRoom());
}

/** The first number, whatever is folded. */
function skip(app, event) {
    event.preventDefault();
    const strip = app.strip.element.querySelector("button");
    (strip ?? app.main.querySelector('td[tabindex="0"], summary'))?.focus();
}
