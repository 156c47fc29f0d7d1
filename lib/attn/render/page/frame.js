// What stands around the tensors: the command, the tools, the panel for derivations.

/** Which style sheet applies: that of the reader's own setting, the light or the dark one. */
class Theme {
    constructor() {
        this.media = {
            auto: "screen and (prefers-color-scheme: dark)",
            light: "not all",
            dark: "screen",
        };
        this.sheet = document.getElementById("dark");
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

function button(text, onclick, attributes = {}) {
    return element("button", { type: "button", onclick, ...attributes }, text);
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
        ["/", "find a token; Enter for the next"],
        ["j, k", "next step, step before"],
        ["h, b", "next head, next sequence of the batch"],
        ["t", "light or dark"],
    ];
    const list = element("dl");
    for (const [key, does] of keys) {
        list.append(element("dt", {}, key), element("dd", {}, does));
    }
    return element("details", { id: "keys" }, element("summary", {}, "Keys"), list);
}

/** Builds the frame and hands its parts to the app. */
function makeFrame(app) {
    app.theme = new Theme();
    app.search = new Search(() => app.main);
    app.tabs = new Tabs(() => app.buildFront());
    app.switch = element("div", { id: "switch", role: "group", "aria-label": "walk shown" });
    app.nav = element("nav", { id: "steps", "aria-label": "steps" });
    app.main = element("main", { id: "tensors" });
    const label = "where this number comes from";
    const said = { id: "why", "aria-live": "polite", tabindex: -1, "aria-label": label };
    app.panel = element("section", said, hint());
    const back = button("Back", () => app.goBack(), { id: "back" });
    const close = button("Close", () => app.clear(), { id: "close" });
    const dockTools = element("div", { class: "dock-tools" }, back, close);
    app.dock = element("aside", { id: "dock", "aria-label": "derivation" }, dockTools, app.panel);
    const title = element(
        "h1",
        {},
        app.model ? `Layers and heads of ${app.model.name}` : "Attention, step by step",
    );
    app.overview = app.model && new Overview(app);
    app.theme.turned = () => app.overview?.draw(app.overview.seen);
    const command = element("code", {}, app.command);
    const tools = { class: "tools", role: "toolbar", "aria-label": "page" };
    document.body.prepend(
        element("a", { class: "skip", href: "#tensors" }, "to the tensors"),
        element("header", {}, title, element("p", { class: "command" }, "made by ", command)),
        element(
            "div",
            tools,
            app.switch,
            app.tabs.element,
            app.search.field,
            app.search.count,
            app.theme.button,
            keyList(app),
        ),
        ...(app.overview ? [app.overview.element] : []),
        element("div", { class: "columns" }, app.nav, app.main, app.dock),
    );
}
