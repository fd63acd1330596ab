"""Assembly for Cortex-M as LLVM functions: operands by name, always inlined.

Lines of a statement name their operands in braces. A pointer or a word may wait in an FPU
register (`t`): VMOV brings it to the core in one instruction, a load from the stack would not be
shorter and would need an address.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Operand:
    """`temporary`: written first. `moving`: given, and changed. `given`: only read. `kept`: a word
    in memory, which is read before and written after."""

    name: str
    use: Literal["temporary", "moving", "given", "kept"]
    place: Literal["r", "t"] = "r"
    pointer: bool = False

    @property
    def kind(self) -> str:
        return "float" if self.place == "t" else "ptr" if self.pointer else "i32"


def function(symbol: str, operands: Sequence[Operand], lines: Sequence[str],
             clobbers: Sequence[str] = ()) -> str:
    """LLVM IR of void symbol(operands that are not temporary, as they come)."""
    written = [o for o in operands if o.use != "temporary"]
    results = [o for o in operands if o.use != "given"]
    given = [o for o in operands if o.use == "given"]
    places = {o.name: f"${i}" for i, o in enumerate([*results, *_tied(results), *given])
              if i < len(results) or o.use == "given"}
    tied = [str(results.index(o)) for o in _tied(results)]
    constraints = [*(f"={'&' if o.use == 'temporary' else ''}{o.place}" for o in results), *tied,
                   *(o.place for o in given), *(f"~{{{c}}}" for c in clobbers), "~{cc}",
                   "~{memory}"]
    text = "\\0A\\09".join(line.format_map(places) for line in lines)
    kinds = ", ".join(o.kind for o in results)
    arguments = ", ".join(f"{o.kind} %v_{o.name}" for o in [*_tied(results), *given])
    parameters = ", ".join(f"{'ptr' if o.pointer or o.use == 'kept' else 'i32'} %{o.name}"
                           for o in written)
    body = [line for o in written for line in _placed(o)]
    return "\n".join([f"define internal void @{symbol}({parameters}) alwaysinline nounwind {{",
                      *(f"  {line}" for line in body),
                      f'  %r = call {{{kinds}}} asm sideeffect "{text}", '
                      f'"{",".join(constraints)}"({arguments})',
                      *(f"  {line}" for line in _stored(results, kinds)), "  ret void", "}", ""])


def _tied(results: Sequence[Operand]) -> list[Operand]:
    return [o for o in results if o.use in ("moving", "kept")]


def _stored(results: Sequence[Operand], kinds: str) -> list[str]:
    return [line for i, o in enumerate(results) if o.use == "kept" for line in (
        f"%r_{o.name} = extractvalue {{{kinds}}} %r, {i}",
        f"store i32 %r_{o.name}, ptr %{o.name}, align 4")]


def _placed(o: Operand) -> list[str]:
    """The parameter as a value of the operand's kind."""
    if o.use == "kept":
        return [f"%v_{o.name} = load i32, ptr %{o.name}, align 4"]
    if o.place == "r":
        source = "ptr" if o.pointer else "i32"
        return [f"%v_{o.name} = bitcast {source} %{o.name} to {source}"]
    if not o.pointer:
        return [f"%v_{o.name} = bitcast i32 %{o.name} to float"]
    return [f"%b_{o.name} = ptrtoint ptr %{o.name} to i32",
            f"%v_{o.name} = bitcast i32 %b_{o.name} to float"]


def add(target: str, source: str, count: int, free: str | None = None) -> list[str]:
    """target = source + count; through `free` (by default the target) if it is large."""
    if target == source and count == 0:
        return []
    if abs(count) < 4096:
        return [f"{'addw' if count >= 0 else 'subw'} {target}, {source}, #{abs(count)}"]
    free = free or target
    bits = count & 0xFFFFFFFF
    return [f"movw {free}, #{bits & 0xFFFF}", f"movt {free}, #{bits >> 16}",
            f"add.w {target}, {source}, {free}"]
