"""The canonical form: what `load` promises to every later verb.

Functions inlined, inputs fixed, opset 17 or newer, constants folded into initializers, BatchNorm
folded, Identity and Dropout gone, Gemm with transB=1 and no factors, all shapes known, names
unique, dead code gone. DequantizeLinear is never folded: QDQ models keep their integers, and
their biases are int32.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import onnx
import onnx_ir as ir
import onnxscript.optimizer as optimizer
from onnx_ir.passes import common
from onnxscript import rewriter
from onnxscript.rewriter.rules import common as rules

from edgecc.context import Context
from edgecc.errors import UnsupportedModel
from edgecc.model import chains, dense, layer_norms, linear, norms, oracle, qdq, reading, shapes

OPSET, IR_VERSION = 17, 8
_FOLD_LIMIT = 1 << 26  # elements; weights are folded whatever their size
_ROUNDS = 4


def load(
    source: str | Path | onnx.ModelProto | ir.Model,
    given: Mapping[str, tuple[int, ...]],
    context: Context,
) -> ir.Model:
    """See `edgecc.model.load`."""
    proto, name = reading.read(source)
    model = _inlined(proto)
    shapes.fix_inputs(model, given)
    model = _converted(model, name)
    shapes.forget(model)
    shapes.infer(model)
    names, outputs = _names(model), _output_names(model)
    inputs = [value.name or "" for value in model.graph.inputs]
    _simplify(model)
    qdq.integer_biases(model)
    _tidy(model, names)
    _restore_inputs(model, inputs)
    _restore_outputs(model, outputs)
    shapes.infer(model)
    shapes.require_fixed(model)
    oracle.check_runs(model, name)
    context.progress("load", _summary(model, name))
    return model


def _inlined(proto: onnx.ModelProto) -> ir.Model:
    model = ir.from_proto(proto)
    common.InlinePass()(model)
    common.RemoveUnusedFunctionsPass()(model)
    common.RemoveInitializersFromInputsPass()(model)
    common.TopologicalSortPass()(model)
    common.ClearMetadataAndDocStringPass()(model)
    model.graph.name = model.graph.name or "model"
    # Old versions list initializers as inputs, and the opset converter goes by the version.
    model.ir_version = max(model.ir_version or IR_VERSION, IR_VERSION)
    return model


def _converted(model: ir.Model, name: str) -> ir.Model:
    """At least opset 17 (13 where the converter cannot): newer models stay as they are."""
    version = model.graph.opset_imports.get("", OPSET)
    if version >= OPSET:
        return _modern(model)
    proto = ir.to_proto(model)
    for target in (OPSET, 13):
        try:
            if version < target:
                proto = onnx.version_converter.convert_version(proto, target)
            return _modern(ir.from_proto(proto))
        except Exception as error:  # ConvertError is a RuntimeError; adapters raise others
            failure = error
    raise UnsupportedModel(
        f"opset {version} cannot be converted to 13: {' '.join(str(failure).split())[:300]}",
        where=name,
        advice="export it with opset 17 or newer",
    ) from failure


def _modern(model: ir.Model) -> ir.Model:
    common.RemoveInitializersFromInputsPass()(model)
    model.ir_version = max(model.ir_version or IR_VERSION, IR_VERSION)
    return model


def _should_fold(node: ir.Node) -> bool | None:
    """DequantizeLinear of a weight is how QDQ spells an integer weight: keep it. What grows
    beyond the limit (ConstantOfShape, Expand, Tile of a few numbers) must not be evaluated."""
    if node.op_type == "DequantizeLinear" or shapes.elements(node.outputs[0]) > _FOLD_LIMIT:
        return False
    return True if node.op_type in ("QuantizeLinear", "ConstantOfShape") else None


def _simplify(model: ir.Model) -> None:
    for _ in range(_ROUNDS):
        changed = _fold(model)
        changed |= bool(rewriter.RewritePass(_rules(model))(model).modified)
        changed |= norms.replace_left_over(model)
        changed |= layer_norms.fuse(model)  # before its means become pools
        changed |= norms.to_global_pool(model)
        changed |= chains.unfold(model)
        changed |= linear.canonicalise(model)
        changed |= dense.gather_rows(model)
        changed |= bool(common.IdentityEliminationPass()(model).modified)
        common.RemoveUnusedNodesPass()(model)
        if not changed:
            return
        shapes.infer(model)


def _fold(model: ir.Model) -> bool:
    try:
        result = optimizer.fold_constants(
            model,
            input_size_limit=_FOLD_LIMIT,
            output_size_limit=_FOLD_LIMIT,
            should_fold=_should_fold,
        )
    except RuntimeError as error:  # says which node; its cause says why
        raise UnsupportedModel(
            f"constants cannot be folded: {error} ({error.__cause__})", where=model.graph.name
        ) from error
    common.LiftConstantsToInitializersPass(lift_all_constants=True, size_limit=0)(model)
    return bool(result.modified)


def _rules(model: ir.Model) -> list:
    """onnxscript's own default rules, and those it keeps apart that every model profits from."""
    chosen = [
        *rewriter._DEFAULT_REWRITE_RULES,
        rules.matmul_add_to_gemm_rule,
        rules.transpose_b_matmul_add_to_gemm_rule,
        rules.conv_affine_fusion_rule,
        rules.affine_conv_fusion_rule,
    ]
    if model.graph.opset_imports.get("", 0) >= 14:
        chosen += list(rules.fuse_hardswish_rules())
    return chosen


