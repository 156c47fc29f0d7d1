"""PyTorch and NumPy as oracles: what the check scripts need and no build does."""
import argparse
import sys

try:
    import numpy
    import torch
except ImportError as missing:
    print(f"SKIPPED: nothing was checked, there is no {missing.name} (apt-get install python3-torch)")
    sys.exit(0)


def numbers(nested):
    """JSON's "nan" and "inf" are words."""
    if isinstance(nested, list):
        return [numbers(one) for one in nested]
    return float(nested) if isinstance(nested, str) else nested


def tensor_of(step):
    """A step of a walk's JSON as a tensor, its numbers in float64."""
    dtype = {"int64": torch.int64, "bool": torch.bool}.get(step["dtype"], torch.float64)
    return torch.tensor(numbers(step["data"]), dtype=dtype).reshape(step["shape"])


def random_walks(doc):
    """What a check of random walks is asked for; it computes in float64."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    torch.set_default_dtype(torch.float64)
    return parser.parse_args()
