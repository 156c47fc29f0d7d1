// Attention by onnxruntime: `mha`, its MultiHeadAttention operator, or `unfused`, a graph of matmul,
// softmax and matmul.
import readline from "node:readline";

import { model, node } from "./onnx_model.mjs";
import { onnxruntime } from "./onnxruntime.mjs";

const ort = await onnxruntime();

/// Tokens first, the heads next to each other, as the operator takes them.
const mhaModel = (groups, length, dim, causal) => {
  const dims = [1, length, groups * dim];
  const attributes = { num_heads: groups, unidirectional: causal ? 1 : 0 };
  const one = node("MultiHeadAttention", ["query", "key", "value"], "context", attributes,
                   "com.microsoft");
  return model([one], { query: dims, key: dims, value: dims }, { context: dims });
};

const unfusedModel = (groups, length, dim, causal) => {
  const dims = [1, groups, length, dim];
  const inputs = { query: dims, key: dims, value: dims, scale: [1] };
  const nodes = [
    node("Transpose", ["key"], "turned", { perm: [0, 1, 3, 2] }),
    node("MatMul", ["query", "turned"], "scores"),
    node("Mul", ["scores", "scale"], "scaled"),
  ];
  if (causal) {
    inputs.mask = [length, length];
    nodes.push(node("Add", ["scaled", "mask"], "masked"));
  }
  nodes.push(node("Softmax", [causal ? "masked" : "scaled"], "weights", { axis: 3 }));
  nodes.push(node("MatMul", ["weights", "value"], "context"));
  return model(nodes, inputs, { context: dims });
};

// --- inputs and reference

/// Normal draws by a small generator and the Box-Muller method.
const normal = (count, seed) => {
  let state = seed >>> 0;
  const uniform = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  return Float32Array.from({ length: count }, () =>
    Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform()));
};

/// The index of feature d of token t of a head.
const place = (fused, { groups, length, dim }) =>
  fused ? (g, t, d) => (t * groups + g) * dim + d : (g, t, d) => (g * length + t) * dim + d;

const largestError = (shape, at, { query, key, value }, context) => {
  let worst = 0;
  for (let g = 0; g < shape.groups; ++g) {
    for (let q = 0; q < shape.length; ++q) {
      const keys = shape.causal ? q + 1 : shape.length;
      const scores = new Float64Array(keys);
      for (let k = 0; k < keys; ++k) {
        for (let d = 0; d < shape.dim; ++d) scores[k] += query[at(g, q, d)] * key[at(g, k, d)];
        scores[k] /= Math.sqrt(shape.dim);
      }
      const largest = scores.reduce((a, b) => Math.max(a, b), -Infinity);
      const exponentials = scores.map((score) => Math.exp(score - largest));
      const sum = exponentials.reduce((a, b) => a + b, 0);
      for (let d = 0; d < shape.dim; ++d) {
        let expected = 0;
        for (let k = 0; k < keys; ++k) expected += (exponentials[k] / sum) * value[at(g, k, d)];
        worst = Math.max(worst, Math.abs(expected - context[at(g, q, d)]));
      }
    }
  }
  return worst;
};

// --- requests

const fused = process.argv[2] === "mha";
let known, session, feeds, shape;

const prepare = async (groups, length, dim, mask, threads) => {
  const causal = mask === "causal";
  shape = { groups, length, dim, causal };
  const bytesOfModel = (fused ? mhaModel : unfusedModel)(groups, length, dim, causal);
  session = await ort.InferenceSession.create(bytesOfModel, {
    intraOpNumThreads: threads,
    interOpNumThreads: 1,
    executionProviders: ["cpu"],
  });
  const dims = fused ? [1, length, groups * dim] : [1, groups, length, dim];
  feeds = {};
  for (const [i, name] of ["query", "key", "value"].entries()) {
    feeds[name] = new ort.Tensor("float32", normal(groups * length * dim, i + 1), dims);
  }
  if (fused) return;
  feeds.scale = new ort.Tensor("float32", Float32Array.of(1 / Math.sqrt(dim)), [1]);
  if (!causal) return;
  const hidden = new Float32Array(length * length);
  for (let q = 0; q < length; ++q) hidden.fill(-Infinity, q * length + q + 1, (q + 1) * length);
  feeds.mask = new ort.Tensor("float32", hidden, [length, length]);
};

for await (const line of readline.createInterface({ input: process.stdin })) {
  const [request, ...words] = line.trim().split(" ");
  if (words.join(" ") !== known) {
    known = words.join(" ");
    const [groups, length, dim] = words.map(Number);
    await prepare(groups, length, dim, words[3], Number(words[4]));
    await session.run(feeds); // the first call is not timed
  }
  if (request === "check") {
    const { context } = await session.run(feeds);
    const data = Object.fromEntries(Object.entries(feeds).map(([name, t]) => [name, t.data]));
    const error = largestError(shape, place(fused, shape), data, context.data);
    console.log(`error ${error.toPrecision(3)}`);
    continue;
  }
  let calls = 0;
  let seconds = 0;
  const start = process.hrtime.bigint();
  do {
    await session.run(feeds);
    ++calls;
    seconds = Number(process.hrtime.bigint() - start) / 1e9;
  } while (seconds < 0.02);
  console.log(`seconds ${(seconds / calls).toPrecision(9)}`);
}
