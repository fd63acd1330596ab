"""ONNX Runtime as the oracle: does the model run, and what does it give?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import onnx
import onnx_ir as ir
import onnxruntime as ort

from edgecc.errors import UnsupportedModel

_SILENT = 4


def session(
    model: onnx.ModelProto | ir.Model, *, optimize: bool = True, threads: int = 1
) -> ort.InferenceSession:
    """An ONNX Runtime session on the CPU; int8-input QDQ operators are fused.

    Raises: whatever ONNX Runtime raises for a model it does not take.
    """
    proto = ir.to_proto(model) if isinstance(model, ir.Model) else model
    options = ort.SessionOptions()
    options.log_severity_level = _SILENT
    options.intra_op_num_threads = threads
    level = ort.GraphOptimizationLevel
    options.graph_optimization_level = level.ORT_ENABLE_ALL if optimize else level.ORT_DISABLE_ALL
    options.add_session_config_entry("session.qdqisint8allowed", "1")
    # 4-bit weights times float32, not times activations that it would round to int8
    options.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", "1")
    return ort.InferenceSession(
        proto.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


def run(
    model: onnx.ModelProto | ir.Model, feeds: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """The model's outputs by name."""
    opened = session(model)
    names = [o.name for o in opened.get_outputs()]
    return dict(zip(names, opened.run(names, dict(feeds)), strict=True))


def with_outputs(model: ir.Model, names: Sequence[str]) -> onnx.ModelProto:
    """The model with further values as outputs, so that a session shows them."""
    proto = ir.to_proto(model)
    have = {o.name for o in proto.graph.output}
    info = {v.name: v for v in (*proto.graph.value_info, *proto.graph.input)}
    for name in names:
        if name not in have:
            proto.graph.output.append(info.get(name, onnx.ValueInfoProto(name=name)))
    return proto


def check_loads(proto: onnx.ModelProto, name: str) -> None:
    """ONNX Runtime must accept the model.

    Raises: UnsupportedModel with ONNX Runtime's own finding.
    """
    try:
        session(proto, optimize=False)
    except Exception as error:  # onnxruntime has one class per status code, with no common base
        raise UnsupportedModel(f"ONNX Runtime refuses it: {_told(error)}", where=name) from error


def check_runs(model: ir.Model, name: str) -> None:
    """The model must run on zeros or on ones (an integer may divide, or be an index): shape
    inference does not see every contradiction.

    Raises: UnsupportedModel with ONNX Runtime's own finding.
    """
    try:
        opened = session(model)
        if _is_native(model):
            _try(opened, model)
    except Exception as error:
        raise UnsupportedModel(
            f"ONNX Runtime cannot run it: {_told(error)}",
            where=name,
            advice="check the shapes given with --shape",
        ) from error


def _try(opened: ort.InferenceSession, model: ir.Model) -> None:
    try:
        opened.run(None, _filled(model, 0))
    except Exception:
        opened.run(None, _filled(model, 1))


def _filled(model: ir.Model, number: int) -> dict[str, np.ndarray]:
    return {
        v.name or "": np.full(v.shape.numpy(), number, v.dtype.numpy())
        for v in model.graph.inputs
        if v.shape is not None and v.dtype is not None
    }


def _is_native(model: ir.Model) -> bool:
    """Whether NumPy itself knows the types of all inputs and outputs: Python's ONNX Runtime
    takes and gives no others (bfloat16, float8, int4)."""
    ports = (*model.graph.inputs, *model.graph.outputs)
    dtypes = [v.dtype.numpy() for v in ports if v.dtype is not None]
    return all(d.isbuiltin == 1 for d in dtypes)


def _told(error: Exception) -> str:
    return " ".join(str(error).split())[:400]
