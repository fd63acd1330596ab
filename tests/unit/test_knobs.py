"""Knobs: levels, tiles, bounds of fusion, and what is refused."""

import json

import numpy as np
import onnx
import pytest
from pipeline_models import network, samples

from edgecc import quantize, schedule
from edgecc.cli import arguments, knobs, project
from edgecc.cli.main import parser
from edgecc.config import CompileConfig
from edgecc.context import Context
from edgecc.errors import ConfigError
from edgecc.kernels import registry, tiles
from edgecc.kernels.spec import Conv2d
from edgecc.levels import LEVELS, shaped
from edgecc.model import load
from edgecc.schedule.fuse import fuse
from edgecc.schedule.fusion_limits import Limits
from edgecc.schedule.interpret import from_port, interpret, to_port
from edgecc.schedule.ops import Constant, Conv, Graph, Tensor, Unary
from edgecc.schedule.program import Kernel
from edgecc.targets import get_target
from edgecc.tune import tiles_file

PI = get_target("raspberry-pi-5")
CONV = Conv2d("int8", 1, 12, 12, 16, 24, 3, 3, pads=(1, 1, 1, 1))


@pytest.fixture(scope="module")
def model():
    config = CompileConfig(quantization="int8")
    return quantize.quantize(load(network()), {"x": samples()}, config=config,
                             context=Context())[0]


def steps(model, target=PI, **knobs):
    program = schedule.schedule(model, target, config=CompileConfig(**knobs), context=Context())
    return [step for step in program.entry().steps if isinstance(step, Kernel)]


def convolution(model, **knobs):
    return next(s for s in steps(model, **knobs) if s.spec.op == "conv2d" and s.spec.groups == 1)


def test_o0_takes_plain_kernels_and_one_step_per_operator(model):
    floats = load(network())
    plain, fused = steps(floats, optimization="O0"), steps(floats)
    assert {s.kernel.rpartition("__")[2] for s in plain} <= {"generic", "scalar"}
    assert len(plain) > len(fused) and all(len(set(s.nodes)) <= 1 for s in plain)


def test_o0_keeps_the_integer_forms_of_a_core_without_fpu(model):
    names = {s.kernel for s in steps(model, get_target("cortex-m0plus"), optimization="O0")}
    assert any(name.endswith("scalar_soft") for name in names)


@pytest.mark.parametrize("by", ["step", "signature"])
@pytest.mark.parametrize("tile", ["2x8", "int8_conv2d_2x8__dotprod"])
def test_a_tile_is_for_a_step_or_for_all_layers_of_a_signature(model, by, tile):
    first = convolution(model)
    name = first.name if by == "step" else first.spec.text()
    assert first.kernel != "int8_conv2d_2x8__dotprod"
    assert convolution(model, tiles={name: tile}).kernel == "int8_conv2d_2x8__dotprod"


def test_a_step_goes_before_its_signature(model):
    first = convolution(model)
    chosen = {first.spec.text(): "2x8", first.name: "1x8"}
    assert tiles.tile_of(convolution(model, tiles=chosen).kernel) == "1x8"


@pytest.mark.parametrize(("tile", "level", "said"), [
    ("7x77", "O2", "no kernel with tile '7x77' computes conv2d"),
    ("int8_conv2d_4x64__vnni", "O2", "no kernel with tile"),
    ("int8_conv2d_4x16__dotprod", "O0", "no kernel with tile"),
])
def test_a_tile_that_does_not_suit_is_refused_with_those_that_do(model, tile, level, said):
    name = convolution(model).name
    with pytest.raises(ConfigError, match=said) as caught:
        steps(model, tiles={name: tile}, optimization=level)
    assert "the cheapest tiles that do: " in str(caught.value)


def test_a_tile_of_a_step_that_does_not_exist_is_refused(model):
    name = convolution(model).name
    with pytest.raises(ConfigError, match=f"did you mean {name}?"):
        steps(model, tiles={name + "x": "2x8"})
    with pytest.raises(ConfigError, match="`edgecc inspect` lists the steps"):
        steps(model, tiles={"!": "2x8"})


def test_tiles_are_words(model):
    with pytest.raises(ConfigError, match="is not a step and a tile"):
        CompileConfig(tiles={"conv": 4})


