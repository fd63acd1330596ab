"""The options that declare how a picture becomes a model input."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Any

from edgecc.data.preprocessing import COLORS, FILTERS, Preprocessing
from edgecc.errors import ConfigError

OPTIONS = ("resize", "crop", "filter", "color", "scale", "mean", "std")


def add(command: argparse.ArgumentParser, *, normalize: bool = False) -> None:
    """`--resize` and its companions; with `normalize` also the option of that name."""
    group = command.add_argument_group("pictures", "how they become the model's input")
    add = group.add_argument
    add("--resize", metavar="N|WxH", help="length of the shorter side, or the whole size")
    add("--crop", metavar="N|WxH", help="cut this from the middle")
    add("--filter", help=f"resizing: {', '.join(FILTERS)} (default bilinear)")
    add("--color", help=f"{', '.join(COLORS)} (default rgb)")
    add("--scale", metavar="WHITE", help="what white becomes before mean and std: 1 or 255")
    add("--mean", metavar="M[,M,M]", help="subtracted, in the unit of --scale (default 0)")
    add("--std", metavar="S[,S,S]", help="then divided by (default 1)")
    if normalize:
        add("--normalize", action="store_true", help="the model does scale, mean and std itself: "
            "its input becomes uint8 pixels, NHWC")


def declared(args: argparse.Namespace, recorded: Preprocessing | None = None
             ) -> Preprocessing | None:
    """What the options say, on top of what a bundle has recorded; None without either.

    Raises ConfigError for a wrong value, a missing --scale, and arithmetic that is in the model.
    """
    given = {name: parse(name, getattr(args, name)) for name in OPTIONS
             if getattr(args, name, None) is not None}
    if getattr(args, "normalize", False):
        given["folded"] = True
    if recorded is not None:
        inside = [name for name in ("scale", "mean", "std") if name in given]
        if recorded.folded and inside:
            raise ConfigError(f"--{inside[0]}: the model does this itself, and it cannot be "
                              "changed", advice="compile again with another --" + inside[0])
        return replace(recorded, **given)
    if not given:
        return None
    if "scale" not in given:
        raise ConfigError("--scale is not given", advice="--scale 1 for pixels of 0..1, --scale "
                          "255 for pixels of 0..255; --mean and --std are in that unit")
    return Preprocessing(**given)


def parse(name: str, text: str) -> Any:
    """The value of an option. Raises ConfigError."""
    try:
        if name in ("mean", "std"):
            return tuple(float(part) for part in text.split(","))
        if name == "scale":
            return float(text)
        if name in ("resize", "crop"):
            sides = [int(part) for part in text.lower().split("x")]
            return sides[0] if len(sides) == 1 else tuple(sides)
    except ValueError as error:
        raise ConfigError(f"--{name} {text!r} is not made of numbers",
                          advice=EXAMPLES[name]) from error
    return text


EXAMPLES = {
    "resize": "write --resize 256 or --resize 320x240", "crop": "write --crop 224",
    "scale": "write --scale 1 or --scale 255", "mean": "write --mean 0.485,0.456,0.406",
    "std": "write --std 0.229,0.224,0.225",
}
