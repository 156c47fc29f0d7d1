# exercise: 09_rope
"""Exercise 9 of 16: positions as rotations.

Attention alone does not know the order of words. RoPE (rotary position
embedding) rotates each query and key by angles that grow with its position.
A score then depends on the two words and on how far apart they are.

query and key have shape (5, 6). Feature i and feature i + 3 make a pair, for
i = 0, 1, 2: this is the half pairing, as in Llama. Word p rotates pair i by
the angle p * frequencies[i]; positions count from 0, so word 0 keeps its
numbers. A rotation of the pair (a, b) is

    a * cos - b * sin,    a * sin + b * cos

Compute rotated_query and rotated_key of shape (5, 6). Values are not
rotated.

Both must be rotated: if only queries are, scores depend on the position in
the text, not on the distance. Pairs of neighbours (0 and 1, 2 and 3) are
another convention: it works equally well in training, but is wrong for a
model that was trained with this one.

Hint: angles has shape (5, 3), one row for each position; cut the features
into two halves of 3 and concatenate the rotated halves.
"""
# answer: rotated_query, rotated_key
# explain: --rope half
import numpy as np


def softmax(scores):
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


rng = np.random.default_rng(9)
x = rng.standard_normal((5, 8))  # 5 words, 8 features
w_query = rng.standard_normal((8, 6)) / np.sqrt(8)
w_key = rng.standard_normal((8, 6)) / np.sqrt(8)
w_value = rng.standard_normal((8, 4)) / np.sqrt(8)
frequencies = 10000.0 ** (-np.arange(0, 6, 2) / 6)  # (3,)

query = x @ w_query  # (5, 6)
key = x @ w_key  # (5, 6)
value = x @ w_value  # (5, 4)

# your code: begin
angles = np.arange(5)[:, None] * frequencies
cos, sin = np.cos(angles), np.sin(angles)

def rotate(features):
    a, b = features[:, :3], features[:, 3:]
    return np.concatenate([a * cos - b * sin, a * sin + b * cos], axis=-1)

rotated_query = rotate(query)
rotated_key = rotate(key)
# your code: end

scores = rotated_query @ rotated_key.T
scaled_scores = scores / np.sqrt(6)
weights = softmax(scaled_scores)
context = weights @ value
print(rotated_query.round(4))
print(context.round(4))
