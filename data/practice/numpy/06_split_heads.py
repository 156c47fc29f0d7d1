# exercise: 06_split_heads
"""Exercise 6 of 16: several heads from one projection.

Several heads attend side by side. One matrix product makes the features of
all heads at once; then they are separated: head 0 takes features 0 to 3 of
every word, head 1 takes features 4 to 7, head 2 the last four.

projected_query, projected_key and projected_value have shape (5, 12): 5
words, 3 heads with 4 features each. Compute query, key and value of shape
(3, 5, 4): heads, words, features of a head.

A reshape straight to (3, 5, 4) has the right shape and the wrong numbers: it
does not move an axis, so head 0 gets all features of the first words only,
instead of some features of every word. No error is raised.

Hint: First make the shape (words, heads, features), then swap the first two
axes.
"""
# answer: query, key, value
# explain: --heads 3
import numpy as np


def softmax(scores):
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


rng = np.random.default_rng(6)
x = rng.standard_normal((5, 12))  # 5 words, 12 features
w_query = rng.standard_normal((12, 12)) / np.sqrt(12)
w_key = rng.standard_normal((12, 12)) / np.sqrt(12)
w_value = rng.standard_normal((12, 12)) / np.sqrt(12)

projected_query = x @ w_query  # (5, 12)
projected_key = x @ w_key  # (5, 12)
projected_value = x @ w_value  # (5, 12)

# your code: begin
query = projected_query.reshape(5, 3, 4).transpose(1, 0, 2)
key = projected_key.reshape(5, 3, 4).transpose(1, 0, 2)
value = projected_value.reshape(5, 3, 4).transpose(1, 0, 2)
# your code: end

scores = query @ key.transpose(0, 2, 1)  # (3, 5, 5)
scaled_scores = scores / np.sqrt(4)
weights = softmax(scaled_scores)
context = weights @ value  # (3, 5, 4)
print(context.round(4))
