"""Preprocessing: how a picture becomes a model input, declared once and recorded in the manifest.

The order is fixed: colour, resize, center crop, scale, mean, std. The arithmetic is float32, each
operation rounded on its own: `((pixel / (255 / scale)) - mean) / std`, as torchvision does it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

from edgecc.errors import ConfigError

if TYPE_CHECKING:
    import numpy as np

COLORS = {"rgb": 3, "bgr": 3, "gray": 1}
FILTERS = ("bilinear", "bicubic", "nearest")
LONGEST_SIDE = 16384
WHERE = "preprocessing"


@dataclass(frozen=True, kw_only=True)
class Preprocessing:
    """What happens to a picture before the model sees it.

    `scale` is what white (255) becomes: 1 for pixels of 0..1, 255 for pixels as they are; `mean`
    and `std` are in that unit, one number or one per channel, in the order of `color`.
    `resize` is the length of the shorter side, or (width, height); `crop` (width, height) is cut
    from the middle. `folded`: the model does scale, mean and std itself and takes uint8 pixels.
    """

    scale: float
    mean: tuple[float, ...] = (0.0,)
    std: tuple[float, ...] = (1.0,)
    color: str = "rgb"
    resize: int | tuple[int, int] | None = None
    crop: tuple[int, int] | None = None
    filter: str = "bilinear"
    folded: bool = False

    def __post_init__(self):
        _require(self.color in COLORS, f"color {self.color!r}", ", ".join(COLORS))
        _require(self.filter in FILTERS, f"filter {self.filter!r}", ", ".join(FILTERS))
        _require(_numbers((self.scale,)) and self.scale > 0, f"scale {self.scale!r}",
                 "a positive number: 1 for pixels of 0..1, 255 for pixels of 0..255")
        _require(isinstance(self.folded, bool), f"folded {self.folded!r}", "true or false")
        object.__setattr__(self, "scale", float(self.scale))
        for name in ("mean", "std"):
            object.__setattr__(self, name, self._per_channel(name))
        _require(min(self.std) > 0, f"std {self.std!r}", "positive numbers")
        object.__setattr__(self, "resize", _size(self.resize, "resize", short_side=True))
        object.__setattr__(self, "crop", _size(self.crop, "crop", short_side=False))

    def _per_channel(self, name: str) -> tuple[float, ...]:
        given = getattr(self, name)
        values = tuple(given) if isinstance(given, tuple | list) else (given,)
        _require(_numbers(values) and len(values) in (1, self.channels), f"{name} {given!r}",
                 f"1 or {self.channels} finite numbers for {self.color}")
        wide = values if len(values) == self.channels else values * self.channels
        return tuple(float(v) for v in wide)

    @property
    def channels(self) -> int:
        return COLORS[self.color]

    @property
    def is_plain(self) -> bool:
        """Whether the values are the pixels themselves."""
        return self.scale == 255 and not any(self.mean) and set(self.std) == {1.0}

    def to_json(self) -> dict[str, Any]:
        found = asdict(self)
        return {key: list(v) if isinstance(v, tuple) else v for key, v in found.items()}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Preprocessing:
        """Raises ConfigError for unknown or missing fields and for wrong values."""
        known = {field.name for field in fields(cls)}
        if not isinstance(record, Mapping) or not set(record) <= known or "scale" not in record:
            names = ", ".join(map(str, record)) if isinstance(record, Mapping) else str(record)
            raise ConfigError("is no preprocessing record", where=WHERE,
                              needed="scale and others of " + ", ".join(sorted(known)),
                              available=names[:200])
        given: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v
                                 for k, v in record.items()}
        return cls(**given)

    def values(self, pixels: np.ndarray) -> np.ndarray:
        """Float32 model values of uint8 pixels (..., channels)."""
        import numpy as np

        scaled = pixels.astype(np.float32) / np.float32(255.0 / self.scale)
        return (scaled - np.asarray(self.mean, np.float32)) / np.asarray(self.std, np.float32)

    def feed(self, pixels: np.ndarray, shape: tuple[int, ...], dtype: str) -> np.ndarray:
        """Pixels (height, width, channels) as a model input of `shape` and `dtype`.

        Raises ConfigError as `picture_layout` and `check_dtype` do.
        """
        layout, _ = picture_layout(shape, self.channels)
        self.check_dtype(dtype)
        array = pixels if dtype == "uint8" else self.values(pixels).astype(dtype)
        return (array.transpose(2, 0, 1) if "CHW" in layout else array).reshape(shape)

    def unfold(self, pixels: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        """A float model's input of `shape` from what the model with folded arithmetic takes."""
        layout, (width, height) = picture_layout(pixels.shape, self.channels)
        flat = pixels.reshape(-1, height, width) if "CHW" in layout else pixels
        hwc = flat.transpose(1, 2, 0) if "CHW" in layout else flat
        return self.feed(hwc.reshape(height, width, self.channels), shape, "float32")

    def check_dtype(self, dtype: str) -> None:
        """Raises ConfigError unless a model input of `dtype` takes what this gives."""
        if dtype == "uint8" and not (self.folded or self.is_plain):
            raise ConfigError("the model takes uint8 pixels, so scale, mean and std do nothing",
                              where=WHERE, advice="give scale 255, mean 0 and std 1")
        if dtype not in ("uint8", "float32", "float16"):
            raise ConfigError(f"pictures do not fit an input of {dtype}", where=WHERE,
                              needed="uint8 or float32", available=dtype)


