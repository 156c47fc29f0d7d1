# exercise: 13_online_softmax
"""Exercise 13 of 16: softmax in one pass over blocks.

A long text has too many scores to store them all. FlashAttention reads the
keys block by block and keeps three things for each query: the largest score
so far, the sum of the powers of e so far, and the context so far, not yet
divided by that sum.

query and key have shape (7, 4), value has shape (7, 3). Read the keys in
blocks of 2 (the last block has 1 key), each block once. Divide the scores by
the square root of 4. If a block raises the maximum from m to n, multiply the
sum and the context so far by e to the power of (m - n): then old and new
powers are relative to the same maximum. At the end divide context by the
sum. Compute context of shape (7, 3).

Some scores are near 1000, so powers overflow unless the maximum is
subtracted. If the sum or the context is not rescaled, the first blocks count
too much.

Hint: Start with a maximum of -inf, a sum of 0 and a context of zeros: the
first rescaling is then by e to the power of -inf, which is 0.
"""
# answer: context
import math

import torch

torch.manual_seed(393)
torch.set_default_dtype(torch.float64)
x = torch.randn(7, 6)  # 7 words, 6 features
x[:, 5] = 1.0  # this feature is 1 for every word ...
w_query = torch.randn(6, 4) / math.sqrt(6)
w_key = torch.randn(6, 4) / math.sqrt(6)
w_key[5] *= 1000.0  # ... so each row of scores is far from 0 as a whole
w_value = torch.randn(6, 3) / math.sqrt(6)

query = x @ w_query  # (7, 4)
key = x @ w_key  # (7, 4)
value = x @ w_value  # (7, 3)

# your code: begin
running_max = torch.full((7, 1), float("-inf"))
running_sum = torch.zeros(7, 1)
context = torch.zeros(7, 3)
for keys, values in zip(key.split(2), value.split(2)):
    block_scores = query @ keys.T / math.sqrt(4)
    new_max = torch.maximum(running_max, block_scores.amax(-1, keepdim=True))
    rescale = torch.exp(running_max - new_max)
    powers = torch.exp(block_scores - new_max)
    running_sum = running_sum * rescale + powers.sum(-1, keepdim=True)
    context = context * rescale + powers @ values
    running_max = new_max
context = context / running_sum
# your code: end

scores = query @ key.T
scaled_scores = scores / math.sqrt(4)
weights = torch.softmax(scaled_scores, dim=-1)
at_once = weights @ value
print(context)
difference = (context - at_once).abs().max()
print("difference:", round(difference.item(), 6))
