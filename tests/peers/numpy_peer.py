"""Attention with NumPy on whole arrays."""

import ctypes
import math

import numpy
from peer import serve


def set_threads(threads):
    """Debian's NumPy uses any libblas.so.3; the number of threads can be set only for OpenBLAS."""
    blas = ctypes.CDLL("libblas.so.3")
    if hasattr(blas, "openblas_set_num_threads"):
        blas.openblas_set_num_threads(threads)


def prepare(query, key, value, causal, threads):
    set_threads(threads)
    hidden = numpy.triu(numpy.ones((query.shape[1],) * 2, dtype=bool), 1)

    def call():
        scores = query @ key.transpose(0, 2, 1)
        scores *= numpy.float32(1 / math.sqrt(query.shape[2]))
        if causal:
            scores[:, hidden] = -numpy.inf
        scores -= scores.max(axis=2, keepdims=True)
        weights = numpy.exp(scores, out=scores)
        weights /= weights.sum(axis=2, keepdims=True)
        return weights @ value

    return call


serve(prepare)
