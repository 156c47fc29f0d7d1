// The first screen of other attentions: finds weights and values in the rules of a walk, or shows
// the weights alone.

const { rolesOf: usualRoles, valueOf: usualValue, weighted: usualWeighted, origin: usualOrigin, boxes: usualBoxes } = Strip.prototype;
const { show: showUsual, elements: usualElements } = Pair.prototype;

function hasIndex(text = "", letter) {
    return new RegExp(`\\b${letter}\\b`).test(text);
}

/** Sets the axes of a tensor that the selected word and key determine; a number is its index's name. */
function setSides(section, at, names) {
    section.sides = section.view.sides.map((side, i) => (i < at ? side : (names[i - at] ?? names.at(-1))));
    section.features = { ...section.features };
    for (const axis of section.axes.slice(at, at + 2).filter((one) => !/^(query|key|token|feature)$/.test(one)))
        section.features[axis] ??= [times(section.shape[section.axes.indexOf(axis)], (i) => `${axis} ${i}`)];
}

/**
 * Returns the tensors of a step that adds up values. Its rule multiplies a tensor that has the index
 * of its rows and next to it the index of the sum, the weights, by one whose rows have the index of
 * the sum, the values.
 */
function rolesIn(walk, context) {
    const [, left, right] = /^\w+\[([^\]]*)\] = (.*)$/s.exec(context.rule ?? "") ?? [];
    if (!right) return undefined;
    const asker = left.split(",").at(-2);
    const all = [...right.matchAll(/(\w+)\[([^[\]]*)\]/g)].map(([, name, places]) => ({ section: walk.byName.get(name), places: places.split(",") }));
    const read = all.filter(({ section }) => section?.isTensor && section.kind !== "parameter");
    for (const { section: weights, places } of read) {
        const at = places.indexOf(asker);
        const asked = at < 0 ? "" : places[at + 1];
        if (!/^\w+$/.test(asked ?? "") || hasIndex(left, asked)) continue;
        const isValue = ({ section, places }) => section !== weights && hasIndex(places.at(-2), asked) && !places.some((text, i) => i !== places.length - 2 && hasIndex(text, asker));
        const found = read.find(isValue);
        if (!found) continue;
        const { section: value } = found;
        // The row of a value is that of its key, and terms or plain indices tell its other indices.
        const isKnown = found.places.at(-2) === asked && (context.view.derivations || found.places.every((text) => /^\w+$/.test(text)));
        const chain = [weights];
        const isAlike = (one) => one?.isTensor && String(one.axes) === String(weights.axes);
        for (const one of chain) chain.push(...one.view.reads.map((name) => walk.byName.get(name)).filter((next) => isAlike(next) && !chain.includes(next)).slice(0, 1));
        for (const one of chain) setSides(one, at, ["query", "key", "part"]);
        setSides(value, value.axes.length - 2, ["key", value.axes.at(-1)]);
        setSides(context, context.axes.length - 2, ["query", context.axes.at(-1)]);
        const roles = { scores: chain.at(-1), last: chain[1] ?? weights, ...rolesOfWeights(weights, weights.shape.slice(at, at + 2)) };
        return isKnown ? { ...roles, value, context } : roles;
    }
    return undefined;
}

/** Returns the tensors of the step nearest to the result that adds up values. */
function rolesInRules(walk) {
    const queue = [walk.byName.get("context") ?? walk.sections.findLast((one) => one.isTensor && one.of === one && one.rule)];
    for (const one of queue) {
        const found = one && rolesIn(walk, one);
        if (found) return found;
        queue.push(...(one?.view.reads ?? []).map((name) => walk.byName.get(name)).filter((next) => next?.isTensor && !queue.includes(next)));
    }
    return undefined;
}

/** Returns weights whose values the page does not have, as in a notebook. */
function weightsAlone(walk) {
    const all = walk.sections.filter((one) => one.isOfPairs && one.of === one && one.size > 0 && /weights?$/.test(one.name));
    const weights = all.find(({ name }) => name === "weights") ?? all.at(-1);
    const scores = String(walk.scores?.shape) === String(weights?.shape) ? walk.scores : weights;
    return weights && { scores, last: scores, ...rolesOfWeights(weights) };
}

