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
import numpy as np


def softmax(scores):
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


rng = np.random.default_rng(4)
x = rng.standard_normal((6, 8))  # 6 words, 8 features
w_query = rng.standard_normal((8, 4)) / np.sqrt(8)
w_key = rng.standard_normal((8, 4)) / np.sqrt(8)
w_value = rng.standard_normal((8, 3)) / np.sqrt(8)

query = x @ w_query  # (6, 4)
key = x @ w_key  # (6, 4)
value = x @ w_value  # (6, 3)
scores = query @ key.T
scaled_scores = scores / np.sqrt(4)  # (6, 6)

# your code: begin
visible = np.tril(np.ones((6, 6), dtype=bool))
masked_scores = np.where(visible, scaled_scores, -np.inf)
weights = softmax(masked_scores)
# your code: end

context = weights @ value
print(weights.round(4))
print(context.round(4))
