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
import math

import torch

torch.manual_seed(1)
x = torch.randn(5, 6)  # 5 words, 6 features
w_query = torch.randn(6, 4) / math.sqrt(6)
w_key = torch.randn(6, 4) / math.sqrt(6)
w_value = torch.randn(6, 3) / math.sqrt(6)

query = x @ w_query  # (5, 4)
key = x @ w_key  # (5, 4)
value = x @ w_value  # (5, 3)

# your code: begin
scores = query @ key.T
# your code: end

scaled_scores = scores / math.sqrt(4)
weights = torch.softmax(scaled_scores, dim=-1)
context = weights @ value
print(context)
