"""The torch importer: names, modes, shapes, quantized modules and every refusal."""

from __future__ import annotations

import warnings

import numpy as np
import onnx_ir as ir
import pytest

torch = pytest.importorskip("torch", reason="needs torch (pip install 'edgecc[torch]')")

from torch import nn  # noqa: E402

from edgecc import model, quantize  # noqa: E402
from edgecc.errors import ConfigError, UnsupportedModel  # noqa: E402
from edgecc.model import oracle  # noqa: E402
from edgecc.model.torch_weights import difference, load_weights  # noqa: E402


class Two(nn.Module):
    """Two inputs, a branch of its own, outputs by name."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.SiLU(),
                                  nn.Dropout(0.5))
        self.head = nn.Linear(8, 4)

    def forward(self, image, input):
        y = self.body(image)
        return {"scores": self.head(y.mean((2, 3))) + input, "map": torch.relu(y)}


ARGUMENTS = (torch.zeros(1, 3, 8, 8), torch.zeros(1, 4))


def names(values):
    return [value.name for value in values]


def shape(value):
    return tuple(value.shape.numpy())


@pytest.fixture(scope="module")
def two():
    torch.manual_seed(0)
    return Two()


@pytest.fixture(scope="module")
def imported(two):
    return model.imported(two, example_inputs=ARGUMENTS)


def test_ports_have_the_names_of_the_module(imported):
    assert names(imported.graph.inputs) == ["image", "input"]
    assert names(imported.graph.outputs) == ["scores", "map"]
    assert imported.graph.name == "Two" and imported.graph.opset_imports[""] >= 18


def test_nodes_have_the_names_of_the_modules(imported):
    found = {node.name: node.op_type for node in imported.graph}
    assert found["body.0"] == "Conv" and found["head"] == "Gemm" and found["relu"] == "Relu"
    assert found["body.2.silu"] == "Mul" and found["body.2.silu.sigmoid"] == "Sigmoid"
    loaded = {node.name for node in model.load(imported).graph}
    assert {"body.0", "head", "relu"} <= loaded


def test_nothing_of_the_source_is_in_the_model(imported):
    assert b"test_model_torch" not in ir.to_proto(imported).SerializeToString()


def test_answers_are_torchs(two, imported):
    assert difference(two, imported, seed=3) < 1e-5
    assert difference(two, model.load(imported), seed=4) < 1e-5


def test_every_part_keeps_its_own_mode(two):
    two.train()
    two.body[1].eval()
    model.imported(two, example_inputs=ARGUMENTS)
    assert two.training and two.body[3].training and not two.body[1].training
    assert all(parameter.requires_grad for parameter in two.parameters())


@pytest.mark.parametrize("given", [
    {"example_inputs": ARGUMENTS},
    {"example_inputs": [array.numpy() for array in ARGUMENTS]},
    {"example_inputs": {"input": ARGUMENTS[1], "image": ARGUMENTS[0]}},
    {"shapes": {"image": (1, 3, 8, 8), "input": (1, 4)}},
    {"shapes": {"image": (1, 3, 8, 8)}, "example_inputs": (torch.zeros(5, 3, 9, 9), ARGUMENTS[1])},
])
def test_example_inputs_come_in_many_forms(two, given):
    found = model.load(two, **given)
    assert {v.name: shape(v) for v in found.graph.inputs} == {
        "image": (1, 3, 8, 8), "input": (1, 4)}


def test_one_example_is_enough_for_one_argument():
    net = nn.Sequential(nn.Linear(3, 4))
    found = model.imported(net, example_inputs=torch.zeros(2, 3))
    assert shape(found.graph.inputs[0]) == (2, 3)
    assert names([*found.graph.inputs, *found.graph.outputs]) == ["input", "output"]


class Awkward(nn.Module):
    """Arguments of every kind, and an input that is also an output."""

    def forward(self, output, factor, *more, **named):
        return output * factor + more[0] - named["last"], output


def test_awkward_arguments():
    x = torch.ones(1, 3)
    program = torch.export.export(Awkward(), (x, 2.0, x + 1), {"last": x + 2}, strict=False)
    found = model.imported(program)
    assert names(found.graph.inputs) == ["output", "more_0", "last"]
    assert names(found.graph.outputs) == ["output_0", "output_1"]
    feeds = {"output": 3 * x.numpy(), "more_0": x.numpy(), "last": 2 * x.numpy()}
    answers = oracle.run(found, feeds)
    np.testing.assert_array_equal(answers["output_0"], 5 * x.numpy())
    np.testing.assert_array_equal(answers["output_1"], 3 * x.numpy())


class Difference(nn.Module):
    """Two inputs of one kind."""

    def forward(self, a, b):
        return a - b


def test_one_tensor_given_twice_stands_for_two_inputs():
    x = torch.zeros(1, 3)
    found = model.imported(Difference(), example_inputs=(x, x))
    feeds = {"a": np.ones((1, 3), np.float32), "b": np.full((1, 3), 3, np.float32)}
    assert oracle.run(found, feeds)["output"].tolist() == [[-2, -2, -2]]


class InPlace(nn.Module):
    """Changes its input."""

    def forward(self, x):
        x.add_(1)
        return x * 2


def test_an_input_changed_in_place():
    found = model.imported(InPlace(), example_inputs=torch.zeros(1, 3))
    assert oracle.run(found, {"x": np.ones((1, 3), np.float32)})["output"].tolist() == [[4, 4, 4]]


def test_a_program_with_a_dynamic_batch():
    net = nn.Sequential(nn.Linear(3, 4)).eval()
    batch = torch.export.Dim("batch", min=1, max=64)
    program = torch.export.export(net, (torch.zeros(2, 3),), dynamic_shapes=({0: batch},))
    assert shape(model.load(program).graph.inputs[0]) == (1, 3)
    fixed = model.load(program, shapes={"input": (5, 3)})
    assert shape(fixed.graph.inputs[0]) == (5, 3)


def test_importing_twice_gives_the_same_bytes(two, imported):
    again = model.imported(two, example_inputs=ARGUMENTS)
    first, second = (ir.to_proto(m).SerializeToString(deterministic=True)
                     for m in (imported, again))
    assert first == second


def test_torchs_exporters_are_silent_and_leave_no_settings(two, capfd):
    before = list(warnings.filters)
    model.imported(two, example_inputs=ARGUMENTS)
    assert capfd.readouterr() == ("", "") and list(warnings.filters) == before


# Quantized modules


class Quantized(nn.Module):
    """What PT2E conversion leaves: torch's own quantize and dequantize operations."""

    def __init__(self):
        super().__init__()
        import torch.ao.quantization.fx._decomposed  # registers the operations

        generator = torch.Generator().manual_seed(0)
        self.register_buffer("weight", torch.randint(-127, 128, (8, 3, 3, 3), dtype=torch.int8,
                                                     generator=generator))
        self.register_buffer("scale", torch.rand(8, generator=generator) * 0.01 + 0.001)
        self.register_buffer("zero", torch.zeros(8, dtype=torch.int64))
        self.bias = nn.Parameter(torch.randn(8, generator=generator))

    def forward(self, x):
        ops, kind = torch.ops.quantized_decomposed, torch.int8
        x = ops.quantize_per_tensor.default(x, 0.02, 3, -128, 127, kind)
        x = ops.dequantize_per_tensor.default(x, 0.02, 3, -128, 127, kind)
        weight = ops.dequantize_per_channel.default(self.weight, self.scale, self.zero, 0, -127,
                                                    127, kind)
        y = torch.relu(nn.functional.conv2d(x, weight, self.bias, padding=1))
        y = ops.quantize_per_tensor.default(y, 0.05, -128, -128, 127, kind)
        return ops.dequantize_per_tensor.default(y, 0.05, -128, -128, 127, kind)


