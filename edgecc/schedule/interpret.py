"""The Program run on the numpy references, over real bytes: the oracle of all compiled code."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from edgecc.errors import ConfigError
from edgecc.kernels.reference import reference
from edgecc.kernels.registry import Law
from edgecc.schedule import laws
from edgecc.schedule.program import Copy, Kernel, Port, Program, Step, View, contiguous_strides

FILL = 0xA5  # what nobody wrote, so that reading it shows


def asked(spec: Any, values: Sequence[np.ndarray], constants: Mapping[str, Any],
          law: Law | None = None) -> list[np.ndarray]:
    """What the law says where there is one, else the operator's reference."""
    return (law or reference)(spec, values, constants)


def interpret(
    program: Program, inputs: Mapping[str, np.ndarray], entry: str = "run",
    answer: Callable[..., Any] = asked,
) -> dict[str, np.ndarray]:
    """Run one entry. Inputs and outputs are in the ports' views' shapes, layouts and dtypes.

    `answer` is `asked`, or what remembers its answers (edgecc.schedule.remembered).

    `to_port` and `from_port` convert from and to the model's own shapes and float numbers.
    Raises ConfigError for missing, unknown or misshapen inputs.
    """
    chosen = program.entry(entry)
    memory = {b.name: np.full(b.size_bytes, FILL, np.uint8) for b in program.buffers}
    _check_names(chosen.inputs, inputs)
    for port in chosen.inputs:
        window(memory, port.view)[...] = _fitting(port, inputs[port.name])
    halves = laws.followed(program)
    for step in chosen.steps:
        run_step(memory, step, answer, halves)
    return {port.name: window(memory, port.view).copy() for port in chosen.outputs}


def _check_names(ports: tuple[Port, ...], inputs: Mapping[str, np.ndarray]) -> None:
    expected = {port.name for port in ports}
    if expected != set(inputs):
        raise ConfigError("inputs do not match the model's", needed=", ".join(sorted(expected)),
                          available=", ".join(sorted(inputs)))


def _fitting(port: Port, value: np.ndarray) -> np.ndarray:
    value = np.asarray(value)
    if value.dtype != port.view.dtype or value.shape != port.view.shape:
        raise ConfigError("input has the wrong type or shape", where=port.name,
                          needed=f"{port.view.dtype} {port.view.shape}",
                          available=f"{value.dtype} {value.shape}",
                          advice="edgecc.schedule.interpret.to_port converts model inputs")
    return value


def run_step(memory: dict[str, np.ndarray], step: Step,
             answer: Callable[..., Any] = asked, halves: bool = True) -> None:
    """One step on the buffers. `halves`: by the laws of kernels that add in float16."""
    if isinstance(step, Copy):
        window(memory, step.target)[...] = window(memory, step.source)
        return
    if not isinstance(step, Kernel):
        raise ConfigError(f"{type(step).__name__} steps are not interpreted", where=step.name)
    values = [window(memory, view).copy() for view in step.inputs]
    law = laws.law_of(step, halves)
    for view, value in zip(step.outputs, answer(step.spec, values, step.constants, law),
                           strict=True):
        window(memory, view)[...] = value.reshape(view.shape)


def window(memory: Mapping[str, np.ndarray], view: View) -> np.ndarray:
    """A writable array over the view's bytes."""
    strides = view.strides or contiguous_strides(view.shape)
    dtype = np.dtype(view.dtype)
    return np.ndarray(view.shape, dtype, memory[view.buffer], view.offset_bytes,
                      tuple(s * dtype.itemsize for s in strides))


def to_port(port: Port, value: np.ndarray) -> np.ndarray:
    """A model input (ONNX shape; float32, or already the port's dtype) as the port takes it."""
    value = np.asarray(value).reshape(port.model_shape)
    q = port.view.quantization
    if port.view.dtype == "int8" and value.dtype != np.int8 and q is not None:
        from edgecc.schedule.rounding import quantized

        value = quantized(value, q)
    if port.permutation is not None:
        value = value.transpose(port.permutation)
    return np.asarray(value.reshape(port.view.shape), port.view.dtype, order="C")


def from_port(port: Port, value: np.ndarray, *, real: bool = True) -> np.ndarray:
    """A port's output in the model's shape; dequantized to float32 where `real`."""
    if port.permutation is not None:
        stored = [port.model_shape[i] for i in port.permutation]
        value = value.reshape(stored).transpose(np.argsort(port.permutation))
    value = value.reshape(port.model_shape)
    q = port.view.quantization
    if real and value.dtype == np.int8 and q is not None:
        from edgecc.schedule.rounding import dequantized

        value = dequantized(value, q)
    return np.asarray(value, order="C")
