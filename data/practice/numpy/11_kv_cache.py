# exercise: 11_kv_cache
"""Exercise 11 of 16: one new word and a cache.

While a model writes, earlier words do not change, and neither do their keys
and values. They are kept in a cache, and only the new word is computed.

past_key has shape (5, 4) and past_value has shape (5, 3): 5 words are in the
cache. x_new, of shape (1, 8), is the new word. Compute its query, key and
value with w_query, w_key and w_value. Append the new key and value to those
of the past: present_key has shape (6, 4), present_value (6, 3). Then compute
context of shape (1, 3). Divide the scores by the square root of 4 before
softmax.

No mask is needed: the new word may see all words before it and itself. The
last line of the program compares context with the last row of causal
attention over all 6 words: the difference must be nearly 0. If you put the
new word in front of the cache, context is the same, because the sum over
keys has no order, but the cache is in the wrong order from then on: masks
and positions no longer fit its rows. If you leave the new word out, it
cannot see itself.

Hint: Concatenate along the axis of the words: first the past, then the new
row.
"""
# answer: present_key, present_value, context
import numpy as np


def softmax(scores):
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


rng = np.random.default_rng(11)
x_past = rng.standard_normal((5, 8))  # 5 words of the past, 8 features
x_new = rng.standard_normal((1, 8))  # the new word
w_query = rng.standard_normal((8, 4)) / np.sqrt(8)
w_key = rng.standard_normal((8, 4)) / np.sqrt(8)
w_value = rng.standard_normal((8, 3)) / np.sqrt(8)
past_key = x_past @ w_key  # (5, 4)
past_value = x_past @ w_value  # (5, 3)

# your code: begin
query = x_new @ w_query
present_key = np.concatenate([past_key, x_new @ w_key], axis=0)
present_value = np.concatenate([past_value, x_new @ w_value], axis=0)
scores = query @ present_key.T
scaled_scores = scores / np.sqrt(4)
weights = softmax(scaled_scores)
context = weights @ present_value
# your code: end

x = np.concatenate([x_past, x_new])
full_scores = (x @ w_query) @ (x @ w_key).T / np.sqrt(4)
visible = np.tril(np.ones((6, 6), dtype=bool))
full_scores = np.where(visible, full_scores, -np.inf)
full_context = softmax(full_scores) @ (x @ w_value)
print(context.round(4))
difference = abs(context - full_context[-1]).max()
print("difference:", difference.round(6))
