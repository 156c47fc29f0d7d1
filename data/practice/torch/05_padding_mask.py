# exercise: 05_padding_mask
"""Exercise 5 of 16: words that only fill up the batch.

Sentences of different lengths are stored in one array, so short ones are
filled up with rows that mean nothing: the padding. No query may look at the
key of such a row.

scaled_scores has shape (3, 5, 5): 3 sentences, 5 queries, 5 keys. lengths
has the true number of words of each sentence. Compute weights of the same
shape: hide key k of sentence s, for all queries, if k is not less than
lengths[s]; then call softmax.

The mask has shape (3, 5), one row for each sentence, and needs an axis of
length 1 in the middle to fit (3, 5, 5). With the new axis at the end it
hides queries instead of keys: the rows of the padding become nan, and real
words still look at the padding. Queries of the padding do get weights here;
nothing reads them later.

Hint: Compare the positions 0 to 4 with the lengths, shaped (3, 1), and
insert the axis of the queries in the middle.
"""
# answer: weights
# explain: --mask padding --lengths 5,2,4
import math

import torch

torch.manual_seed(5)
lengths = torch.tensor([5, 2, 4])
x = torch.randn(3, 5, 8)  # 3 sentences, 5 words, 8 features
w_query = torch.randn(8, 6) / math.sqrt(8)
w_key = torch.randn(8, 6) / math.sqrt(8)
w_value = torch.randn(8, 4) / math.sqrt(8)

query = x @ w_query  # (3, 5, 6)
key = x @ w_key  # (3, 5, 6)
value = x @ w_value  # (3, 5, 4)
scores = query @ key.transpose(1, 2)
scaled_scores = scores / math.sqrt(6)  # (3, 5, 5)

# your code: begin
is_padding = torch.arange(5) >= lengths[:, None]
hidden = is_padding[:, None, :]
masked_scores = scaled_scores.masked_fill(hidden, float("-inf"))
weights = torch.softmax(masked_scores, dim=-1)
# your code: end

context = weights @ value
print(weights[1])
print(context[1])
