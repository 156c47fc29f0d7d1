# exercise: 13_online_softmax
"""Exercise 13 of 16: softmax in one pass over blocks.

A long text has too many scores to store them all. FlashAttention reads the
keys block by block and keeps three things for each query: the largest score
so far, the sum of the powers of e so far, and the context so far, not yet
divided by that sum.

query and key have shape (7, 4), value has shape (7, 3). Read the keys in
blocks of 2 (the last block has 1 key), each block once. Divide the scores by
the square root of 4. If a block raises the maximum from m to n, multiply the
sum and the context so far by e to the power of (m - n): then old and new
powers are relative to the same maximum. At the end divide context by the
sum. Compute context of shape (7, 3).

Some scores are near 1000, so powers overflow unless the maximum is
subtracted. If the sum or the context is not rescaled, the first blocks count
too much.

Hint: Start with a maximum of -inf, a sum of 0 and a context of zeros: the
first rescaling is then by e to the power of -inf, which is 0.
"""
# answer: context
import numpy as np


def softmax(scores):
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


rng = np.random.default_rng(53)
x = rng.standard_normal((7, 6))  # 7 words, 6 features
x[:, 5] = 1.0  # this feature is 1 for every word ...
w_query = rng.standard_normal((6, 4)) / np.sqrt(6)
w_key = rng.standard_normal((6, 4)) / np.sqrt(6)
w_key[5] *= 1000.0  # ... so each row of scores is far from 0 as a whole
w_value = rng.standard_normal((6, 3)) / np.sqrt(6)

query = x @ w_query  # (7, 4)
key = x @ w_key  # (7, 4)
value = x @ w_value  # (7, 3)

# your code: begin
running_max = np.full((7, 1), -np.inf)
running_sum = np.zeros((7, 1))
context = np.zeros((7, 3))
for start in range(0, 7, 2):
    block_scores = query @ key[start:start + 2].T / np.sqrt(4)
    new_max = np.maximum(running_max, block_scores.max(-1, keepdims=True))
    rescale = np.exp(running_max - new_max)
    powers = np.exp(block_scores - new_max)
    running_sum = running_sum * rescale + powers.sum(axis=-1, keepdims=True)
    context = context * rescale + powers @ value[start:start + 2]
    running_max = new_max
context = context / running_sum
# your code: end

scores = query @ key.T
scaled_scores = scores / np.sqrt(4)
weights = softmax(scaled_scores)
at_once = weights @ value
print(context.round(4))
difference = abs(context - at_once).max()
print("difference:", difference.round(6))
