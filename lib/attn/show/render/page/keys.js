// Handles keys: in a table, and anywhere on the page.

function onCellKey(app, event) {
    const cell = event.target.closest("td[data-cell]");
    if (!cell || event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        event.stopPropagation();
        const at = app.walk.cell(cell.dataset.cell);
        if (app.turn.takes(at)) return;
        app.choose(at.section, at.flat);
        if (event.key === "Enter") (app.panel.querySelector("button") ?? app.panel).focus();
        return;
    }
    const next = neighbour(cell, event.key);
    if (!next) return;
    event.preventDefault();
    const at = app.walk.cell(next.dataset.cell);
    app.choose(at.section, at.flat, { keep: false });
}

function onKey(app, event) {
    const { target, key } = event;
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (target.closest?.("input, select, textarea") && key !== "Escape") return;
    const others = { Escape: () => app.clear(), Backspace: () => app.goBack() };
    const letters = {
        p: () => root.getElementById("run")?.click(),
        "/": () => app.search.field.focus(),
        j: () => goToStep(app, 1),
        k: () => goToStep(app, -1),
        h: () => app.tabs.turnBy("head", 1),
        b: () => app.tabs.turnBy("batch", 1),
        t: () => app.theme.click(),
        o: () => app.overview?.focus(),
        l: () => app.model && nextLayer(app),
    };
    const does = others[key] ?? (app.letters ? letters[key] : undefined);
    if (!does) return;
    event.preventDefault();
    does();
}

function nextLayer(app) {
    const next = app.layer === undefined ? 0 : (app.layer + 1) % app.model.layers;
    app.overview.openLayer(next, app.tabs.chosen.head ?? 0);
}

/** Goes to the next or the previous open step. */
function goToStep(app, by) {
    const { parts } = app.steps;
    const open = [...parts.values()].filter(({ section }) => !app.steps.isFolded(section.name));
    const at = open.findIndex(({ part }) => part.contains(root.activeElement));
    const next = open[Math.max(0, Math.min(open.length - 1, at < 0 ? 0 : at + by))];
    if (!next) return;
    next.part.scrollIntoView({ block: "start" });
    const first = next.part.querySelector('.panel:not([hidden]) td[tabindex="0"], summary');
    first.focus({ preventScroll: true });
}
