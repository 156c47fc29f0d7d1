// onnxruntime for those who compare with it. node_modules may lie elsewhere: PEERS_NODE_MODULES names
// the folder it is in.
import { createRequire } from "node:module";

/// The package, or its error where it is not installed.
export const onnxruntime = async () => {
  const base = process.env.PEERS_NODE_MODULES ?? process.cwd();
  return (await import(createRequire(base + "/").resolve("onnxruntime-node"))).default;
};

/// The package; null, said on standard output, where it is not installed.
export const onnxruntimeIfInstalled = async () => {
  try {
    return await onnxruntime();
  } catch {
    console.log("SKIPPED: onnxruntime-node is not installed (npm install --ignore-scripts onnxruntime-node)");
    return null;
  }
};
