"""The C functions that printed kernels may call: small, static, and taken only as needed.

All of it is C99 without libm: rounding goes by the bits, whatever the compiler's float model.
"""

from __future__ import annotations

import re

SIGNED = {"i8": "int8_t", "i16": "int16_t", "i32": "int32_t", "i64": "int64_t"}
UNSIGNED = {"u8": "uint8_t", "u16": "uint16_t", "u32": "uint32_t", "u64": "uint64_t"}
TYPES = {**SIGNED, **UNSIGNED, "f32": "float"}
WIDTHS = {"i8": 7, "i16": 15, "i32": 31, "i64": 63}
NAME = re.compile(r"\bedgecc_[a-z0-9_]+(?=\()")


def _pair(name: str, operator: str) -> dict[str, str]:
    return {f"edgecc_{name}_{short}": f"static {c} edgecc_{name}_{short}({c} a, {c} b) "
            f"{{ return a {operator} b ? a : b; }}" for short, c in TYPES.items()}


def _floor_division() -> dict[str, str]:
    found = {}
    for short in ("i32", "i64"):
        c = SIGNED[short]
        found[f"edgecc_floordiv_{short}"] = f"""\
static {c} edgecc_floordiv_{short}({c} a, {c} b) {{
  {c} q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}}"""
        found[f"edgecc_floormod_{short}"] = f"""\
static {c} edgecc_floormod_{short}({c} a, {c} b) {{
  {c} r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}}"""
    return found


def _saturating() -> dict[str, str]:
    found = {}
    for short, wide in (("i8", "int32_t"), ("i16", "int32_t"), ("i32", "int64_t")):
        c, most = SIGNED[short], (1 << WIDTHS[short]) - 1
        found[f"edgecc_add_sat_{short}"] = f"""\
static {c} edgecc_add_sat_{short}({c} a, {c} b) {{
  {wide} sum = ({wide})a + ({wide})b;
  if (sum > {most}) return {most};
  return sum < -{most} - 1 ? ({c})(-{most} - 1) : ({c})sum;
}}"""
    return found


FUNCTIONS: dict[str, str] = {
    **_pair("min", "<"), **_pair("max", ">"), **_floor_division(), **_saturating(),
    "edgecc_u32_of_f32": """\
static uint32_t edgecc_u32_of_f32(float value) {
  union { float f; uint32_t u; } both;
  both.f = value;
  return both.u;
}""",
    "edgecc_f32_of_u32": """\
static float edgecc_f32_of_u32(uint32_t value) {
  union { float f; uint32_t u; } both;
  both.u = value;
  return both.f;
}""",
    # the value as a float has it: no wider register, no multiplication fused with an addition
    "edgecc_rounded_f32": """\
static float edgecc_rounded_f32(float value) {
  volatile float kept = value;
  return kept;
}""",
    "edgecc_abs_f32": """\
static float edgecc_abs_f32(float value) { return value < 0.0f ? -value : value + 0.0f; }""",
    "edgecc_trunc_f32": """\
static float edgecc_trunc_f32(float value) {
  uint32_t bits = edgecc_u32_of_f32(value), power = bits >> 23 & 255u;
  if (power >= 150u) return value;
  if (power < 127u) return edgecc_f32_of_u32(bits & 0x80000000u);
  return edgecc_f32_of_u32(bits & ~(0x7FFFFFu >> (power - 127u)));
}""",
    "edgecc_floor_f32": """\
static float edgecc_floor_f32(float value) {
  float whole = edgecc_trunc_f32(value);
  return whole > value ? whole - 1.0f : whole;
}""",
    "edgecc_ceil_f32": """\
static float edgecc_ceil_f32(float value) {
  float whole = edgecc_trunc_f32(value);
  return whole < value ? whole + 1.0f : whole;
}""",
    # half to even, the sign of zero kept
    "edgecc_round_f32": """\
static float edgecc_round_f32(float value) {
  float whole = edgecc_trunc_f32(value), part = edgecc_abs_f32(value - whole);
  uint32_t sign = edgecc_u32_of_f32(value) & 0x80000000u;
  int32_t odd = edgecc_trunc_f32(whole * 0.5f) < whole * 0.5f
      || edgecc_trunc_f32(whole * 0.5f) > whole * 0.5f;
  if (part > 0.5f || (part >= 0.5f && odd)) whole = whole + (sign ? -1.0f : 1.0f);
  return edgecc_f32_of_u32((edgecc_u32_of_f32(whole) & 0x7FFFFFFFu) | sign);
}""",
    # the root of a 24-bit number by digits, rounded once
    "edgecc_sqrt_f32": """\
static float edgecc_sqrt_f32(float value) {
  uint32_t bits = edgecc_u32_of_f32(value), root = 0, mark;
  uint64_t number, trial;
  int32_t power = (int32_t)(bits >> 23 & 255u);
  if ((bits & 0x7FFFFFFFu) == 0 || bits == 0x7F800000u) return value;
  if (bits >> 31 || power == 255) return edgecc_f32_of_u32(0x7FC00000u);
  if (power == 0) {
    for (power = 1; !(bits & 0x800000u); power--) bits <<= 1;
  }
  number = (uint64_t)((bits & 0x7FFFFFu) | 0x800000u) << 25;
  if ((power & 1) == 0) number <<= 1;
  for (mark = 1u << 24; mark; mark >>= 1) {
    trial = (uint64_t)(root | mark);
    if (trial * trial <= number) root |= mark;
  }
  root = (root >> 1) + (root & 1u);
  power = (power - 127 - ((power & 1) == 0)) / 2 + 127;
  return edgecc_f32_of_u32(((uint32_t)power << 23) + root - 0x800000u);
}""",
    "edgecc_clz_u32": """\
static int32_t edgecc_clz_u32(uint32_t value) {
  int32_t zeros = 0;
  if (value == 0) return 32;
  for (; !(value & 0x80000000u); value <<= 1) zeros++;
  return zeros;
}""",
}


def needed(text: str) -> list[str]:
    """Names of the helpers that `text` calls, those before which others call first."""
    found: list[str] = []

    def add(name: str) -> None:
        if name in FUNCTIONS and name not in found:
            for other in NAME.findall(FUNCTIONS[name]):
                if other != name:
                    add(other)
            found.append(name)

    for name in NAME.findall(text):
        add(name)
    return found


def definitions(text: str) -> str:
    """C of every helper that `text` needs, each guarded: files may be joined to one."""
    return "".join(f"#ifndef {name.upper()}\n#define {name.upper()}\n{FUNCTIONS[name]}\n#endif\n"
                   for name in needed(text))
