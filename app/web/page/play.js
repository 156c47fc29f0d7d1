// The whole program in a page: a command line, its output, and the files that it reads and writes.

/** Returns the words of each command of a line as a shell reads them: quotes protect blanks and
 * pipes; a quote without its end is `open`. */
function commandsOf(line) {
    const pieces = /'([^']*)'|"((?:\\.|[^"\\])*)"|\\(.)|([^\s'"\\|]+)|(\s+)|(\|)|(['"])/gs;
    const commands = [[]];
    let open = "";
    let word;
    const end = () => {
        if (word !== undefined) commands.at(-1).push(word);
        word = undefined;
    };
    for (const [, single, double, escaped, plain, blank, pipe, quote] of line.matchAll(pieces)) {
        open ||= quote ?? "";
        if (blank ?? pipe ?? quote) end();
        else word = (word ?? "") + (single ?? double?.replace(/\\(.)/gs, "$1") ?? escaped ?? plain);
        if (pipe) commands.push([]);
    }
    end();
    return { commands, open };
}
function quoted(word) {
    return /^[\w,.:=+/@%-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** Returns the numbers of completely printed tensors: position, text and cell. */
function numbersOf(text) {
    const blocks = [...text.matchAll(/^# (\w+): .*?^# ((?:\w+ \d+ x )*\w+ \d+), \w+$(.*?)^(tensor\(.*?\)$)/gms)];
    const all = blocks.flatMap((block) => {
        const shape = [...block[2].matchAll(/\d+/g)].map(Number);
        const begin = block.index + block[0].length - block[4].length;
        const found = [...block[4].matchAll(/(?<![\w=])-?(?:\d+\.?\d*(?:e[+-]\d+)?|inf|nan)(?![\w=])/g)];
        if (found.length !== productOf(shape)) return [];
        return found.map((number, flat) => {
            const indices = shape.map((length, axis) => Math.floor(flat / productOf(shape.slice(axis + 1))) % length);
            return [begin + number.index, number[0], `${block[1]}[${indices}]`];
        });
    });
    return all.length > 3000 ? [] : all;
}

/** Unpacks the parts of an archive, because the program cannot do that on a page. */
async function unpackedArchive(bytes) {
    const view = new DataView(bytes.buffer);
    let end = bytes.length - 22;
    while (view.getUint32(end, true) !== 0x06054b50) --end;
    const pieces = [];
    const list = [];
    let size = 0;
    let at = view.getUint32(end + 16, true);
    for (let part = view.getUint16(end + 10, true); part > 0; --part) {
        const [name, extra, remark] = [28, 30, 32].map((place) => view.getUint16(at + place, true));
        const entry = bytes.slice(at, at + 46 + name);
        const about = new DataView(entry.buffer);
        const local = about.getUint32(42, true);
        const data = local + 30 + view.getUint16(local + 26, true) + view.getUint16(local + 28, true);
        let inside = bytes.slice(data, data + about.getUint32(20, true));
        if (about.getUint16(10, true) === 8) {
            const stream = new Blob([inside]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
            inside = new Uint8Array(await new Response(stream).arrayBuffer());
        }
        // The part is stored, its size comes first, and no extra field follows its name.
        about.setUint16(8, about.getUint16(8, true) & ~8, true);
        for (const place of [10, 30, 32]) about.setUint16(place, 0, true);
        about.setUint32(20, inside.length, true);
        about.setUint32(42, size, true);
        const head = new Uint8Array([...[0x50, 0x4b, 3, 4], ...entry.slice(6, 32), ...entry.slice(46)]);
        pieces.push(head, inside);
        list.push(entry);
        size += head.length + inside.length;
        at += 46 + name + extra + remark;
    }
    const close = bytes.slice(end, end + 22);
    const told = new DataView(close.buffer);
    told.setUint32(12, list.reduce((sum, entry) => sum + entry.length, 0), true);
    told.setUint32(16, size, true);
    told.setUint16(20, 0, true);
    return new Uint8Array(await new Blob([...pieces, ...list, close]).arrayBuffer());
}

/** Prepares a file for the program; a damaged one stays, and the command that reads it reports it. */
async function readable(bytes) {
    const isArchive = String.fromCharCode(...bytes.subarray(0, 4)) === "PK\x03\x04";
    return isArchive ? unpackedArchive(bytes).catch(() => bytes) : bytes;
}

// The page before anything was typed.
const first = "--example adjective --figure arcs -o attention.svg";
const begun = [
    ["What it is", "tour 1"],
    ["Six words", "--only weights"],
    ["A head that means something", first],
    ["A sentence of yours", "--text 'the cat sat on the mat' --mask causal --only weights"],
    ["Where a number comes from", "why 'weights[5,3]'"],
    ["An interactive page", "--heads 2 -o walk.html"],
    ["A trained model", "heads --model-file stories --text 'Lily and Tom went to the park'"],
    ["Make a mistake", "--bug softmax-axis=query -o mine.npz"],
    ["Find the mistake", "diagnose mine.npz"],
    ["Published attentions", "attentions"],
    ["A quiz", "quiz --level 1 --count 4"],
];

class Play {
    constructor() {
        this.files = {};
        this.history = [];
        this.place = 0;
        this.known = new Map();
        this.running = 0;
        /** @type {any} a command that waits for a line */
        this.asking = undefined;
        this.log = element("div", { id: "log", role: "log", "aria-live": "polite" });
        this.shelf = element("ul", { id: "files", "aria-label": "files" });
        const about = { id: "line", "aria-label": "command line", autocomplete: "off", autocapitalize: "off", spellcheck: "false" };
        this.line = element("input", { ...about, onkeydown: (event) => this.onKey(event) });
        this.name = element("label", { for: "line" }, "attn-explain");
        this.stop = button("stop", () => this.end(), { hidden: true });
        const entry = element("form.entry", { onsubmit: (event) => this.entered(event) }, this.name, this.line, this.stop);
        const chips = begun.map(([word, command]) => button(word, () => this.run(command), { title: `attn-explain ${command}` }));
        const purpose = "Attention, the heart of every transformer: every step, every number, and where it comes from. Type a command, or begin here:";
        frame.append(
            element("header", element("h1", "attn-explain"), element("p", purpose)),
            element("p", { id: "begin" }, chips),
            element("main", this.log, entry, element("p.hint", "Tab completes, up and down recall, help lists the commands; drop files anywhere to read them."), this.shelf),
        );
        frame.addEventListener("dragover", (event) => event.preventDefault());
        frame.addEventListener("drop", (event) => this.dropped(event));
        addEventListener("hashchange", () => this.fromAddress());
        this.last = this.prepare();
        this.line.focus();
        if (location.hash.length > 1) this.fromAddress();
        else this.run(first, true);
    }

    async prepare() {
        const [bytes, glue] = await Promise.all([unpacked("program", "gzip"), unpacked("glue", "gzip")]);
        this.program = await WebAssembly.compile(bytes);
        const script = new Blob([glue, "\n", root.getElementById("worker").textContent], { type: "text/javascript" });
        this.script = URL.createObjectURL(script);
        if (root.getElementById("model")) this.model = new Uint8Array(unrolled(await unpacked("model", "deflate")).buffer);
    }

    /** Runs the command in the address: `#why weights[5,3]`. */
    fromAddress() {
        const command = decoded(location.hash.slice(1)).replaceAll("+", " ");
        if (command && command !== this.shown) this.run(command, true);
    }

    // --- commands

    /** Runs a command on the files of the page, after the previous one; returns its output. */
    called(words, answers = "", seed = 1, isPiped = false) {
        const ran = this.last.then(() => this.callNow(words, answers, seed, isPiped));
        this.last = ran.catch(() => {});
        return ran;
    }
    callNow(words, answers, seed, isPiped) {
        return new Promise((done) => {
            this.worker = new Worker(this.script);
            this.stopped = () => done({ code: 130, out: "", all: "", err: "stopped\n", files: this.files, waits: false });
            this.worker.onmessage = ({ data }) => done(data);
            this.worker.onerror = (event) => done({ code: 2, out: "", all: "", err: `${event.message}\n`, files: this.files, waits: false });
            const columns = Math.max(40, Math.floor(this.log.clientWidth / 8.5));
            const { program, files, model } = this;
            this.worker.postMessage({ program, words, files, answers, seed, isPiped, model, columns });
        }).finally(() => this.worker?.terminate());
    }
    end() {
        this.worker?.terminate();
        this.stopped?.();
        this.asking = undefined;
    }

    /** Runs a line of this program's commands, joined by pipes. Other programs are not available:
     * the output before them is shown. */
    async run(line, isFromAddress = false) {
        const { commands, open } = commandsOf(line.replace(/^\s*\$\s/, "")); // as it is printed, with a prompt
        if (open) return this.leftOpen(line, open);
        const own = commands.map(([name, ...rest]) => (name === "attn-explain" ? rest : undefined));
        const isOther = (i) => i > 0 && own[i] === undefined;
        const count = [...own.keys(), own.length].find((i) => i === own.length || isOther(i));
        const stages = own.slice(0, count).map((words, i) => words ?? commands[i]);
        const typed = stages.map((words) => words.map(quoted).join(" ")).join(" | attn-explain ");
        this.asking = undefined;
        this.history.push(typed);
        this.place = this.history.length;
        this.shown = typed;
        if (!isFromAddress) history.pushState(null, "", "#" + typed.replaceAll("%", "%25").replaceAll(" ", "+"));
        const output = element("pre", { tabindex: 0 });
        const entry = element("section.ran", element("p.said", element("code", `$ attn-explain ${typed}`)), output);
        this.log.append(entry);
        if (count < own.length) {
            const name = commands[count][0] ?? "a command";
            entry.append(element("p.message", `There is no ${name} on this page: the output before it is shown whole.`));
        }
        const seed = (Math.random() * 2 ** 32) >>> 0;
        let answers = "";
        let isPiped = false;
        for (const words of stages.slice(0, -1)) {
            const { all, err } = await this.whileBusy(this.called(words, answers, seed, isPiped));
            if (err) output.append(element("span.message", err));
            [answers, isPiped] = [all, true];
        }
        await this.proceed({ words: stages.at(-1), answers, seed, isPiped, output, told: 0 });
    }
    /** A line with an open quote remains, to be completed. */
    leftOpen(line, quote) {
        this.line.value = line;
        const said = `The quote ${quote} is open: end it with another ${quote}.`;
        this.log.append(element("p.message", said));
        this.line.scrollIntoView({ block: "end" });
        this.line.focus();
    }

    /** Runs a command with the answers so far, and shows the new part of its output. */
    async proceed(ask) {
        const call = this.called(ask.words, ask.answers, ask.seed, ask.isPiped);
        const { code, out, all, err, files, waits } = await this.whileBusy(call);
        const isOver = !waits;
        const text = isOver ? all : out;
        ask.output.append(...this.linked(text.slice(ask.told), ask.words));
        ask.told = text.length;
        if (isOver && err) ask.output.append(element("span.message", err));
        if (isOver && code !== 0) ask.output.append(element("span.code", `exit code ${code}`));
        this.asking = waits ? ask : undefined;
        this.name.textContent = waits ? "your answer" : "attn-explain";
        if (isOver) this.take(files, ask.output);
        this.line.scrollIntoView({ block: "end" });
        this.line.focus();
    }

    async whileBusy(call) {
        const show = (change) => {
            this.running += change;
            this.stop.hidden = this.running === 0;
            frame.classList.toggle("busy", this.running > 0);
        };
        show(1);
        return call.finally(() => show(-1));
    }

    /** Returns a text whose cells, numbers and commands are links. */
    linked(text, words) {
        const isWalk = words.length === 0 || words[0].startsWith("--");
        const ofOutput = /^(--only|-o|--output|--format)(=|$)/;
        const goes = (word, before = "") => ofOutput.test(word) || word === "-q" || (ofOutput.test(before) && !before.includes("="));
        const flags = isWalk ? words.filter((word, i) => !goes(word, words[i - 1])) : words.slice(2);
        const why = (cell) => ["why", cell, ...flags].map(quoted).join(" ");
        const found = [...text.matchAll(/attn-explain (?:[a-z]+ |--)[^\n]*/g)].map((one) => [one.index, one[0], one[0].slice("attn-explain ".length)]);
        if (words[0] === "why") {
            for (const one of text.matchAll(/\b[a-z_]+\[\d+(?:,\d+)*\](?! =)/g)) found.push([one.index, one[0], why(one[0])]);
        }
        if (isWalk) for (const [index, number, cell] of numbersOf(text)) found.push([index, number, why(cell)]);
        const parts = [];
        let at = 0;
        for (const [index, shown, command] of found.sort((one, other) => one[0] - other[0])) {
            const onclick = (event) => this.pressed(event, command);
            parts.push(text.slice(at, index), element("a", { href: "#", title: `attn-explain ${command}`, onclick }, shown));
            at = index + shown.length;
        }
        return [...parts, text.slice(at)].filter((part) => part !== "");
    }
    pressed(event, command) {
        event.preventDefault();
        this.run(command);
    }

    // --- files

    /** Stores the files of a command, and shows those that it wrote. */
    take(files, output) {
        const isNew = ([path, bytes]) => {
            const old = this.files[path];
            return !old || old.length !== bytes.length || bytes.some((byte, i) => byte !== old[i]);
        };
        const made = Object.entries(files).filter(isNew);
        this.files = files;
        for (const [path, bytes] of made) {
            output.after(this.opened(path, bytes));
        }
        this.list();
    }
    opened(path, bytes) {
        const type = { html: "text/html", svg: "image/svg+xml", json: "application/json" }[path.split(".").at(-1)];
        const url = URL.createObjectURL(new Blob([bytes], { type: type ?? "application/octet-stream" }));
        const link = element("a", { href: url, download: path }, `${path}, ${bytes.length} bytes`);
        if (type === "text/html") return element("figure", element("figcaption", link), element("iframe", { src: url, title: path }));
        if (type === "image/svg+xml") return element("figure", element("figcaption", link), element("img", { src: url, alt: path }));
        return element("p.file", link);
    }
    list() {
        const one = ([path, bytes]) => {
            const drop = button("×", () => this.remove(path), { "aria-label": `remove ${path}` });
            return element("li", element("code", path), ` ${bytes.length} bytes `, drop);
        };
        this.shelf.replaceChildren(...Object.entries(this.files).map(one));
    }
    remove(path) {
        delete this.files[path];
        this.list();
    }
    async dropped(event) {
        event.preventDefault();
        for (const file of event.dataTransfer.files) {
            this.files[file.name] = await readable(new Uint8Array(await file.arrayBuffer()));
        }
        this.list();
        const { name } = event.dataTransfer.files[0] ?? {};
        if (name) this.line.value = `diagnose ${quoted(name)}`;
        this.line.focus();
    }

    // --- the line

    entered(event) {
        event.preventDefault();
        const { value } = this.line;
        this.line.value = "";
        if (!this.asking) return this.run(value);
        this.asking.answers += `${value}\n`;
        this.asking.output.append(element("b", `${value}\n`));
        this.proceed(this.asking);
    }

    onKey(event) {
        const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
        if (step && !this.asking) {
            event.preventDefault();
            this.place = Math.max(0, Math.min(this.history.length, this.place + step));
            this.line.value = this.history[this.place] ?? "";
        } else if (event.key === "Tab" && !event.shiftKey && this.line.value && !this.asking) {
            event.preventDefault();
            this.complete();
        } else if (event.key === "c" && event.ctrlKey && !this.stop.hidden) {
            this.end();
        }
    }

    /** Returns the completions: commands first, then flags of the command, or files. */
    async wordsFor(command) {
        if (!this.known.has(command)) {
            const { all } = await this.called(command ? [command, "--help"] : ["--help"]);
            const listed = /^Commands$(.*?)^[A-Z]/ms.exec(all)?.[1] ?? "";
            const commands = [...listed.matchAll(/^ {2}([a-z]+) {2}/gm)].map(([, name]) => name);
            this.known.set(command, [...commands, ...new Set(all.match(/--[a-z][a-z-]*/g))]);
        }
        return [...this.known.get(command), ...Object.keys(this.files)];
    }
    async complete() {
        const before = this.line.value;
        const words = before.split(/\s+/);
        const last = words.at(-1);
        const command = words.length > 1 && /^[a-z]/.test(words[0]) ? words[0] : "";
        const fits = (await this.wordsFor(command)).filter((word) => word.startsWith(last));
        if (fits.length === 0 || this.line.value !== before) return;
        const shared = fits.reduce((one, other) => {
            let same = 0;
            while (same < one.length && one[same] === other[same]) ++same;
            return one.slice(0, same);
        });
        this.line.value = before.slice(0, before.length - last.length) + shared + (fits.length === 1 ? " " : "");
        if (fits.length > 1) this.log.append(element("p.fits", fits.slice(0, 60).join("  ")));
        this.line.scrollIntoView({ block: "end" });
    }
}
