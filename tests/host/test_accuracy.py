"""INT8 against float on labelled data: the same predictions, and ONNX Runtime's bytes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from shared_data import shared

import edgecc
from edgecc.bundle.evaluate import FLOAT, OWN
from edgecc.data import Preprocessing

pytestmark = [pytest.mark.host, pytest.mark.slow]
MODELS, DATA = "models/onnx_fp32", "models/data"
AGREES = 0.98  # of the predictions are the float model's
POINT = 0.002  # of accuracy beside ONNX Runtime on the same QDQ model
SHIRTS = Preprocessing(scale=1, mean=(0.286,), std=(0.353,), color="gray")


def judge(bundle, data, labels, *, float_score):
    """Rows of the evaluation on this machine, held to the limits."""
    found = bundle.evaluate(data, labels, boards=["host"])
    exact, engine, host = (found.row(where) for where in (FLOAT, OWN, "host"))
    assert exact.score >= float_score, found.to_text()
    assert host.float_agreement >= AGREES, found.to_text()
    assert abs(host.score - engine.score) <= POINT, found.to_text()
    return host


def test_wake_word():
    data = np.load(shared(f"{DATA}/strww_calibration45_nchw.npz"))
    bundle = edgecc.compile(shared(f"{MODELS}/mlperf_tiny_strww_fp32.onnx"), quantization="int8",
                            calibration=data["x"][::3], keep_float=True)
    host = judge(bundle, data["x"], data["y"], float_score=0.9)
    assert host.samples == 45 and host.different == 0


def test_text_direction():
    from text_lines import lines

    inputs, turned = lines(240, seed=0)
    bundle = edgecc.compile(shared(f"{MODELS}/ppocr_mobile_v2.0_cls.onnx"), quantization="int8",
                            shapes={"x": (1, 3, 48, 192)}, calibration=lines(48, seed=1)[0],
                            keep_float=True)
    host = judge(bundle, inputs, turned, float_score=0.95)
    assert host.samples == 240


@pytest.fixture(scope="module")
def shirts():
    """A network that was trained on 5,000 pictures, and the pictures of both sets."""
    torch = pytest.importorskip("torch", reason="trains with torch: pip install torch")
    train, test = (np.load(shared(f"{DATA}/fashion_mnist_{part}5000.npz"))
                   for part in ("train", "test"))
    images = SHIRTS.values(train["x"][:, None])
    return trained(torch, images, train["y"].astype(np.int64)), train, test


def trained(torch, images, classes, epochs=5, batch=100):
    torch.manual_seed(0)
    nn, images, classes = torch.nn, torch.from_numpy(images), torch.from_numpy(classes)
    widths = ((1, 16, 2), (16, 32, 2), (32, 32, 1))
    blocks = [layer for i, o, stride in widths for layer in (
        nn.Conv2d(i, o, 3, stride, 1, bias=False), nn.BatchNorm2d(o), nn.ReLU())]
    net = nn.Sequential(*blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10))
    optimizer = torch.optim.AdamW(net.parameters(), 1e-2)
    steps = epochs * len(images) // batch
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 2e-2, total_steps=steps)
    for _ in range(steps):
        picked = torch.randint(0, len(images), (batch,))
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(images[picked]), classes[picked]).backward()
        optimizer.step()
        schedule.step()
    return net.eval()


@pytest.mark.parametrize("folded", [False, True])
def test_fashion(shirts, folded):
    """Also with the arithmetic inside the model, which takes the pixels then."""
    torch = pytest.importorskip("torch", reason="trains with torch: pip install torch")
    net, train, test = shirts
    how = replace(SHIRTS, folded=folded)

    def inputs(pixels):
        stacked = pixels[:, None, ..., None]
        return stacked if folded else SHIRTS.values(stacked).transpose(0, 1, 4, 2, 3)

    bundle = edgecc.compile(net, example_inputs=(torch.zeros(1, 1, 28, 28),),
                            quantization="int8", preprocessing=how, keep_float=True,
                            calibration=inputs(train["x"][::25]))
    host = judge(bundle, inputs(test["x"]), test["y"], float_score=0.75)
    assert host.samples == 5000
