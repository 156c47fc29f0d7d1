# exercise: 04_causal_mask
"""Exercise 4 of 16: no word sees the words after it.

A model that writes text must not look at words that are not written yet.
Word 0 may see word 0 alone, word 1 may see words 0 and 1, and so on: a word
sees itself and all words before it.

scaled_scores has shape (6, 6), rows are queries, columns are keys. Compute
weights of shape (6, 6): replace the scores of all later keys by -inf, then
call softmax on the masked scores. e to the power of -inf is exactly 0, so
the hidden keys get no weight, and the visible ones share 1.

If you set weights to 0 after softmax, rows no longer sum to 1. If you write
0 instead of -inf, hidden keys still get a weight, because e to the power of
0 is 1. If you hide the word itself as well, the first row sees no key at all
and becomes nan.

Hint: tril keeps the lower triangle with the diagonal; where (or masked_fill)
writes -inf in the other cells.
"""
# answer: weights
# explain: --mask causal
import math

import torch

torch.manual_seed(4)
x = torch.randn(6, 8)  # 6 words, 8 features
w_query = torch.randn(8, 4) / math.sqrt(8)
w_key = torch.randn(8, 4) / math.sqrt(8)
w_value = torch.randn(8, 3) / math.sqrt(8)

query = x @ w_query  # (6, 4)
key = x @ w_key  # (6, 4)
value = x @ w_value  # (6, 3)
scores = query @ key.T
scaled_scores = scores / math.sqrt(4)  # (6, 6)

# your code: begin
visible = torch.tril(torch.ones(6, 6, dtype=torch.bool))
masked_scores = scaled_scores.masked_fill(~visible, float("-inf"))
weights = torch.softmax(masked_scores, dim=-1)
# your code: end

context = weights @ value
print(weights)
print(context)
