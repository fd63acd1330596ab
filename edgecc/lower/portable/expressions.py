"""TIR expressions as C, one lane at a time: a vector is its elements, a lane is an index."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from edgecc.errors import UnsupportedModel
from edgecc.kernels import square_root
from edgecc.lower.portable.types import Kind, integer, kind, real

ARITHMETIC = {"Add": "+", "Sub": "-", "Mul": "*", "Div": "/", "Mod": "%"}
COMPARISON = {"EQ": "==", "NE": "!=", "LT": "<", "LE": "<=", "GT": ">", "GE": ">=",
              "And": "&&", "Or": "||"}
BITS = {"bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^", "BitwiseAnd": "&",
        "BitwiseOr": "|", "BitwiseXor": "^"}
SHIFTS = {"shift_left": "<<", "shift_right": ">>", "LShift": "<<", "RShift": ">>"}
REDUCTIONS = {"add": None, "smax": "max", "smin": "min", "umax": "max", "umin": "min",
              "fmax": "max", "fmin": "min"}
UNARY = {"fabs": "abs", "llvm.fabs": "abs", "sqrt": "sqrt", "llvm.sqrt": "sqrt", "round": "round",
         "nearbyint": "round", "llvm.roundeven": "round", "llvm.rint": "round",
         "floor": "floor", "llvm.floor": "floor", "ceil": "ceil", "llvm.ceil": "ceil",
         "trunc": "trunc", "llvm.trunc": "trunc", "llvm.arithmetic.fence": "rounded"}
Lane = int | str


class Expressions:
    """Prints expressions. `names` holds the C name of every variable and buffer in scope,
    `known` that of parts computed before, by lane."""

    def __init__(self) -> None:
        self.names: dict[Any, str] = {}
        self.known: dict[tuple[Any, Lane], str] = {}

    def text(self, node: Any, lane: Lane = 0) -> str:
        """C of lane `lane`: a number, or a C variable that runs over the lanes.

        Raises UnsupportedModel for an operation that portable C does not have.
        """
        name = type(node).__name__
        if (found := self.known.get((node, lane))) is not None:
            return found
        if name in BITS:
            return self._joined(node, BITS[name], [node.a, node.b], lane)
        if name in SHIFTS:
            return self._shift(node, SHIFTS[name], [node.a, node.b], lane)
        if name in ARITHMETIC:
            return self._arithmetic(node, ARITHMETIC[name], lane)
        if name in COMPARISON:
            return f"({self.text(node.a, lane)} {COMPARISON[name]} {self.text(node.b, lane)})"
        printer: Callable[[Any, Lane], str] | None = getattr(self, f"_{name.lower()}", None)
        if printer is None:
            raise UnsupportedModel(f"portable C has no {name}", where="c_source")
        return printer(node, lane)

    def _arithmetic(self, node: Any, operator: str, lane: Lane) -> str:
        both = f"{self.text(node.a, lane)} {operator} {self.text(node.b, lane)}"
        of = kind(node)
        return f"({of.c})({both})" if of.narrow else f"({both})"

    def _helper(self, name: str, node: Any, lane: Lane) -> str:
        return (f"edgecc_{name}_{kind(node).short}({self.text(node.a, lane)}, "
                f"{self.text(node.b, lane)})")

    def _min(self, node: Any, lane: Lane) -> str:
        return self._helper("min", node, lane)

    def _max(self, node: Any, lane: Lane) -> str:
        return self._helper("max", node, lane)

    def _floordiv(self, node: Any, lane: Lane) -> str:
        return self._helper("floordiv", node, lane)

    def _floormod(self, node: Any, lane: Lane) -> str:
        return self._helper("floormod", node, lane)

    def _intimm(self, node: Any, lane: Lane) -> str:
        return integer(int(node.value), kind(node))

    def _floatimm(self, node: Any, lane: Lane) -> str:
        return real(float(node.value))

    def _var(self, node: Any, lane: Lane) -> str:
        return f"{self.names[node]}[{lane}]" if kind(node).lanes > 1 else self.names[node]

    def _not(self, node: Any, lane: Lane) -> str:
        return f"!{self.text(node.a, lane)}"

    def _bitwisenot(self, node: Any, lane: Lane) -> str:
        return f"({kind(node).c})~{self.text(node.a, lane)}"

    def _cast(self, node: Any, lane: Lane) -> str:
        of, value = kind(node), self.text(node.value, lane)
        return f"({value} != 0)" if of.name == "bool" else f"({of.c}){value}"

    def _select(self, node: Any, lane: Lane) -> str:
        return self._choice(node.condition, node.true_value, node.false_value, kind(node), lane)

    def _choice(self, condition: Any, yes: Any, no: Any, of: Kind, lane: Lane) -> str:
        chosen = (f"{self.text(condition, lane)} ? {self.text(yes, lane)} : "
                  f"{self.text(no, lane)}")
        return f"({of.c})({chosen})" if of.narrow else f"({chosen})"

    def _ramp(self, node: Any, lane: Lane) -> str:
        base, stride = self.text(node.base), self.text(node.stride)
        return f"({base} + {lane})" if stride == "1" else f"({base} + {lane} * {stride})"

    def _broadcast(self, node: Any, lane: Lane) -> str:
        return self.text(node.value)

    def _shuffle(self, node: Any, lane: Lane) -> str:
        if not isinstance(lane, int):
            raise UnsupportedModel("a shuffle has no single form for all lanes", where="c_source")
        parts = [(vector, i) for vector in node.vectors for i in range(kind(vector).lanes)]
        return self.text(*parts[int(node.indices[lane])])

    def _tensorload(self, node: Any, lane: Lane) -> str:
        return self.element(node.source, node.indices, lane)

    def element(self, buffer: Any, indices: Any, lane: Lane) -> str:
        """The element of a buffer; buffers are flat."""
        if len(indices) != 1:
            raise UnsupportedModel(f"portable C takes flat buffers, not {len(indices)} indices",
                                   where="c_source")
        return f"{self.names[buffer]}[{self.text(indices[0], lane)}]"

    def _let(self, node: Any, lane: Lane) -> str:
        raise UnsupportedModel("portable C has no let inside an expression", where="c_source")

    def _call(self, node: Any, lane: Lane) -> str:
        name, arguments = node.op.name.rpartition(".")[2], list(node.args)
        if name.startswith("call_llvm"):
            return self._intrinsic(node, _intrinsic_name(arguments[0].value), arguments[1:], lane)
        if name in BITS:
            return self._joined(node, BITS[name], arguments, lane)
        if name in SHIFTS:
            return self._shift(node, SHIFTS[name], arguments, lane)
        if name == "reinterpret":
            return self._reinterpreted(kind(node), kind(arguments[0]),
                                       self.text(arguments[0], lane))
        return self._function(node, name, arguments, lane)

    def _function(self, node: Any, name: str, arguments: list[Any], lane: Lane) -> str:
        if name == "if_then_else":
            condition, yes, no = arguments
            return self._choice(condition, yes, no, kind(node), lane)
        if name in UNARY and kind(node).name == "float32":
            return f"edgecc_{UNARY[name]}_f32({self.text(arguments[0], lane)})"
        if name == "call_extern" and arguments[0].value == square_root.NAME:
            return f"edgecc_sqrt_f32({self.text(arguments[1], lane)})"
        if name == "bitwise_not":
            return f"({kind(node).c})~{self.text(arguments[0], lane)}"
        if name == "clz" and kind(arguments[0]).name in ("int32", "uint32"):
            return f"edgecc_clz_u32((uint32_t){self.text(arguments[0], lane)})"
        if name == "likely":
            return self.text(arguments[0], lane)
        raise UnsupportedModel(f"portable C has no function {name}", where="c_source")

    def _intrinsic(self, node: Any, name: str, arguments: list[Any], lane: Lane) -> str:
        base = name.partition(".v")[0] if ".vector." not in name else name
        if ".vector.reduce." in name:
            return self._reduced(node, name.split(".")[3], arguments[-1])
        if base in UNARY and kind(node).name == "float32":
            return f"edgecc_{UNARY[base]}_f32({self.text(arguments[0], lane)})"
        if base.startswith("llvm.sadd.sat"):
            both = ", ".join(self.text(a, lane) for a in arguments)
            return f"edgecc_add_sat_{kind(node).short}({both})"
        raise UnsupportedModel(f"portable C has no {name}", where="c_source",
                               advice="choose kernels without instructions of one machine")

    def _reduced(self, node: Any, how: str, vector: Any) -> str:
        if how not in REDUCTIONS:
            raise UnsupportedModel(f"portable C has no reduction {how}", where="c_source")
        of, helper = kind(node), REDUCTIONS[how]
        text = self.text(vector, 0)
        for lane in range(1, kind(vector).lanes):
            one = self.text(vector, lane)
            text = (f"({of.c})({text} + {one})" if helper is None
                    else f"edgecc_{helper}_{of.short}({text}, {one})")
        return text

    def _joined(self, node: Any, operator: str, arguments: list[Any], lane: Lane) -> str:
        both = f" {operator} ".join(self.text(a, lane) for a in arguments)
        of = kind(node)
        return f"({of.c})({both})" if of.narrow else f"({both})"

    def _shift(self, node: Any, name: str, arguments: list[Any], lane: Lane) -> str:
        of, (value, count) = kind(node), [self.text(a, lane) for a in arguments]
        if name == ">>":
            return f"({of.c})({value} >> {count})" if of.narrow else f"({value} >> {count})"
        if of.name.startswith("u"):
            return f"({of.c})({value} << {count})"
        wide = "uint64_t" if of.name == "int64" else "uint32_t"  # C leaves signed ones undefined
        return f"({of.c})(({wide}){value} << {count})"

    def _reinterpreted(self, to: Kind, was: Kind, value: str) -> str:
        if to.name == was.name:
            return value
        if was.name == "float32":
            bits = f"edgecc_u32_of_f32({value})"
            return bits if to.name == "uint32" else f"({to.c}){bits}"
        return f"edgecc_f32_of_u32((uint32_t){value})" if to.name == "float32" else (
            f"({to.c}){value}")


def _intrinsic_name(value: Any) -> str:
    """TVM keeps the names that LLVM knows as its numbers."""
    if isinstance(value, str):
        return value
    import tvm

    return str(tvm.get_global_func("target.llvm_get_intrinsic_name")(int(value)))
