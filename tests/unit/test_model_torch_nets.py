"""Networks in torch, imported and quantized. emulated/test_matrix.py runs them on targets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from shared_data import shared

torch = pytest.importorskip("torch", reason="needs torch (pip install 'edgecc[torch]')")

import torch_nets  # noqa: E402

from edgecc import model, quantize  # noqa: E402
from edgecc.config import CompileConfig  # noqa: E402
from edgecc.model.torch_weights import difference, load_weights  # noqa: E402

pytestmark = pytest.mark.slow
CALIBRATION, JUDGED = 32, 48
# Signal to noise of int8 against float32. Random weights of many layers spread every rounding
# as they spread the picture; ResNet-20 is trained.
LEAST_SQNR_DB = {"mobilenet_v2": 8, "mobilenet_v3_small": 14, "efficientnet": 8, "resnet20": 22}


@dataclass
class Net:
    """A net, its ONNX form and pictures of its size."""

    name: str
    module: Any
    imported: Any
    pixels: int

    def pictures(self, count, seed):
        return [{"image": picture[None]}
                for picture in torch_nets.images(count, self.pixels, seed)]


def resnet20():
    net = torch_nets.ResNet20()
    load_weights(net, shared("models/pytorch/resnet20_cifar10_akamaster.th"))
    return net.eval()


@pytest.fixture(scope="module", params=[*torch_nets.NETS, "resnet20"])
def net(request):
    name, known = request.param, torch_nets.NETS.get(request.param)
    module = torch_nets.settled(known) if known else resnet20()
    pixels = torch_nets.PIXELS if known else 32
    imported = model.imported(module, shapes={"image": (1, 3, pixels, pixels)})
    return Net(name, module, imported, pixels)


def test_onnx_runtime_answers_as_torch_does(net):
    assert difference(net.module, net.imported) < 1e-4
    assert difference(net.module, model.load(net.imported)) < 1e-4


def test_int8_answers_are_like_those_of_float32(net):
    loaded = model.load(net.imported)
    int8, report = quantize.quantize(loaded, net.pictures(CALIBRATION, 1),
                                     config=CompileConfig(quantization="int8"))
    alike = quantize.agreement(loaded, int8, net.pictures(JUDGED, 2))
    assert alike["output_sqnr_db"] > LEAST_SQNR_DB[net.name], (alike, report.worst)
    assert report.left_in_float == () and report.int8_macs_fraction == 1.0
