"""Small picture files for tests."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

Image = pytest.importorskip("PIL.Image", reason="pictures need Pillow: pip install pillow")


def pixels(size: tuple[int, int] = (30, 20), seed: int = 0) -> np.ndarray:
    """(height, width, 3) of noise for a size (width, height)."""
    shape = (size[1], size[0], 3)
    return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)


def save(path: Path, array: np.ndarray, **options) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(array).save(path, **options)
    return path


def classes(folder: Path, names=("cat", "dog"), each: int = 3, size=(12, 12)) -> Path:
    """`each` pictures per class in subfolders: 0.png, 1.png, ..."""
    for number, name in enumerate(names):
        for i in range(each):
            save(folder / name / f"{i}.png", pixels(size, 100 * number + i))
    return folder
