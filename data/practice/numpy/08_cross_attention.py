# exercise: 08_cross_attention
"""Exercise 8 of 16: one text looks at another.

A translator writes one sentence while it reads another. The words that it
writes ask, so queries are made from x. The words that it reads answer, so
keys and values are made from memory.

x has shape (4, 6): 4 words written. memory has shape (7, 6): 7 words read.
The matrices have shapes (6, 5), (6, 5) and (6, 3). Compute weights of shape
(4, 7) and context of shape (4, 3). Divide the scores by the square root of 5
before softmax.

If keys and values are made from x as well, the program still runs, but the
sentence attends to itself and the other text is never read. If queries and
memory are exchanged, there is one row for each word of the wrong text.

Hint: There must be a row for each word that asks and a column for each word
that answers.
"""
# answer: weights, context
import numpy as np


def softmax(scores):
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


rng = np.random.default_rng(8)
x = rng.standard_normal((4, 6))  # 4 words written
memory = rng.standard_normal((7, 6))  # 7 words read
w_query = rng.standard_normal((6, 5)) / np.sqrt(6)
w_key = rng.standard_normal((6, 5)) / np.sqrt(6)
w_value = rng.standard_normal((6, 3)) / np.sqrt(6)

# your code: begin
query = x @ w_query
key = memory @ w_key
value = memory @ w_value
scores = query @ key.T
scaled_scores = scores / np.sqrt(5)
weights = softmax(scaled_scores)
context = weights @ value
# your code: end

print(weights.shape, context.shape)
print(weights.round(4))
print(context.round(4))
