"""Sample 02: link the compiled model into a C program of your own.

What a bundle holds for a C program is three files: a header, a static library and the weights.
This takes them out with nothing but `zipfile`, compiles `02_classify.c` against them, and lets it
classify held-out digits that it reads from PGM image files. Usage:

    python samples/02_link_into_a_c_program.py [--out out/c] [--target host] [--cc "gcc"]

Without --cc the target's own compiler is used, which comes with edgecc. A program for another
chip runs through its QEMU command.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
import zipfile
from pathlib import Path

import digits
import numpy as np
import onnx

import edgecc
from edgecc.targets import Target, get_target

SOURCE = Path(__file__).with_name("02_classify.c")
WARNINGS = ("-std=c11", "-O2", "-Wall", "-Wextra", "-Werror")
FILES = ("include/digits.h", "lib/libdigits.a", "weights.bin")


def main() -> int:
    args = arguments()
    args.out.mkdir(parents=True, exist_ok=True)
    target = get_target(args.target)
    train, held_out, train_labels, labels = digits.load()

    make_bundle(args.out, args.target, train, train_labels)
    take_out(args.out / "digits.ecb", args.out)
    build(args.out, compiler(target, args.cc))
    names = write_images(args.out, held_out[: args.images])
    said = classify(args.out, target, names)

    hits = 0
    for (name, digit, probability), label in zip(said, labels, strict=False):
        hits += int(digit) == label
        print(f"{name}   is a {label}, classified as {digit} with probability {probability}")
    print(f"{hits} of {len(said)} right; {args.out}/classify is "
          f"{(args.out / 'classify').stat().st_size:,} bytes and needs {args.out}/weights.bin")
    return 0 if hits > len(said) * 0.9 else 1


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("out/c"), help="folder to write to")
    parser.add_argument("--target", default="host", help="a name from `edgecc targets`")
    parser.add_argument("--cc", help="C compiler with its flags (default: the target's own)")
    parser.add_argument("--images", type=int, default=20, help="held-out images to classify")
    return parser.parse_args()


def make_bundle(out: Path, target: str, images: np.ndarray, labels: np.ndarray) -> None:
    onnx.save(digits.train(images, labels), out / "digits.onnx")
    calibration = [{"image": image[None]} for image in images[:200]]
    bundle = edgecc.compile(out / "digits.onnx", target=target, quantization="int8",
                            calibration=calibration)
    bundle.save(out / "digits.ecb")


def take_out(bundle: Path, out: Path) -> None:
    """A bundle is a zip: no edgecc is needed to use one."""
    with zipfile.ZipFile(bundle) as archive:
        for name in FILES:
            (out / Path(name).name).write_bytes(archive.read(name))


def compiler(target: Target, named: str | None) -> list[str]:
    if named:
        return shlex.split(named)
    argv = list(target.toolchain.argv)
    return [sys.executable, "-m", "ziglang", *argv[1:]] if argv[0] == "zig" else argv


def build(out: Path, cc: list[str]) -> None:
    command = [*cc, *WARNINGS, "-I", str(out), str(SOURCE), str(out / "libdigits.a"), "-lm",
               "-static", "-s", "-o", str(out / "classify")]
    print(" ".join(map(shlex.quote, command)))
    zig_cache = str(edgecc.Context().cache_dir / "zig")  # has the target's C library already
    subprocess.run(command, check=True, env={"ZIG_GLOBAL_CACHE_DIR": zig_cache, **os.environ})


def write_images(out: Path, images: np.ndarray) -> list[str]:
    """One PGM file per image, 17 grey levels as in the data set."""
    names = [f"digit_{i:02}.pgm" for i in range(len(images))]
    for name, image in zip(names, images, strict=True):
        pixels = np.rint(image * 16).astype(np.uint8)
        (out / name).write_bytes(b"P5\n8 8\n16\n" + pixels.tobytes())
    return names


def classify(out: Path, target: Target, names: list[str]) -> list[list[str]]:
    """(image, digit, probability) as the C program says."""
    command = [*target.emulator, "./classify", "weights.bin", *names]
    done = subprocess.run(command, cwd=out, check=True, capture_output=True, text=True)
    return [line.split() for line in done.stdout.splitlines()]


if __name__ == "__main__":
    sys.exit(main())
