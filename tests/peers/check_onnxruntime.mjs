// Compares the steps that current models add with onnxruntime, an independent implementation:
//
//     PEERS_NODE_MODULES=FOLDER node tests/peers/check_onnxruntime.mjs build/dev/app/attn-explain [COUNT]
//
// Each random configuration is walked as JSON in float32; from the same inputs onnxruntime's
// operators (RMSNormalization, RotaryEmbedding, Attention, GroupQueryAttention) compute the same
// steps, which must agree to 2e-6.
import { execFileSync } from "node:child_process";

import { float, model, node } from "./onnx_model.mjs";
import { onnxruntimeIfInstalled } from "./onnxruntime.mjs";

const [program, count = "80"] = process.argv.slice(2);
if (!program) {
  console.error("usage: check_onnxruntime.mjs PROGRAM [COUNT]");
  process.exit(2);
}
const ort = await onnxruntimeIfInstalled();
if (!ort) process.exit(0);

const TOLERANCE = 2e-6;

// --- draws of configurations, by a small generator

let state = 12345;
const unit = () => {
  state = (state + 0x6d2b79f5) >>> 0;
  let t = Math.imul(state ^ (state >>> 15), 1 | state);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
};
const pick = (list) => list[Math.floor(unit() * list.length)];
const often = (share) => unit() < share;

// --- tensors

const toNumber = (word) => (word === "inf" ? Infinity : word === "-inf" ? -Infinity : word);
const values = (data) =>
  Array.isArray(data) ? data.flatMap(values) : [Number(toNumber(data === "nan" ? NaN : data))];

const stepsOf = (flags) => {
  const text = execFileSync(program, [...flags, "--format", "json"], { maxBuffer: 1 << 28 });
  const steps = {};
  for (const step of JSON.parse(text).steps) {
    steps[step.name] = { shape: step.shape, data: Float32Array.from(values(step.data)) };
  }
  return steps;
};

const run = async (nodes, feeds, outputs, opset) => {
  const dims = Object.fromEntries(
    Object.entries(feeds).map(([name, one]) => [name, [one.shape, one.type ?? "float32"]]),
  );
  const session = await ort.InferenceSession.create(model(nodes, dims, outputs, opset), {
    intraOpNumThreads: 1,
    executionProviders: ["cpu"],
    logSeverityLevel: 3,
  });
  const tensors = Object.fromEntries(
    Object.entries(feeds).map(([name, one]) => [
      name,
      new ort.Tensor(one.type ?? "float32", one.data, one.shape),
    ]),
  );
  return session.run(tensors);
};

/// (batch, head, token, feature) as (batch, token, head * feature).
const joined = ({ shape: [b, h, t, d], data }) => {
  const out = new Float32Array(data.length);
  for (let i = 0; i < b; ++i)
    for (let j = 0; j < h; ++j)
      for (let k = 0; k < t; ++k)
        for (let f = 0; f < d; ++f) out[((i * t + k) * h + j) * d + f] = data[((i * h + j) * t + k) * d + f];
  return { shape: [b, t, h * d], data: out };
};

const difference = (ours, theirs) => {
  if (ours.length !== theirs.length) return Infinity;
  let worst = 0;
  ours.forEach((one, i) => (worst = Math.max(worst, Math.abs(one - theirs[i]) / Math.max(1, Math.abs(one)))));
  return worst;
};

// --- one configuration

const draw = () => {
  const heads = pick([2, 4, 6, 8]);
  const kv = pick([1, 2, 3, 4, 8].filter((k) => heads % k === 0));
  const dim = pick([4, 8, 16]);
  const length = 2 + Math.floor(unit() * 8);
  const c = { heads, kv, dim, length, past: often(0.3) ? 1 + Math.floor(unit() * 4) : 0 };
  c.flags = ["--random", "randn", "--batch", `${(c.batch = c.past ? 1 : 2)}`, "--seq-len", `${length}`, "--embed-dim", `${heads * dim}`,
    "--heads", `${heads}`, "--head-dim", `${dim}`, "--kv-heads", `${kv}`, "--seed", `${Math.floor(unit() * 9999)}`];
  const add = (...more) => c.flags.push(...more);
  if (c.past) add("--past", `${c.past}`);
  if (often(0.6)) {
    c.rope = pick(["half", "interleaved"]);
    c.rotary = often(0.4) ? dim / 2 : dim;
    add("--rope", c.rope, "--rotary-dim", `${c.rotary}`);
  }
  if (often(0.4)) {
    c.norm = pick(["head", "all"]);
    add("--qk-norm", c.norm, "--norm-eps", "1e-5");
  }
  if (often(0.4)) add("--softcap", `${(c.cap = pick([1, 5, 30]))}`);
  c.causal = often(0.7);
  const kinds = c.causal ? ["causal"] : [];
  if (c.causal && often(0.5)) kinds.push(`window:${(c.window = 1 + Math.floor(unit() * 5))}`);
  if (kinds.length) add("--mask", kinds.join(","));
  if (c.causal && often(0.4)) add("--sink", (c.sink = pick(["zero", "randn"])));
  if (!c.sink && !c.window && often(0.4)) add("--position-bias", (c.bias = "alibi"));
  add("--variant", pick(["loop", "vectorized"]));
  return c;
};

