# exercise: 12_grouped_queries
"""Exercise 12 of 16: heads that share their keys.

The cache of keys and values grows with each word, in every head. In
grouped-query attention several query heads share one head of keys and
values, so the cache is smaller.

query has shape (4, 5, 3): 4 heads, 5 words, 3 features. key and value have
shape (2, 5, 3). Query heads 0 and 1 read key head 0; query heads 2 and 3
read key head 1. Values are shared in the same way. Compute weights of shape
(4, 5, 5) and context of shape (4, 5, 3). Divide the scores by the square
root of 3 before softmax.

Each key head is repeated next to itself: 0, 0, 1, 1. If the key heads are
tiled instead, 0, 1, 0, 1, all shapes are the same, but query heads 1 and 2
read the wrong keys.

Hint: repeat (repeat_interleave in PyTorch) copies each head next to itself
along the first axis.
"""
# answer: weights, context
# explain: --heads 4 --kv-heads 2
import numpy as np


def softmax(scores):
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def split(projected, heads):
    return projected.reshape(5, heads, 3).transpose(1, 0, 2)


rng = np.random.default_rng(12)
x = rng.standard_normal((5, 12))  # 5 words, 12 features
w_query = rng.standard_normal((12, 12)) / np.sqrt(12)
w_key = rng.standard_normal((12, 6)) / np.sqrt(12)
w_value = rng.standard_normal((12, 6)) / np.sqrt(12)

query = split(x @ w_query, 4)  # (4, 5, 3)
key = split(x @ w_key, 2)  # (2, 5, 3)
value = split(x @ w_value, 2)  # (2, 5, 3)

# your code: begin
repeated_key = np.repeat(key, 2, axis=0)
repeated_value = np.repeat(value, 2, axis=0)
scores = query @ repeated_key.transpose(0, 2, 1)
scaled_scores = scores / np.sqrt(3)
weights = softmax(scaled_scores)
context = weights @ repeated_value
# your code: end

print(weights.shape, context.shape)
print(context[:, 0].round(4))
