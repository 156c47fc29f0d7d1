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
import math

import torch


def phi(features):
    return torch.nn.functional.elu(features) + 1


torch.manual_seed(14)
x = torch.randn(6, 8)  # 6 words, 8 features
w_query = torch.randn(8, 4) / math.sqrt(8)
w_key = torch.randn(8, 4) / math.sqrt(8)
w_value = torch.randn(8, 3) / math.sqrt(8)

query = x @ w_query
key = x @ w_key
value = x @ w_value  # (6, 3)
phi_query = phi(query)  # (6, 4)
phi_key = phi(key)  # (6, 4)

# your code: begin
state = torch.zeros(4, 3)
total = torch.zeros(4)
context = torch.zeros(6, 3)
for t in range(6):
    state = state + torch.outer(phi_key[t], value[t])
    total = total + phi_key[t]
    context[t] = phi_query[t] @ state / (phi_query[t] @ total)
# your code: end

products = torch.tril(phi_query @ phi_key.T)
weights = products / products.sum(dim=-1, keepdim=True)
at_once = weights @ value
print(context)
difference = (context - at_once).abs().max()
print("difference:", round(difference.item(), 6))
