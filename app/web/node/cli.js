#!/usr/bin/env node
// Runs attn-explain under node: the program as WebAssembly, with the system's files, pipes and variables.
"use strict";
const { fstatSync, readFileSync } = require("fs");
const { join } = require("path");
const { Host } = require("./host.js");

const host = new Host();
const program = {
    arguments: process.argv.slice(2),
    thisProgram: "attn-explain",
    wasmBinary: readFileSync(join(__dirname, "attn-node.wasm")),
    preRun: ({ ENV, FS }) => {
        Object.assign(ENV, process.env);
        // emscripten opens the path of a stream to duplicate it, and standard input has none.
        const { close, open, stat } = FS;
        const path = "\0standard input";
        FS.open = (name, flags, mode, least) => {
            if (least === undefined) return open(name, flags, mode);
            const fd = FS.nextfd(3);
            return (FS.streams[fd] = { ...FS.streams[0], fd, path });
        };
        FS.close = (stream) => (stream.path === path ? (FS.streams[stream.fd] = null) : close(stream));
        FS.stat = (name) => (name === path ? fstatSync(0) : stat(name));
    },
    host,
};
host.memory = () => program.HEAPU8;
require("./attn-node.js")(program);
