# exercise: 10_alibi
"""Exercise 10 of 16: positions as a penalty for distance.

ALiBi (attention with linear biases) subtracts a penalty from each score. The
penalty grows with the distance between query and key, so near words are
preferred. Each head has its own slope: with a steep one it attends to near
words only, with a flat one to far words as well.

With 4 heads the slopes are 1/4, 1/16, 1/64 and 1/256: head h, counted from
0, has 2 to the power of -2 (h + 1). (With H heads the 2 in front is 8 / H.)
slopes[h] * (k - q) is added to scaled_scores[h, q, k]: it is 0 for the word
itself and negative for the words before it.

scaled_scores has shape (4, 6, 6): heads, queries, keys. visible has shape
(6, 6) and is True if a query may see a key. Compute slopes of shape (4,) and
weights of shape (4, 6, 6): add the biases, replace hidden scores by -inf,
call softmax.

With the sign reversed, far words are preferred. With one slope for all
heads, all heads look equally far.

Hint: Distances are positions as a row minus positions as a column; slopes
need the shape (4, 1, 1) to be multiplied by them.
"""
# answer: slopes, weights
# explain: --heads 4 --mask causal --position-bias alibi
import math

import torch


def split(projected):
    return projected.view(6, 4, 3).transpose(0, 1)


torch.manual_seed(10)
x = torch.randn(6, 12)  # 6 words, 12 features
w_query = torch.randn(12, 12) / math.sqrt(12)
w_key = torch.randn(12, 12) / math.sqrt(12)
w_value = torch.randn(12, 12) / math.sqrt(12)

query = split(x @ w_query)  # (4, 6, 3)
key = split(x @ w_key)  # (4, 6, 3)
value = split(x @ w_value)  # (4, 6, 3)
scores = query @ key.transpose(1, 2)
scaled_scores = scores / math.sqrt(3)  # (4, 6, 6)
visible = torch.tril(torch.ones(6, 6, dtype=torch.bool))

# your code: begin
slopes = 2.0 ** (-2 * torch.arange(1, 5))
positions = torch.arange(6)
distances = positions[None, :] - positions[:, None]
biased_scores = scaled_scores + slopes[:, None, None] * distances
masked_scores = biased_scores.masked_fill(~visible, float("-inf"))
weights = torch.softmax(masked_scores, dim=-1)
# your code: end

context = weights @ value
print(slopes)
print(weights[:, -1])
print(context[:, -1])
