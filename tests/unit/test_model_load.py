"""load: canonical form, the same answers as before, and errors that name what is wrong."""

import collections

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from model_graphs import GraphMaker, feeds_of
from onnx import TensorProto, helper
from shared_data import shared

from edgecc.context import Context
from edgecc.errors import ConfigError, UnsupportedModel
from edgecc.model import canonical, check_model, load, oracle, save, to_proto, to_text

MODELS = (
    "mlperf_tiny_ad_autoencoder_fp32",
    "mlperf_tiny_kws_dscnn_fp32",
    "mlperf_tiny_resnet8_cifar10_fp32",
    "mlperf_tiny_vww_mobilenetv1_fp32",
    "mlperf_tiny_strww_fp32",
    "resnet20_cifar10_akamaster_fp32",
    "mobilenet_v1_0.25_128_imagenet_fp32",
    "ppocr_mobile_v2.0_cls",
    "silero_vad_openvino_16k",
    "ultraface_version-RFB-320_simplified",
    "FastestDet_coco80_352",
)


def ops(model):
    return [node.op_type for node in model.graph]


def check_same(proto, model):
    """Both give the same numbers. The tolerance is float32 folding: products reassociated."""
    check_model(model)
    feeds = feeds_of(model)
    expected, found = oracle.run(proto, feeds), oracle.run(model, feeds)
    for name, value in expected.items():
        tolerance = 1e-5 * max(np.abs(value).max(initial=0), 1)
        np.testing.assert_allclose(found[name], value, rtol=0, atol=tolerance)


def loaded(proto, **arguments):
    """Load, and hold the promises that every loaded model keeps."""
    before = proto.SerializeToString(deterministic=True)
    model = load(proto, context=Context(), **arguments)
    assert proto.SerializeToString(deterministic=True) == before
    check_same(proto, model)
    if "Identity" not in ops(model):  # it parts equal outputs; which one is the copy may change
        assert to_text(load(model)) == to_text(model), "loading twice must change nothing"
    return model


@pytest.mark.parametrize("name", MODELS)
def test_real_models_answer_as_before(name):
    path = shared(f"models/onnx_fp32/{name}.onnx")
    shapes = {"x": (1, 3, 48, 192)} if name.startswith("ppocr") else {}
    model = load(path, shapes=shapes, context=Context())
    check_same(onnx.load(path), model)
    assert not {"Constant", "BatchNormalization", "Identity", "Shape"} & set(ops(model))
    assert all(node.name for node in model.graph)


def test_resnet20_shortcuts_become_slices_and_constant_pads():
    model = load(shared("models/onnx_fp32/resnet20_cifar10_akamaster_fp32.onnx"))
    counted = collections.Counter(ops(model))
    assert counted == {
        "Conv": 19, "Relu": 19, "Add": 9, "Slice": 4, "Pad": 2, "GlobalAveragePool": 1,
        "Reshape": 1, "Gemm": 1,
    }  # fmt: skip


def test_progress_tells_one_line():
    make = GraphMaker()
    lines = []
    load(
        make.model(make.conv(make.input("x", [1, 3, 8, 8]), 3, 4)),
        context=Context(progress=lambda verb, line: lines.append((verb, line))),
    )
    assert lines == [("load", "graph · 1 operators · 0 k parameters")]


