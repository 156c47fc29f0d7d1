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
import math

import torch

torch.manual_seed(6)
x = torch.randn(5, 12)  # 5 words, 12 features
w_query = torch.randn(12, 12) / math.sqrt(12)
w_key = torch.randn(12, 12) / math.sqrt(12)
w_value = torch.randn(12, 12) / math.sqrt(12)

projected_query = x @ w_query  # (5, 12)
projected_key = x @ w_key  # (5, 12)
projected_value = x @ w_value  # (5, 12)

# your code: begin
query = projected_query.view(5, 3, 4).transpose(0, 1)
key = projected_key.view(5, 3, 4).transpose(0, 1)
value = projected_value.view(5, 3, 4).transpose(0, 1)
# your code: end

scores = query @ key.transpose(1, 2)  # (3, 5, 5)
scaled_scores = scores / math.sqrt(4)
weights = torch.softmax(scaled_scores, dim=-1)
context = weights @ value  # (3, 5, 4)
print(context)
