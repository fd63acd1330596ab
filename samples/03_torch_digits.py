"""Sample 03: a small network trained in torch, compiled INT8 and run as on a Raspberry Pi 5.

No file in between: the torch module itself is compiled. Needs the extra `torch`. The emulated
board runs the program through QEMU; without QEMU the same is done for this workstation. Usage:

    python samples/03_torch_digits.py [--out out] [--images 450] [--board pi5]

Writes digits_net.ecb.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import digits
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

import edgecc
from edgecc.rpc import loopback

TARGET = "raspberry-pi-5"
EPOCHS, BATCH, CALIBRATION_IMAGES = 12, 64, 200


class DigitsNet(nn.Module):
    """A depthwise-separable network with what small vision networks are made of."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1, bias=False),
                                  nn.BatchNorm2d(16), nn.Hardswish())
        self.block = nn.Sequential(nn.Conv2d(16, 16, 3, 2, 1, groups=16, bias=False),
                                   nn.BatchNorm2d(16), nn.ReLU6(),
                                   nn.Conv2d(16, 32, 1, bias=False), nn.BatchNorm2d(32),
                                   nn.SiLU())
        self.classifier = nn.Sequential(nn.Dropout(0.1), nn.Linear(32, 10))

    def forward(self, image):
        return self.classifier(self.block(self.stem(image)).mean((2, 3)))


def main() -> None:
    args = arguments()
    args.out.mkdir(parents=True, exist_ok=True)
    train_images, held_out, train_labels, labels = digits.load()
    held_out, labels = held_out[: args.images], labels[: args.images]

    started = time.monotonic()
    net = trained(train_images, train_labels)
    say("train", f"{len(train_images):,} images · {EPOCHS} epochs · "
        f"{time.monotonic() - started:.1f} s")

    bundle = edgecc.compile(
        net, example_inputs=torch.zeros(1, 1, 8, 8), target=target_of(args.board),
        quantization="int8", calibration=list(train_images[:CALIBRATION_IMAGES, None]),
        context=edgecc.Context(progress=say))
    bundle.save(args.out / "digits_net.ecb")

    with torch.no_grad():
        wanted = net.eval()(torch.from_numpy(held_out)).numpy()
    measured = bundle.bench(args.board, count=20)
    outputs = bundle.run_many([{"image": image[None]} for image in held_out], board=args.board)
    found = np.concatenate([output["output"] for output in outputs])
    print(measured.to_text())
    print(f"\naccuracy, torch, float32        {accuracy(wanted, labels):.2%} of {len(labels)} "
          "held-out images")
    print(f"accuracy, {measured.to_json()['board']}, INT8   {accuracy(found, labels):.2%}")
    print(f"same answer as torch            {accuracy(found, wanted.argmax(1)):.2%}")
    print(f"\nwrote {args.out}/digits_net.ecb")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder to write to")
    parser.add_argument("--images", type=int, default=450, help="held-out images to run")
    parser.add_argument("--board", help="a name from `edgecc boards` (default: an emulated "
                        "Raspberry Pi 5, or this workstation)")
    return parser.parse_args()


def say(what: str, text: str) -> None:
    print(f"{what:<9} {text}", flush=True)


def target_of(board: str | None) -> str:
    """The Raspberry Pi if a board is named or can be emulated, else this workstation."""
    if board or loopback.ensure_emulation_tools(lambda text: say("setup", text)):
        return TARGET
    say("setup", "no emulated board: doing the same on this workstation")
    return "host"


def trained(images: np.ndarray, labels: np.ndarray) -> DigitsNet:
    """The network after a few epochs; the same every time on one machine."""
    torch.set_num_threads(1)  # so small a network gains nothing from more
    torch.manual_seed(0)
    net, count = DigitsNet().train(), len(images)
    optimizer = torch.optim.Adam(net.parameters(), 0.01)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, EPOCHS)
    pictures, classes = torch.from_numpy(images), torch.from_numpy(labels).long()
    for _ in range(EPOCHS):
        for batch in torch.randperm(count).split(BATCH):
            loss = F.cross_entropy(net(pictures[batch]), classes[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        schedule.step()
    return net


def accuracy(scores: np.ndarray, labels: np.ndarray) -> float:
    return float((scores.argmax(1) == labels).mean())


if __name__ == "__main__":
    main()
