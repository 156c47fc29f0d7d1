# exercise: 08_cross_attention
"""Exercise 8 of 16: one text looks at another.

A translator writes one sentence while it reads another. The words that it
writes ask, so queries are made from x. The words that it reads answer, so
keys and values are made from memory.

x has shape (4, 6): 4 words written. memory has shape (7, 6): 7 words read.
The matrices have shapes (6, 5), (6, 5) and (6, 3). Compute weights of shape
(4, 7) and context of shape (4, 3). Divide the scores by the square root of 5
before softmax.

If keys and values are made from x as well, the program still runs, but the
sentence attends to itself and the other text is never read. If queries and
memory are exchanged, there is one row for each word of the wrong text.

Hint: There must be a row for each word that asks and a column for each word
that answers.
"""
# answer: weights, context
import math

import torch

torch.manual_seed(8)
x = torch.randn(4, 6)  # 4 words written
memory = torch.randn(7, 6)  # 7 words read
w_query = torch.randn(6, 5) / math.sqrt(6)
w_key = torch.randn(6, 5) / math.sqrt(6)
w_value = torch.randn(6, 3) / math.sqrt(6)

# your code: begin
query = x @ w_query
key = memory @ w_key
value = memory @ w_value
scores = query @ key.T
scaled_scores = scores / math.sqrt(5)
weights = torch.softmax(scaled_scores, dim=-1)
context = weights @ value
# your code: end

print(weights.shape, context.shape)
print(weights)
print(context)
