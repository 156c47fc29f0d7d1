"""Shared code of the Python peers: the protocol on README.md and the check."""

import math
import sys
import time

import numpy


def inputs(groups, length, dim):
    generator = numpy.random.default_rng(1)
    return [generator.standard_normal((groups, length, dim), dtype=numpy.float32) for _ in range(3)]


def largest_error(query, key, value, causal, context):
    query, key, value = (array.astype(numpy.float64) for array in (query, key, value))
    scores = query @ key.transpose(0, 2, 1) / math.sqrt(query.shape[2])
    if causal:
        scores[:, numpy.triu(numpy.ones(scores.shape[1:], dtype=bool), 1)] = -numpy.inf
    weights = numpy.exp(scores - scores.max(axis=2, keepdims=True))
    weights /= weights.sum(axis=2, keepdims=True)
    return float(numpy.abs(weights @ value - context).max())


def seconds_of_a_call(call):
    calls = 0
    start = time.perf_counter()
    while True:
        call()
        calls += 1
        seconds = time.perf_counter() - start
        if seconds >= 0.02:
            return seconds / calls


def serve(prepare):
    """Answers requests; prepare(query, key, value, causal, threads) gives the call to time."""
    known, call, arrays = None, None, None
    for line in sys.stdin:
        request, groups, length, dim, mask, threads = line.split()
        wanted = (int(groups), int(length), int(dim), mask, int(threads))
        if wanted != known:
            known = wanted
            arrays = inputs(*wanted[:3])
            call = prepare(*arrays, mask == "causal", int(threads))
            call()  # the first call is not timed
        if request == "check":
            print("error %.3g" % largest_error(*arrays, mask == "causal", numpy.asarray(call())))
        else:
            print("seconds %.9g" % seconds_of_a_call(call))
        sys.stdout.flush()
