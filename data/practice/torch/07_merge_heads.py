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
import math

import torch


def split(projected):
    return projected.view(7, 2, 5).transpose(0, 1)


torch.manual_seed(7)
x = torch.randn(7, 10)  # 7 words, 10 features
w_query = torch.randn(10, 10) / math.sqrt(10)
w_key = torch.randn(10, 10) / math.sqrt(10)
w_value = torch.randn(10, 10) / math.sqrt(10)
w_output = torch.randn(10, 10) / math.sqrt(10)

query = split(x @ w_query)  # (2, 7, 5)
key = split(x @ w_key)  # (2, 7, 5)
value = split(x @ w_value)  # (2, 7, 5)
scores = query @ key.transpose(1, 2)
scaled_scores = scores / math.sqrt(5)
weights = torch.softmax(scaled_scores, dim=-1)  # (2, 7, 7)
context = weights @ value  # (2, 7, 5)

# your code: begin
merged = context.transpose(0, 1).reshape(7, 10)
output = merged @ w_output
# your code: end

print(merged.shape, output.shape)
print(output)
