"""Lines of text, upright and upside down, for the direction classifier of PP-OCR."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

Image = pytest.importorskip("PIL.Image", reason="pictures need Pillow: pip install pillow")
ImageDraw = pytest.importorskip("PIL.ImageDraw")
ImageFont = pytest.importorskip("PIL.ImageFont")

WORDS = ("the", "quick", "brown", "fox", "jumps", "over", "lazy", "dog", "INVOICE", "Total",
         "2024-05-17", "EUR", "1,299.00", "Main", "Street", "No", "42", "Berlin", "fragile",
         "this", "side", "up", "batch", "lot", "exp", "warning", "voltage")
FACES = ("DejaVuSans.ttf", "DejaVuSans-Bold.ttf", "DejaVuSerif.ttf", "DejaVuSansMono.ttf")
FOLDER = Path("/usr/share/fonts/truetype/dejavu")
WIDTH, HEIGHT = 192, 48


def lines(count: int, seed: int) -> tuple[list[np.ndarray], np.ndarray]:
    """Model inputs (1, 3, 48, 192), and 1 where a line is upside down: every second one."""
    draw = np.random.default_rng(seed)
    return [_input(_drawn(draw, bool(i % 2))) for i in range(count)], np.arange(count) % 2


def _font(draw: np.random.Generator):
    size = int(draw.integers(22, 34))
    faces = [FOLDER / name for name in FACES if (FOLDER / name).exists()]
    if not faces:
        return ImageFont.load_default(size)
    return ImageFont.truetype(str(faces[int(draw.integers(len(faces)))]), size)


def _drawn(draw: np.random.Generator, turned: bool):
    font, text = _font(draw), " ".join(draw.choice(WORDS, int(draw.integers(2, 4))))
    left, top, right, bottom = map(int, font.getbbox(text))
    paper, ink = (int(draw.integers(170, 256)),) * 3, (int(draw.integers(0, 90)),) * 3
    image = Image.new("RGB", (right - left + 16, bottom - top + 14), paper)
    ImageDraw.Draw(image).text((8 - left, 7 - top), text, fill=ink, font=font)
    image = image.rotate(float(draw.uniform(-1.5, 1.5)), Image.Resampling.BILINEAR,
                         fillcolor=paper)
    return image.transpose(Image.Transpose.ROTATE_180) if turned else image


def _input(image) -> np.ndarray:
    """As PaddleOCR does: 48 high, at most 192 wide, BGR, (p / 255 - 0.5) / 0.5, then zeros."""
    width = min(WIDTH, -(-HEIGHT * image.width // image.height))
    pixels = np.asarray(image.resize((width, HEIGHT), Image.Resampling.BILINEAR), np.float32)
    padded = np.zeros((1, 3, HEIGHT, WIDTH), np.float32)
    padded[0, :, :, :width] = ((pixels[:, :, ::-1] / 255 - 0.5) / 0.5).transpose(2, 0, 1)
    return padded
