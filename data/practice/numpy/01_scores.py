# exercise: 01_scores
"""Exercise 1 of 16: a score for every pair of words.

A score measures how well a query and a key match: it is their dot product, so
the two are multiplied feature by feature and the products are added.

query has shape (5, 4): 5 words, 4 features for each. key has the same shape.
Compute scores of shape (5, 5): scores[q, k] is the dot product of row q of
query and row k of key. Rows belong to the words that look, columns to the
words that they look at.

If query and key are exchanged, rows and columns are swapped: the row of a
word then shows how much all others look at it, softmax normalises the wrong
numbers, and no error is raised.

Hint: One matrix product does all pairs if the features of key run down its
columns.
"""
# answer: scores
import numpy as np

rng = np.random.default_rng(1)
x = rng.standard_normal((5, 6))  # 5 words, 6 features
w_query = rng.standard_normal((6, 4)) / np.sqrt(6)
w_key = rng.standard_normal((6, 4)) / np.sqrt(6)
w_value = rng.standard_normal((6, 3)) / np.sqrt(6)

query = x @ w_query  # (5, 4)
key = x @ w_key  # (5, 4)
value = x @ w_value  # (5, 3)

# your code: begin
scores = query @ key.T
# your code: end

scaled_scores = scores / np.sqrt(4)
exponentials = np.exp(scaled_scores)
weights = exponentials / exponentials.sum(axis=-1, keepdims=True)
context = weights @ value
print(context.round(4))
