"""quantize: where QDQ goes, which parameters are shared, what stays in float and why."""

import collections
import json

import numpy as np
import onnx
import onnx_ir as ir
import onnxruntime as ort
import pytest
from model_graphs import GraphMaker, feeds_of
from onnx import TensorProto

from edgecc.config import CompileConfig
from edgecc.context import Context
from edgecc.errors import QuantizationError
from edgecc.model import check_model, load, oracle, to_proto, to_text
from edgecc.quantize import agreement, check_quantized, is_qdq, quantize
from edgecc.quantize.compare import Noise

INT8 = CompileConfig(quantization="int8")


def feeds(model, count=8):
    return [feeds_of(model, seed) for seed in range(count)]


def quantized(make, *outputs, config=INT8, context=None):
    """The loaded model, its quantized form and the report; both checks hold."""
    model = load(make.model(*outputs))
    before = to_text(model)
    result, report = quantize(model, feeds(model), config=config, context=context or Context())
    assert to_text(model) == before, "quantize must not change its input"
    check_model(result)
    check_quantized(result)
    return model, result, report


def kinds(model):
    return collections.Counter(node.op_type for node in model.graph)


def parameters(model):
    """(scale, zero point) by name of the quantized tensor's float value."""
    found = {}
    for node in model.graph:
        if node.op_type == "QuantizeLinear":
            scale, zero = (v.const_value.numpy().item() for v in node.inputs[1:3])
            found[node.inputs[0].name] = (scale, zero)
    return found


def fused(model, tmp_path):
    """Operators after ONNX Runtime's own optimization."""
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.optimized_model_filepath = str(tmp_path / "optimized.onnx")
    options.add_session_config_entry("session.qdqisint8allowed", "1")
    raw = to_proto(model).SerializeToString()
    ort.InferenceSession(raw, options, providers=["CPUExecutionProvider"])
    graph = onnx.load(tmp_path / "optimized.onnx").graph
    return collections.Counter(node.op_type for node in graph.node)


