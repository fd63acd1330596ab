"""Inference engines from PyPI and edgecc behind one call, for timing side by side in one process.

Every engine has its inputs in place: a call computes, and copies nothing that the engine's own
interface does not copy. Each pays its own Python call. Engines that are not installed, or do not
take a model, are left out.
"""

from __future__ import annotations

import importlib.util
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Call = Callable[[], Any]


def edgecc(bundle: Any) -> Call:
    """The bundle's shared library, through its own Python wrapper."""
    folder = Path(tempfile.mkdtemp(prefix="edgecc-bench-"))
    for name, data in bundle.files.items():
        if name.startswith(("lib/", "python/")) or name == "weights.bin":
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_bytes(data)
    [wrapper] = folder.glob("python/*.py")
    spec = importlib.util.spec_from_file_location(wrapper.stem, wrapper)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    model = module.Model()
    model.run([np.zeros(t.shape, t.dtype) for t in model.inputs])
    context, run = module.ctypes.byref(model._context), model._run

    def call(alive: Any = model) -> None:
        run(context)

    return call


def onnx_runtime(data: bytes, inputs: dict[str, Any], threads: int) -> Call:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    bound = session.io_binding()
    for name, value in inputs.items():
        bound.bind_cpu_input(name, value)
    for output in session.get_outputs():
        bound.bind_output(output.name)
    return lambda: session.run_with_iobinding(bound)


def openvino(data: bytes, inputs: dict[str, Any], threads: int) -> Call:
    import openvino as ov

    core = ov.Core()
    config = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY", "NUM_STREAMS": 1,
              "INFERENCE_PRECISION_HINT": "f32"}
    request = core.compile_model(core.read_model(data), "CPU", config).create_infer_request()
    for name, value in inputs.items():
        request.set_tensor(name, ov.Tensor(value))
    return request.infer


def litert(path: Path, threads: int) -> Call:
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(model_path=str(path), num_threads=threads)
    interpreter.allocate_tensors()
    for port in interpreter.get_input_details():
        interpreter.set_tensor(port["index"], np.zeros(port["shape"], port["dtype"]))
    return interpreter.invoke


def others(data: bytes, inputs: dict[str, Any], tflite: Path | None,
           threads: int) -> dict[str, Call | str]:
    """Engine -> a call, or why it has none."""
    found: dict[str, Call | str] = {}
    makers: dict[str, Callable[[], Call]] = {
        "ONNX Runtime": lambda: onnx_runtime(data, inputs, threads),
        "OpenVINO": lambda: openvino(data, inputs, threads)}
    if tflite is not None and tflite.is_file():
        makers["LiteRT"] = lambda: litert(tflite, threads)
    for name, make in makers.items():
        try:
            found[name] = make()
        except Exception as error:  # whatever an engine raises on a model it does not take
            found[name] = f"{type(error).__name__}: {str(error).splitlines()[0][:60]}"
    return found
