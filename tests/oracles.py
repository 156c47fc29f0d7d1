"""PyTorch and NumPy as oracles: what the check scripts need and no build does."""
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
