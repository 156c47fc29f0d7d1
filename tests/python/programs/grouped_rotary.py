"""Groups of queries that share keys, with rotary positions in halves."""
import torch

torch.manual_seed(15)
words = torch.randn(1, 5, 16)
w_q, w_k, w_v, w_o = (
    torch.randn(16, 16),
    torch.randn(8, 16),
    torch.randn(8, 16),
    torch.randn(16, 16),
)


def turned(each):
    size = each.shape[-1]
    speed = 10000.0 ** (-torch.arange(0, size, 2) / size)
    angle = torch.arange(each.shape[-2])[:, None] * speed
    first, second = each.chunk(2, dim=-1)
    turned_first = first * angle.cos() - second * angle.sin()
    return torch.cat([turned_first, second * angle.cos() + first * angle.sin()], dim=-1)


q = turned((words @ w_q.T).view(1, 5, 4, 4).transpose(1, 2))
k = turned((words @ w_k.T).view(1, 5, 2, 4).transpose(1, 2)).repeat_interleave(2, dim=1)
v = (words @ w_v.T).view(1, 5, 2, 4).transpose(1, 2).repeat_interleave(2, dim=1)
score = q @ k.mT / 2
score = score.where(torch.ones(5, 5).tril().bool(), torch.tensor(-torch.inf))
out = (score.softmax(-1) @ v).transpose(1, 2).flatten(2) @ w_o.T
