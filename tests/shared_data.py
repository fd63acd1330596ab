"""The folder of real models and data that a checkout may have beside it; tests skip without it."""

import os
from pathlib import Path

import pytest

ROOT = Path(os.environ.get("EDGECC_SHARED", Path(__file__).resolve().parents[2] / "shared"))


def shared(path: str) -> Path:
    """A file or folder of the shared data, or a skip that says what is missing."""
    found = ROOT / path
    if not found.exists():
        pytest.skip(f"needs {path} from the shared models folder (set EDGECC_SHARED)")
    return found