@pytest.mark.parametrize("most", [1, 2, 3])
def test_no_step_stands_for_more_operators_than_allowed(most):
    model = load(network())
    found = steps(model, fusion_max_operators=most)
    assert max(len(set(s.nodes)) for s in found) <= most
    assert len(found) >= len(steps(model))
    assert most > 1 or len(found) > len(steps(model))


def test_fusions_keep_their_least_share_out_of_memory():
    """What a Relu reads is at most half of what Conv and Relu move apart, less with weights."""
    found = [steps(load(network()), fusion_min_score=score) for score in (0.0, 0.3, 0.34, 0.5)]
    assert [len(each) for each in found] == [6, 7, 8, 9]
    assert all(len(set(step.nodes)) == 1 for step in found[-1])


def test_fused_steps_have_their_least_intensity():
    found = [steps(load(network()), fusion_min_intensity=least) for least in (0, 1, 2, 4)]
    assert [len(each) for each in found] == [6, 7, 8, 9]


def test_the_share_is_of_every_byte_once():
    """A convolution of 6 floats to 12 with 8 weights, and a Relu."""
    given = [("x", (1, 2, 1, 3)), ("a", (1, 4, 1, 3)), ("b", (1, 4, 1, 3))]
    conv = Conv("c", ("x",), "a", ("c",), weights=Constant.of(np.ones((4, 2, 1, 1), np.float32)),
                strides=(1, 1), dilations=(1, 1), pads=(0, 0, 0, 0))
    graph = Graph("g", {name: Tensor(name, shape) for name, shape in given},
                  (conv, Unary("r", ("a",), "b", ("r",), function="relu")), ("x",), ("b",))
    share, intensity = 48 / (24 + 48 + 48 + 32), 24 / (24 + 48 + 32)
    for limits, count in ((Limits(score=share), 1), (Limits(score=share + 1e-6), 2),
                          (Limits(intensity=intensity), 1),
                          (Limits(intensity=intensity + 1e-6), 2)):
        assert len(fuse(graph, limits).ops) == count


def test_other_tiles_have_names_of_their_own_and_room_in_registers():
    names = [k.name for k in tiles.others()]
    assert len(names) == len(set(names)) > 100
    assert not set(names) & {k.name for k in registry.all_kernels()}
    assert all(registry.find(name).name == name for name in names[::50])
    with pytest.raises(KeyError):
        registry.find("int8_conv2d_99x99__dotprod")
    offered = [tiles.tile_of(k.name) for k in tiles.candidates(CONV, PI.features)]
    assert "4x16" in offered and "3x16" in offered and "8x32" not in offered  # 64 sums: no room


def test_levels_and_knobs_shape_the_target():
    config = CompileConfig(unroll=99, parallel_chunk=5)
    assert (shaped(PI, config).unroll, shaped(PI, config).parallel_chunk) == (99, 5)
    assert shaped(PI, CompileConfig()) == PI
    assert [shaped(PI, CompileConfig(optimization=o)).llvm_level for o in LEVELS] == [0, 3, 3, 1]
    assert shaped(PI, CompileConfig(optimization="O0")).features == frozenset()


def configured(*words):
    args = parser().parse_args(["compile", "m.onnx", "--target", "host", "-o", "o.ecb", *words])
    return arguments.config(args, target="host", quantization="none")


def written(path, **changes):
    value = {"format": "edgecc-tiles 1.0", "target": "host", "tiles": {"a": "1x4", "b": "2x4"}}
    path.write_text(json.dumps({**value, **changes}))
    return path


def test_flags_go_before_the_project_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "t.json")
    (tmp_path / "edgecc.toml").write_text('[knobs]\ntiles = "t.json"\nunroll = 7\n'
                                          "fusion-max-operators = 3\nparallel-chunk = 9\n"
                                          "fusion-min-score = 1\nfusion-min-intensity = 0.5\n")
    found = configured("--tile", "b=8x4", "--unroll", "8")
    assert found.tiles == {"a": "1x4", "b": "8x4"}
    assert (found.unroll, found.fusion_max_operators, found.parallel_chunk) == (8, 3, 9)
    assert (found.fusion_min_score, found.fusion_min_intensity) == (1, 0.5)
    (tmp_path / "edgecc.toml").write_text('[knobs.tiles]\nb = "4x4"\n')
    assert configured("--tiles", "t.json").tiles == {"a": "1x4", "b": "2x4"}
    assert project.read().knobs == knobs.Knobs(tiles={"b": "4x4"})


