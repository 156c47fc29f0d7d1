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
import numpy as np


def softmax(scores):
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


rng = np.random.default_rng(5)
lengths = np.array([5, 2, 4])
x = rng.standard_normal((3, 5, 8))  # 3 sentences, 5 words, 8 features
w_query = rng.standard_normal((8, 6)) / np.sqrt(8)
w_key = rng.standard_normal((8, 6)) / np.sqrt(8)
w_value = rng.standard_normal((8, 4)) / np.sqrt(8)

query = x @ w_query  # (3, 5, 6)
key = x @ w_key  # (3, 5, 6)
value = x @ w_value  # (3, 5, 4)
scores = query @ key.transpose(0, 2, 1)
scaled_scores = scores / np.sqrt(6)  # (3, 5, 5)

# your code: begin
is_word = np.arange(5) < lengths[:, None]
masked_scores = np.where(is_word[:, None, :], scaled_scores, -np.inf)
weights = softmax(masked_scores)
# your code: end

context = weights @ value
print(weights[1].round(4))
print(context[1].round(4))
