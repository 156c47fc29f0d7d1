"""Makes tests import the files of this repository, not installed ones."""

import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).parents[2] / "app" / "python"))
