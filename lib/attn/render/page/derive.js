// Where a cell comes from. The program worked the derivations out with the code of
// `attn-explain why` and wrote them down as patterns; this reads one cell's out of its pattern.

/** The pattern that a cell belongs to, and which of the pattern's cells it is. */
function patternOf(section, flat) {
    const patterns = section.view.derivations ?? [];
    section.lookup ??= lookupOf(patterns, section.size);
    const pattern = patterns[section.lookup.which[flat] - 1];
    return pattern && { pattern, ordinal: section.lookup.ordinal[flat] };
}

/** For each cell the number of its pattern, counted from 1, and its own within that. */
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

/** The number of the cell that `places` gives for term `term` of the cell at `indices`. */
function sourceNumber(places, indices, ordinal, count, term) {
    if (!Array.isArray(places)) return places.cells[ordinal * count + term];
    let number = places[0] + places.at(-1) * term;
    indices.forEach((index, axis) => {
        number += places[axis + 1] * index;
    });
    return number;
}

/** What is said of a cell that no formula and no pattern tells of. */
function givenText(walk, section) {
    const { derivations, derived_by: derivedBy, reads } = section.view;
    if (derivations || derivedBy || reads.length > 0) return "";
    if (section.name === "x" && walk.config?.layer > 0) return "made by the layers before this one";
    return "drawn or given: the walk starts from it";
}

/** The command that derives a cell of a tensor too large for the page; empty where none does. */
function commandOf(walk, section, flat) {
    const { derivations, derived_by: derivedBy, reads } = section.view;
    if (derivations || derivedBy || reads.length === 0) return "";
    if (!/^attn-explain -/.test(walk.command)) return "";
    const flags = walk.command.replace(/ (--format|-o|--output) \S+/g, "").slice("attn-explain".length);
    return `attn-explain why '${section.address(flat)}'${flags}`;
}

/**
 * The derivation of one cell: `rule`, `arithmetic`, `terms` (each with its `factors` and its
 * `value`: their product, or the exponential of their difference), what the terms lack of the
 * value (`rounding`), and all `sources`.
 */
function derive(walk, section, flat) {
    const value = section.values[flat];
    const found = patternOf(section, flat);
    if (!found) {
        const left = `${section.name} = `;
        const formula = section.formula ?? "";
        const own = formula.startsWith(left) ? formula.slice(left.length) : formula;
        const rule = own || givenText(walk, section);
        return { value, rule, arithmetic: "", isSum: false, terms: [], rounding: 0, sources: [] };
    }
    const { pattern, ordinal } = found;
    const indices = section.indices(flat);
    const terms = [];
    for (const [count, ...rest] of pattern.terms) {
        const isExponential = rest[0] === "exp";
        const factors = isExponential ? rest.slice(1) : rest;
        for (let term = 0; term < count; ++term) {
            const cells = factors.map(([step, places]) => ({
                section: walk.byName.get(step),
                flat: sourceNumber(places, indices, ordinal, count, term),
            }));
            const values = cells.map((cell) => cell.section.values[cell.flat]);
            const value = isExponential
                ? Math.exp(values[0] - values[1])
                : values.reduce((a, b) => a * b, 1);
            terms.push({ factors: cells, value, isExponential });
        }
    }
    const sources = terms.flatMap((term) => term.factors);
    const rounding = pattern.sum ? value - terms.reduce((sum, term) => sum + term.value, 0) : 0;
    const arithmetic = (pattern.text ?? "").replace(/\{(\d+)(v?)\}/g, (_, number, asValue) => {
        const cell = sources[Number(number)];
        return asValue
            ? fourDecimals(cell.section.values[cell.flat])
            : cell.section.address(cell.flat);
    });
    return {
        value,
        rule: pattern.rule,
        arithmetic,
        isSum: Boolean(pattern.sum),
        terms: pattern.sum ? terms : [],
        rounding,
        sources,
    };
}

/**
 * Numbers of one derivation in units of their last printed decimal, so that what is printed adds
 * up to what is printed.
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
        return Math.round(value * 10 ** (this.decimals - this.exponent));
    }
    ofUnits(units) {
        return this.text(units / 10 ** (this.decimals - this.exponent) + 0);
    }
}

/** So many cells are lit as what a cell was made of. */
const mostUpstream = 2000;

/** Every cell that a cell was made of, down to the inputs; no more than are lit. */
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