const checks = {
  async normed(c, s) {
    if (!c.norm) return [];
    const found = [];
    for (const name of ["query", "key"]) {
      const one = c.norm === "all" ? joined(s[name]) : s[name];
      const gain = s[`g_${name}`];
      const feeds = { x: one, gain: { ...gain, shape: [gain.data.length] } };
      const operator = node("RMSNormalization", ["x", "gain"], "y", { axis: -1 + one.shape.length, epsilon: 1e-5 });
      const { y } = await run([operator], feeds, { y: null }, 23);
      const ours = c.norm === "all" ? joined(s[`normed_${name}`]) : s[`normed_${name}`];
      found.push([`normed_${name}`, difference(ours.data, y.data)]);
    }
    return found;
  },

  async rotated(c, s) {
    if (!c.rope) return [];
    const pairs = c.rotary / 2;
    const cache = (turn) => ({
      shape: [64, pairs],
      data: Float32Array.from({ length: 64 * pairs }, (_, i) =>
        turn(Math.floor(i / pairs) * 10000 ** ((-2 * (i % pairs)) / c.rotary)),
      ),
    });
    const found = [];
    for (const name of ["query", "key"]) {
      const x = s[`normed_${name}`] ?? s[name];
      const [batch, , tokens] = x.shape;
      const ids = Array.from({ length: batch * tokens }, (_, i) => BigInt(c.past + (i % tokens)));
      const feeds = { x, cos: cache(Math.cos), sin: cache(Math.sin),
        ids: { shape: [batch, tokens], data: BigInt64Array.from(ids), type: "int64" } };
      const attributes = { interleaved: c.rope === "interleaved" ? 1 : 0, rotary_embedding_dim: c.rotary };
      const { y } = await run([node("RotaryEmbedding", ["x", "cos", "sin", "ids"], "y", attributes)], feeds, { y: null }, 23);
      found.push([`rotated_${name}`, difference(s[`rotated_${name}`].data, y.data)]);
    }
    return found;
  },

  /// Attention-23: grouped heads, cache, cap, bias, causal; not windows and sinks.
  async attention(c, s) {
    if (c.window || c.sink) return [];
    const feeds = { q: s.rotated_query ?? s.normed_query ?? s.query, k: s.rotated_key ?? s.normed_key ?? s.key, v: s.value };
    if (c.bias) feeds.bias = { data: s.position_bias.data, shape: [1, ...s.position_bias.shape.slice(-3)] };
    if (c.past) Object.assign(feeds, { past_k: s.past_key, past_v: s.past_value });
    const inputs = ["q", "k", "v", c.bias ? "bias" : "", ...(c.past ? ["past_k", "past_v"] : [])];
    const attributes = { is_causal: c.causal ? 1 : 0, qk_matmul_output_mode: 3 };
    if (c.cap) attributes.softcap = float(c.cap);
    const operator = node("Attention", inputs, ["y", "pk", "pv", "w"], attributes);
    const result = await run([operator], feeds, { y: null, pk: null, pv: null, w: null }, 23);
    return [
      ["weights", difference(s.weights.data, result.w.data)],
      ["context", difference(s.context.data, result.y.data)],
      ["present_key", c.past ? difference(s.present_key.data, result.pk.data) : 0],
    ];
  },

  /// GroupQueryAttention: windows, sinks, cap, cache.
  async grouped(c, s) {
    if (!c.causal || c.bias || c.dim % 8 !== 0) return []; // multiples of 8 only
    const last = (name) => s[`rotated_${name}`] ?? s[`normed_${name}`] ?? s[name];
    const empty = { shape: [c.batch, c.kv, 0, c.dim], data: new Float32Array(0) };
    const total = c.past + c.length;
    const feeds = { q: joined(last("query")), k: joined(last("key")), v: joined(s.value),
      pk: s.past_key ?? empty, pv: s.past_value ?? empty,
      lengths: { shape: [c.batch], data: new Int32Array(c.batch).fill(total - 1), type: "int32" },
      total: { shape: [1], data: Int32Array.of(total), type: "int32" } };
    const inputs = ["q", "k", "v", "pk", "pv", "lengths", "total"];
    const attributes = { num_heads: c.heads, kv_num_heads: c.kv };
    if (c.window) attributes.local_window_size = c.window;
    if (c.cap) attributes.softcap = float(c.cap);
    if (c.sink === "zero") attributes.smooth_softmax = 1;
    if (c.sink === "randn") {
      feeds.sink = { shape: [c.heads], data: s.sink.data };
      inputs.push("", "", "", "", "sink");
    }
    const operator = node("GroupQueryAttention", inputs, ["y", "ok", "ov"], attributes, "com.microsoft");
    const result = await run([operator], feeds, { y: null, ok: null, ov: null }, 23);
    return [["merged", difference(joined(s.context).data, result.y.data)]];
  },
};

let compared = 0;
let failed = 0;
for (let i = 0; i < Number(count); ++i) {
  const c = draw();
  try {
    const steps = stepsOf(c.flags);
    for (const check of Object.values(checks)) {
      for (const [name, error] of await check(c, steps)) {
        ++compared;
        if (!(error <= TOLERANCE)) throw new Error(`${name} differs by ${error}`);
      }
    }
  } catch (error) {
    ++failed;
    console.log(`${i}: ${c.flags.join(" ")}\n   ${String(error.message).split("\n")[0]}`);
  }
}
console.log(`${count} configurations, ${compared} tensors compared, ${failed} failed`);
process.exit(failed ? 1 : 0);
