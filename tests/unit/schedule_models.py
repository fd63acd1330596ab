"""What the schedule tests share: models from nodes, QDQ models, a catalogue that takes all,
and runs of ONNX Runtime and of the interpreter on the same input."""

import numpy as np
import onnx
import onnx_ir as ir
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

from edgecc.config import CompileConfig
from edgecc.context import Context
from edgecc.kernels import registry
from edgecc.kernels.float16 import COMPUTED
from edgecc.kernels.registry import KernelRecord
from edgecc.kernels.runs import DTYPES
from edgecc.schedule import check_program, schedule
from edgecc.schedule.interpret import from_port, interpret, to_port
from edgecc.targets.null import NULL

OPS = ("conv2d", "fully_connected", "pool2d", "softmax", "binary", "table", "unary", "quantize",
       "dequantize", "broadcast", "rowwise", "reduce", "arg_reduce", "normalize",
       "matmul")


def plain_record(op, dtype, **changes):
    fields = {"name": f"{dtype}_{op}__plain", "op": op, "dtype": dtype, "requires": frozenset(),
              "accepts": lambda spec: None, "cost": lambda spec: 1.0, "extent": lambda spec: 1,
              "pack": lambda spec, constants: np.zeros(0, np.uint8),
              "build": lambda spec, symbol, target: None}
    return KernelRecord(**{**fields, **changes})


MOVING = ("transpose", "take", "fixed")  # these take any dtype
PLAIN = (*(plain_record(op, dtype) for op in OPS for dtype in ("int8", "float32")),
         *(plain_record(op, "float16") for op in COMPUTED),
         *(plain_record("convert", dtype) for dtype in ("float16", "float32")),
         plain_record("interpolate", "int8"), plain_record("interpolate", "float32"),
         plain_record("compare", "float32"), plain_record("compare", "bool"),
         plain_record("choose", "float32"), plain_record("choose", "int8"),
         *(plain_record(op, dtype) for op in MOVING for dtype in DTYPES))


def plain_catalogue(monkeypatch, kernels=PLAIN):
    monkeypatch.setattr(registry, "all_kernels", lambda: kernels)


def model(nodes, inputs, outputs, constants=None, opset=17):
    """A ModelProto. `inputs` and `outputs` are {name: shape}; all float32."""
    def ports(shapes):
        return [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in shapes.items()]

    weights = [numpy_helper.from_array(np.asarray(v), n) for n, v in (constants or {}).items()]
    graph = helper.make_graph(nodes, "g", ports(inputs), ports(outputs), weights)
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    proto.ir_version = 8
    onnx.checker.check_model(proto)
    return proto


node = helper.make_node


class Qdq:
    """Builds QDQ models node by node; tensors are named q0, q1, ... as they are made."""

    def __init__(self, seed=0):
        self.nodes, self.constants, self.count = [], {}, 0
        self.random = np.random.default_rng(seed)

    def name(self, stem="t"):
        self.count += 1
        return f"{stem}{self.count}"

    def constant(self, value, stem="c"):
        name = self.name(stem)
        self.constants[name] = np.asarray(value)
        return name

    def add(self, op, inputs, **attributes):
        out = self.name(op.lower())
        self.nodes.append(node(op, inputs, [out], name=f"n_{out}", **attributes))
        return out

    def quantize(self, x, scale=0.05, zero=3, dtype=np.int8):
        return self.add("QuantizeLinear", [x, self.constant(np.float32(scale)),
                                           self.constant(np.array(zero, dtype))])

    def dequantize(self, q, scale=0.05, zero=3, dtype=np.int8):
        return self.add("DequantizeLinear", [q, self.constant(np.float32(scale)),
                                             self.constant(np.array(zero, dtype))])

    def through(self, x, scale=0.05, zero=3, dtype=np.int8):
        return self.dequantize(self.quantize(x, scale, zero, dtype), scale, zero, dtype)

    def weights(self, shape, axis=0, low=-127, per_channel=True, zero=None, dtype=np.int8):
        limits = (low, 128) if dtype == np.int8 else (0, 256)
        w = self.random.integers(*limits, shape).astype(dtype)
        count = shape[axis] if per_channel else None
        scale = np.asarray(self.random.uniform(0.001, 0.02, count), np.float32)
        zero = np.full(scale.shape, 0 if zero is None else zero, dtype)
        out = self.add("DequantizeLinear", [self.constant(w), self.constant(scale),
                                            self.constant(zero)],
                       **({"axis": axis} if per_channel else {}))
        return out, scale

    def bias(self, scale, input_scale=0.05):
        b = self.random.integers(-2000, 2000, scale.shape or (1,)).astype(np.int32)
        product = np.float32(input_scale) * np.broadcast_to(scale, b.shape)
        return self.add("DequantizeLinear", [self.constant(b), self.constant(product),
                                             self.constant(np.zeros(b.shape, np.int32))], axis=0)

    def build(self, inputs, outputs, opset=17):
        return model(self.nodes, inputs, outputs, self.constants, opset)


def program_of(proto, target=NULL, **config):
    program = schedule(ir.from_proto(proto), target, config=CompileConfig(**config),
                       context=Context())
    check_program(program)
    return program


def run_ours(program, feeds, real=True):
    """Outputs by name in the model's shapes; float numbers where `real`."""
    entry = program.entry()
    ready = {p.name: to_port(p, feeds[p.name]) for p in entry.inputs}
    found = interpret(program, ready)
    return {p.name: from_port(p, found[p.name], real=real) for p in entry.outputs}


def run_ort(proto, feeds):
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.add_session_config_entry("session.qdqisint8allowed", "1")
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(proto.SerializeToString(), options, ["CPUExecutionProvider"])
    names = [o.name for o in session.get_outputs()]
    return dict(zip(names, session.run(names, feeds), strict=True))


def assert_close(ours, theirs):
    for name, value in theirs.items():
        assert ours[name].shape == value.shape, name
        limit = 1e-4 * max(np.abs(value).max(), 1e-30)
        assert np.abs(ours[name].astype(np.float64) - value).max() <= limit, name


def feeds_for(proto, seed=1, scale=1.0):
    random = np.random.default_rng(seed)
    return {v.name: (random.standard_normal([d.dim_value for d in v.type.tensor_type.shape.dim])
                     * scale).astype(np.float32) for v in proto.graph.input}
