#!/usr/bin/env node
// Runs attn-explain under node: the program as WebAssembly, with the system's files, pipes and variables.
"use strict";
const { readFileSync } = require("fs");
const { join } = require("path");
const { Host } = require("./host.js");

const host = new Host();
const program = {
    arguments: process.argv.slice(2),
    thisProgram: "attn-explain",
    wasmBinary: readFileSync(join(__dirname, "attn-node.wasm")),
    preRun: ({ ENV }) => Object.assign(ENV, process.env),
    host,
};
host.memory = () => program.HEAPU8;
require("./attn-node.js")(program);