/** @this {any} weights of other names are shares only if their rows add up to 1 */
Strip.prototype.rolesOf = function (walk) {
    const found = usualRoles.call(this, walk) ?? rolesInRules(walk) ?? weightsAlone(walk);
    if (!found || found.weights.name === "weights") return found;
    const { values } = found.weights;
    const rows = values.length / found.ends[1];
    const isOne = Math.abs(values.reduce((sum, one) => sum + one, 0) - rows) < 0.005 * rows;
    return { ...found, areShares: found.areShares && isOne };
};

/** @this {any} returns the cells of a value that the sum multiplies by the weight of its key */
Strip.prototype.valueOf = function (one) {
    const { weights, context } = this.roles;
    const start = this.app.cellAt(context);
    // All keys of a query share the terms of its sum.
    if (this.sum?.context !== context || this.sum.start !== start)
        this.sum = { context, start, terms: times(context.shape.at(-1), (i) => derive(this.app.walk, context, start + i).terms) };
    const isOf = ({ section, flat }) => section === weights && flat === one.flat;
    const cells = this.sum.terms.map((all) => all.find(({ factors }) => factors.some(isOf))?.factors.find(({ section }) => section !== weights));
    return cells.every(Boolean) ? cells : usualValue.call(this, one);
};

/** @this {any} multiplies each feature by its own weight if it has one */
Strip.prototype.weighted = function (one, most = featuresInBox) {
    const { weights } = this.roles;
    if (weights.sides.at(-1) !== "part") return usualWeighted.call(this, one, most);
    const start = one.flat - weights.indices(one.flat).at(-1);
    return this.valueOf(one).slice(0, most).map(({ section, flat }, i) => section.values[flat] * weights.values[start + i]);
};

/** @this {any} names the feature whose weights are shown, if each has its own */
Strip.prototype.origin = function (keys) {
    const made = usualOrigin.call(this, keys);
    const { weights } = this.roles ?? {};
    if (weights?.sides.at(-1) !== "part") return made;
    const [count, { part = 0 }] = [weights.shape.at(-1), this.app.state];
    const next = button("next feature", () => this.app.follow({ part: (part + 1) % count }), { "data-strip": "part" });
    made.append(element("p.origin", `Each feature has its own weights: these are of feature ${part} of ${count}. `, next));
    return made;
};

/** @this {any} */
Strip.prototype.boxes = function (keys) {
    const { scores, weights, value } = this.roles;
    if (value) return usualBoxes.call(this, keys);
    const rows = this.inBoxes(keys);
    const limit = largestOf(keys.map(({ key }) => scores.values[this.at(scores, key)]));
    const match = scores === weights ? [] : [this.box("1 Match", scores.title, this.measured(scores, rows, limit))];
    const boxes = element("div.boxes", match, this.box("2 Share out", weights.title, this.shared(rows, keys)));
    return keys.length > keysInBox ? [boxes, this.moreButton(keys, rows)] : [boxes];
};

/** @this {any} leaves out play if there is nothing to add up */
Pair.prototype.elements = function () {
    return this.strip.roles.value ? usualElements.call(this) : [this.element, this.next()];
};

/** @this {any} shows the sum before the result if a gate or a divisor lies between them */
Pair.prototype.show = function (one, sums = undefined) {
    const { strip } = this;
    const { scores, weights, value, context } = strip.roles;
    if (!value) {
        const score = scores === weights ? [] : [this.part("", strip.number(scores, strip.at(scores, one.key), "pair "), "score")];
        return this.element.replaceChildren(...score, this.share(one));
    }
    showUsual.call(this, one, sums);
    const start = strip.app.cellAt(context);
    const row = context.values.slice(start, start + context.shape.at(-1));
    const seen = strip.keys().filter((each) => !each.hidden && each.weight !== 0).map((each) => strip.weighted(each, Infinity));
    const total = [...row].map((_, i) => seen.reduce((sum, each) => sum + each[i], 0));
    if (total.every((sum, i) => Math.abs(sum - row[i]) <= 1e-3 * largestOf(row))) return;
    this.element.lastChild.replaceWith(this.part("→ ", columnsOf("value", sums ?? total, largestOf(total)), sums ? "added up so far" : "sum of all"));
    if (!sums) this.element.append(this.part("→ ", columnsOf("value", row), `${context.name} of ${strip.quoted(14)}`));
};
