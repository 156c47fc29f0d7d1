// Times shared heads and windows against onnxruntime's GroupQueryAttention, alternating.
//
//     PEERS_NODE_MODULES=FOLDER node tests/peers/time_shared_heads.mjs build/dev/app/attn-explain [ROUNDS]
//
// Eight query heads, 4096 tokens, 64 features, causal: on eight heads of keys and values, and on
// two; then a window of 256 keys beside all keys at 16384 tokens.
import { execFileSync } from "node:child_process";

import { model, node } from "./onnx_model.mjs";
import { onnxruntimeIfInstalled } from "./onnxruntime.mjs";

const [program, rounds = "5"] = process.argv.slice(2);
if (!program) {
  console.error("usage: time_shared_heads.mjs PROGRAM [ROUNDS]");
  process.exit(2);
}
const ort = await onnxruntimeIfInstalled();

const [heads, dim] = [8, 64];

/// Seconds of attn-explain's fused kernel.
const ours = (length, ...flags) => {
  const { OPENBLAS_CORETYPE, OPENBLAS_L2_SIZE, ...env } = process.env;
  const text = execFileSync(program, ["bench", "--json", "--rounds", "3", "--variant", "fused",
    "--mask", "causal", "--heads", `${heads}`, "--head-dim", `${dim}`, "--seq-len", `${length}`, ...flags],
    { encoding: "utf8", env, stdio: ["ignore", "pipe", "ignore"] });
  return JSON.parse(text).results[0].seconds;
};

/// A call of GroupQueryAttention on `kvHeads`, prepared; null without onnxruntime.
const grouped = async (length, kvHeads, window = -1) => {
  if (!ort) return null;
  const wide = [1, length, heads * dim];
  const narrow = [1, length, kvHeads * dim];
  const cache = [1, kvHeads, 0, dim];
  const inputs = { q: wide, k: narrow, v: narrow, pk: cache, pv: cache };
  const attributes = { num_heads: heads, kv_num_heads: kvHeads };
  if (window > 0) attributes.local_window_size = window;
  const operator = node("GroupQueryAttention", ["q", "k", "v", "pk", "pv", "lengths", "total"],
    ["y", "ok", "ov"], attributes, "com.microsoft");
  const bytes = model([operator], { ...inputs, lengths: [[1], "int32"], total: [[1], "int32"] },
    { y: null, ok: null, ov: null });
  const session = await ort.InferenceSession.create(bytes,
    { intraOpNumThreads: 1, interOpNumThreads: 1, executionProviders: ["cpu"] });
  const random = (dims) => new ort.Tensor("float32", Float32Array.from(
    { length: dims.reduce((a, b) => a * b, 1) }, () => Math.random() - 0.5), dims);
  const feeds = Object.fromEntries(Object.entries(inputs).map(([name, dims]) => [name, random(dims)]));
  feeds.lengths = new ort.Tensor("int32", Int32Array.of(length - 1), [1]);
  feeds.total = new ort.Tensor("int32", Int32Array.of(length), [1]);
  return async () => {
    const start = process.hrtime.bigint();
    await session.run(feeds);
    return Number(process.hrtime.bigint() - start) / 1e9;
  };
};

const median = (numbers) => numbers.sort((a, b) => a - b)[Math.floor(numbers.length / 2)];

/// Runs all candidates in turn; returns the median seconds of each.
const inTurns = async (candidates) => {
  const seconds = Object.fromEntries(Object.keys(candidates).map((name) => [name, []]));
  for (let round = 0; round < Number(rounds); ++round) {
    for (const [name, run] of Object.entries(candidates)) {
      if (run) seconds[name].push(await run());
    }
  }
  const found = {};
  for (const [name, all] of Object.entries(seconds)) {
    if (all.length === 0) continue;
    found[name] = median(all);
    console.log(`${name.padEnd(44)} ${(found[name] * 1e3).toFixed(1).padStart(9)} ms`);
  }
  return found;
};

const ratio = (words, slow, fast) => {
  if (slow && fast) console.log(`  ${words}: ${(slow / fast).toFixed(2)} times`);
};

const shared = await inTurns({
  "fused, 8 heads on 8": () => ours(4096, "--kv-heads", "8"),
  "fused, 8 heads on 2": () => ours(4096, "--kv-heads", "2"),
  "GroupQueryAttention, 8 heads on 2": await grouped(4096, 2),
});
ratio("8 on 2 over 8 on 8", shared["fused, 8 heads on 8"], shared["fused, 8 heads on 2"]);
ratio("8 on 2 over GroupQueryAttention", shared["GroupQueryAttention, 8 heads on 2"],
      shared["fused, 8 heads on 2"]);

const windowed = await inTurns({
  "fused, 16384 tokens": () => ours(16384),
  "fused, 16384 tokens, window 256": () => ours(16384, "--window", "256"),
  "GroupQueryAttention, 16384 tokens, window 256": await grouped(16384, 8, 256),
});
ratio("a window of 256 over all keys", windowed["fused, 16384 tokens"],
      windowed["fused, 16384 tokens, window 256"]);
ratio("the window over GroupQueryAttention's", windowed["GroupQueryAttention, 16384 tokens, window 256"],
      windowed["fused, 16384 tokens, window 256"]);
