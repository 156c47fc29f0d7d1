# exercise: 16_whole_layer
"""Exercise 16 of 16: the whole layer.

Put everything together: causal attention with 3 heads, for a batch of
sentences, as in every layer of a language model.

x has shape (2, 5, 12): 2 sentences, 5 words, 12 features. Each of the 3
heads has 4 features. The steps are: project x to queries, keys and values,
split the heads, compute the scores, divide them by the square root of the
width of a head, hide later words, apply softmax over the keys, multiply by
the values, merge the heads, project the output. The function split is given.
Compute output of shape (2, 5, 12).

All mistakes of the earlier exercises are possible here, and most raise no
error. The scores are divided by the square root of 4, not of 12: each head
adds up 4 products. Keep the first two axes, sentences and heads, as they are
until you merge.

Hint: Write down the shape after each step: x (2, 5, 12), query (2, 3, 5, 4),
scores (2, 3, 5, 5), context (2, 3, 5, 4), output (2, 5, 12).
"""
# answer: output
# explain: --heads 3 --mask causal --merge --output-projection
import numpy as np


def softmax(scores):
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def attention_layer(x, w_query, w_key, w_value, w_output, heads):
    sentences, words, features = x.shape
    width = features // heads

    def split(projected):
        parts = projected.reshape(sentences, words, heads, width)
        return parts.transpose(0, 2, 1, 3)

    # your code: begin
    query = split(x @ w_query)
    key = split(x @ w_key)
    value = split(x @ w_value)
    scores = query @ key.transpose(0, 1, 3, 2)
    scaled_scores = scores / np.sqrt(width)
    visible = np.tril(np.ones((words, words), dtype=bool))
    masked_scores = np.where(visible, scaled_scores, -np.inf)
    weights = softmax(masked_scores)
    context = weights @ value
    merged = context.transpose(0, 2, 1, 3).reshape(sentences, words, features)
    output = merged @ w_output
    # your code: end

    return output


rng = np.random.default_rng(16)
x = rng.standard_normal((2, 5, 12))  # 2 sentences, 5 words, 12 features
w_query = rng.standard_normal((12, 12)) / np.sqrt(12)
w_key = rng.standard_normal((12, 12)) / np.sqrt(12)
w_value = rng.standard_normal((12, 12)) / np.sqrt(12)
w_output = rng.standard_normal((12, 12)) / np.sqrt(12)

output = attention_layer(x, w_query, w_key, w_value, w_output, heads=3)
print(output.shape)
print(output[:, -1].round(4))
