// What the keys do: in a table, and anywhere on the page.

function onCellKey(app, event) {
    const cell = event.target.closest("td[data-cell]");
    if (!cell || event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        const at = app.walk.cell(cell.dataset.cell);
        app.choose(at.section, at.flat);
        if (event.key === "Enter") (app.panel.querySelector("button") ?? app.panel).focus();
        return;
    }
    const next = neighbour(cell, event.key);
    if (!next) return;
    event.preventDefault();
    const at = app.walk.cell(next.dataset.cell);
    app.choose(at.section, at.flat, false);
}

function onKey(app, event) {
    if (event.altKey || event.ctrlKey || event.metaKey || event.target === app.search.field) return;
    const does = {
        "/": () => app.search.field.focus(),
        Escape: () => app.clear(),
        Backspace: () => app.goBack(),
        j: () => goToStep(app, 1),
        k: () => goToStep(app, -1),
        h: () => app.tabs.turnBy("head", 1),
        b: () => app.tabs.turnBy("batch", 1),
        t: () => app.theme.turn(),
        ...(app.model && {
            o: () => app.overview.focus(),
            l: () => nextLayer(app),
        }),
    }[event.key];
    if (!does) return;
    event.preventDefault();
    does();
}

function nextLayer(app) {
    const next = app.layer === undefined ? 0 : (app.layer + 1) % app.model.layers;
    app.openLayer(next, app.tabs.chosen.head ?? 0);
}

/** Goes to the next open step, or the one before. */
function goToStep(app, by) {
    const parts = [...app.parts.values()].filter(({ part }) => part.open);
    const at = parts.findIndex(({ part }) => part.contains(document.activeElement));
    const next = parts[Math.max(0, Math.min(parts.length - 1, at < 0 ? 0 : at + by))];
    next.part.scrollIntoView({ block: "start" });
    (
        next.part.querySelector('.panel:not([hidden]) td[tabindex="0"]') ??
        next.part.querySelector("summary")
    ).focus({ preventScroll: true });
}