def _names(model: ir.Model) -> dict[tuple[str, str], str]:
    """Node names by operator and output, operator and weights, and output alone, so that
    rewritten nodes can keep the user's names."""
    named: dict[tuple[str, str], str] = {}
    for node in model.graph.all_nodes():
        for key in reversed(_keys(node)):
            if node.name:
                named.setdefault(key, node.name)
    return named


def _keys(node: ir.Node) -> list[tuple[str, str]]:
    output = node.outputs[0].name or ""
    weights = [v.name or "" for v in node.inputs[1:2] if v is not None]
    by_weights = [(f"{node.op_type} of", name) for name in weights if name]
    return [(node.op_type, output), *by_weights, ("", output)]


def _tidy(model: ir.Model, names: Mapping[tuple[str, str], str]) -> None:
    for each in (
        common.RemoveUnusedNodesPass(),
        common.LiftSubgraphInitializersToMainGraphPass(),
        common.DeduplicateInitializersPass(),
        common.CommonSubexpressionEliminationPass(),
        common.OutputFixPass(),  # bodies with one value as two outputs run wrongly
        common.RemoveUnusedNodesPass(),
        common.RemoveUnusedOpsetsPass(),
        common.ClearMetadataAndDocStringPass(),
    ):
        each(model)
    _name_nodes(model, names)


def _name_nodes(model: ir.Model, names: Mapping[tuple[str, str], str]) -> None:
    """The name of the node that did the same at first, or operator and place."""
    used: set[str] = set()
    for index, node in enumerate(model.graph.all_nodes()):
        known = [names[key] for key in _keys(node) if key in names and names[key] not in used]
        node.name = known[0] if known else f"{node.op_type.lower()}_{index}"
        used.add(node.name)


def _output_names(model: ir.Model) -> list[str]:
    """The outputs' names; one that is an input as it stands is told apart from it."""
    inputs = set(model.graph.inputs)
    return [f"{value.name}_out" if value in inputs else value.name or ""
            for value in model.graph.outputs]


def _restore_inputs(model: ir.Model, names: list[str]) -> None:
    """Inputs keep their names, whatever a rewrite has given them to."""
    values = ir.convenience.create_value_mapping(model.graph)
    for value, name in zip(model.graph.inputs, names, strict=True):
        if value.name != name:
            if (taken := values.get(name)) is not None:
                taken.name = f"{name}_inner"
            value.name = name


def _restore_outputs(model: ir.Model, names: list[str]) -> None:
    """Outputs keep their names: where a rewrite made two outputs one, an Identity parts them."""
    graph = model.graph
    values = ir.convenience.create_value_mapping(graph)
    for index, name in enumerate(names):
        value = graph.outputs[index]
        if value.name == name:
            continue
        if (taken := values.get(name)) is not None and taken is not value:
            taken.name = f"{name}_inner"
        if value.name in names or value.producer() is None:
            copy = ir.Node("", "Identity", [value], num_outputs=1, name=f"{name}_copy")
            copy.outputs[0].shape, copy.outputs[0].type = value.shape, value.type
            graph.append(copy)
            value = graph.outputs[index] = copy.outputs[0]
        value.name = name
    common.NameFixPass()(model)


def _summary(model: ir.Model, name: str) -> str:
    weights = sum(v.const_value.size for v in model.graph.initializers.values() if v.const_value)
    operators = sum(1 for _ in model.graph)
    return f"{name} · {operators} operators · {weights / 1000:.0f} k parameters"
