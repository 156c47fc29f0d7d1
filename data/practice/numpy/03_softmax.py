# exercise: 03_softmax
"""Exercise 3 of 16: softmax without overflow.

Softmax turns each row of scores into weights: e to the power of each score,
divided by the sum of these powers over the row. No weight is below 0, and
each row sums to 1.

scaled_scores has shape (5, 5), one row for each query. One row has scores
near 1000, another near -1000, and e to the power of 1000 is too large for
any float: it becomes inf, and inf / inf is nan. e to the power of -1000 is
rounded to 0, and 0 / 0 is also nan.

Compute weights of shape (5, 5) without nan. Subtract the largest score of
each row first: the largest power is then e to the power of 0, which is 1.
This changes no weight, because it divides all powers of a row by the same
number. The largest score of the whole table is not enough: the row near
-1000 would still become 0 / 0.

Hint: Take max and sum along the last axis, and keep that axis (keepdims) so
that each row uses its own number.
"""
# answer: weights
import numpy as np

rng = np.random.default_rng(743)
x = rng.standard_normal((5, 6))  # 5 words, 6 features
x[:, 5] = 1.0  # this feature is 1 for every word ...
w_query = rng.standard_normal((6, 4)) / np.sqrt(6)
w_key = rng.standard_normal((6, 4)) / np.sqrt(6)
w_key[5] *= 1000.0  # ... so each row of scores is far from 0 as a whole
w_value = rng.standard_normal((6, 3)) / np.sqrt(6)

query = x @ w_query  # (5, 4)
key = x @ w_key  # (5, 4)
value = x @ w_value  # (5, 3)
scores = query @ key.T
scaled_scores = scores / np.sqrt(4)  # (5, 5)

# your code: begin
row_max = scaled_scores.max(axis=-1, keepdims=True)
exponentials = np.exp(scaled_scores - row_max)
weights = exponentials / exponentials.sum(axis=-1, keepdims=True)
# your code: end

context = weights @ value
print(scaled_scores.round(1))
print(context.round(4))
