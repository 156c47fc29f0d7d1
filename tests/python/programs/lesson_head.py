"""A causal head as lessons on small language models build it: one class, a triangle, a softmax."""
import torch
from torch import nn

torch.manual_seed(11)


class CausalHead(nn.Module):
    def __init__(self, width, size, longest):
        super().__init__()
        self.ask = nn.Linear(width, size, bias=False)
        self.offer = nn.Linear(width, size, bias=False)
        self.give = nn.Linear(width, size, bias=False)
        self.register_buffer("past", torch.tril(torch.ones(longest, longest)))

    def forward(self, sequence):
        length = sequence.shape[1]
        match = self.ask(sequence) @ self.offer(sequence).mT * self.ask.out_features**-0.5
        match = match.masked_fill(self.past[:length, :length] == 0, float("-inf"))
        return match.softmax(-1) @ self.give(sequence)


embedded = nn.Embedding(9, 6)(torch.tensor([[1, 4, 2, 8, 5]]))
CausalHead(6, 3, 16)(embedded)
