"""PyTorch's own attention, called as a whole."""
import torch
import torch.nn.functional as F

torch.manual_seed(16)
attend = torch.nn.MultiheadAttention(8, 2, batch_first=True).eval()
sentence = torch.randn(2, 4, 8)
later = torch.ones(4, 4).triu(1).bool()
both, shares = attend(sentence, sentence, sentence, attn_mask=later)