def test_quantized_modules_enter_as_qdq():
    net = Quantized()
    found = model.load(net, example_inputs=torch.zeros(1, 3, 8, 8))
    operators = [node.op_type for node in found.graph]
    assert quantize.is_qdq(found) and operators.count("QuantizeLinear") == 2
    quantize.check_quantized(found)
    assert difference(net, found) < 0.05  # ties of rounding: one step of 0.05 in some values


class Halved(nn.Module):
    """uint8 of which half is used, as torch's quantizers do for some x86 processors."""

    def forward(self, x):
        import torch.ao.quantization.fx._decomposed  # registers the operations

        ops, kind = torch.ops.quantized_decomposed, torch.uint8
        y = ops.quantize_per_tensor.default(x, 0.1, 60, 0, 127, kind)
        return ops.dequantize_per_tensor.default(y, 0.1, 60, 0, 127, kind)


def test_narrow_limits_of_quantization_are_kept():
    found = model.load(Halved(), example_inputs=torch.zeros(1, 401))
    x = np.linspace(-20, 20, 401, dtype=np.float32)[None]
    wanted = Halved()(torch.from_numpy(x)).numpy()
    answer = oracle.run(found, {"x": x})["output"]
    assert answer.min() == wanted.min() == np.float32(-6) and answer.max() == wanted.max()
    assert np.abs(answer - wanted).max() < 0.11  # a tie is rounded otherwise


# Refusals


def test_example_inputs_are_needed(two):
    with pytest.raises(ConfigError, match="Two: a torch module needs example inputs; give exam"):
        model.load(two)


def test_example_inputs_must_fit_forward(two):
    wrong = r"Two: example_inputs do not fit forward\(image, input\): missing a required argument"
    with pytest.raises(ConfigError, match=wrong):
        model.load(two, example_inputs=ARGUMENTS[:1])


