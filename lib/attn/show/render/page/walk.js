// The walk in the page: tensors by name, numbers as they are printed, cells by address.

// Number of binary digits of the 16-bit types, and their smallest normal exponent.
const sixteenBits = { float16: [11, -14], bfloat16: [8, -126] };

/** Rounds to the nearest number of a type. */
function held(value, dtype) {
    if (dtype === "float32") return Math.fround(value);
    if (!(dtype in sixteenBits) || value === 0 || !Number.isFinite(value)) return value;
    const [digits, least] = sixteenBits[dtype];
    const step = 2 ** (Math.max(Math.floor(Math.log2(Math.abs(value))), least) - digits + 1);
    return Math.round(value / step) * step;
}

/** Returns the numbers of nested lists in row-major order, rounded to their type. */
function flattened(data, size, dtype) {
    const values = dtype === "float32" ? new Float32Array(size) : new Float64Array(size);
    let next = 0;
    const visit = (part) => {
        if (Array.isArray(part)) part.forEach(visit);
        else values[next++] = typeof part === "string" ? special[part] : held(Number(part), dtype);
    };
    visit(data);
    return values;
}
const special = { nan: NaN, inf: Infinity, "-inf": -Infinity };

/** Formats `value`; ties go to even, as in C, PyTorch and NumPy. */
function fixed(value, decimals) {
    const size = Math.abs(value);
    const sign = value < 0 || Object.is(value, -0) ? "-" : "";
    const halves = size * 2 ** (decimals + 1);
    if (halves % 2 !== 1) return sign + size.toFixed(Math.min(decimals, 100));
    const below = Math.floor(size * 10 ** decimals);
    return sign + ((below % 2 === 0 ? below : below + 1) / 10 ** decimals).toFixed(decimals);
}

/** Formats as `1.5e-05`: the exponent has at least two digits. */
function scientific(value, decimals) {
    return value.toExponential(Math.min(decimals, 100)).replace(/e([+-])(\d)$/, "e$10$2");
}

/** Formats a float64 with all its digits. */
function exact(value) {
    if (Number.isNaN(value)) return "nan";
    if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
    return Object.is(value, -0) ? "-0" : String(value);
}

/** Formats a number as `why` does in a line of arithmetic. */
function fourDecimals(value) {
    if (!Number.isFinite(value)) return exact(value);
    const size = Math.abs(value);
    return size !== 0 && (size < 5e-5 || size >= 1e7) ? scientific(value, 3) : fixed(value, 4);
}

/** One tensor of a walk, or one text of a notebook, with its title and notes. */
class Section {
    /** @type {((cell: HTMLElement, section: Section, flat: number) => void) | undefined} */
    static mark;
    name = "";
    dtype = "";
    /** @type {string[]} */
    axes = [];
    /** @type {number[]} */
    shape = [];
    title; formula; note; margin; code; text; data; lookup; features;
    /** @type {Section} the step whose gradient this is, otherwise itself */
    of = this;
    /** @type {Section | undefined} the scores that are -inf in hidden cells */
    hider = undefined;

    constructor(step, view, tokens) {
        Object.assign(this, step);
        const low = view.high === "largest of its row" ? "-largest" : `-${view.high}`;
        this.view = { form: "fixed", precision: 4, scale: "d", low, sides: this.axes, ...view };
        this.tokens = tokens;
        /** The names of its axes for the selected word and key. */
        this.sides = this.view.sides;
        this.isTensor = step.data !== undefined;
        if (!this.isTensor) return;
        this.size = productOf(this.shape);
        this.values = flattened(step.data, this.size, this.dtype);
        delete this.data;
        this.strides = this.shape.map((_, axis) => productOf(this.shape.slice(axis + 1)));
    }

    /** The class of what it is in attention, which has one colour: query, key, value or weight. */
    get role() {
        return /(query|key|value|weight)s?$/.exec(this.name)?.[1];
    }

    /** Formats a value in the common form of this tensor. */
    number(value) {
        if (!Number.isFinite(value)) return exact(value);
        if (this.dtype === "bool") return value ? "True" : "False";
        if (this.dtype === "int64") return String(value);
        if (this.view.form === "whole") return fixed(value, 0) + ".";
        const write = this.view.form === "fixed" ? fixed : scientific;
        return write(value, this.view.precision);
    }

    /** Formats a cell with all its digits: the shortest text that reads back to the same bits. */
    exact(flat) {
        const value = this.values[flat];
        if (this.dtype === "bool") return this.number(value);
        const isWide = this.dtype !== "float32" && !(this.dtype in sixteenBits);
        if (isWide || !Number.isFinite(value) || value === 0) return exact(value);
        let digits = 1;
        while (Math.fround(Number(value.toPrecision(digits))) !== value) ++digits;
        return exact(Number(value.toPrecision(digits)));
    }

    indices(flat) {
        return this.strides.map((stride, axis) => Math.floor(flat / stride) % this.shape[axis]);
    }
    flat(indices) {
        return indices.reduce((sum, index, axis) => sum + index * this.strides[axis], 0);
    }
    address(flat) {
        return `${this.name}[${this.indices(flat).join(",")}]`;
    }

