// Loads onnxruntime for comparisons. PEERS_NODE_MODULES names the folder of node_modules, if it is
// elsewhere.
import { createRequire } from "node:module";

/// The package, or its error if it is not installed.
export const onnxruntime = async () => {
  const base = process.env.PEERS_NODE_MODULES ?? process.cwd();
  return (await import(createRequire(base + "/").resolve("onnxruntime-node"))).default;
};

/// The package; null, with a line on standard output, if it is not installed.
export const onnxruntimeIfInstalled = async () => {
  try {
    return await onnxruntime();
  } catch {
    console.log("SKIPPED: onnxruntime-node is not installed (npm install --ignore-scripts onnxruntime-node)");
    return null;
  }
};
