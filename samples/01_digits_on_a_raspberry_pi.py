"""Sample 01: train a digit classifier, compile it INT8 for a Raspberry Pi 5, run it over SSH.

No board is needed: a real OpenSSH server on 127.0.0.1 stands in for it, and its programs run
through QEMU. Without QEMU or an SSH server (and without root to install them) the same is done
for this workstation. Usage:

    python samples/01_digits_on_a_raspberry_pi.py [--out out] [--images 450]

Writes digits.onnx, calibration.npz, digits.ecb and digits.report.html.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import digits
import numpy as np
import onnx
import onnxruntime

import edgecc
from edgecc import report
from edgecc.rpc import loopback
from edgecc.rpc.boards import get_board

TARGET = "raspberry-pi-5"
CALIBRATION_IMAGES = 200


def main() -> None:
    args = arguments()
    args.out.mkdir(parents=True, exist_ok=True)
    train, held_out, train_labels, labels = digits.load()
    held_out, labels = held_out[: args.images], labels[: args.images]

    started = time.monotonic()
    model = digits.train(train, train_labels)
    onnx.save(model, args.out / "digits.onnx")
    np.savez(args.out / "calibration.npz", image=train[:CALIBRATION_IMAGES])
    say("train", f"{len(train):,} images · 2 convolutions, 1 fully connected layer · "
        f"{time.monotonic() - started:.1f} s")

    target = TARGET if loopback.ensure_emulation_tools(lambda text: say("setup", text)) else "host"
    if target == "host":
        say("setup", "no emulated board: doing the same on this workstation")
    bundle = compiled(args.out, target, edgecc.Context(progress=say))
    bundle.save(args.out / "digits.ecb")
    on_host = compiled(args.out, "host", edgecc.Context())

    with board_of(target) as board:
        say("connect", f"{board.name}: {board.transport}, programs run "
            f"{'through ' + board.emulator[0] if board.emulator else 'natively'}")
        measured = bundle.bench(board)
        print(measured.to_text())
        answers = predictions(bundle, held_out, board)
    here = predictions(on_host, held_out, get_board("host"))
    page = report.html_report(bundle.manifest, measured.to_json())
    (args.out / "digits.report.html").write_text(page, encoding="utf-8")

    print()
    print_table(*rows(bundle.manifest, measured.to_json(), {
        "ONNX Runtime, float32": accuracy(float_predictions(model, held_out), labels),
        "this workstation, INT8": accuracy(here, labels),
        f"{board.name} ({target}), INT8": accuracy(answers, labels),
    }, len(labels), same=bool(np.array_equal(here, answers))))
    print(f"\nwrote {args.out}/digits.onnx, calibration.npz, digits.ecb, digits.report.html")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder to write to")
    parser.add_argument("--images", type=int, default=450, help="held-out images to run")
    return parser.parse_args()


def say(what: str, text: str) -> None:
    print(f"{what:<9} {text}", flush=True)


def compiled(out: Path, target: str, context: edgecc.Context) -> edgecc.Bundle:
    return edgecc.compile(out / "digits.onnx", target=target, quantization="int8",
                          calibration=out / "calibration.npz", context=context)


@contextmanager
def board_of(target: str) -> Iterator:
    """This workstation, or a board behind a real SSH server on 127.0.0.1."""
    if target == "host":
        yield get_board("host")
        return
    with loopback.start(target) as server:
        yield server.board


def predictions(bundle: edgecc.Bundle, images: np.ndarray, board: object) -> np.ndarray:
    """Probabilities (n, 10), computed on the board in one session."""
    outputs = bundle.run_many([{"image": image[None]} for image in images], board=board)
    return np.concatenate([output["probabilities"] for output in outputs])


def float_predictions(model: onnx.ModelProto, images: np.ndarray) -> np.ndarray:
    session = onnxruntime.InferenceSession(model.SerializeToString())
    return np.concatenate([session.run(None, {"image": image[None]})[0] for image in images])


def accuracy(probabilities: np.ndarray, labels: np.ndarray) -> float:
    return float((probabilities.argmax(1) == labels).mean())


def rows(manifest: dict, measured: dict, accuracies: dict[str, float], images: int,
         same: bool) -> Iterator[tuple[str, str]]:
    """The table. An emulator's time says nothing about the chip: no latency is claimed then."""
    emulated = measured["timing"] != "measured"
    count = measured["instructions"]
    yield "latency, median", "not claimed: emulated" if emulated else f"{measured['p50_us']:.1f} µs"
    yield "instructions per inference", "not counted" if count is None else f"{count:,}"
    yield "multiply-accumulates", f"{manifest['macs']:,}"
    yield "RAM: arena", f"{manifest['arena_bytes']:,} B"
    yield "flash: weights + code", (f"{manifest['flash_bytes']:,} B = "
                                    f"{manifest['weights_bytes']:,} + {manifest['code_bytes']:,}")
    for where, value in accuracies.items():
        yield f"accuracy, {where}", f"{value:.2%} of {images} held-out images"
    yield "INT8 outputs, board against workstation", "identical" if same else "DIFFERENT"


def print_table(*pairs: tuple[str, str]) -> None:
    width = max(len(name) for name, _ in pairs)
    for name, value in pairs:
        print(f"{name:<{width}}   {value}")


if __name__ == "__main__":
    main()
