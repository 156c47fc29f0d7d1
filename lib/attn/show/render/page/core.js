// Runs the program's core as WebAssembly: takes the words of a command line, returns its output.

/** Decodes the bytes in a text of the page: two digits of base 91 are 13 bits (render.hpp). */
function bytesOf(letters) {
    const bytes = new Uint8Array((13 * (letters.length >> 1) + 6 * (letters.length & 1)) >> 3);
    const digit = (k) => {
        const code = letters.charCodeAt(k);
        return code - 33 - Number(code > 34) - Number(code > 38) - Number(code > 60);
    };
    for (let at = 0, byte = 0, held = 0, bits = 0; at < letters.length; at += 2) {
        const isLast = at + 1 === letters.length;
        held |= (digit(at) + (isLast ? 0 : 91 * digit(at + 1))) << bits;
        for (bits += isLast ? 6 : 13; bits >= 8; bits -= 8, held >>= 8) bytes[byte++] = held;
    }
    return bytes;
}

/** Returns the bytes of a compressed part of the page. */
async function unpacked(id, /** @type {CompressionFormat} */ way) {
    const packed = bytesOf(root.getElementById(id).textContent);
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream(way));
    return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Returns the memory layout of the page's model from its packed form (open_model.hpp). */
function unrolled(packed) {
    const count = packed.length / 4;
    const words = new Uint32Array(count);
    packed.forEach((byte, i) => (words[i % count] |= byte << (8 * Math.floor(i / count))));
    return words.map((bits) => (bits >>> 1) | (bits << 31));
}

class Core {
    /** Starts the core in these bytes, with the page's model if it has one. */
    static async from(bytes, packed = undefined) {
        const core = new Core();
        await core.start(bytes);
        if (packed) core.hold(packed);
        return core;
    }

    async start(bytes) {
        this.messages = "";
        const page = { letter: (what, point) => askedOf(String.fromCharCode(what), point) };
        const none = (name) => () => {
            throw new Error(`the core of this page has no ${name}`);
        };
        const env = new Proxy({}, { get: (_, name) => (name === "emscripten_notify_memory_growth" ? () => {} : none(name)) });
        const refused = 52; // for system calls that a page does not have
        const calls = { fd_write: this.write.bind(this), clock_time_get: this.tell.bind(this) };
        const system = new Proxy({}, { get: (_, name) => calls[name] ?? (() => refused) });
        const imports = { page, env, wasi_snapshot_preview1: system };
        const { instance } = await WebAssembly.instantiate(bytes, imports);
        /** @type {any} */
        this.calls = instance.exports;
        this.calls._initialize();
    }

    /** Copies the page's model to the place where the core expects it. */
    hold(packed) {
        const words = unrolled(packed);
        new Uint32Array(this.calls.memory.buffer, this.calls.attn_model(), words.length).set(words);
    }

    /** The system call that writes to standard error: appends to the messages. */
    write(_, pieces, count, written) {
        const view = new DataView(this.calls.memory.buffer);
        let size = 0;
        for (let piece = pieces; piece < pieces + 8 * count; piece += 8) {
            const length = view.getUint32(piece + 4, true);
            this.messages += this.text(view.getUint32(piece, true), length);
            size += length;
        }
        view.setUint32(written, size, true);
        return 0;
    }

    /** The system call that reads the clock, in nanoseconds. */
    tell(_, precision, place) {
        new DataView(this.calls.memory.buffer).setBigUint64(place, BigInt(Math.round(performance.now() * 1e6)), true);
        return 0;
    }

    text(begin, length) {
        return new TextDecoder().decode(new Uint8Array(this.calls.memory.buffer, begin, length));
    }

    /** Runs a command; returns its exit code, its output and its messages. */
    run(words) {
        this.messages = "";
        const letters = words.map((word) => `${word.normalize("NFC")}\0`).join("");
        const bytes = new TextEncoder().encode(letters);
        const room = this.calls.attn_room(bytes.length);
        new Uint8Array(this.calls.memory.buffer, room, bytes.length).set(bytes);
        const code = this.calls.attn_run();
        const text = this.text(this.calls.attn_written(), this.calls.attn_written_size());
        return { code, text, messages: this.messages };
    }

    /** Runs a command; if the core itself fails, its error is the message. */
    answer(words) {
        try {
            return this.run(words);
        } catch (error) {
            return { code: 2, text: "", messages: error.message };
        }
    }
}

/** The script of a worker: runs commands in its own core, one after the other. */
function answerAll() {
    let core;
    onmessage = async ({ data: { bytes, packed, words } }) => {
        core ??= Core.from(bytes, packed);
        const failed = (error) => ({ code: 2, text: "", messages: error.message });
        if (words) postMessage(await core.then((own) => own.answer(words), failed));
    };
}

/** A core in a worker, so that the page responds meanwhile; without workers, the page's own core. */
class CoreApart {
    constructor(core, bytes, packed) {
        this.core = core;
        this.asked = [];
        this.isBarred = false;
        const parts = [`const askedOf = (${lettersOf})()`, unrolled, Core, `(${answerAll})()`];
        try {
            this.worker = new Worker(`data:text/javascript,${encodeURIComponent(parts.join(";"))}`);
        } catch {
            this.isBarred = true;
            return;
        }
        this.worker.onmessage = ({ data }) => this.asked.shift().done(data);
        this.worker.onerror = () => {
            this.isBarred = true;
            for (const { words, done } of this.asked.splice(0)) done(core.answer(words));
        };
        this.worker.postMessage({ bytes, packed });
    }

    run(words) {
        if (this.isBarred) return this.core.answer(words);
        return new Promise((done) => {
            this.asked.push({ words, done });
            this.worker.postMessage({ words });
        });
    }
}
