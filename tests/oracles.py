"""PyTorch and NumPy as oracles: functions that only the check scripts need."""
import argparse
import sys

try:
    import numpy
    import torch
except ImportError as missing:
    print(f"SKIPPED: nothing was checked, there is no {missing.name} (apt-get install python3-torch)")
    sys.exit(0)


def numbers(nested):
    """Converts a number of the JSON, in which "nan" and "inf" are strings."""
    if isinstance(nested, list):
        return [numbers(one) for one in nested]
    return float(nested) if isinstance(nested, str) else nested


def tensor_of(step):
    """Returns a step of a walk's JSON as a tensor in float64."""
    dtype = {"int64": torch.int64, "bool": torch.bool}.get(step["dtype"], torch.float64)
    return torch.tensor(numbers(step["data"]), dtype=dtype).reshape(step["shape"])


def random_walks(doc):
    """Parses the arguments of a check of random walks, and sets float64 as the default."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    torch.set_default_dtype(torch.float64)
    return parser.parse_args()