class TestRewrites:
    def test_batch_norm_goes_into_the_convolution(self):
        make = GraphMaker()
        x = make.batch_norm(make.conv(make.input("x", [1, 3, 8, 8]), 3, 4, bias=False), 4)
        model = loaded(make.model(make.add("Relu", x)))
        assert ops(model) == ["Conv", "Relu"]
        assert [node.name for node in model.graph] == ["conv_0", "relu_2"]

    def test_batch_norm_goes_into_gemm(self):
        make = GraphMaker()
        x = make.add("Gemm", make.input("x", [1, 5]), make.weight((5, 4)), make.weight((4,)))
        assert ops(loaded(make.model(make.batch_norm(x, 4)))) == ["Gemm"]

    def test_batch_norm_alone_becomes_a_depthwise_convolution(self):
        make = GraphMaker()
        x = make.batch_norm(make.input("x", [1, 6, 5, 5]), 6)
        model = loaded(make.model(make.add("Relu", x)))
        assert ops(model) == ["Conv", "Relu"]
        assert model.graph[0].attributes["group"].value == 6

    def test_batch_norm_after_a_convolution_read_twice_stays_correct(self):
        make = GraphMaker()
        conv = make.conv(make.input("x", [1, 3, 8, 8]), 3, 4)
        model = loaded(make.model(make.batch_norm(conv, 4), make.add("Relu", conv)))
        assert sorted(ops(model)) == ["Conv", "Conv", "Relu"]

    def test_batch_norm_with_shared_weights_stays_correct(self):
        make = GraphMaker()
        x, weights = make.input("x", [1, 3, 8, 8]), make.weight((3, 3, 1, 1))
        first = make.batch_norm(make.add("Conv", x, weights), 3)
        loaded(make.model(make.add("Conv", first, weights)))

    def test_batch_norm_of_a_vector_stays(self):
        make = GraphMaker()
        assert ops(loaded(make.model(make.batch_norm(make.input("x", [4, 6]), 6)))) == [
            "BatchNormalization"
        ]

    def test_identity_and_dropout_vanish(self):
        make = GraphMaker()
        x = make.add("Identity", make.add("Relu", make.input("x", [1, 4])))
        y = make.add("Identity", make.add("Sigmoid", make.add("Dropout", x)))
        assert ops(loaded(make.model(y))) == ["Relu", "Sigmoid"]

    @pytest.mark.parametrize("trans_b", [0, 1])
    @pytest.mark.parametrize("bias_shape", [None, (), (1,), (4,), (1, 4), (3, 1), (3, 4)])
    def test_gemm_has_one_spelling(self, trans_b, bias_shape):
        make = GraphMaker()
        inputs = [make.input("x", [3, 5]), make.weight((4, 5) if trans_b else (5, 4))]
        if bias_shape is not None:
            inputs.append(make.weight(np.ones(bias_shape, np.float32) * 0.7))
        y = make.add("Gemm", *inputs, transB=trans_b, alpha=0.5, beta=2.0)
        model = loaded(make.model(y))
        node = model.graph[0]
        if bias_shape not in ((3, 1), (3, 4)):
            assert {k: a.value for k, a in node.attributes.items()} == {"transB": 1}
            biases = [tuple(v.shape) for v in node.inputs[2:]]
            assert biases == ([] if bias_shape is None else [(4,)])

    def test_matmul_by_a_matrix_is_gemm(self):
        make = GraphMaker()
        y = make.add("MatMul", make.input("x", [2, 5]), make.weight((5, 4)))
        y = make.add("Add", y, make.weight((4,)))
        assert ops(loaded(make.model(y))) == ["Gemm"]

    def test_batched_matmul_stays(self):
        make = GraphMaker()
        y = make.add("MatMul", make.input("x", [2, 3, 5]), make.weight((5, 4)))
        assert ops(loaded(make.model(y))) == ["MatMul"]

    @pytest.mark.parametrize("shape", [(), (1,), (4, 1, 1), (1, 4, 1, 1)])
    def test_constants_per_channel_go_into_the_convolution(self, shape):
        make = GraphMaker()
        x = make.conv(make.input("x", [1, 3, 6, 6]), 3, 4)
        x = make.add("Mul", make.weight(np.full(shape, 1.5, np.float32)), x)
        x = make.add("Sub", x, make.weight(np.full(shape, 0.5, np.float32)))
        x = make.add("Div", x, make.weight(np.full(shape, 3.0, np.float32)))
        assert ops(loaded(make.model(make.add("Relu", x)))) == ["Conv", "Relu"]

    @pytest.mark.parametrize("shape", [(6,), (1, 1, 6, 6), (1, 1, 1, 1, 1)])
    def test_constants_per_pixel_or_of_higher_rank_stay(self, shape):
        make = GraphMaker()
        x = make.conv(make.input("x", [1, 3, 6, 6]), 3, 4)
        assert ops(loaded(make.model(make.add("Add", x, make.weight(shape))))) == ["Conv", "Add"]

    def test_division_by_a_constant_with_zero_stays(self):
        make = GraphMaker()
        make.input("x", [1, 2])
        y = make.add("Div", "x", make.weight(np.float32([0.0, 2.0])))
        assert ops(load(make.model(y))) == ["Div"]

    @pytest.mark.parametrize("opset", [13, 17, 18])
    def test_mean_over_the_image_is_global_pooling(self, opset):
        make = GraphMaker(opset=opset)
        x = make.input("x", [1, 3, 4, 4])
        if opset < 18:
            y = make.add("ReduceMean", x, axes=[-1, 2])
        else:
            y = make.add("ReduceMean", x, make.weight(np.int64([2, 3])))
        assert ops(loaded(make.model(y))) == ["GlobalAveragePool"]

    @pytest.mark.parametrize("opset", [13, 18])
    def test_mean_without_the_axes_is_global_pooling_and_reshape(self, opset):
        make = GraphMaker(opset=opset)
        x = make.input("x", [2, 3, 4, 4])
        if opset < 18:
            y = make.add("ReduceMean", x, axes=[3, 2], keepdims=0)
        else:
            y = make.add("ReduceMean", x, make.weight(np.int64([-1, -2])), keepdims=0)
        model = loaded(make.model(y))
        assert ops(model) == ["GlobalAveragePool", "Reshape"]
        assert tuple(model.graph.outputs[0].shape) == (2, 3)

    def test_mean_over_channels_stays(self):
        make = GraphMaker()
        y = make.add("ReduceMean", make.input("x", [1, 3, 4, 4]), axes=[1, 2])
        assert ops(loaded(make.model(y))) == ["ReduceMean"]

    def test_pooling_of_the_whole_image_is_global(self):
        make = GraphMaker()
        y = make.add("AveragePool", make.input("x", [1, 3, 4, 5]), kernel_shape=[4, 5])
        assert ops(loaded(make.model(y))) == ["GlobalAveragePool"]

    def test_hard_swish_is_recognised(self):
        make = GraphMaker(opset=13)
        x = make.conv(make.input("x", [1, 3, 4, 4]), 3, 4)
        three, zero, six = (make.weight(np.float32(v)) for v in (3, 0, 6))
        clipped = make.add("Clip", make.add("Add", x, three), zero, six)
        y = make.add("Div", make.add("Mul", clipped, x), six)
        assert ops(loaded(make.model(y))) == ["Conv", "HardSwish"]

    def test_outputs_that_become_one_value_keep_their_names(self):
        make = GraphMaker()
        x = make.add("Relu", make.input("x", [1, 4]))
        first, second = make.add("Dropout", x), make.add("Identity", x)
        model = loaded(make.model(x, first, second, make.add("Identity", "x")))
        assert [v.name for v in model.graph.outputs] == [x, first, second, "v3"]

    def test_bodies_keep_outputs_apart_that_become_one_value(self):
        def value(name):
            return helper.make_tensor_value_info(name, TensorProto.FLOAT, [2])

        nodes = [helper.make_node("Add", ["sum", "next"], ["total"], "add"),
                 helper.make_node("Identity", ["total"], ["shown"], "show")]  # fmt: skip
        body = helper.make_graph(
            nodes, "body", [value("sum"), value("next")], [value("total"), value("shown")]
        )
        make = GraphMaker()
        inputs = make.input("first", [2]), make.input("x", [3, 2])
        proto = make.model(*make.add("Scan", *inputs, outputs=2, body=body, num_scan_inputs=1))
        check_same(proto, load(proto))

    def test_functions_are_inlined(self):
        make = GraphMaker()
        make.imports.append(helper.make_opsetid("local", 1))
        body = [helper.make_node("Relu", ["a"], ["t"]), helper.make_node("Neg", ["t"], ["b"])]
        make.functions.append(
            helper.make_function("local", "Twice", ["a"], ["b"], body, make.imports[:1])
        )
        y = make.add("Twice", make.input("x", [1, 4]), domain="local")
        assert ops(loaded(make.model(y))) == ["Relu", "Neg"]

    def test_dead_code_and_constants_vanish(self):
        make = GraphMaker()
        x = make.input("x", [1, 4])
        make.add("Exp", x)
        two = make.add("Constant", value_float=2.0)
        y = make.add("Mul", x, make.add("Sqrt", two))
        model = loaded(make.model(y))
        assert ops(model) == ["Mul"] and len(model.graph.initializers) == 1

    def test_nodes_without_names_get_their_own_and_others_keep_theirs(self):
        make = GraphMaker()
        x = make.add("Relu", make.input("x", [1, 4]), name="")
        x = make.add("Gemm", x, make.weight((4, 4)), name="mine")
        y = make.add("Relu", x, name="")
        names = [node.name for node in loaded(make.model(y)).graph]
        assert names == ["relu_0", "mine", "relu_2"]

    def test_old_models_with_weights_among_the_inputs_are_converted(self):
        make = GraphMaker(opset=9)
        x = make.conv(make.input("x", [1, 3, 4, 4]), 3, 2)
        proto = make.model(make.add("Softmax", make.add("Flatten", x)))
        proto.ir_version = 3
        for tensor in proto.graph.initializer:
            proto.graph.input.append(
                helper.make_tensor_value_info(tensor.name, TensorProto.FLOAT, tensor.dims)
            )
        assert [v.name for v in loaded(proto).graph.inputs] == ["x"]

    def test_opset_11_is_converted(self):
        make = GraphMaker(opset=11)
        x = make.add("Unsqueeze", make.input("x", [1, 4]), axes=[1])
        y = make.add("Softmax", make.add("Squeeze", x, axes=[1]), axis=1)
        assert loaded(make.model(y)).graph.opset_imports[""] == 17

    def test_initializers_listed_as_inputs_are_constants(self):
        make = GraphMaker()
        x = make.conv(make.input("x", [1, 3, 4, 4]), 3, 2, bias=False)
        proto = make.model(x)
        weights = proto.graph.initializer[0]
        proto.graph.input.append(
            helper.make_tensor_value_info(weights.name, TensorProto.FLOAT, weights.dims)
        )
        assert [v.name for v in load(proto).graph.inputs] == ["x"]