def classifier(make):
    x = make.conv(make.input("x", ["N", 3, 8, 8]), 3, 8)
    x = make.conv(make.add("Relu", x), 8, 8, groups=8)
    six = make.weight(np.float32(0)), make.weight(np.float32(6))
    x = make.add("Clip", x, *six)
    x = make.add("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    x = make.add("Relu", make.add("Add", x, make.conv(x, 8, 8)))
    x = make.add("Flatten", make.add("GlobalAveragePool", x))
    x = make.add("Gemm", x, make.weight((8, 5)), make.weight((5,)))
    return make.add("Softmax", x)


class TestPlacement:
    def test_input_and_output_stay_float_and_everything_between_is_fused(self, tmp_path):
        make = GraphMaker()
        output = classifier(make)
        model, result, report = quantized(make, output)
        assert result.graph.inputs[0].dtype == result.graph.outputs[0].dtype == ir.DataType.FLOAT
        assert result.graph[0].op_type == "QuantizeLinear"
        assert result.graph.outputs[0].name == model.graph.outputs[0].name
        assert result.graph.outputs[0].producer().op_type == "DequantizeLinear"
        assert not report.left_in_float and report.int8_macs_fraction == 1.0
        found = fused(result, tmp_path)
        assert found["QLinearConv"] == 3 and found["QGemm"] == 1 and found["QLinearAdd"] == 1
        assert found["QLinearSoftmax"] == found["QLinearGlobalAveragePool"] == 1
        assert found["QuantizeLinear"] == found["DequantizeLinear"] == 1
        assert not {"Conv", "Gemm", "Relu", "Clip", "Add"} & set(found)

    @pytest.mark.parametrize("activation", ["Relu", "Clip"])
    def test_nothing_stands_between_a_convolution_and_its_activation(self, activation):
        make = GraphMaker()
        x = make.conv(make.input("x", [1, 3, 6, 6]), 3, 4)
        bounds = [make.weight(np.float32(v)) for v in (0, 6)] if activation == "Clip" else []
        _, result, _ = quantized(make, make.add(activation, x, *bounds))
        conv = next(n for n in result.graph if n.op_type == "Conv")
        [(reader, _)] = conv.outputs[0].uses()
        assert reader.op_type == activation
        zero_point = parameters(result)[reader.outputs[0].name][1]
        assert zero_point == -128

    def test_an_activation_whose_input_others_read_is_a_step_of_its_own(self):
        make = GraphMaker()
        x = make.conv(make.input("x", [1, 3, 6, 6]), 3, 4)
        _, result, _ = quantized(make, make.add("Relu", x), make.add("Sigmoid", x))
        assert kinds(result)["QuantizeLinear"] == 4

    def test_weights_are_per_channel_int8_and_biases_int32(self):
        make = GraphMaker()
        x = make.add("Gemm", make.input("x", [1, 6]), make.weight((6, 4)), make.weight((4,)))
        _, result, _ = quantized(make, x)
        gemm = next(n for n in result.graph if n.op_type == "Gemm")
        weights, bias = (v.producer() for v in gemm.inputs[1:3])
        assert weights.inputs[0].dtype == ir.DataType.INT8
        assert tuple(weights.inputs[1].shape) == (4,) and weights.attributes["axis"].value == 0
        assert bias.inputs[0].dtype == ir.DataType.INT32
        sx = gemm.inputs[0].producer().inputs[1].const_value.numpy()
        np.testing.assert_array_equal(
            bias.inputs[1].const_value.numpy(), sx * weights.inputs[1].const_value.numpy()
        )

    def test_batched_matmul_has_scales_along_its_columns(self, tmp_path):
        make = GraphMaker()
        _, result, report = quantized(
            make, make.add("MatMul", make.input("x", [2, 3, 6]), make.weight((6, 4)))
        )
        matmul = next(n for n in result.graph if n.op_type == "MatMul")
        assert matmul.inputs[1].producer().attributes["axis"].value == 1
        assert report.output_sqnr_db > 30

    def test_constants_of_add_and_mul_are_integers(self):
        make = GraphMaker()
        x = make.add("Sigmoid", make.conv(make.input("x", [1, 3, 4, 4]), 3, 4))
        x = make.add("Add", make.add("Mul", x, make.weight((4, 1, 1))), make.weight((1,)))
        _, result, report = quantized(make, x)
        for op in ("Add", "Mul"):
            node = next(n for n in result.graph if n.op_type == op)
            assert [v.producer().op_type for v in node.inputs] == ["DequantizeLinear"] * 2
        assert report.output_sqnr_db > 25

    def test_a_tensor_that_is_output_and_read_inside(self):
        make = GraphMaker()
        x = make.add("Relu", make.conv(make.input("x", [1, 3, 4, 4]), 3, 4))
        model, result, _ = quantized(make, x, make.conv(x, 4, 2))
        assert [v.name for v in result.graph.outputs] == [v.name for v in model.graph.outputs]
        inner = next(n for n in result.graph if n.op_type == "Conv" and "3" not in n.name)
        assert inner.inputs[0].producer().op_type == "DequantizeLinear"

    def test_names_that_are_taken_are_avoided(self):
        make = GraphMaker()
        x = make.conv(make.input("x_quantized", [1, 3, 4, 4]), 3, 4)
        y = make.conv(make.input("x", [1, 4, 4, 4]), 4, 4)
        quantized(make, make.add("Add", x, y))

    def test_twice_is_the_same(self):
        texts = set()
        for _ in range(2):
            make = GraphMaker()
            _, result, report = quantized(make, classifier(make))
            texts.add(to_text(result) + report.to_json())
        assert len(texts) == 1


class TestParameters:
    def test_data_movement_shares_parameters(self):
        make = GraphMaker()
        x = make.conv(make.input("x", [1, 3, 4, 4]), 3, 4)
        x = make.add("MaxPool", x, kernel_shape=[2, 2])
        x = make.add("Transpose", x, perm=[0, 2, 3, 1])
        _, result, _ = quantized(make, make.add("Reshape", x, make.weight(np.int64([1, 36]))))
        found = list(parameters(result).values())
        assert len(found) == 5 and len(set(found[1:])) == 1 and found[0] != found[1]

    @pytest.mark.parametrize(
        ("op", "expected"),
        [("Softmax", (1 / 256, -128)), ("Sigmoid", (1 / 256, -128)), ("Tanh", (1 / 128, 0)),
         ("HardSigmoid", (1 / 256, -128))],
    )  # fmt: skip
    def test_fixed_parameters(self, op, expected):
        make = GraphMaker()
        x = make.add("Gemm", make.input("x", [1, 6]), make.weight((6, 4)), make.weight((4,)))
        y = make.add("Reshape", make.add(op, x), make.weight(np.int64([4])))
        _, result, _ = quantized(make, y)
        assert list(parameters(result).values())[-2:] == [expected, expected]

    def concat(self, factor, op=None):
        make = GraphMaker()
        x = make.input("x", [1, 3, 4, 4])
        a, b = make.conv(x, 3, 2), make.conv(x, 3, 2)
        b = make.add("Mul", b, make.weight(np.float32(factor)))
        b = make.add(op, b) if op else b
        _, result, report = quantized(make, make.add("Concat", a, b, axis=1))
        assert report.output_sqnr_db > 25
        return list(parameters(result).values())[1:]

    def test_concat_shares_parameters_of_like_ranges(self):
        assert len(set(self.concat(1.5))) == 1

    def test_concat_of_unlike_ranges_keeps_them_apart(self):
        assert len(set(self.concat(40.0))) == 2

    def test_concat_with_fixed_parameters_keeps_them(self):
        assert (1 / 256, -128) in self.concat(1.0, "Sigmoid")

    @pytest.mark.parametrize("observer", ["minmax", "percentile", "entropy", "mse"])
    def test_every_observer_gives_a_good_model(self, observer):
        make = GraphMaker()
        config = CompileConfig(quantization="int8", observer=observer)
        _, _, report = quantized(make, classifier(make), config=config)
        assert report.observer == observer and report.samples == 8
        assert report.output_sqnr_db > 25

    def test_observers_differ(self):
        found = set()
        for observer in ("minmax", "mse", "percentile"):
            make = GraphMaker()
            x = make.conv(make.input("x", [1, 3, 32, 32]), 3, 4)
            config = CompileConfig(quantization="int8", observer=observer)
            _, result, _ = quantized(make, make.add("Mul", x, x), config=config)
            found.add(str(parameters(result)))
        assert len(found) == 3

    def test_a_bias_far_beyond_its_weights_survives(self):
        make = GraphMaker()
        weights = make.weight(np.float32([[1e-30] * 6, [0.5] * 6]))
        x = make.add("Gemm", make.input("x", [1, 6]), weights, make.weight(np.float32([7, -2])),
                     transB=1)  # fmt: skip
        model, result, _ = quantized(make, x)
        sample = feeds(model, 1)[0]
        [expected], [found] = (list(oracle.run(m, sample).values()) for m in (model, result))
        assert np.abs(expected - found).max() < 0.1


class TestLeftInFloat:
    def reasons(self, make, *outputs):
        _, result, report = quantized(make, *outputs)
        return {row.node: row.reason for row in report.left_in_float}, result

    def test_operators_without_an_int8_form(self):
        make = GraphMaker()
        x = make.conv(make.input("x", [1, 3, 4, 4]), 3, 4)
        x = make.add("Relu", make.add("Log", make.add("Sigmoid", x), name="log"), name="after")
        reasons, result = self.reasons(make, x)
        assert reasons == {
            "log": "Log has no int8 form",
            "after": "no int8 operator feeds it, so int8 would gain nothing",
        }
        log = next(n for n in result.graph if n.op_type == "Log")
        assert log.inputs[0].producer().op_type == "DequantizeLinear"
        assert log.outputs[0].uses()[0][0].op_type == "Relu"

    def test_int8_begins_again_after_a_float_operator(self):
        make = GraphMaker()
        x = make.add("Log", make.add("Sigmoid", make.input("x", [1, 3, 4, 4])), name="log")
        _, result = self.reasons(make, make.conv(make.add("MaxPool", x, kernel_shape=[2, 2]), 3, 2))
        pool = next(n for n in result.graph if n.op_type == "MaxPool")
        assert pool.inputs[0].producer().op_type == "DequantizeLinear"

    @pytest.mark.parametrize(
        ("build", "finding"),
        [
            (lambda m, x: m.add("Conv", x, m.add("Exp", m.input("w", [2, 3, 1, 1]))),
             "its weights are computed"),
            (lambda m, x: m.add("Conv", x, m.weight((2, 3, 1, 1)), m.input("b", [2])),
             "its bias is computed"),
            (lambda m, x: m.add("Conv", m.weight((1, 3, 4, 4)), m.input("w", [2, 3, 1, 1])),
             "its weights are computed"),
            (lambda m, x: m.add("Conv", x, m.weight(np.full((2, 3, 1, 1), np.inf, np.float32))),
             "its weights have NaN or Inf"),
            (lambda m, x: m.add("Add", m.conv(x, 3, 4), m.weight(np.full((1, 4, 4, 4), np.inf,
                                                                         np.float32))),
             "its constant has NaN or Inf"),
            (lambda m, x: m.add("Clip", m.conv(x, 3, 4), m.input("lo", [])),
             "its bounds are computed"),
            (lambda m, x: m.add("Gather", m.conv(x, 3, 4), m.input("i", [2], 7), axis=1),
             "computed, not constant"),
            (lambda m, x: m.add("Pad", m.conv(x, 3, 4), m.weight(np.int64([0, 0, 1, 1] * 2)),
                                m.weight(np.float32(np.inf))), "no finite number"),
            (lambda m, x: m.add("Pad", m.conv(x, 3, 4), m.weight(np.int64([0, 0, 1, 1] * 2)),
                                m.input("fill", [])), "what it fills in is computed"),
            (lambda m, x: m.add("Concat", m.conv(x, 3, 4), m.weight(np.full(
                (1, 1, 4, 4), np.nan, np.float32)), axis=1), "its constant has NaN or Inf"),
            (lambda m, x: m.add("MatMul", x, m.weight((1, 3, 4, 4))), "has 4 dimensions"),
            (lambda m, x: m.add("Gemm", m.input("g", [4, 2]), m.weight((4, 3)), transA=1),
             "transA"),
            (lambda m, x: m.add("MaxPool", m.conv(x, 3, 4), kernel_shape=[2, 2], outputs=2)[0],
             None),
        ],
    )  # fmt: skip
    def test_reasons(self, build, finding):
        make = GraphMaker()
        y = build(make, make.input("x", [1, 3, 4, 4]))
        model = load_or_classify(make, y)
        found = [row.reason for row in model]
        assert any(finding in reason for reason in found) if finding else not found

    def test_indices_of_a_pool_that_are_read(self):
        make = GraphMaker()
        x = make.conv(make.input("x", [1, 3, 4, 4]), 3, 4)
        pooled, indices = make.add("MaxPool", x, kernel_shape=[2, 2], outputs=2)
        reasons, _ = self.reasons(make, pooled, make.add("Cast", indices, to=1))
        assert "its second output (indices) is read" in reasons.values()

    def test_other_types_than_float32(self):
        make = GraphMaker()
        x = make.add("Cast", make.conv(make.input("x", [1, 3, 4, 4]), 3, 4), to=11)
        y = make.add("Cast", make.add("Relu", x, name="wide"), to=1)
        reasons, _ = self.reasons(make, y)
        assert reasons["wide"] == "it computes on double, not float32"

    def test_a_gather_from_a_constant_table(self):
        make = GraphMaker()
        indices = make.input("i", [1, 2], TensorProto.INT64)
        x = make.add("Gather", make.weight((5, 4)), indices, name="lookup")
        model = load(make.model(make.add("MatMul", x, make.weight((4, 3)))))
        data = [np.int64([[i, i + 1]]) for i in range(4)]
        result, report = quantize(model, data, config=INT8)
        check_quantized(result)
        assert {r.node: r.reason for r in report.left_in_float}["lookup"] == (
            "its data input is a constant"
        )

    def test_nothing_to_quantize(self):
        make = GraphMaker()
        _, result, report = quantized(make, make.add("Log", make.input("x", [1, 4]), name="log"))
        assert not is_qdq(result) and report.int8_macs_fraction == 1.0
        assert report.worst is None and report.rows == ()


def load_or_classify(make, y):
    """Rows left in float, from the assignment alone: some of these models give Inf."""
    from edgecc.quantize.assignment import assign
    from edgecc.quantize.report import FloatRow

    model = load(make.model(y))
    left = assign(model).left_in_float
    return [FloatRow(n.name, n.op_type, left[n.name]) for n in model.graph if n.name in left]


class TestReport:
    def report(self):
        make = GraphMaker()
        one = make.weight(np.float32(1))
        y = make.add("Log", make.add("Add", classifier(make), one), name="log")
        return quantized(make, y)

    def test_rows_weights_and_text(self):
        _, result, report = self.report()
        scales = parameters(result)
        assert [row.name for row in report.rows][0] == "x"
        assert {(r.scale, r.zero_point) for r in report.rows} == set(scales.values())
        assert len(report.weights) == 4
        assert all(w.sqnr_db > 35 and w.min_scale <= w.max_scale for w in report.weights)
        assert report.worst[1] == min(r.sqnr_db for r in report.rows[1:])
        text = report.to_text()
        assert "left in float" in text and "log (Log): Log has no int8 form" in text
        assert report.summary() in text and "1 operator in float" in report.summary()

    def test_json(self):
        _, _, report = self.report()
        found = json.loads(report.to_json())
        assert found["left_in_float"] == [
            {"node": "log", "op": "Log", "reason": "Log has no int8 form"}
        ]
        assert found["rows"][0]["name"] == "x" and found["samples"] == 8
        assert found["int8_macs_fraction"] == 1.0

    def test_part_of_the_macs(self):
        make = GraphMaker()
        x = make.conv(make.input("x", [1, 3, 4, 4]), 3, 4, kernel=1)
        y = make.add("MatMul", x, make.weight((1, 4, 4, 2)), name="many")
        _, _, report = quantized(make, y)
        assert report.int8_macs_fraction == pytest.approx(12 / (12 + 8))

    def test_progress_has_the_summary(self):
        make, lines = GraphMaker(), []
        context = Context(progress=lambda verb, line: lines.append((verb, line)))
        _, _, report = quantized(make, classifier(make), context=context)
        assert lines == [("quantize", report.summary())]

    def test_agreement(self):
        model, result, _ = self.report()
        found = agreement(model, result, feeds(model))
        assert found["samples"] == 8 and 0 <= found["top1"] <= 1 and found["output_sqnr_db"] > 10
        same = agreement(model, model, feeds(model))
        assert same == {"samples": 8, "top1": 1.0, "output_sqnr_db": 160.0}

    def test_a_new_infinity_is_the_worst_noise(self):
        make = GraphMaker()
        _, _, report = quantized(make, make.add("Log", classifier(make)))  # int8 rounds to 0
        assert report.output_sqnr_db == -160.0
        json.loads(report.to_json())

    def test_equal_infinities_are_no_noise_and_silence_is_0_db(self):
        noise = Noise()
        noise.see(np.float32([np.inf, 0.0]), np.float32([np.inf, 0.0]))
        assert noise.db == 160.0
        noise.see(np.float32([0.0]), np.float32([1.0]))
        assert noise.db == 0.0

    def test_agreement_without_a_choice_or_samples(self):
        make = GraphMaker()
        model = load(make.model(make.add("Relu", make.input("x", [4, 1]))))
        assert agreement(model, model, feeds(model, 2))["top1"] is None
        with pytest.raises(QuantizationError, match="no samples to compare on"):
            agreement(model, model, [])


class TestErrors:
    def test_no_calibration(self):
        make = GraphMaker()
        model = load(make.model(classifier(make)))
        with pytest.raises(QuantizationError, match="int8 quantization needs calibration data"):
            quantize(model, None, config=INT8)

    def test_a_float_model_that_gives_nan(self):
        make = GraphMaker()
        x = make.add("Sqrt", make.conv(make.input("x", [1, 3, 4, 4]), 3, 4))
        model = load(make.model(x))
        with pytest.raises(QuantizationError, match="sample 0: the float model gives NaN or Inf"):
            quantize(model, feeds(model), config=INT8)


class TestImported:
    def imported(self):
        make = GraphMaker()
        _, result, _ = quantized(make, classifier(make))
        return result

    def test_qdq_models_come_back_unchanged(self):
        model = self.imported()
        assert is_qdq(model)
        result, report = quantize(model, None, config=INT8)
        assert result is model
        assert not report.left_in_float and report.int8_macs_fraction == 1.0
        assert report.output_sqnr_db is None and report.worst is None
        assert [(r.scale, r.zero_point) for r in report.rows] == list(parameters(model).values())
        json.loads(report.to_json())
        assert "int8" in report.to_text()

    def test_loading_a_qdq_model_changes_no_integer(self):
        model = self.imported()
        again = load(model)
        assert kinds(again) == kinds(model)
        sample = feeds(model, 1)[0]
        [expected], [found] = (list(oracle.run(m, sample).values()) for m in (model, again))
        np.testing.assert_array_equal(expected, found)

    def test_what_they_leave_in_float_is_named(self):
        make = GraphMaker()
        y = make.add("Log", make.add("Log", classifier(make)), name="last")
        _, result, _ = quantized(make, y)
        _, report = quantize(result, None, config=INT8)
        assert [row.node for row in report.left_in_float] == ["last"]

    def test_an_inconsistent_one_is_refused(self):
        model = self.imported()
        scale = next(v for n, v in model.graph.initializers.items() if n.endswith("bias_scale"))
        scale.const_value = ir.tensor(scale.const_value.numpy() * 2)
        with pytest.raises(QuantizationError, match="came quantized, but the bias scale"):
            quantize(model, None, config=INT8)
