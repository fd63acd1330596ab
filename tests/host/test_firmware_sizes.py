"""Flash that real models take on a Cortex-M4F beside the data made of their tensors, as
`edgecc size` reads it from a link: within limits, and nothing that is not needed."""

import json

import numpy as np
import pytest
from shared_data import shared

import edgecc
from edgecc.cli.main import main
from edgecc.link.model_object import API
from edgecc.model import load
from edgecc.quantize.calibration import ports

pytestmark = [pytest.mark.host, pytest.mark.slow]
LIMITS = {"Os": 16 * 1024, "O2": 32 * 1024}
MODELS = ("ad_autoencoder", "kws_dscnn", "vww_mobilenetv1", "resnet8_cifar10")
FROM_LIBC = {"memcpy", "memset"}
OF_THE_TOOLCHAIN = {"__aeabi_unwind_cpp_pr0", "__aeabi_unwind_cpp_pr1",
                    "__aeabi_unwind_cpp_pr2"}  # what zig's memset names in its unwinding table
TABLES = {"inputs", "outputs", "step_names", "mark", "(unnamed)"}  # of the run function


def compiled(name, optimization):
    path = shared(f"models/onnx_fp32/mlperf_tiny_{name}_fp32.onnx")
    generator = np.random.default_rng(0)
    samples = [{port.name: generator.standard_normal(port.shape).astype(port.dtype)
                for port in ports(load(path))} for _ in range(2)]
    return edgecc.compile(path, target="cortex-m4f", quantization="int8", calibration=samples,
                          optimization=optimization, name="net")


@pytest.mark.parametrize("optimization", LIMITS)
def test_code_and_constants_stay_small(optimization, tmp_path, capsys):
    for name in MODELS:
        bundle = compiled(name, optimization)
        assert main(["size", str(bundle.save(tmp_path / "net.ecb")), "--json"]) == 0
        (found,) = json.loads(capsys.readouterr().out)["bundles"]
        rest = found["flash_bytes"] - found["flash"]["weights"]
        assert rest <= LIMITS[optimization], f"{name} {optimization}: {rest:,} B"
        assert found["flash"]["data"] == 0
        assert not unneeded(found["symbols"], bundle.manifest), name


def unneeded(symbols, manifest):
    """Names that neither the API nor a step accounts for."""
    steps = {step["symbol"] for step in manifest["steps"]}
    known = steps | TABLES | FROM_LIBC | OF_THE_TOOLCHAIN | {f"net_{name}" for name in API}
    return {symbol["name"] for symbol in symbols if symbol["part"] != "weights"
            and symbol["name"] not in known and not symbol["name"].startswith(".Lswitch.table.")}


def test_small_code_shares_a_function_among_layers():
    bundle = compiled("vww_mobilenetv1", "Os")
    used = [step["symbol"] for step in bundle.manifest["steps"] if step["op"] == "conv2d"]
    assert len(used) > 20 and len(set(used)) <= 4