class TestQuantizedModels:
    def test_integers_of_qdq_models_are_kept(self):
        make = GraphMaker()
        scale, zero = make.weight(np.float32(0.1)), make.weight(np.int8(3))
        x = make.add("QuantizeLinear", make.input("x", ["N", 3, 4, 4]), scale, zero)
        x = make.add("DequantizeLinear", x, scale, zero)
        integers = make.weight(make.random.integers(-128, 128, (2, 3, 1, 1)).astype(np.int8))
        sw, zw = make.weight(np.float32([0.1, 0.2])), make.weight(np.int8([0, 0]))
        weights = make.add("DequantizeLinear", integers, sw, zw, axis=0)
        y = make.add("Relu", make.add("Conv", x, weights))
        model = loaded(make.model(y))
        assert collections.Counter(ops(model)) == {
            "QuantizeLinear": 1, "DequantizeLinear": 2, "Conv": 1, "Relu": 1,
        }  # fmt: skip
        assert any(v.dtype == ir.DataType.INT8 and v.const_value.size == 6
                   for v in model.graph.initializers.values())  # fmt: skip

    def test_quantize_linear_of_weights_is_folded(self):
        make = GraphMaker()
        scale, zero = make.weight(np.float32(0.1)), make.weight(np.int8(0))
        weights = make.add("QuantizeLinear", make.weight((5, 4)), scale, zero)
        weights = make.add("DequantizeLinear", weights, scale, zero)
        y = make.add("MatMul", make.input("x", [1, 5]), weights)
        assert ops(loaded(make.model(y))) == ["DequantizeLinear", "MatMul"]


