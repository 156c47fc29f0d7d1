// What stands around the tensors: the command, the tools, the panel for derivations.

/** Which style sheet applies: that of the reader's own setting, the light or the dark one. */
class Theme {
    /** `turned` is called when another sheet applies. */
    constructor(turned) {
        this.turned = turned;
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
        this.turned();
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
    return element("p", words);
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
        ["Space", "play the sum in the panel, term by term"],
        ["Backspace", "back to the cell before"],
        ["Escape", "choose nothing"],
        ["/", "find a word, a step or a cell; Enter for the next"],
        ["j, k", "next step, step before"],
        ["h, b", "next head, next sequence of the batch"],
        ["t", "light or dark"],
    ];
    const list = element("dl", keys.flatMap(([key, does]) => [element("dt", key), element("dd", does)]));
    const name = "single letters are keys";
    const turn = () => (app.letters = letters.checked);
    const about = { type: "checkbox", "aria-label": name, checked: app.letters, onchange: turn };
    const letters = element("input", about);
    const label = element("label", letters, ` ${name}`);
    return element("details", { id: "keys" }, element("summary", "Keys"), element("div", list, label));
}

/** Large type for a room: the panel goes below, the list of steps away. */
function stageButton(app) {
    const stage = button("stage", () => {
        const isOn = document.documentElement.classList.toggle("stage");
        stage.setAttribute("aria-pressed", String(isOn));
        app.makeRoom();
    });
    stage.title = "large type";
    stage.setAttribute("aria-pressed", "false");
    return host ? "" : stage;
}

/** Whether each row has its own scale, for those that one large number pales. */
function scaleButton(app) {
    const shades = /^(s|d)\d+$/;
    const scale = button("colours by row", () => {
        for (const walk of [app.walk, app.other]) if (walk) walk.rowScale = !walk.rowScale;
        scale.setAttribute("aria-pressed", String(app.walk.rowScale));
        for (const [place, cell] of app.steps.cells) {
            const { section, flat } = app.walk.cell(place);
            cell.classList.remove(...[...cell.classList].filter((name) => shades.test(name)));
            const shade = section.shade(flat, app.levels, app.walk.rowScale);
            if (shade) cell.classList.add(shade);
        }
    });
    scale.title = "each row up to its own largest number";
    scale.setAttribute("aria-pressed", String(app.walk.rowScale));
    return scale;
}

/** What stands above the derivation, and below it where it came from. */
function dockOf(app) {
    const less = button("Less", () => {
        less.textContent = app.dock.classList.toggle("peek") ? "More" : "Less";
        app.makeRoom();
    });
    less.id = "less";
    const back = button("Back", () => app.goBack(), { id: "back" });
    const close = button("Close", () => app.clear(), { id: "close" });
    const tools = [back, app.player.button, app.turn.button, takeMenu(app), less, close];
    const about = { id: "dock", "aria-label": "derivation" };
    return element("aside", about, element("div.dock-tools", tools), app.panel);
}

function toolsOf(app) {
    const { field, count } = app.search;
    const turns = [scaleButton(app), stageButton(app), app.theme.button, keyList(app)];
    const about = { role: "toolbar", "aria-label": "page" };
    return element("div.tools", about, app.switch, app.tabs.element, field, count, turns);
}

/** The first thing to be pressed, whatever is folded. */
function firstStop(app) {
    const word = app.strip.element.querySelector('button[aria-pressed="true"]');
    return word ?? app.steps.element.querySelector('td[tabindex="0"], summary');
}

/** Lays the parts of the app out on the page. */
function layOut(app) {
    const title = app.model ? `Layers and heads of ${app.model.name}` : "Attention, step by step";
    const command = element("p.command", "made by ", element("code", app.command));
    const below = element("div.below", app.steps.nav, app.steps.element);
    const role = app.walk.extent("head") > 1 ? "tabpanel" : undefined;
    const panels = { id: "panels", role, "aria-label": "walk" };
    const main = element("main", element("div", panels, app.strip.element, below));
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
