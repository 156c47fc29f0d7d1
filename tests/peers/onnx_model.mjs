// Models of onnxruntime, written as protocol buffers.

const varint = (value) => {
  const bytes = [];
  let rest = BigInt(value);
  for (; rest >= 128n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
  return Buffer.from([...bytes, Number(rest)]);
};
// A field is its number and kind, followed by the bytes.
const number = (field, value) => Buffer.concat([varint(field * 8), varint(value)]);
const bytes = (field, value) =>
  Buffer.concat([varint(field * 8 + 2), varint(value.length), value]);
const text = (field, value) => bytes(field, Buffer.from(value));
const message = (field, ...parts) => bytes(field, Buffer.concat(parts));
const real = (field, value) => {
  const data = Buffer.alloc(4);
  data.writeFloatLE(value);
  return Buffer.concat([varint(field * 8 + 5), data]);
};

const FLOAT = 1;
const TYPES = { float32: FLOAT, int32: 6, int64: 7 };

/// An integer value that must be an attribute of type float.
export const float = (value) => ({ float: value });

const attribute = (name, value) => {
  if (Array.isArray(value))
    return message(5, text(1, name), ...value.map((one) => number(8, one)), number(20, 7));
  if (Number.isInteger(value)) return message(5, text(1, name), number(3, value), number(20, 2));
  return message(5, text(1, name), real(2, value.float ?? value), number(20, 1));
};

/// One operator; an input or output that is left out has the name "".
export const node = (kind, inputs, outputs, attributes = {}, domain = "") =>
  message(
    1,
    ...inputs.map((name) => text(1, name)),
    ...[outputs].flat().map((name) => text(2, name)),
    text(3, [outputs].flat()[0]),
    text(4, kind),
    ...Object.entries(attributes).map(([name, value]) => attribute(name, value)),
    text(7, domain),
  );

const value = (field, name, dims, type = "float32") =>
  message(
    field,
    text(1, name),
    message(
      2,
      message(1, number(1, TYPES[type]), message(2, ...dims.map((d) => message(1, number(1, d))))),
    ),
  );

/// A graph of nodes. Inputs: name -> dims, or [dims, type]. Outputs: name -> dims, or null if the
/// operator determines the shape.
export const model = (nodes, inputs, outputs, opset = 17) =>
  Buffer.concat([
    number(1, opset > 17 ? 10 : 8),
    message(
      7,
      ...nodes,
      text(2, "attention"),
      ...Object.entries(inputs).map(([name, dims]) =>
        Array.isArray(dims[0]) ? value(11, name, dims[0], dims[1]) : value(11, name, dims),
      ),
      ...Object.entries(outputs).map(([name, dims]) =>
        dims
          ? value(12, name, dims)
          : message(12, text(1, name), message(2, message(1, number(1, FLOAT)))),
      ),
    ),
    message(8, text(1, ""), number(2, opset)),
    message(8, text(1, "com.microsoft"), number(2, 1)),
  ]);
