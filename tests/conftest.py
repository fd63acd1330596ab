"""Lets tests import their neighbours (shared_data, kernel_harness); no property is judged by the
time it took, for machines are busy."""

import sys
from pathlib import Path

from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")


def pytest_addoption(parser):
    parser.addoption("--update-golden", action="store_true", help="rewrite the golden files")
