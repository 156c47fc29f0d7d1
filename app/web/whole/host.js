// Functions of node or a page for the program: regular expressions, and in node also deflate and
// terminals. The build puts letters.js, a script of pages, before it.
// Offsets and sizes count bytes in `memory`, which is a new object after it has grown.
"use strict";
const isNode = typeof module === "object";
const [tty, zlib] = isNode ? [require("tty"), require("zlib")] : [];
const encoder = new TextEncoder();

const wide =
    /[\p{Script=Han}\p{Script=Hangul}\p{Script=Hiragana}\p{Script=Katakana}\p{Emoji_Presentation}\u3000-\u303e\uff01-\uff60\uffe0-\uffe6]/u;
const without = /[\p{Mn}\p{Me}\p{Cf}\p{Cc}]/u;

/** Returns the columns of a character on a terminal. */
function columnsOf(point) {
    const letter = String.fromCodePoint(point);
    return wide.test(letter) ? 2 : Number(!without.test(letter));
}

/** Translates a pattern of PCRE2 to JavaScript: `(?i:abc)` with each letter in both cases, `++` as `+`. */
function translated(pattern) {
    const bothSizes = (_, inner) => `(?:${inner.replace(/[a-z]/gi, (one) => `[${one.toLowerCase()}${one.toUpperCase()}]`)})`;
    return pattern
        .replace(/\(\?i:([^()\\[\]]*)\)/g, bothSizes)
        .replace(/\\A/g, "^")
        .replace(/\\z/g, "$")
        .replace(/(\\[^])|([*+?}])\+/g, (_, escaped, ending) => escaped ?? ending)
        .replace(/\\x\{/g, "\\u{")
        .replace(/\\d/g, "\\p{Nd}")
        .replace(/\\p\{L&\}/g, "\\p{LC}");
}

const bytesAt = (memory, place, size) => memory.subarray(place, place + size);
const textAt = (memory, place, size) => {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytesAt(memory, place, size));
};
const numbersIn = (memory, place) => new Uint32Array(memory.buffer, place);

class Host {
    known = new Map();
    patterns = [];
    inflaters = [];

    asked(what, point) {
        const key = what * 0x200000 + point;
        if (!this.known.has(key)) {
            const about = String.fromCharCode(what);
            const told = askedOf(about, point);
            this.known.set(key, about === "w" && told > 0 ? columnsOf(point) : told);
        }
        return this.known.get(key);
    }

    isTerminal(descriptor) {
        return Number(Boolean(tty?.isatty(descriptor)));
    }
    /** Returns columns and rows. Opens a stream only for a terminal: a pipe would lose unread data. */
    sizeOf(descriptor) {
        const stream = { 0: "stdout", 1: "stdout", 2: "stderr" }[descriptor];
        return (stream && process[stream].getWindowSize?.()) ?? [80, 24];
    }

    /** Normalizes a text; returns its size, and its address in `made`; -1 if it is not UTF-8. */
    normalized(memory, place, size, form, made, allocate) {
        let bytes;
        try {
            bytes = encoder.encode(textAt(memory, place, size).normalize(["NFC", "NFD", "NFKC", "NFKD"][form]));
        } catch {
            return -1;
        }
        const room = allocate(bytes.length + 1);
        const now = this.memory();
        now.set(bytes, room);
        now[room + bytes.length] = 0;
        numbersIn(now, made)[0] = room;
        return bytes.length;
    }

    /** Stores a pattern; returns its number, or -1 and the error in `reason`. */
    pattern(memory, place, size, reason, room) {
        try {
            return this.patterns.push(new RegExp(translated(textAt(memory, place, size)), "gu")) - 1;
        } catch (error) {
            const told = encoder.encode(error.message.split(": ").at(-1)).subarray(0, room - 1);
            memory.set(told, reason);
            memory[reason + told.length] = 0;
            return -1;
        }
    }

    /** Returns the number of matches, and in `places` the first and last byte of each. */
    matches(memory, pattern, place, size, places) {
        let text;
        try {
            text = textAt(memory, place, size);
        } catch {
            return -1;
        }
        let [count, at, byte] = [0, 0, 0];
        const byteOf = (end) => {
            byte += encoder.encode(text.slice(at, end)).length;
            at = end;
            return byte;
        };
        for (const found of text.matchAll(this.patterns[pattern])) {
            if (found[0].length === 0) continue;
            const ends = [byteOf(found.index), byteOf(found.index + found[0].length)];
            numbersIn(memory, places).set(ends, 2 * count++);
        }
        return count;
    }

    /** Compresses bytes; returns their size, or -1 if unsupported here. */
    deflate(memory, from, size, to, room) {
        if (!zlib) return -1;
        const packed = zlib.deflateSync(bytesAt(memory, from, size), { level: 9 });
        if (packed.length > room) return -1;
        memory.set(packed, to);
        return packed.length;
    }

    /** Starts to decompress; returns a number, or -1 if unsupported here. */
    inflater() {
        if (!zlib) return -1;
        return this.inflaters.push({ engine: new zlib.InflateRaw(), made: Buffer.alloc(0) }) - 1;
    }
    /** Returns whether the bytes are valid. */
    feed(memory, inflater, from, size) {
        const one = this.inflaters[inflater];
        try {
            const more = one.engine._processChunk(Buffer.from(bytesAt(memory, from, size)), zlib.constants.Z_SYNC_FLUSH);
            one.made = Buffer.concat([one.made, more]);
            return 1;
        } catch {
            return 0;
        }
    }
    /** Copies up to `room` decompressed bytes; returns their number. */
    take(memory, inflater, to, room) {
        const one = this.inflaters[inflater];
        const taken = one.made.subarray(0, room);
        memory.set(taken, to);
        one.made = one.made.subarray(taken.length);
        return taken.length;
    }
    endInflater(inflater) {
        this.inflaters[inflater] = undefined;
    }
}

if (isNode) module.exports = { Host };
