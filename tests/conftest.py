"""Lets tests import their neighbours (shared_data, kernel_harness)."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
