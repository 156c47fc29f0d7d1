// Derives a cell. The program computed all derivations with the code of `attn-explain why` and
// stored them as patterns; this expands the pattern of one cell.

/** Returns the pattern of a cell, and the cell's index within that pattern. */
function patternOf(section, flat) {
    const patterns = section.view.derivations ?? [];
    section.lookup ??= lookupOf(patterns, section.size);
    const pattern = patterns[section.lookup.which[flat] - 1];
    return pattern && { pattern, ordinal: section.lookup.ordinal[flat] };
}

/** Returns, for each cell, the number of its pattern, from 1, and its index within that pattern. */
function lookupOf(patterns, size) {
    const lookup = { which: new Int32Array(size), ordinal: new Int32Array(size) };
    patterns.forEach(({ cells }, i) => {
        let before = 0;
        for (let run = 0; run < cells.length; run += 2) {
            for (let k = 0; k < cells[run + 1]; ++k) {
                lookup.which[cells[run] + k] = i + 1;
                lookup.ordinal[cells[run] + k] = before++;
            }
        }
    });
    return lookup;
}

/** Returns the flat index of the source of term `term` of the cell at `indices`. */
function sourceNumber(places, indices, ordinal, count, term) {
    if (!Array.isArray(places)) return places.cells[ordinal * count + term];
    const first = places[0] + places.at(-1) * term;
    return indices.reduce((number, index, axis) => number + places[axis + 1] * index, first);
}

/** Returns the sentence on a cell without formula and pattern. */
function givenText(walk, section) {
    const { derivations, derived_by: derivedBy, reads } = section.view;
    if (derivations || derivedBy || reads.length > 0) return "";
    if (section.name === "x" && walk.config?.layer > 0) return "computed by earlier layers";
    return "drawn or given: the walk starts from it";
}

/** Returns the command that derives a cell of a tensor too large for the page; empty if there is none. */
function commandOf(walk, section, flat) {
    const { derivations, derived_by: derivedBy, reads } = section.view;
    if (derivations || derivedBy || reads.length === 0) return "";
    if (!/^attn-explain -/.test(walk.command)) return "";
    const flags = walk.command.replace(/ (--format|-o|--output) \S+/g, "").slice("attn-explain".length);
    return `attn-explain why '${section.address(flat)}'${flags}`;
}

/**
 * Returns the derivation of a cell: its `rule`, or `words` if it has none; its `arithmetic`; its
 * `terms`, each with `factors` and `value` (the product, or the exponential of the difference); the
 * `rounding` error of the sum; and all `sources`.
 */
function derive(walk, section, flat) {
    const value = section.values[flat];
    const found = patternOf(section, flat);
    if (!found) {
        const formula = section.formula ?? "";
        const [, left, rule] = /^(\w+)(?:\[[^\]]*\])? = (.*)$/s.exec(formula) ?? [];
        if (left === section.name) return { ...nothing, value, rule };
        const isName = formula.startsWith(`${section.name}[`); // which explains nothing
        return { ...nothing, value, words: (isName ? "" : formula) || givenText(walk, section) };
    }
    const terms = termsOf(walk, found, section.indices(flat));
    const sources = terms.flatMap((term) => term.factors);
    const { rule, sum: isSum = false } = found.pattern;
    const text = found.pattern.text ?? (section.dtype === "bool" ? ofIndices(section, flat, rule) : "");
    const arithmetic = text.replace(/\{(\d+)(v?)\}/g, (_, number, asValue) => {
        const { section, flat } = sources[Number(number)];
        return asValue ? fourDecimals(section.values[flat]) : section.address(flat);
    });
    if (!isSum) return { ...nothing, value, rule, arithmetic, sources };
    const rounding = value - terms.reduce((sum, term) => sum + term.value, 0);
    return { ...nothing, value, rule, arithmetic, isSum, terms, rounding, sources };
}
const nothing = { words: "", rule: "", arithmetic: "", isSum: false, terms: [], rounding: 0, sources: [] };

/** Inserts the indices of a cell in a rule that has only indices: `k > q` becomes `3 > 0`. */
function ofIndices(section, flat, rule) {
    const indices = section.indices(flat);
    const number = (letter) => indices[section.axes.findIndex((axis) => axis[0] === letter)] ?? letter;
    return rule.replace(/\b[a-z]\b/g, number);
}

/** Returns the terms of the cell at `indices`. */
function termsOf(walk, { pattern, ordinal }, indices) {
    const terms = [];
    for (const [count, ...rest] of pattern.terms) {
        const isExponential = rest[0] === "exp";
        const steps = isExponential ? rest.slice(1) : rest;
        for (let term = 0; term < count; ++term) {
            const factors = steps.map(([step, places]) => ({
                section: walk.byName.get(step),
                flat: sourceNumber(places, indices, ordinal, count, term),
            }));
            const values = factors.map(({ section, flat }) => section.values[flat]);
            const product = values.reduce((a, b) => a * b, 1);
            const value = isExponential ? Math.exp(values[0] - values[1]) : product;
            terms.push({ factors, value, isExponential });
        }
    }
    return terms;
}

/**
 * Rounds the numbers of a derivation to common decimals, so that the printed terms add up to the
 * printed sum.
 */
class Decimals {
    constructor(derivation) {
        const sizes = [derivation.value, ...derivation.terms.map((term) => term.value)]
            .map(Math.abs)
            .filter(Number.isFinite);
        const largest = sizes.reduce((a, b) => Math.max(a, b), 0);
        const magnitude = largest > 0 ? Math.floor(Math.log10(largest)) : 0;
        this.exponent = magnitude < -4 ? magnitude : 0;
        this.decimals = Math.max(5 - magnitude + this.exponent, 0);
    }
    text(value) {
        if (!Number.isFinite(value)) return exact(value);
        if (this.exponent === 0) return fixed(value, this.decimals);
        const digits = fixed(value / 10 ** this.exponent, this.decimals);
        return `${digits}e-${String(-this.exponent).padStart(2, "0")}`;
    }
    units(value) {
        return Math.round(Number(this.text(value)) * 10 ** (this.decimals - this.exponent));
    }
    ofUnits(units) {
        return this.text(units / 10 ** (this.decimals - this.exponent) + 0);
    }
}

/** Maximum number of highlighted sources of a cell. */
const mostUpstream = 2000;

/** Returns all sources of a cell, down to the inputs, up to that maximum. */
function upstream(walk, section, flat) {
    const seen = new Set();
    const queue = [{ section, flat }];
    for (let next = 0; next < queue.length && seen.size < mostUpstream; ++next) {
        for (const source of derive(walk, queue[next].section, queue[next].flat).sources) {
            const address = source.section.address(source.flat);
            if (seen.has(address)) continue;
            seen.add(address);
            queue.push(source);
        }
    }
    return seen;
}
