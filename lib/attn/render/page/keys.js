// What the keys do: in a table, and anywhere on the page.

function onCellKey(app, event) {
    const cell = event.target.closest("td[data-cell]");
    if (!cell || event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        event.stopPropagation();
        const at = app.walk.cell(cell.dataset.cell);
        if (app.turn.takes(at)) return;
        if (event.key === " " && app.isSelected(at) && app.player.rows.length > 1) return app.player.press();
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
    if (event.altKey || event.ctrlKey || event.metaKey || event.target.closest?.("input, select, textarea")) return;
    const letters = {
        "/": () => app.search.field.focus(),
        j: () => goToStep(app, 1),
        k: () => goToStep(app, -1),
        h: () => app.tabs.turnBy("head", 1),
        b: () => app.tabs.turnBy("batch", 1),
        t: () => app.theme.turn(),
        ...(app.model && { o: () => app.overview.focus(), l: () => nextLayer(app) }),
    };
    const others = {
        Escape: () => app.clear(),
        Backspace: () => app.goBack(),
        ...(!event.target.closest?.("button, summary, a") && app.player.rows.length > 1 && { " ": () => app.player.press() }),
    };
    const does = others[event.key] ?? (app.letters ? letters[event.key] : undefined);
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
    const parts = [...app.parts.values()].filter(({ part }) => part.open && part.closest(".group")?.open !== false);
    if (parts.length === 0) return;
    const at = parts.findIndex(({ part }) => part.contains(root.activeElement));
    const next = parts[Math.max(0, Math.min(parts.length - 1, at < 0 ? 0 : at + by))];
    next.part.scrollIntoView({ block: "start" });
    (
        next.part.querySelector('.panel:not([hidden]) td[tabindex="0"]') ??
        next.part.querySelector("summary")
    ).focus({ preventScroll: true });
}