class TestShapes:
    def maker(self, *dims):
        make = GraphMaker()
        return make.model(make.add("Relu", make.input("x", list(dims))))

    @pytest.mark.parametrize("batch", ["N", "anything", None, -1])
    def test_a_dynamic_batch_becomes_one(self, batch):
        model = load(self.maker(batch, 3))
        assert tuple(model.graph.inputs[0].shape) == (1, 3)
        assert tuple(model.graph.outputs[0].shape) == (1, 3)

    def test_a_given_shape_fixes_everything_after_it(self):
        model = load(self.maker("N", 3, "H", "W"), shapes={"x": (2, 3, 4, 5)})
        assert tuple(model.graph.outputs[0].shape) == (2, 3, 4, 5)

    def test_stale_shapes_of_another_batch_are_forgotten(self):
        proto = self.maker("N", 3)
        proto.graph.output[0].CopyFrom(
            helper.make_tensor_value_info(proto.graph.output[0].name, TensorProto.FLOAT, [1, 3])
        )
        assert tuple(load(proto, shapes={"x": (4, 3)}).graph.outputs[0].shape) == (4, 3)

    def test_a_dimension_name_is_bound_in_every_input(self):
        make = GraphMaker()
        y = make.add("Add", make.input("a", ["N", "T"]), make.input("b", ["N", "T"]))
        model = load(make.model(y), shapes={"a": (2, 7)})
        assert tuple(model.graph.inputs[1].shape) == (2, 7)

    def test_another_dynamic_dimension_names_input_dim_and_flag(self):
        with pytest.raises(UnsupportedModel) as caught:
            load(self.maker("N", 3, "H", None))
        text = str(caught.value)
        assert "input x" in text and "dimension 2 (H)" in text and "--shape x=1,3,H,?" in text

    def test_a_shape_for_an_unknown_input(self):
        with pytest.raises(ConfigError, match="names input 'X'.*needed x"):
            load(self.maker("N", 3), shapes={"X": (1, 3)})

    @pytest.mark.parametrize("shape", [(1, 4), (1, 3, 1), (0, 3)])
    def test_a_shape_that_does_not_fit(self, shape):
        with pytest.raises(ConfigError, match=r"input x: --shape does not fit.*needed N,3"):
            load(self.maker("N", 3), shapes={"x": shape})

    def test_an_input_without_rank(self):
        proto = self.maker("N", 3)
        proto.graph.input[0].type.tensor_type.ClearField("shape")
        with pytest.raises(UnsupportedModel, match="input x: the input has no shape"):
            load(proto)

    def test_sequences_are_refused(self):
        make = GraphMaker()
        make.inputs.append(helper.make_tensor_sequence_value_info("q", TensorProto.FLOAT, [2]))
        y = make.add("SequenceAt", "q", make.weight(np.int64(0)))
        with pytest.raises(UnsupportedModel, match="input q: the input is not a tensor"):
            load(make.model(y))

    def test_sizes_that_depend_on_data(self):
        make = GraphMaker()
        y = make.add("Cast", make.add("NonZero", make.input("x", [1, 4]), name="where"), to=1)
        with pytest.raises(UnsupportedModel, match=r"node where \(NonZero\)"):
            load(make.model(y))

    @pytest.mark.parametrize("op", ["ConstantOfShape", "Expand"])
    def test_a_tensor_beyond_int32_is_refused_before_it_is_made(self, op):
        make = GraphMaker()
        huge = make.weight(np.int64([1 << 20, 1 << 20]))
        inputs = [huge] if op == "ConstantOfShape" else [make.weight((1, 1)), huge]
        x = make.add("Add", make.add(op, *inputs, name="bomb"), make.input("x", [1, 1]))
        with pytest.raises(UnsupportedModel, match=rf"node bomb \({op}\).*2,147,483,647 B"):
            load(make.model(x))

    def test_a_shape_that_contradicts_the_graph(self):
        make = GraphMaker()
        y = make.add("Reshape", make.input("x", ["N", 3, "H"]), make.weight(np.int64([1, 12])))
        with pytest.raises(UnsupportedModel, match="cannot run it.*--shape"):
            load(make.model(y), shapes={"x": (1, 3, 5)})

    def test_a_shape_that_inference_refuses(self):
        make = GraphMaker()
        y = make.add("Add", make.input("x", ["N", "H"]), make.weight((1, 4)), name="sum")
        with pytest.raises(UnsupportedModel, match="shapes contradict.*sum.*--shape"):
            load(make.model(y), shapes={"x": (1, 3)})


