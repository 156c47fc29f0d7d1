# exercise: 14_linear_attention
"""Exercise 14 of 16: attention with a memory of fixed size.

With softmax, each query must read all keys again. Without it, keys and
values can be added up once, for all queries that follow. phi, the feature
map elu(x) + 1, makes all features positive, so the weights are positive as
well.

phi_query and phi_key have shape (6, 4), value has shape (6, 3). Read the
words one after another. state, of shape (4, 3), is the sum of the outer
products of phi_key[t] and value[t] so far; total, of shape (4,), is the sum
of phi_key[t] so far. After adding word t,

    context[t] = phi_query[t] @ state / (phi_query[t] @ total)

Compute context of shape (6, 3). It is causal: word t sees words 0 to t.

Add a word before its query reads the state. Otherwise it does not see
itself, and the first row is 0 / 0. Without the division, weights do not sum
to 1, and context grows with every word.

Hint: The function outer makes a (4, 3) matrix from a key of 4 and a value of
3 features.
"""
# answer: context
# explain: --attention linear
import numpy as np


def phi(features):  # elu(x) + 1
    below = np.exp(np.minimum(features, 0))
    return np.where(features > 0, features + 1, below)


rng = np.random.default_rng(14)
x = rng.standard_normal((6, 8))  # 6 words, 8 features
w_query = rng.standard_normal((8, 4)) / np.sqrt(8)
w_key = rng.standard_normal((8, 4)) / np.sqrt(8)
w_value = rng.standard_normal((8, 3)) / np.sqrt(8)

query = x @ w_query
key = x @ w_key
value = x @ w_value  # (6, 3)
phi_query = phi(query)  # (6, 4)
phi_key = phi(key)  # (6, 4)

# your code: begin
state = np.zeros((4, 3))
total = np.zeros(4)
context = np.zeros((6, 3))
for t in range(6):
    state = state + np.outer(phi_key[t], value[t])
    total = total + phi_key[t]
    context[t] = phi_query[t] @ state / (phi_query[t] @ total)
# your code: end

products = np.tril(phi_query @ phi_key.T)
weights = products / products.sum(axis=-1, keepdims=True)
at_once = weights @ value
print(context.round(4))
difference = abs(context - at_once).max()
print("difference:", difference.round(6))