def test_a_program_takes_no_example_inputs():
    program = torch.export.export(nn.Linear(3, 4), (torch.zeros(1, 3),))
    with pytest.raises(ConfigError, match="ExportedProgram takes no example_inputs"):
        model.load(program, example_inputs=torch.zeros(1, 3))


def test_only_torch_takes_example_inputs(imported):
    with pytest.raises(ConfigError, match="Model: example_inputs are for torch modules"):
        model.load(imported, example_inputs=ARGUMENTS)


class Branches(nn.Module):
    """Control flow that depends on values."""

    def forward(self, x):
        if x.sum() > 0:
            return x
        return x * 2


def test_control_flow_on_values_is_refused_with_its_place():
    with pytest.raises(UnsupportedModel) as caught:
        model.load(Branches(), example_inputs=torch.zeros(1, 3))
    assert "\n" not in str(caught.value)
    for part in ("Branches: torch.export refuses it: Could not guard on data-dependent",
                 "test_model_torch.py:", "if x.sum() > 0:", "torch.where"):
        assert part in str(caught.value)


class NoOnnx(nn.Module):
    """An operation that ONNX does not have."""

    def forward(self, x):
        return torch.linalg.eigvals(x).real


def test_operations_without_onnx_form_are_refused():
    with pytest.raises(UnsupportedModel, match="torch.onnx refuses it: No ONNX function found fo"):
        model.load(NoOnnx(), example_inputs=torch.zeros(3, 3))


class Raises(nn.Module):
    """Fails by itself."""

    def forward(self, x):
        raise ValueError("no way\nat all")


def test_a_module_that_raises():
    told = "Raises: torch.export refuses it: no way; call `torch.export.export"
    with pytest.raises(UnsupportedModel, match=told):
        model.load(Raises(), example_inputs=torch.zeros(1, 3))


class Counts(nn.Module):
    """Keeps a state of its own."""

    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(3))

    def forward(self, x):
        self.total.add_(x[0])
        return self.total * 2


def test_hidden_state_is_refused():
    with pytest.raises(UnsupportedModel, match="every call changes the buffer total; call .eval"):
        model.load(Counts(), example_inputs=torch.zeros(1, 3))


@pytest.mark.parametrize("layer, told", [(nn.Dropout(0.5), "Dropout is active"),
                                         (nn.BatchNorm1d(4), "changes the buffer 1.num_batches")])
def test_programs_exported_in_training_mode_are_refused(layer, told):
    program = torch.export.export(nn.Sequential(nn.Linear(3, 4), layer).train(),
                                  (torch.zeros(2, 3),))
    with pytest.raises(UnsupportedModel, match=told):
        model.load(program)


# Weights


def saved(path, value):
    torch.save(value, path)
    return path


@pytest.mark.parametrize("wrap", [
    lambda state: state,
    lambda state: {"state_dict": state, "epoch": 3},
    lambda state: {f"module.{key}": value for key, value in state.items()},
])
def test_weights_in_the_usual_forms(wrap, tmp_path):
    first, second = nn.Linear(3, 4), nn.Linear(3, 4)
    load_weights(second, saved(tmp_path / "w.pt", wrap(first.state_dict())))
    assert torch.equal(first.weight, second.weight) and torch.equal(first.bias, second.bias)


def test_weights_that_do_not_fit(tmp_path):
    path = saved(tmp_path / "w.pt", nn.Linear(3, 5).state_dict())
    with pytest.raises(UnsupportedModel, match="does not fit Linear: size mismatch for weight"):
        load_weights(nn.Linear(3, 4), path)
    path = saved(tmp_path / "w.pt", nn.BatchNorm1d(3).state_dict())
    with pytest.raises(UnsupportedModel, match="does not fit Linear: Unexpected key"):
        load_weights(nn.Linear(3, 4), path)


def test_files_that_hold_no_weights(tmp_path):
    path = tmp_path / "w.pt"
    with pytest.raises(UnsupportedModel, match="w.pt: cannot be read as weights: .*No such file"):
        load_weights(nn.Linear(3, 4), path)
    path.write_bytes(b"nothing")
    with pytest.raises(UnsupportedModel, match="cannot be read as weights"):
        load_weights(nn.Linear(3, 4), path)
    with pytest.raises(UnsupportedModel, match="holds a Tensor, not a state_dict"):
        load_weights(nn.Linear(3, 4), saved(path, torch.zeros(3)))


class Attack:
    """Runs code when it is unpickled."""

    def __reduce__(self):
        return print, ("code in the file ran",)


def test_code_in_a_weights_file_does_not_run(tmp_path, capsys):
    path = saved(tmp_path / "w.pt", {"weight": Attack()})
    with pytest.raises(UnsupportedModel, match="cannot be read as weights"):
        load_weights(nn.Linear(3, 4), path)
    assert "ran" not in capsys.readouterr().out