@pytest.mark.parametrize("line", ["unrol = 1", 'unroll = "1"', "unroll = true", "tiles = 3",
                                  'fusion-min-score = "1"'])
def test_the_project_file_is_read_strictly(line, tmp_path):
    (tmp_path / "edgecc.toml").write_text(f"[knobs]\n{line}\n")
    with pytest.raises(ConfigError, match=r"\[knobs\]"):
        project.read(tmp_path / "edgecc.toml")


def test_signatures_may_hold_an_equals_sign():
    assert knobs.given(["conv2d(n=1)=4x16"]) == {"conv2d(n=1)": "4x16"}


@pytest.mark.parametrize(("changes", "said"), [
    ({"format": "edgecc-tiles 2.0"}, "is not a file of edgecc-tiles 1.0"),
    ({"format": 3}, "is not a file of"), ({"tiles": [1]}, "not names of kernels"),
    ({"tiles": {"a": 1}}, "not names of kernels"),
])
def test_other_files_are_no_tiles(changes, said, tmp_path):
    with pytest.raises(ConfigError, match=said):
        tiles_file.read(written(tmp_path / "t.json", **changes))


@pytest.mark.parametrize("data", [b"{", b"[" * 100_000, b"\xff", b"[]"])
def test_damaged_tiles_are_named(data, tmp_path):
    (tmp_path / "t.json").write_bytes(data)
    with pytest.raises(ConfigError, match="t.json"):
        tiles_file.read(tmp_path / "t.json")


def test_a_tiles_file_has_a_bound(tmp_path, monkeypatch):
    monkeypatch.setattr(tiles_file, "MOST_BYTES", 10)
    with pytest.raises(ConfigError, match="too large"):
        tiles_file.read(written(tmp_path / "t.json"))


def test_what_is_written_is_read(tmp_path):
    kernels = [("a", "s1", "k1"), ("b", "s1", "k2"), ("c", "s2", "k1"), ("copy", None, None)]
    manifest = {"target": "host", "steps": [
        {"name": n, "signature": s, "kernel": k} for n, s, k in kernels]}
    (tmp_path / "t.json").write_text(tiles_file.text(manifest))
    assert tiles_file.read(tmp_path / "t.json") == {"s1": "k1", "b": "k2", "s2": "k1"}


def test_nchw_keeps_the_models_own_order_at_both_ends_and_gives_the_same_values():
    made, found = maps(), {}
    given = np.random.default_rng(0).integers(-128, 128, (1, 3, 6, 5)).astype(np.int8)
    for layout in ("NHWC", "NCHW"):
        program = schedule.schedule(load(made), PI, config=CompileConfig(layout=layout),
                                    context=Context())
        (port,), (out,) = program.entry().inputs, program.entry().outputs
        inputs = {port.name: to_port(port, given.astype(np.float32))}
        found[layout] = from_port(out, interpret(program, inputs)[out.name])
        assert (port.permutation is None, out.permutation is None) == (layout == "NCHW",) * 2
        assert port.view.shape == ((1, 3, 6, 5) if layout == "NCHW" else (1, 6, 5, 3))
    assert np.array_equal(found["NHWC"], found["NCHW"]) and found["NCHW"].shape == (1, 4, 6, 5)


def maps():
    """A convolution from picture to picture."""
    weights = np.random.default_rng(1).standard_normal((4, 3, 3, 3)).astype(np.float32)
    node = onnx.helper.make_node("Conv", ["x", "w"], ["y"], pads=[1, 1, 1, 1])
    ends = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1, c, 6, 5])
            for name, c in (("x", 3), ("y", 4))]
    graph = onnx.helper.make_graph([node], "maps", ends[:1], ends[1:],
                                   [onnx.numpy_helper.from_array(weights, "w")])
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)])
