"""Real models end to end: float and int8 against ONNX Runtime, fused and not."""

import numpy as np
import onnx
import pytest
import schedule_models as models
from shared_data import shared

from edgecc import quantize
from edgecc.config import CompileConfig
from edgecc.context import Context
from edgecc.model import load, to_proto
from edgecc.schedule import check_program, schedule
from edgecc.targets.null import NULL

# file: (steps fused in float, in int8 alike; scale of a plausible input)
MODELS = {
    "mlperf_tiny_ad_autoencoder_fp32": (10, 8.0),
    "mlperf_tiny_kws_dscnn_fp32": (12, 30.0),
    "mlperf_tiny_resnet8_cifar10_fp32": (12, 100.0),
    "mlperf_tiny_vww_mobilenetv1_fp32": (30, 1.0),
    "mlperf_tiny_strww_fp32": (10, 1.0),
}


@pytest.fixture(autouse=True)
def catalogue(monkeypatch):
    models.plain_catalogue(monkeypatch)


def samples(model, scale, count):
    (value,) = model.graph.inputs
    shape = (count, *tuple(int(d) for d in value.shape)[1:])
    x = np.random.default_rng(0).standard_normal(shape) * scale
    return value.name, x.astype(np.float32)


@pytest.mark.parametrize("name", MODELS)
def test_float_models(name):
    steps, scale = MODELS[name]
    model = load(shared(f"models/onnx_fp32/{name}.onnx"))
    port, x = samples(model, scale, 2)
    for fusion in (True, False):
        program = schedule(model, NULL, config=CompileConfig(fusion=fusion), context=Context())
        check_program(program)
        assert program.layout_conversions == 0
        assert not fusion or len(program.entry().steps) == steps
        for sample in x:
            feeds = {port: sample[None]}
            models.assert_close(models.run_ours(program, feeds),
                                models.run_ort(to_proto(model), feeds))


@pytest.mark.parametrize("name", MODELS)
def test_int8_models_give_onnxruntimes_bytes(name):
    steps, scale = MODELS[name]
    model = load(shared(f"models/onnx_fp32/{name}.onnx"))
    port, x = samples(model, scale, 8)
    quantized, _ = quantize.quantize(model, {port: x}, config=CompileConfig(quantization="int8"),
                                     context=Context())
    proto = to_proto(quantized)
    fused, plain = (schedule(quantized, NULL, context=Context(),
                             config=CompileConfig(quantization="int8", fusion=f))
                    for f in (True, False))
    check_program(fused)
    assert (len(fused.entry().steps), fused.layout_conversions) == (steps, 0)
    for sample in x:
        feeds = {port: sample[None]}
        ours = models.run_ours(fused, feeds)
        for name, value in models.run_ort(proto, feeds).items():
            assert (ours[name] == value).all()
            assert (models.run_ours(plain, feeds)[name] == value).all()


def test_a_model_quantized_by_onnxruntime(tmp_path):
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, quantize_static

    model = load(shared("models/onnx_fp32/mlperf_tiny_resnet8_cifar10_fp32.onnx"))
    port, x = samples(model, 100.0, 4)
    onnx.save(to_proto(model), tmp_path / "float.onnx")

    class Reader(CalibrationDataReader):
        def __init__(self):
            self.rest = [{port: sample[None]} for sample in x]

        def get_next(self):
            return self.rest.pop() if self.rest else None

    quantize_static(tmp_path / "float.onnx", tmp_path / "q.onnx", Reader(),
                    quant_format=QuantFormat.QDQ, per_channel=True)
    proto = onnx.load(tmp_path / "q.onnx")
    program = models.program_of(proto)
    assert len(program.entry().steps) == 12
    for sample in x:
        feeds = {port: sample[None]}
        ours, theirs = models.run_ours(program, feeds), models.run_ort(proto, feeds)
        for each in program.entry().outputs:
            found = (ours[each.name] - theirs[each.name]) / each.view.quantization.scale
            assert np.abs(np.rint(found)).max() <= 1  # softmax at 1/255: see docs/numerics.md