class TestBadInput:
    def test_no_such_file(self, tmp_path):
        with pytest.raises(UnsupportedModel, match="missing.onnx: no such file"):
            load(tmp_path / "missing.onnx")

    def test_every_truncation_of_a_file_is_refused_by_name(self, tmp_path):
        make = GraphMaker()
        whole = make.model(make.conv(make.input("x", [1, 3, 4, 4]), 3, 2)).SerializeToString()
        path = tmp_path / "cut.onnx"
        for size in range(0, len(whole), 37):
            path.write_bytes(whole[:size])
            with pytest.raises(UnsupportedModel, match="cut.onnx"):
                load(path)

    def test_not_onnx_at_all(self, tmp_path):
        path = tmp_path / "text.onnx"
        path.write_text("hello, I am no protobuf")
        with pytest.raises(UnsupportedModel, match="text.onnx: cannot be read as ONNX"):
            load(path)

    def test_external_data_outside_the_folder_is_refused(self, tmp_path):
        (tmp_path / "secret.bin").write_bytes(bytes(64))
        folder = tmp_path / "model"
        folder.mkdir()
        make = GraphMaker()
        proto = make.model(make.add("Add", make.input("x", [1, 16]), make.weight((16,))))
        tensor = proto.graph.initializer[0]
        tensor.ClearField("raw_data")
        tensor.data_location = TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value="../secret.bin")
        (folder / "evil.onnx").write_bytes(proto.SerializeToString())
        with pytest.raises(UnsupportedModel, match="evil.onnx"):
            load(folder / "evil.onnx")

    def test_an_unknown_operator_names_node_and_operator(self):
        make = GraphMaker()
        y = make.add("Sofmax", make.input("x", [1, 4]), name="head")
        with pytest.raises(UnsupportedModel, match="node head: operator Sofmax is unknown.*: Soft"):
            load(make.model(y))

    def test_an_unknown_domain_names_node_and_operator(self):
        make = GraphMaker()
        make.imports.append(helper.make_opsetid("acme", 1))
        y = make.add("Magic", make.input("x", [1, 4]), name="", domain="acme")
        with pytest.raises(UnsupportedModel, match="node #0: operator acme::Magic is unknown"):
            load(make.model(y))

    def test_unknown_operators_inside_branches_are_found(self):
        def branch(name, op):
            node = helper.make_node(op, ["x"], [name], f"node_{name}")
            out = helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 4])
            return helper.make_graph([node], name, [], [out])

        make = GraphMaker()
        make.input("x", [1, 4])
        y = make.add("If", make.weight(np.array(True)), then_branch=branch("a", "Relu"),
                     else_branch=branch("b", "Nope"))  # fmt: skip
        with pytest.raises(UnsupportedModel, match="node node_b: operator Nope is unknown"):
            load(make.model(y))

    def test_constants_that_cannot_be_folded(self, monkeypatch):
        def refuse(model, **limits):
            raise RuntimeError("node x") from ValueError("it is odd")

        monkeypatch.setattr(canonical.optimizer, "fold_constants", refuse)
        make = GraphMaker()
        with pytest.raises(UnsupportedModel, match=r"cannot be folded: node x \(it is odd\)"):
            load(make.model(make.add("Relu", make.input("x", [1, 4]))))

    def test_models_that_cannot_take_zeros_run_on_ones(self):
        make = GraphMaker()
        divisor = make.input("x", [1, 4], TensorProto.INT32)
        y = make.add("Div", make.weight(np.int32([1, 2, 3, 4])), divisor)
        assert ops(load(make.model(make.add("Cast", y, to=TensorProto.FLOAT)))) == ["Div", "Cast"]

    def test_types_that_numpy_does_not_know_need_not_run(self):
        make = GraphMaker()
        x = make.add("Cast", make.input("x", [1, 4], TensorProto.BFLOAT16), to=TensorProto.FLOAT)
        assert ops(load(make.model(make.add("Relu", x)))) == ["Cast", "Relu"]

    def test_what_onnx_runtime_refuses_is_refused_with_its_words(self):
        make = GraphMaker()
        y = make.add("Conv", make.input("x", [1, 3, 4, 4]), make.weight((2, 3, 1, 1)), grup=3)
        with pytest.raises(UnsupportedModel, match="graph: ONNX Runtime refuses it.*grup"):
            load(make.model(y))

    def test_opsets_that_cannot_be_converted(self, monkeypatch):
        def refuse(proto, version):
            raise RuntimeError("no adapter")

        monkeypatch.setattr(onnx.version_converter, "convert_version", refuse)
        make = GraphMaker(opset=11)
        with pytest.raises(UnsupportedModel, match="opset 11 cannot be converted.*no adapter"):
            load(make.model(make.add("Relu", make.input("x", [1, 4]))))
        make = GraphMaker(opset=13)
        y = make.add("Relu", make.input("x", [1, 4]))
        assert load(make.model(y)).graph.opset_imports[""] == 13


