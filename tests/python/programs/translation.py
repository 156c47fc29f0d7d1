"""A decoder that looks at an encoder's words: two inputs, every product an einsum."""
import numpy as np

draw = np.random.default_rng(14)
target, source = draw.normal(size=(3, 5)), draw.normal(size=(6, 5))
to_query, to_key, to_value = draw.normal(size=(3, 2, 5, 4)) / 2  # (role, head, model, feature)

q = np.einsum("tm,hmf->htf", target, to_query)
k = np.einsum("sm,hmf->hsf", source, to_key)
v = np.einsum("sm,hmf->hsf", source, to_value)
agreement = np.einsum("htf,hsf->hts", q, k) / np.sqrt(q.shape[-1])
agreement -= agreement.max(-1, keepdims=True)
shares = np.exp(agreement)
shares /= shares.sum(-1, keepdims=True)
seen = np.einsum("hts,hsf->thf", shares, v)
