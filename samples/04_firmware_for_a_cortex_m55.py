"""Sample 04: firmware for a bare Cortex-M55 that classifies labelled samples, run in QEMU.

Compiles a classifier INT8, packages it for CMake, builds the application of `04_firmware` against
the package and runs it on QEMU's mps3-an547 board, which has that core. The classifier is of
handwritten digits, trained here, unless a model and labelled samples of it are named: an ONNX
file, and an .npz with samples `x` and class numbers `y`. Usage:

    python samples/04_firmware_for_a_cortex_m55.py [--out out/firmware] [--zig]
        [--model wake_word.onnx --data labelled.npz]

Builds with plain CMake and arm-none-eabi-gcc; with --zig (or where those are missing) with the
compiler that comes with edgecc, in one command. Needs qemu-system-arm.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx

import edgecc
from edgecc.bundle.package import package, write
from edgecc.rpc.boards import get_board
from edgecc.targets import get_target

TARGET = "cortex-m55"
APPLICATION = Path(__file__).with_name("04_firmware")
CALIBRATION_SAMPLES = 200
GNU = ("cmake", "arm-none-eabi-gcc")


def main() -> int:
    args = arguments()
    out = args.out.absolute()
    out.mkdir(parents=True, exist_ok=True)
    model, samples, labels, calibration = classifier(args)

    bundle = compiled(model, TARGET, calibration)
    bundle.save(out / "classifier.ecb")
    shutil.rmtree(out / "model", ignore_errors=True)
    write(package(bundle, "cmake"), out / "model")
    write_labelled(out, bundle.manifest, samples, labels)

    zig = args.zig or not all(map(shutil.which, GNU))
    firmware = (build_with_zig if zig else build_with_cmake)(out)
    said = run(firmware)
    answers = [int(line.rpartition(" ")[2]) for line in said if line.startswith("sample ")]

    here = predictions(compiled(model, "host", calibration), samples)
    print(f"\n{TARGET} in QEMU:    {said[-1]}")
    print(f"this workstation:      {(here == labels).sum()} of {len(labels)} right; "
          f"{'the same' if answers == list(here) else 'OTHER'} answers")
    print_sizes(bundle.manifest)
    return 0 if answers == list(here) else 1


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("out/firmware"), help="folder to write to")
    parser.add_argument("--model", type=Path, help="an ONNX classifier of one input")
    parser.add_argument("--data", type=Path, help="its labelled samples: .npz with x and y")
    parser.add_argument("--samples", type=int, default=45, help="how many to classify")
    parser.add_argument("--zig", action="store_true", help="build with ziglang alone")
    args = parser.parse_args()
    if (args.model is None) != (args.data is None):
        parser.error("--model and --data go together")
    return args


def classifier(args: argparse.Namespace) -> tuple[onnx.ModelProto, np.ndarray, np.ndarray,
                                                  np.ndarray]:
    """The model, samples with their labels, and calibration samples."""
    if args.model is not None:
        with np.load(args.data, allow_pickle=False) as data:
            x, y = data["x"].astype(np.float32), data["y"]
        return onnx.load(args.model), x[: args.samples], y[: args.samples], x
    import digits

    train, held_out, train_labels, labels = digits.load()
    return (digits.train(train, train_labels), held_out[: args.samples], labels[: args.samples],
            train[:CALIBRATION_SAMPLES])


def compiled(model: onnx.ModelProto, target: str, calibration: np.ndarray) -> edgecc.Bundle:
    name = model.graph.input[0].name
    return edgecc.compile(model, target=target, name="classifier", quantization="int8",
                          calibration=[{name: sample[None]} for sample in calibration])


def write_labelled(out: Path, manifest: dict, samples: np.ndarray, labels: np.ndarray) -> None:
    """The samples as C arrays, in the order that the model's C API takes their values in."""
    port = manifest["inputs"][0]
    ordered = samples.transpose(port["permutation"]) if port["permutation"] else samples
    rows = ["{" + ", ".join(f"{value:.9g}f" if value % 1 else f"{value:.1f}f" for value in row)
            + "}" for row in ordered.reshape(len(samples), -1)]
    listed, numbers = ",\n".join(rows), ", ".join(map(str, labels))
    values = ordered[0].size
    (out / "labelled.h").write_text(
        f"#include <stdint.h>\n#define LABELLED {len(samples)}\n#define VALUES {values}\n"
        "extern const float labelled[LABELLED][VALUES];\nextern const int32_t labels[LABELLED];\n")
    (out / "labelled.c").write_text(
        f'#include "labelled.h"\nconst float labelled[LABELLED][VALUES] = {{\n{listed}}};\n'
        f"const int32_t labels[LABELLED] = {{{numbers}}};\n")


def build_with_cmake(out: Path) -> Path:
    chain = out / "model" / "toolchain.cmake"
    shutil.rmtree(out / "build", ignore_errors=True)
    call(["cmake", "-S", str(APPLICATION), "-B", str(out / "build"), f"-DMODEL={out / 'model'}",
          f"-DLABELLED={out}", f"-DCMAKE_TOOLCHAIN_FILE={chain}"])
    call(["cmake", "--build", str(out / "build")])
    return out / "build" / "firmware"


def build_with_zig(out: Path) -> Path:
    """One command: the application, its samples, and what the package holds."""
    model, firmware = out / "model", out / "firmware"
    sources = [APPLICATION / "main.c", out / "labelled.c", model / "src" / "classifier_weights.c",
               *sorted((model / "port").glob("*.c")), model / "lib" / "libclassifier.a"]
    call([sys.executable, "-m", "ziglang", *get_target(TARGET).toolchain.argv[1:], "-std=c99",
          "-O2", "-ffreestanding", "-DEDGECC_BAREMETAL", f"-I{out}", f"-I{model / 'include'}",
          f"-I{model / 'port'}", *map(str, sources), "-Wl,--gc-sections",
          "-Wl,-e,edgecc_reset", "-T", str(model / "port" / "classifier.ld"), "-o",
          str(firmware)])
    return firmware


def call(command: list[str]) -> None:
    print(shlex.join(command), flush=True)
    zig_cache = str(edgecc.Context().cache_dir / "zig")
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL,
                   env={"ZIG_GLOBAL_CACHE_DIR": zig_cache, **os.environ})


def run(firmware: Path) -> list[str]:
    """What the firmware says, line by line; prints it."""
    command = list(get_board(f"emulated-{TARGET}").command([str(firmware)]))
    print(shlex.join(command), flush=True)
    done = subprocess.run(command, check=True, text=True, stderr=subprocess.PIPE,
                          stdin=subprocess.DEVNULL)
    print(done.stderr, end="")
    return done.stderr.splitlines()


def predictions(bundle: edgecc.Bundle, samples: np.ndarray) -> np.ndarray:
    name, = (port["name"] for port in bundle.manifest["inputs"])
    answers = bundle.run_many([{name: sample[None]} for sample in samples], native=True)
    return np.array([next(iter(answer.values())).argmax() for answer in answers])


def print_sizes(manifest: dict) -> None:
    print(f"RAM:                   {manifest['arena_bytes']:,} B of arena, "
          f"{manifest['stack_bytes']:,} B of stack")
    print(f"flash:                 {manifest['flash_bytes']:,} B, of which "
          f"{manifest['weights_bytes']:,} B weights")


if __name__ == "__main__":
    sys.exit(main())