def picture_layout(shape: tuple[int, ...], channels: int) -> tuple[str, tuple[int, int]]:
    """Layout and (width, height) of a model input that takes pictures of `channels`.

    Where both fit (1x3x8x3), channels come first, as ONNX has them. Raises ConfigError.
    """
    dims = shape[1:] if len(shape) == 4 and shape[0] == 1 else shape
    batch = "N" if len(dims) < len(shape) else ""
    if len(dims) == 3 and dims[0] == channels:
        return f"{batch}CHW", (dims[2], dims[1])
    if len(dims) == 3 and dims[2] == channels:
        return f"{batch}HWC", (dims[1], dims[0])
    if len(dims) == 2 and channels == 1:
        return "HW", (dims[1], dims[0])
    raise ConfigError(
        "the model's input takes no such pictures", where=WHERE,
        needed=f"an input of 1x{channels}xHxW or 1xHxWx{channels}", available=str(list(shape)),
        advice="choose --color rgb, bgr or gray as the model was trained; fix the batch to 1",
    )


def declared(
    preprocessing: Preprocessing | None, inputs: Sequence[str], where: str
) -> Preprocessing:
    """The preprocessing of the only input. Raises ConfigError where there is none."""
    if len(inputs) != 1:
        raise ConfigError("pictures feed models of one input", where=where, needed="1 input",
                          available=", ".join(inputs) or "none")
    if preprocessing is None:
        raise ConfigError("it is not declared how pictures become the model's input", where=where,
                          advice="give --scale, and --resize, --crop, --mean, --std, --color as "
                          "the model was trained with")
    return preprocessing


def _numbers(values: tuple[Any, ...]) -> bool:
    real = all(isinstance(v, int | float) and not isinstance(v, bool) for v in values)
    return real and all(math.isfinite(v) for v in values)


def _size(value: Any, name: str, *, short_side: bool) -> Any:
    if value is None or (short_side and _is_length(value)):
        return value
    pair = (value, value) if _is_length(value) else value
    fine = isinstance(pair, tuple | list) and len(pair) == 2 and all(map(_is_length, pair))
    _require(fine, f"{name} {value!r}", f"whole numbers up to {LONGEST_SIDE}")
    return tuple(pair)


def _is_length(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= LONGEST_SIDE


def _require(condition: bool, what: str, needed: str) -> None:
    if not condition:
        raise ConfigError(f"{what} is not possible", where=WHERE, needed=needed)
