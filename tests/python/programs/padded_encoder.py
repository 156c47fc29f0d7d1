"""An encoder's attention over padded sentences: keys of the padding get a large negative number."""
import math

import torch

torch.manual_seed(13)
keep = torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0]])
hidden = torch.randn(2, 4, 6)
layers = {name: torch.nn.Linear(6, 6) for name in ("query", "key", "value", "dense")}


def by_head(states):
    return states.view(2, 4, 3, 2).permute(0, 2, 1, 3)


query, key, value = (by_head(layers[name](hidden)) for name in ("query", "key", "value"))
logits = torch.matmul(query, key.transpose(2, 3)) / math.sqrt(2)
logits = logits + (1.0 - keep[:, None, None, :]) * -10000.0
shares = torch.nn.functional.softmax(logits, dim=3)
joined = torch.matmul(shares, value).permute(0, 2, 1, 3).contiguous().view(2, 4, 6)
result = layers["dense"](joined)
