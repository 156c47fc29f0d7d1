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
import math

import torch
from torch import nn


class AttentionLayer(nn.Module):
    def __init__(self, features, heads):
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(features, features, bias=False)
        self.key = nn.Linear(features, features, bias=False)
        self.value = nn.Linear(features, features, bias=False)
        self.output = nn.Linear(features, features, bias=False)

    def forward(self, x):
        sentences, words, features = x.shape
        width = features // self.heads

        def split(projected):
            parts = projected.view(sentences, words, self.heads, width)
            return parts.transpose(1, 2)

        # your code: begin
        query = split(self.query(x))
        key = split(self.key(x))
        value = split(self.value(x))
        scores = query @ key.transpose(-2, -1)
        scaled_scores = scores / math.sqrt(width)
        hidden = torch.ones(words, words, dtype=torch.bool).triu(1)
        masked_scores = scaled_scores.masked_fill(hidden, float("-inf"))
        weights = torch.softmax(masked_scores, dim=-1)
        context = weights @ value
        merged = context.transpose(1, 2).reshape(sentences, words, features)
        output = self.output(merged)
        # your code: end

        return output


torch.manual_seed(16)
x = torch.randn(2, 5, 12)  # 2 sentences, 5 words, 12 features
layer = AttentionLayer(features=12, heads=3)
with torch.no_grad():
    output = layer(x)
print(output.shape)
print(output[:, -1])
