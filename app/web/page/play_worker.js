// Runs one command of the program on the page's files, and ends.

/** Returns every file below a folder of the program's file system, by path. */
function filesBelow(FS, folder, into = {}) {
    for (const name of FS.readdir(folder).filter((one) => one !== "." && one !== "..")) {
        const path = `${folder}/${name}`;
        if (FS.isDir(FS.stat(path).mode)) filesBelow(FS, path, into);
        else into[path.slice("/here/".length)] = FS.readFile(path);
    }
    return into;
}

function layFiles(FS, files) {
    FS.mkdir("/here");
    for (const [path, bytes] of Object.entries(files)) {
        const folders = path.split("/").slice(0, -1);
        folders.forEach((_, i) => {
            const folder = "/here/" + folders.slice(0, i + 1).join("/");
            if (!FS.analyzePath(folder).exists) FS.mkdir(folder);
        });
        FS.writeFile("/here/" + path, bytes);
    }
    FS.chdir("/here");
}

/** Returns a generator of bytes that depend only on the seed: a repeated command draws the same. */
function drawsFrom(seed) {
    let state = seed;
    return (bytes) => {
        for (let i = 0; i < bytes.length; ++i) {
            state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
            bytes[i] = state >>> 24;
        }
        return bytes;
    };
}

onmessage = ({ data: { program, words, files, answers, seed, isPiped, model, columns } }) => {
    const typed = encoder.encode(answers);
    const [out, err] = [[], []];
    let [at, waitsAt, code, isWithinRead] = [0, -1, 0, false];
    Object.defineProperty(crypto, "getRandomValues", { value: drawsFrom(seed) });
    const input = () => {
        if (at < typed.length) {
            isWithinRead = true;
            return typed[at++];
        }
        // The end of the typed text ends this call; the next one would wait. A pipe has an end.
        if (!isWithinRead && waitsAt < 0 && !isPiped) waitsAt = out.length;
        isWithinRead = false;
        return null;
    };
    const own = {
        arguments: words,
        thisProgram: "attn-explain",
        host: new Host(),
        instantiateWasm: (imports, done) => {
            WebAssembly.instantiate(program, imports).then(done);
            return {};
        },
        preRun: ({ FS, ENV }) => {
            FS.init(input, (byte) => out.push(byte), (byte) => err.push(byte));
            layFiles(FS, files);
            Object.assign(ENV, { COLUMNS: String(columns), HOME: "/here", TERM: "dumb" });
            if (model) own.HEAPU8.set(model, own._attn_model());
        },
        quit: (status, error) => {
            code = status;
            throw error;
        },
    };
    own.host.memory = () => own.HEAPU8;
    const told = (bytes) => new TextDecoder().decode(new Uint8Array(bytes));
    const end = () => {
        const made = filesBelow(own.FS, "/here");
        const waits = waitsAt >= 0;
        postMessage({ code, out: told(waits ? out.slice(0, waitsAt) : out), all: told(out), err: told(err), files: made, waits });
    };
    Module(own).then(end, (error) => (error?.name === "ExitStatus" ? end() : postMessage({ code: 2, out: "", all: "", err: `${error}\n`, files, waits: false })));
};
