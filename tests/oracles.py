"""PyTorch and NumPy as oracles: what the check scripts need and no build does."""
import sys

try:
    import numpy
    import torch
except ImportError as missing:
    print(f"SKIPPED: nothing was checked, there is no {missing.name} (apt-get install python3-torch)")
    sys.exit(0)
