// The next word of a model, at the end of the first screen.

/** Returns the settings of a walk that change its layer alone, not the next word of the model. */
function ofOneLayer({ config }, { bug }) {
    const ofAll = ["model_file", "text", "ids", "layer", "variant", "seed", bug ? "bug" : ""];
    return Object.keys(config.explicit_settings ?? {}).filter((name) => !ofAll.includes(name));
}

/** @this {any} returns what the model says next */
Pair.prototype.next = function () {
    const [first] = JSON.parse(root.getElementById("next")?.textContent ?? "[]");
    const { app, roles } = this.strip;
    const last = roles.ends[0] - 1;
    if (!first || ofOneLayer(app.walk, first).length > 0) return "";
    const when = app.state.query === last ? "then" : `after “${shortened(this.strip.queryLabel(last), 14)}”`;
    return element("p.says", `${when} the model says `, shareBar(first.probability), ` “${first.token.trim()}” ${percent(first.probability)}`);
};
