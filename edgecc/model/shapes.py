"""Every shape a number: inputs are fixed first, everything else is inferred from them."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping

import onnx
import onnx_ir as ir

from edgecc.errors import ConfigError, UnsupportedModel

_SHAPELESS = ("GroupNormalization", "MatMulNBits")
MOST_BYTES = 2**31 - 1  # kernels count bytes in int32


def fix_inputs(model: ir.Model, shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Give every input a fixed shape, in place.

    A dimension name bound by one input's given shape is bound in all inputs. A dynamic first
    dimension that nothing binds is a batch and becomes 1.
    Raises: ConfigError for a given shape that fits no input, UnsupportedModel for a dynamic
    dimension that nothing fixes.
    """
    _check_names(model, shapes)
    bound: dict[str, int] = {}
    for value in model.graph.inputs:
        if value.name and value.name in shapes:
            bound |= _bind(value, tuple(shapes[value.name]))
    for value in model.graph.inputs:
        if value.name not in shapes:
            value.shape = ir.Shape(_fixed(value, bound))


def _check_names(model: ir.Model, shapes: Mapping[str, tuple[int, ...]]) -> None:
    names = [value.name or "" for value in model.graph.inputs]
    for name in shapes:
        if name not in names:
            near = difflib.get_close_matches(name, names, n=1)
            raise ConfigError(
                f"--shape names input {name!r}, which the model does not have",
                needed=" or ".join(near or names),
                available=name,
            )


def _dims(value: ir.Value) -> list[int | str]:
    """Fixed dimensions as numbers, dynamic ones as their name ('' if they have none)."""
    if not isinstance(value.type, ir.TensorType | None):
        raise UnsupportedModel(
            "the input is not a tensor (sequences and optionals have no place in an arena)",
            where=f"input {value.name}",
        )
    if value.shape is None:
        raise UnsupportedModel(
            "the input has no shape, not even a rank",
            where=f"input {value.name}",
            advice="export the model with the rank of every input",
        )
    return [_dim(d) for d in value.shape]


def _dim(dim: int | ir.SymbolicDim) -> int | str:
    if isinstance(dim, int):
        return dim if dim > 0 else ""
    return dim.value or ""


def _bind(value: ir.Value, given: tuple[int, ...]) -> dict[str, int]:
    dims = _dims(value)
    fits = len(dims) == len(given) and all(
        g > 0 and (isinstance(d, str) or d == g) for d, g in zip(dims, given, strict=True)
    )
    if not fits:
        raise ConfigError(
            "--shape does not fit the input",
            where=f"input {value.name}",
            needed=_spell(dims),
            available=_spell(given),
        )
    value.shape = ir.Shape(given)
    return {d: g for d, g in zip(dims, given, strict=True) if isinstance(d, str) and d}


def _spell(dims: list[int | str] | tuple[int, ...]) -> str:
    return ",".join(str(d) if d != "" else "?" for d in dims)


def _fixed(value: ir.Value, bound: Mapping[str, int]) -> list[int]:
    dims = _dims(value)
    fixed = [bound.get(d, d) if isinstance(d, str) else d for d in dims]
    if fixed and isinstance(fixed[0], str):
        fixed[0] = 1
    for index, dim in enumerate(fixed):
        if isinstance(dim, str):
            raise UnsupportedModel(
                f"dimension {index} ({dim or '?'}) is dynamic",
                where=f"input {value.name} [{_spell(dims)}]",
                advice=f"fix it with --shape {value.name}={_example(fixed)}",
            )
    return [int(dim) for dim in fixed]


def _example(dims: list[int | str]) -> str:
    """What to type: known numbers filled in, the others as their names in capitals."""
    return ",".join(str(d) if isinstance(d, int) else (d or "?").upper() for d in dims)


def forget(model: ir.Model) -> None:
    """Drop the shapes of everything computed: they may speak of another batch size."""
    for node in model.graph.all_nodes():
        for value in node.outputs:
            value.shape = None


def infer(model: ir.Model) -> None:
    """Infer shapes and types of all values, in place.

    Raises: UnsupportedModel if inference finds a contradiction, e.g. a Reshape whose sizes do
    not multiply out at this input shape.
    """
    _infer(model)
    while _keep_shapes(model):
        _infer(model)


def _keep_shapes(model: ir.Model) -> bool:
    """Outputs that are like their input and that onnx knows nothing of; True if there were any."""
    found = False
    for node in model.graph.all_nodes():
        value = node.inputs[0] if node.op_type in _SHAPELESS else None
        if value is None or value.shape is None or is_fixed(node.outputs[0]):
            continue
        if is_fixed(value):  # before that, onnx may have made up a name for a dimension
            node.outputs[0].shape, node.outputs[0].type = _kept(node, value.shape), value.type
            found = True
    return found


def _kept(node: ir.Node, shape: ir.Shape) -> ir.Shape:
    """The input's shape; of a matrix product, with its number of columns."""
    columns = node.attributes.get("N") if node.op_type == "MatMulNBits" else None
    return shape if columns is None else ir.Shape([*shape[:-1], columns.as_int()])


def _infer(model: ir.Model) -> None:
    try:
        inferred = onnx.shape_inference.infer_shapes(
            ir.to_proto(model), strict_mode=True, data_prop=True
        )
    except Exception as error:  # InferenceError, or RuntimeError from inside onnx
        text = " ".join(str(error).split())
        raise UnsupportedModel(
            f"shapes contradict each other: {text[:300]}",
            where=model.graph.name,
            advice="check the shapes given with --shape",
        ) from error
    _merge(model, ir.from_proto(inferred))


def _merge(model: ir.Model, inferred: ir.Model) -> None:
    found = ir.convenience.create_value_mapping(inferred.graph)
    for name, value in ir.convenience.create_value_mapping(model.graph).items():
        if value.producer() is not None and name in found:
            shape, type_ = found[name].shape, found[name].type
            value.shape = value.shape if shape is None else shape  # a scalar's shape is falsy
            value.type = value.type if type_ is None else type_


def require_fixed(model: ir.Model) -> None:
    """Every computed value of the main graph must have a fixed shape that int32 can address.

    Raises: UnsupportedModel naming the node.
    """
    for node in model.graph:
        for value in node.outputs:
            if value.name and not (is_fixed(value) and isinstance(value.type, ir.TensorType)):
                raise UnsupportedModel(
                    f"the shape of {value.name} is not known before the model runs",
                    where=f"node {node.name} ({node.op_type})",
                    advice="its size must not depend on data",
                )
            _require_addressable(node, value)


def _require_addressable(node: ir.Node, value: ir.Value) -> None:
    sized = value.dtype not in (None, ir.DataType.STRING)
    size_bytes = elements(value) * (value.dtype.itemsize if sized and value.dtype else 1)
    if size_bytes > MOST_BYTES:
        raise UnsupportedModel(
            f"{value.name} is too large",
            where=f"node {node.name} ({node.op_type})",
            needed=f"{size_bytes:,.0f} B",
            available=f"{MOST_BYTES:,} B",
            advice="use a smaller input or split the tensor",
        )


def elements(value: ir.Value) -> int:
    """Elements of a value; 0 where its shape is not known."""
    return math.prod(value.shape.numpy()) if value.shape is not None and is_fixed(value) else 0


def is_fixed(value: ir.Value) -> bool:
    return value.shape is not None and all(isinstance(d, int) for d in value.shape)