    /** Returns the token at an index of an axis, or nothing if the axis has no tokens. */
    token(axis, index, indices) {
        const lists = this.tokens[this.view.sides[axis]];
        if (!lists || lists.length === 0) return undefined;
        const batch = this.axes.indexOf("batch");
        if (batch < 0 && lists.length > 1) return undefined;
        return (lists[batch < 0 ? 0 : indices[batch]] ?? lists[0])[index];
    }
    /** Returns the name of the feature at an index of an axis, or nothing if it has none. */
    feature(axis, index, indices) {
        const lists = this.features?.[this.axes[axis]] ?? [];
        return lists[lists.length > 1 ? indices[this.axes.indexOf("head")] : 0]?.[index];
    }
    label(axis, index, indices) {
        return this.token(axis, index, indices) ?? this.feature(axis, index, indices) ?? String(index);
    }

    /** Returns the word of a cell along the axis of the queries or of the keys. */
    wordOf(side, flat) {
        const indices = this.indices(flat);
        const axis = this.sides.indexOf(side);
        return this.label(axis, indices[axis], indices);
    }

    /** True if each query has a number for each key. */
    get isOfPairs() {
        return this.isTensor && this.axes.at(-1) === "key" && this.axes.at(-2) === "query";
    }

    /** True if both have the same queries and keys, and this one follows from scores. */
    isLike(other) {
        const isMade = other.isOfPairs && /scores$|weights$|^exponentials$/.test(other.name);
        return isMade && String(this.shape.slice(-2)) === String(other.shape.slice(-2));
    }

    /** True if the mask hides this cell's key from its query. */
    hides(flat) {
        if (!this.hider) return false;
        const inside = this.shape.at(-1) * this.shape.at(-2);
        const matrices = this.size / inside;
        const matrix = Math.floor((Math.floor(flat / inside) * this.hider.size) / inside / matrices);
        return this.hider.values[matrix * inside + (flat % inside)] === -Infinity;
    }

    /** Returns the class that colours a cell: a level of the scale, or that of nan and infinities. */
    shade(flat, levels, rowScale) {
        if (this.dtype === "int64") return "";
        const value = this.values[flat];
        if (this.hides(flat)) return "hid";
        if (Number.isNaN(value)) return "nan";
        if (!Number.isFinite(value)) return value > 0 ? "inf" : "ninf";
        const limit = rowScale ? this.rowLimit(flat) : held(Number(this.view.limit), this.dtype);
        const share = limit > 0 ? Math.max(-1, Math.min(1, value / limit)) : 0;
        const place = this.view.scale === "s" ? Math.max(share, 0) : (share + 1) / 2;
        return this.view.scale + Math.round(place * (levels - 1));
    }
    rowLimit(flat) {
        const length = this.shape.at(-1) ?? 1;
        const start = flat - (flat % length);
        return largestOf(this.values.subarray(start, start + length));
    }
}

/** A whole walk, from the two script elements with that prefix. */
class Walk {
    constructor(prefix) {
        const read = (id) => JSON.parse(root.getElementById(prefix + id).textContent);
        const walk = read("walk");
        const views = read("views");
        this.config = walk.config;
        this.command = views.command;
        this.name = views.name;
        this.levels = views.levels;
        this.rowScale = views.row_scale;
        const sectionOf = (step) => new Section(step, views.sections[step.name], views.tokens);
        this.sections = walk.steps.map(sectionOf);
        this.byName = new Map(this.sections.map((section) => [section.name, section]));
        // A gradient is next to its step.
        for (const one of this.sections) one.of = this.byName.get(one.name.replace(/^d_/, "")) ?? one;
        const isScores = (one) => one.isOfPairs && one.of === one && one.name.endsWith("scores");
        const scores = this.sections.filter(isScores);
        this.scores = scores[0];
        /** The scores that softmax reads: -inf in hidden cells. */
        this.hider = scores.at(-1);
        for (const section of this.sections.slice(this.sections.indexOf(this.hider))) {
            if (this.hider?.isLike(section)) section.hider = this.hider;
        }
    }

    /** Returns the largest length of an axis over all tensors: the number of its tabs. */
    extent(axis) {
        const lengths = this.sections.map(({ axes, shape }) => {
            const place = axes.indexOf(axis);
            return place >= 0 && place < axes.length - 2 ? shape[place] : 0;
        });
        return Math.max(0, ...lengths);
    }

    /**
     * Returns the section and the flat index of an address, `weights[0,1]` or `weights[0,sat,cat]`;
     * nothing if there is no such cell.
     */
    cell(address) {
        const parts = /^(.+)\[([^[\]]*)\]$/.exec(address);
        const section = parts && this.byName.get(parts[1]);
        if (!section || !section.isTensor) return undefined;
        const words = parts[2] === "" ? [] : parts[2].split(",");
        if (words.length !== section.shape.length) return undefined;
        const numbers = words.map((word) => (/^\d+$/.test(word) ? Number(word) : -1));
        const indexOf = (word, axis) =>
            times(section.shape[axis], (i) => section.label(axis, i, numbers)).indexOf(word);
        const indices = numbers.map((i, axis) => (i < 0 ? indexOf(words[axis], axis) : i));
        const fits = indices.every((index, axis) => index >= 0 && index < section.shape[axis]);
        return fits ? { section, flat: section.flat(indices) } : undefined;
    }
}