class TestForms:
    def test_save_is_deterministic_and_loads_again(self, tmp_path):
        make = GraphMaker()
        model = load(make.model(make.conv(make.input("x", [1, 3, 4, 4]), 3, 2)))
        save(model, tmp_path / "a.onnx")
        save(load(model), tmp_path / "b.onnx")
        assert (tmp_path / "a.onnx").read_bytes() == (tmp_path / "b.onnx").read_bytes()
        assert to_text(load(tmp_path / "a.onnx")) == to_text(model)
        assert to_proto(model).graph.node[0].op_type == "Conv"

    def test_text_form(self):
        make = GraphMaker()
        x = make.conv(make.input("x", ["N", 1, 2, 2]), 1, 1, kernel=1, bias=False)
        make.initializers[0].CopyFrom(
            onnx.numpy_helper.from_array(np.full((1, 1, 1, 1), 0.5, np.float32), "w")
        )
        make.nodes[0].input[1] = "w"
        y = make.add("Concat", x, make.weight(np.zeros((1, 3, 2, 2), np.float32), "big"), axis=1)
        assert to_text(load(make.model(y))) == (
            "model graph (opset onnx 17)\n"
            "  input x: float[1,1,2,2]\n"
            "  const big: float[1,3,2,2] = sha256:17b0761f87b081d5\n"
            "  const w: float[1,1,1,1] = [[[[0.5]]]]\n"
            "  v0: float[1,1,2,2] = Conv(x, w) group=1 pads=[0, 0, 0, 0]  # conv_0\n"
            "  v1: float[1,4,2,2] = Concat(v0, big) axis=1  # concat_1\n"
            "  output v1: float[1,4,2,2]\n"
        )
