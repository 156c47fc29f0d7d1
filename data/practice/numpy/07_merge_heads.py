# exercise: 07_merge_heads
"""Exercise 7 of 16: one vector for each word again.

Each head has computed a context of its own. They are concatenated: the
features of head 0 come first, then those of head 1. One more matrix, the
output projection, mixes the features of all heads, so that the results of
one head can be combined with those of another.

context has shape (2, 7, 5): 2 heads, 7 words, 5 features. Compute merged of
shape (7, 10), then output: merged times w_output, which has shape (10, 10),
one row for each feature of merged.

Swap the axes of heads and words before the reshape. Without the swap, the
first row of merged consists of the first two words of head 0. Without the
output projection the shape is still right, but the heads stay separate.

Hint: This is splitting in reverse: first swap the axes, then reshape.
"""
# answer: merged, output
# explain: --heads 2 --merge --output-projection
import numpy as np


def softmax(scores):
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def split(projected):
    return projected.reshape(7, 2, 5).transpose(1, 0, 2)


rng = np.random.default_rng(7)
x = rng.standard_normal((7, 10))  # 7 words, 10 features
w_query = rng.standard_normal((10, 10)) / np.sqrt(10)
w_key = rng.standard_normal((10, 10)) / np.sqrt(10)
w_value = rng.standard_normal((10, 10)) / np.sqrt(10)
w_output = rng.standard_normal((10, 10)) / np.sqrt(10)

query = split(x @ w_query)  # (2, 7, 5)
key = split(x @ w_key)  # (2, 7, 5)
value = split(x @ w_value)  # (2, 7, 5)
scores = query @ key.transpose(0, 2, 1)
scaled_scores = scores / np.sqrt(5)
weights = softmax(scaled_scores)  # (2, 7, 7)
context = weights @ value  # (2, 7, 5)

# your code: begin
merged = context.transpose(1, 0, 2).reshape(7, 10)
output = merged @ w_output
# your code: end

print(merged.shape, output.shape)
print(output.round(4))
