# exercise: 15_softmax_gradient
"""Exercise 15 of 16: softmax, backwards.

Training computes gradients from the last step back to the first. It already
has d_weights, the gradient of the weights: how fast the loss changes with
each weight. Next is the gradient of the scores that softmax was applied to.

weights and d_weights have shape (5, 5), rows are queries. A larger score
raises its own weight and lowers all others of its row, because a row sums to
1. So d_weights is first compared with its mean over the row, in which each
cell counts by its weight:

    d_scaled_scores = weights * (d_weights - mean)
    mean[q] = sum over k: weights[q, k] * d_weights[q, k]

Compute d_scaled_scores of shape (5, 5). Each of its rows sums to 0: adding
the same number to a whole row of scores changes no weight. If you leave the
mean out, rows do not sum to 0.

Hint: The mean is a sum of products along the last axis, kept as a column of
shape (5, 1).
"""
# answer: d_scaled_scores
import math

import torch

torch.manual_seed(15)
x = torch.randn(5, 6)  # 5 words, 6 features
w_query = torch.randn(6, 4) / math.sqrt(6)
w_key = torch.randn(6, 4) / math.sqrt(6)
w_value = torch.randn(6, 3) / math.sqrt(6)

query = x @ w_query  # (5, 4)
key = x @ w_key  # (5, 4)
value = x @ w_value  # (5, 3)
scores = query @ key.T
scaled_scores = scores / math.sqrt(4)
weights = torch.softmax(scaled_scores, dim=-1)  # (5, 5)
context = weights @ value  # (5, 3)

d_context = torch.randn(5, 3)
d_value = weights.T @ d_context  # (5, 3)
d_weights = d_context @ value.T  # (5, 5)

# your code: begin
mean = (weights * d_weights).sum(dim=-1, keepdim=True)
d_scaled_scores = weights * (d_weights - mean)
# your code: end

d_scores = d_scaled_scores / math.sqrt(4)
d_query = d_scores @ key
d_key = d_scores.T @ query
print(d_scaled_scores)
print(d_query)
