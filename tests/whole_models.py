"""Every real model of the tests and the nets in torch, as `pipeline.Prepared`.

Calibration data are the model's own where there are any, else seeded random samples: right for
comparing bytes, not for judging accuracy.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from shared_data import shared

from edgecc import model, pipeline
from edgecc.config import CompileConfig
from edgecc.context import Context
from edgecc.quantize.calibration import ports

FILES = (  # by what they cost to emulate
    "mlperf_tiny_ad_autoencoder_fp32", "mlperf_tiny_strww_fp32", "mlperf_tiny_kws_dscnn_fp32",
    "mlperf_tiny_vww_mobilenetv1_fp32", "mlperf_tiny_resnet8_cifar10_fp32",
    "mobilenet_v1_0.25_128_imagenet_fp32", "ppocr_mobile_v2.0_cls",
    "resnet20_cifar10_akamaster_fp32", "mlperf_tiny_resnet_large_cifar10_fp32",
    "ultraface_version-RFB-320_simplified", "FastestDet_coco80_352",
)
NETS = ("mobilenet_v2", "mobilenet_v3_small", "efficientnet")
DATA = {
    "mlperf_tiny_ad_autoencoder_fp32": "ad_normal_id_01_00000000_windows.npz",
    "mlperf_tiny_strww_fp32": "strww_calibration45_nchw.npz",
    "mlperf_tiny_kws_dscnn_fp32": "kws_mfcc_tflm4.npz",
}
SHAPES = {"ppocr_mobile_v2.0_cls": {"x": (1, 3, 48, 192)}}
SAMPLES = 4


def config(name: str, quantization: str, target: str = "host") -> CompileConfig:
    return CompileConfig(target=target, quantization=quantization, shapes=SHAPES.get(name, {}))


@cache
def source(name: str) -> Any:
    """A file, or an onnx_ir.Model of a torch net."""
    if name not in NETS:
        return shared(f"models/onnx_fp32/{name}.onnx")
    pytest.importorskip("torch", reason="needs torch (pip install 'edgecc[torch]')")
    import torch_nets

    pixels = torch_nets.PIXELS
    return model.imported(torch_nets.settled(torch_nets.NETS[name]),
                          shapes={"image": (1, 3, pixels, pixels)})


@cache
def calibration(name: str) -> Any:
    if name in DATA:
        return shared(f"models/data/{DATA[name]}")
    generator = np.random.default_rng(0)
    inputs = ports(model.load(source(name), shapes=SHAPES.get(name, {})))
    return [{port.name: generator.standard_normal(port.shape).astype(port.dtype)
             for port in inputs} for _ in range(SAMPLES)]


def prepared(name: str, quantization: str) -> pipeline.Prepared:
    """The model after `load` and `quantize`: the same for every target."""
    given = calibration(name) if quantization == "int8" else None
    return pipeline.prepare(source(name), config=config(name, quantization), calibration=given,
                            context=Context())
