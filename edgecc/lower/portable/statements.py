"""TIR statements as C: a function of the kernel C ABI."""

from __future__ import annotations

from typing import Any

from edgecc.errors import UnsupportedModel
from edgecc.lower import c_text
from edgecc.lower.portable.expressions import Expressions, Lane
from edgecc.lower.portable.sharing import shared, shuffles
from edgecc.lower.portable.types import Kind, kind


class Function:
    """Prints one PrimFunc. `symbol` is its name in C."""

    def __init__(self, func: Any) -> None:
        self.func, self.symbol = func, c_text.identifier(str(func.attrs["global_symbol"]))
        self.aliased = not bool(func.attrs["tirx.noalias"])
        self.expressions, self.lines, self.depth = Expressions(), list[str](), 1
        self.count = 0
        self.locals: set[Any] = set()
        self.named: list[tuple[Any, Lane]] = []

    def text(self) -> str:
        """Prototype and definition. Raises UnsupportedModel."""
        head = self._head()
        self.statement(self.func.body)
        unused = [f"  (void){self.expressions.names[p]};" for p in self.func.params]
        body = "\n".join([*unused, *self.lines])
        return f"{head};\n{head} {{\n{body}\n}}\n"

    def _head(self) -> str:
        parts = []
        for parameter in self.func.params:
            name = parameter.name
            self.expressions.names[parameter] = name
            parts.append(f"{_parameter(name, str(parameter.ty))}{name}")
        return f"void {self.symbol}({', '.join(parts)})"

    def emit(self, line: str) -> None:
        self.lines.append("  " * self.depth + line)

    def fresh(self, base: str) -> str:
        self.count += 1
        return f"{base}{self.count}"

    def statement(self, node: Any) -> None:
        name = type(node).__name__
        printer = getattr(self, f"_{name.lower()}", None)
        if printer is None:
            raise UnsupportedModel(f"portable C has no statement {name}", where=self.symbol)
        printer(node)

    def _seqstmt(self, node: Any) -> None:
        for one in node.seq:
            self.statement(one)

    def _evaluate(self, node: Any) -> None:
        if type(node.value).__name__ != "IntImm":
            raise UnsupportedModel("portable C has no calls for their effects", where=self.symbol)

    def _declbuffer(self, node: Any) -> None:
        of, name = Kind(str(node.buffer.dtype)), self.fresh("b")
        data, offset = _based(node.data)
        source = self.expressions.names[data]
        const = "const " if source in ("weights", "args") else ""
        at = f"({const}unsigned char *){source} + {offset}" if offset else source
        # by way of void: alignment is the caller's promise
        self.emit(f"{const}{of.c} *{name} = ({const}{of.c} *)({const}void *)({at});")
        self.emit(f"(void){name};")
        self.expressions.names[node.buffer] = name

    def _allocbuffer(self, node: Any) -> None:
        of, name = kind(node.buffer.dtype), self.fresh("t")
        size = 1
        for extent in node.buffer.ty.shape if hasattr(node.buffer.ty, "shape") else (
                node.buffer.shape):
            size *= int(extent)
        self.emit(f"{of.c} {name}[{size * of.lanes}];")
        self.expressions.names[node.buffer] = name
        self.locals.add(node.buffer)

    def _bind(self, node: Any) -> None:
        of, name = kind(node.var), self.fresh("v")
        if of.lanes == 1:
            text = self.value(node.value)
            self.emit(f"const {of.c} {name} = {text};")
        else:
            self.emit(f"{of.c} {name}[{of.lanes}];")
            self._lanes(node.value, of.lanes, lambda lane: f"{name}[{lane}]")
        self.emit(f"(void){name};")
        self.expressions.names[node.var] = name

    def _bufferstore(self, node: Any) -> None:
        of = kind(node.value)
        if of.lanes == 1:
            text = self.value(node.value)
            target = self.expressions.element(node.buffer, node.indices, 0)
            self.emit(f"{target} = {text};")
            return

        def target_of(lane: Any) -> str:
            return self.expressions.element(node.buffer, node.indices, lane)

        if not self.aliased or node.buffer in self.locals:
            self._lanes(node.value, of.lanes, target_of)
            return
        name = self.fresh("s")  # all lanes are read before the first one is written
        self.emit("{")
        self.depth += 1
        self.emit(f"{of.c} {name}[{of.lanes}];")
        self._lanes(node.value, of.lanes, lambda lane: f"{name}[{lane}]")
        lane = self.fresh("l")
        self.emit(f"for (int32_t {lane} = 0; {lane} < {of.lanes}; {lane}++) "
                  f"{target_of(lane)} = {name}[{lane}];")
        self.depth -= 1
        self.emit("}")

    def _lanes(self, value: Any, lanes: int, target: Any) -> None:
        """`target(lane) = value` for every lane: in a loop, where one form does for all."""
        if shuffles(value):
            for number in range(lanes):
                text = self.value(value, number)
                self.emit(f"{target(number)} = {text};")
            return
        lane = self.fresh("l")
        self.emit(f"for (int32_t {lane} = 0; {lane} < {lanes}; {lane}++) {{")
        self.depth += 1
        text = self.value(value, lane)
        self.emit(f"{target(lane)} = {text};")
        self.depth -= 1
        self.emit("}")

    def value(self, node: Any, lane: Lane = 0) -> str:
        """C of an expression, after naming the parts that it uses more than once."""
        for part in shared(node):
            at = lane if kind(part).lanes > 1 else 0
            if (part, at) not in self.expressions.known:
                name, text = self.fresh("s"), self.expressions.text(part, at)
                self.emit(f"const {kind(part).c} {name} = {text};")
                self.named.append((part, at))
                self.expressions.known[part, at] = name
        text = self.expressions.text(node, lane)
        for part in self.named:
            del self.expressions.known[part]
        self.named.clear()
        return text

    def _for(self, node: Any) -> None:
        name = self.fresh("i")
        first = self.expressions.text(node.min)
        self.expressions.names[node.loop_var] = name
        last = self.fresh("n")
        extent = self.expressions.text(node.extent)
        bound = extent if first == "0" else f"{first} + {extent}"
        self.emit(f"for (int32_t {name} = {first}, {last} = {bound}; {name} < {last}; {name}++) {{")
        self._block(node.body)

    def _ifthenelse(self, node: Any) -> None:
        self.emit(f"if ({self.expressions.text(node.condition)}) {{")
        self._block(node.then_case, close=node.else_case is None)
        if node.else_case is not None:
            self.emit("} else {")
            self._block(node.else_case)

    def _while(self, node: Any) -> None:
        self.emit(f"while ({self.expressions.text(node.condition)}) {{")
        self._block(node.body)

    def _attrstmt(self, node: Any) -> None:
        self.statement(node.body)

    def _block(self, body: Any, close: bool = True) -> None:
        self.depth += 1
        self.statement(body)
        self.depth -= 1
        if close:
            self.emit("}")


def _parameter(name: str, type_text: str) -> str:
    if name == "args":
        return "const int32_t *"
    if name == "weights":
        return "const void *"
    return "void *" if "handle" in type_text else "int32_t "


def _based(data: Any) -> tuple[Any, int]:
    """The pointer and the byte offset that a buffer lies at."""
    if type(data).__name__ == "Call" and data.op.name.endswith("handle_add_byte_offset"):
        return data.args[0], int(data.args[1].value)
    return data, 0
