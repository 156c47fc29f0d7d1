# exercise: 02_scale
"""Exercise 2 of 16: scores that do not grow with the width.

Here a query has 32 features, so a score adds up 32 products. The more
products are added, the larger the scores: they grow as the square root of
the number of features.

scores has shape (6, 6), query and key have shape (6, 32), x has 10 features
for each word. Compute scaled_scores: the scores divided by the square root
of the number of features of a query.

Without this, scores are far apart, softmax gives nearly everything to one
key, and almost no gradient is left to learn from. If you take the square
root of another width, such as the 10 features of x, every number still looks
plausible: only the weights are sharper or flatter than they should be.

Hint: Count the products that are added up in one score.
"""
# answer: scaled_scores
import numpy as np

rng = np.random.default_rng(2)
x = rng.standard_normal((6, 10))  # 6 words, 10 features
w_query = rng.standard_normal((10, 32)) / np.sqrt(10)
w_key = rng.standard_normal((10, 32)) / np.sqrt(10)
w_value = rng.standard_normal((10, 3)) / np.sqrt(10)

query = x @ w_query  # (6, 32)
key = x @ w_key  # (6, 32)
value = x @ w_value  # (6, 3)
scores = query @ key.T  # (6, 6)

# your code: begin
scaled_scores = scores / np.sqrt(query.shape[-1])
# your code: end

exponentials = np.exp(scaled_scores)
weights = exponentials / exponentials.sum(axis=-1, keepdims=True)
context = weights @ value
print(weights.max(axis=-1).round(4))
print(context.round(4))
