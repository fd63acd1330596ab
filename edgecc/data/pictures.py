"""Picture files to pixels: found in folders, read under suspicion, resized, cropped.

Only JPEG, PNG, BMP and PPM are decoded, sizes are checked before a pixel is unpacked, and a
picture is turned upright as its EXIF entry says: what a person sees is what the model gets.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from edgecc.data.preprocessing import Preprocessing, picture_layout
from edgecc.errors import ConfigError

SUFFIXES = frozenset({".jpg", ".jpeg", ".png", ".bmp", ".ppm", ".pgm"})
FORMATS = ("JPEG", "PNG", "BMP", "PPM")
EIGHT_BIT = frozenset({"1", "L", "LA", "P", "PA", "RGB", "RGBA", "RGBX", "CMYK", "YCbCr"})
MAX_PIXELS = 100_000_000
MAX_FILE_BYTES = 256 << 20


@dataclass(frozen=True)
class Picture:
    """A file and the subfolder (class) that it lies in; None where it lies in the folder."""

    path: Path
    folder: str | None


def is_picture(path: Path) -> bool:
    return path.suffix.lower() in SUFFIXES and not path.name.startswith(".")


def find(folder: Path) -> list[Picture]:
    """Pictures of a folder and of its subfolders (one level), in an order that does not depend
    on the file system. Raises ConfigError when there are none."""
    top = sorted(_listed(folder), key=lambda path: path.name)
    found = [Picture(path, None) for path in top if path.is_file() and is_picture(path)]
    for inner in (path for path in top if path.is_dir() and not path.name.startswith(".")):
        names = sorted(_listed(inner), key=lambda path: path.name)
        found += [Picture(path, inner.name) for path in names if is_picture(path)]
    if not found:
        kinds = sorted({path.suffix for path in top if path.is_file()} - {""})
        raise ConfigError("the folder holds no pictures", where=str(folder),
                          needed=", ".join(sorted(SUFFIXES)), available=", ".join(kinds) or "none")
    return found


def _listed(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError as error:
        raise ConfigError(f"cannot be listed: {error.strerror}", where=str(folder)) from error


def interleaved(pictures: list[Picture]) -> list[Picture]:
    """The first of every class, then the second of every class, ...: the first few pictures of
    the result stand for all."""
    groups: dict[str | None, list[Picture]] = {}
    for picture in pictures:
        groups.setdefault(picture.folder, []).append(picture)
    longest = max(map(len, groups.values()), default=0)
    return [group[i] for i in range(longest) for group in groups.values() if i < len(group)]


def feeds(pictures: list[Picture], how: Preprocessing, shape: tuple[int, ...],
          dtype: str) -> Iterator[np.ndarray]:
    """Model inputs, one picture at a time. Raises ConfigError naming the file."""
    for picture in pictures:
        yield feed(picture.path, how, shape, dtype)


def feed(path: Path, how: Preprocessing, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """A picture as a model input of `shape` and `dtype`. Raises ConfigError."""
    _, size = picture_layout(shape, how.channels)
    return how.feed(pixels(path, how, size), shape, dtype)


def pixels(path: Path, how: Preprocessing, size: tuple[int, int]) -> np.ndarray:
    """uint8 (height, width, channels) after colour, resize and crop.

    Raises ConfigError naming the file: not readable, cut off, too large, or not of `size`
    (width, height) in the end.
    """
    image = _colored(_read(path), how.color, path)
    image = _cropped(_resized(image, how, path), how, path)
    if image.size != size:
        raise ConfigError(
            "the picture does not have the size of the model's input", where=str(path),
            needed=f"{size[0]}x{size[1]}", available=f"{image.size[0]}x{image.size[1]}",
            advice=f"declare --resize and --crop, e.g. --resize {size[0]}x{size[1]}")
    array = np.asarray(image)
    array = array.reshape(size[1], size[0], how.channels)
    return np.ascontiguousarray(array[:, :, ::-1] if how.color == "bgr" else array)


def pillow() -> Any:
    """The module PIL.Image. Raises ConfigError saying how to get it."""
    try:
        from PIL import Image
    except ImportError as error:
        raise ConfigError("pictures need Pillow, which is not installed",
                          advice="pip install 'edgecc[images]' (or: pip install pillow)"
                          ) from error
    return Image


def _read(path: Path) -> Any:
    """A decoded, upright picture. Raises ConfigError."""
    Image = pillow()
    from PIL import ImageOps

    _check_file(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Pillow warns of sizes; ours is an error
            with Image.open(path, formats=FORMATS) as image:
                _check_size(image.size, path)
                image.load()
                return ImageOps.exif_transpose(image)
    except ConfigError:
        raise
    except Exception as error:  # decoders raise OSError, SyntaxError, ValueError, struct.error
        raise ConfigError(f"is no whole picture: {' '.join(str(error).split())[:200]}",
                          where=str(path), advice="replace or remove the file") from error


def _check_file(path: Path) -> None:
    if not path.is_file():
        raise ConfigError("no such picture", where=str(path))
    if path.stat().st_size > MAX_FILE_BYTES:
        raise ConfigError("the file is too large for a picture", where=str(path),
                          needed=f"{path.stat().st_size:,} B", available=f"{MAX_FILE_BYTES:,} B")


def _check_size(size: tuple[int, int], path: Path) -> None:
    if size[0] * size[1] > MAX_PIXELS:
        raise ConfigError("the picture is too large", where=str(path),
                          needed=f"{size[0]:,}x{size[1]:,} pixels",
                          available=f"{MAX_PIXELS:,} pixels", advice="make it smaller first")


def _colored(image: Any, color: str, path: Path) -> Any:
    if image.mode not in EIGHT_BIT:
        raise ConfigError(f"pictures of mode {image.mode} are not supported", where=str(path),
                          needed="8 bits a channel", advice="convert it to 8 bits")
    wanted = "L" if color == "gray" else "RGB"
    return image if image.mode == wanted else image.convert(wanted)


def _resized(image: Any, how: Preprocessing, path: Path) -> Any:
    if how.resize is None:
        return image
    size = how.resize if isinstance(how.resize, tuple) else _shorter(image.size, how.resize)
    _check_size(size, path)  # a thin picture grows with its longer side
    if size == image.size:
        return image
    return image.resize(size, getattr(pillow().Resampling, how.filter.upper()))


def _shorter(size: tuple[int, int], length: int) -> tuple[int, int]:
    """The size whose shorter side is `length`, the longer one rounded down."""
    width, height = size
    if width <= height:
        return length, int(length * height / width)
    return int(length * width / height), length


def _cropped(image: Any, how: Preprocessing, path: Path) -> Any:
    if how.crop is None:
        return image
    (width, height), (wide, high) = image.size, how.crop
    if wide > width or high > height:
        raise ConfigError("the crop is larger than the picture", where=str(path),
                          needed=f"{wide}x{high}", available=f"{width}x{height}",
                          advice="resize to at least the crop's size")
    left, top = round((width - wide) / 2), round((height - high) / 2)
    return image.crop((left, top, left + wide, top + high))
