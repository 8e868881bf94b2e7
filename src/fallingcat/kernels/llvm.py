"""LLVM text of a program: one state in scalars, or a block of states in SIMD lanes, from the same instructions.

Both do the same operations in the same order with explicit fused multiply-adds, so they give the same bits.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from fractions import Fraction
from math import factorial, pi
from typing import Any, NamedTuple

from .program import Chunk, Program

# pi/2 as a sum of two doubles; the product with a whole number is fused, so the reduction is exact to about 1e-32
_HALF_PI = (pi / 2, 6.123233995736766e-17)
_ROUND = 1.5 * 2.0**52  # adding it leaves the nearest whole number in the low bits
_SIN = [float(Fraction((-1) ** k, factorial(2 * k + 1))) for k in range(9)]
_COS = [float(Fraction((-1) ** k, factorial(2 * k))) for k in range(10)]
SINGLE_SIN = 6  # terms that float32 needs


class Type(NamedTuple):
    """The element and the number of lanes."""

    element: str
    lanes: int

    @property
    def text(self) -> str:
        return self.element if self.lanes == 1 else f"<{self.lanes} x {self.element}>"

    @property
    def integer(self) -> str:
        bits = "i64" if self.element == "double" else "i32"
        return bits if self.lanes == 1 else f"<{self.lanes} x {bits}>"

    @property
    def condition(self) -> str:
        return "i1" if self.lanes == 1 else f"<{self.lanes} x i1>"

    @property
    def suffix(self) -> str:
        """As in ``llvm.fma.v8f64``."""
        bits = "f64" if self.element == "double" else "f32"
        return bits if self.lanes == 1 else f"v{self.lanes}{bits}"

    @property
    def bytes(self) -> int:
        return self.lanes * (8 if self.element == "double" else 4)

    def constant(self, x: float) -> str:
        if self.element == "float":
            x = struct.unpack("f", struct.pack("f", x))[0]
        bits = f"0x{struct.unpack('<Q', struct.pack('<d', x))[0]:016X}"
        return bits if self.lanes == 1 else f"splat ({self.element} {bits})"

    def whole(self, n: int) -> str:
        bits = "i64" if self.element == "double" else "i32"
        return str(n) if self.lanes == 1 else f"splat ({bits} {n})"


_BINARY = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
_LIBRARY = {"exp": "exp", "log": "log", "arctan2": "atan2"}


def module(program: Program, type_: Type, name: str, group: int = 1) -> str:
    """The functions ``{name}_chunk0`` ... and ``{name}(arguments..., out, work)`` for ``type_.lanes`` states.

    With one lane, sines and cosines of inputs are taken ``group`` at a time.
    """
    lines = [*_sincos(type_, name)]
    if type_.lanes == 1 and group > 1:
        several = Type(type_.element, group)
        lines += [*_sincos(several, f"{name}_several"), _declarations(several)[0]]
    for c, chunk in enumerate(program.chunks):
        lines += _chunk(program, chunk, type_, f"{name}_chunk{c}", name, group if type_.lanes == 1 else 1)
    lines += _body(program, type_, name)
    lines += _declarations(type_)
    return "\n".join(lines)


def _arguments(program: Program) -> str:
    return ", ".join(
        [*(f"ptr noalias %a{i}" for i in range(len(program.argument_sizes))), "ptr noalias %out", "ptr noalias %work"]
    )


def _call_arguments(program: Program) -> str:
    return ", ".join([*(f"ptr %a{i}" for i in range(len(program.argument_sizes))), "ptr %out", "ptr %work"])


def _body(program: Program, type_: Type, name: str) -> Iterator[str]:
    yield f"define internal void @{name}({_arguments(program)}) nounwind {{"
    for c in range(len(program.chunks)):
        yield f"  call void @{name}_chunk{c}({_call_arguments(program)})"
    yield "  ret void"
    yield "}"


def _chunk(program: Program, chunk: Chunk, type_: Type, label: str, name: str, group: int) -> list[str]:
    """One internal, never inlined function: loads, the straight line, stores."""
    out = [f"define internal void @{label}({_arguments(program)}) noinline nounwind {{"]
    t = type_.text
    known: set[int] = set()
    conditions = {line.value for line in program.instructions if line.op == "less"}  # kept as 0 or 1
    names: dict[int, str] = {}  # values that go by another name than their number

    def operand(x: Any) -> str:
        if not isinstance(x, int):
            return type_.constant(x)
        if x not in known:
            known.add(x)
            if x in program.inputs:
                argument, index = program.inputs[x]
                source = f"%a{argument}"
            else:
                source, index = "%work", chunk.loads[x]
            out.append(f"  %p{x} = getelementptr {t}, ptr {source}, i64 {index}")
            name = f"%l{x}" if x in conditions else f"%v{x}"
            out.append(f"  {name} = load {t}, ptr %p{x}, align {type_.bytes}")
            if x in conditions:
                out.append(f"  %v{x} = fcmp une {t} {name}, {type_.constant(0.0)}")
        return names.get(x, f"%v{x}")

    turned = [line for line in chunk.instructions if line.op in ("sin", "cos")]
    early = list(dict.fromkeys(line.operands[0] for line in turned if line.operands[0] in program.inputs))
    ready: dict[tuple[Any, str], str] = {}
    if group > 1:
        for start in range(0, len(early), group):
            some = early[start : start + group]
            out += _several(Type(type_.element, group), name, some, [operand(x) for x in some], ready)
    pairs: dict[Any, str] = {}
    for line in chunk.instructions:
        known.add(line.value)
        if line.op in ("sin", "cos"):
            angle = line.operands[0]
            if (angle, line.op) in ready:
                names[line.value] = ready[angle, line.op]
                continue
            x = operand(angle)
            if x not in pairs:
                pairs[x] = f"%sc{line.value}"
                out.append(f"  {pairs[x]} = call {{{t}, {t}}} @{name}_sincos({t} {x})")
            out.append(f"  %v{line.value} = extractvalue {{{t}, {t}}} {pairs[x]}, {0 if line.op == 'sin' else 1}")
        else:
            out += _instruction(type_, line.value, line.op, [operand(x) for x in line.operands])
    for value, slot in chunk.stores.items():
        out.append(f"  %s{value} = getelementptr {t}, ptr %work, i64 {slot}")
        kept = operand(value)
        if value in conditions:
            out.append(f"  %k{value} = uitofp {type_.condition} {kept} to {t}")
            kept = f"%k{value}"
        out.append(f"  store {t} {kept}, ptr %s{value}, align {type_.bytes}")
    for place, x in chunk.outputs:
        source = operand(x)
        out.append(f"  %o{place} = getelementptr {t}, ptr %out, i64 {place}")
        out.append(f"  store {t} {source}, ptr %o{place}, align {type_.bytes}")
    return [*out, "  ret void", "}"]


def _several(
    several: Type, name: str, angles: list[int], values: list[str], ready: dict[tuple[Any, str], str]
) -> Iterator[str]:
    """Sine and cosine of some angles in the lanes of one call; empty lanes repeat the last angle."""
    t, e, tag = several.text, several.element, f"{name}{angles[0]}"
    whole = "poison"
    for i in range(several.lanes):
        value = values[min(i, len(values) - 1)]
        yield f"  %in_{tag}_{i} = insertelement {t} {whole}, {e} {value}, i32 {i}"
        whole = f"%in_{tag}_{i}"
    yield f"  %sc_{tag} = call {{{t}, {t}}} @{name}_several_sincos({t} {whole})"
    for k, op in enumerate(("sin", "cos")):
        yield f"  %{op}_{tag} = extractvalue {{{t}, {t}}} %sc_{tag}, {k}"
        for i, angle in enumerate(angles):
            ready[angle, op] = f"%{op}_{tag}_{i}"
            yield f"  {ready[angle, op]} = extractelement {t} %{op}_{tag}, i32 {i}"


def _instruction(type_: Type, value: int, op: str, x: list[str]) -> list[str]:
    t, v = type_.text, f"%v{value}"
    if op in _BINARY:
        return [f"  {v} = {_BINARY[op]} {t} {x[0]}, {x[1]}"]
    if op == "neg":
        return [f"  {v} = fneg {t} {x[0]}"]
    if op == "fma":
        return [f"  {v} = call {t} @llvm.fma.{type_.suffix}({t} {x[0]}, {t} {x[1]}, {t} {x[2]})"]
    if op == "fms":  # a b - c
        return [
            f"  %n{value} = fneg {t} {x[2]}",
            f"  {v} = call {t} @llvm.fma.{type_.suffix}({t} {x[0]}, {t} {x[1]}, {t} %n{value})",
        ]
    if op == "fnma":  # c - a b
        return [
            f"  %n{value} = fneg {t} {x[0]}",
            f"  {v} = call {t} @llvm.fma.{type_.suffix}({t} %n{value}, {t} {x[1]}, {t} {x[2]})",
        ]
    if op == "sqrt":
        return [f"  {v} = call {t} @llvm.sqrt.{type_.suffix}({t} {x[0]})"]
    if op == "less":
        return [f"  {v} = fcmp olt {t} {x[0]}, {x[1]}"]
    if op == "select":
        return [f"  {v} = select {type_.condition} {x[0]}, {t} {x[1]}, {t} {x[2]}"]
    return list(_library_call(type_, value, _LIBRARY[op], x))


def _library_call(type_: Type, value: int, name: str, x: list[str]) -> Iterator[str]:
    """The C library's function, lane by lane."""
    function = name if type_.element == "double" else f"{name}f"
    e, t = type_.element, type_.text
    if type_.lanes == 1:
        yield f"  %v{value} = call {e} @{function}({', '.join(f'{e} {a}' for a in x)})"
        return
    whole = "poison"
    for i in range(type_.lanes):
        for j, a in enumerate(x):
            yield f"  %e{value}_{i}_{j} = extractelement {t} {a}, i32 {i}"
        arguments = ", ".join(f"{e} %e{value}_{i}_{j}" for j in range(len(x)))
        yield f"  %r{value}_{i} = call {e} @{function}({arguments})"
        result = f"%v{value}" if i == type_.lanes - 1 else f"%w{value}_{i}"
        yield f"  {result} = insertelement {t} {whole}, {e} %r{value}_{i}, i32 {i}"
        whole = f"%w{value}_{i}"


def _sincos(type_: Type, name: str) -> Iterator[str]:
    """Sine and cosine together, without a branch: reduce by pi/2 in two steps, Taylor, then swap and sign by
    quadrant.
    """
    t, c, whole = type_.text, type_.constant, type_.whole
    fma = f"call {t} @llvm.fma.{type_.suffix}"
    yield f"define internal {{{t}, {t}}} @{name}_sincos({t} %x) alwaysinline nounwind {{"
    rounding = _ROUND if type_.element == "double" else 1.5 * 2.0**23
    steps = _HALF_PI if type_.element == "double" else (1.5703125, 4.837512969970703e-4, 7.549789954891882e-8)
    yield f"  %shifted = {fma}({t} %x, {t} {c(2 / pi)}, {t} {c(rounding)})"
    yield f"  %n = fsub {t} %shifted, {c(rounding)}"
    yield f"  %m = fneg {t} %n"
    last = "%x"
    for i, step in enumerate(steps):
        yield f"  %r{i} = {fma}({t} %m, {t} {c(step)}, {t} {last})"
        last = f"%r{i}"
    yield f"  %t = fmul {t} {last}, {last}"
    yield from _horner(t, fma, "s", [c(x) for x in (_SIN if type_.element == "double" else _SIN[:SINGLE_SIN])[1:]])
    yield f"  %st = fmul {t} %s, %t"
    yield f"  %sin = {fma}({t} %st, {t} {last}, {t} {last})"
    yield from _horner(t, fma, "c", [c(x) for x in (_COS if type_.element == "double" else _COS[:SINGLE_SIN])[1:]])
    yield f"  %cos = {fma}({t} %c, {t} %t, {t} {c(1.0)})"
    n = type_.integer
    yield f"  %bits = bitcast {t} %shifted to {n}"
    yield f"  %odd = and {n} %bits, {whole(1)}"
    yield f"  %swap = icmp ne {n} %odd, {whole(0)}"
    yield f"  %half = and {n} %bits, {whole(2)}"
    yield f"  %minus = icmp ne {n} %half, {whole(0)}"
    yield f"  %next = add {n} %bits, {whole(1)}"
    yield f"  %nexthalf = and {n} %next, {whole(2)}"
    yield f"  %cminus = icmp ne {n} %nexthalf, {whole(0)}"
    k = type_.condition
    yield f"  %s0 = select {k} %swap, {t} %cos, {t} %sin"
    yield f"  %c0 = select {k} %swap, {t} %sin, {t} %cos"
    yield f"  %ns = fneg {t} %s0"
    yield f"  %nc = fneg {t} %c0"
    yield f"  %s1 = select {k} %minus, {t} %ns, {t} %s0"
    yield f"  %c1 = select {k} %cminus, {t} %nc, {t} %c0"
    yield f"  %pair = insertvalue {{{t}, {t}}} poison, {t} %s1, 0"
    yield f"  %both = insertvalue {{{t}, {t}}} %pair, {t} %c1, 1"
    yield f"  ret {{{t}, {t}}} %both"
    yield "}"


def _horner(t: str, fma: str, name: str, coefficients: list[str]) -> Iterator[str]:
    last = coefficients[-1]
    for i, coefficient in enumerate(reversed(coefficients[:-1])):
        new = f"%{name}{i}h" if i < len(coefficients) - 2 else f"%{name}"
        yield f"  {new} = {fma}({t} %t, {t} {last}, {t} {coefficient})"
        last = new


def _declarations(type_: Type) -> list[str]:
    t, e = type_.text, type_.element
    suffix = "" if e == "double" else "f"
    return [
        f"declare {t} @llvm.fma.{type_.suffix}({t}, {t}, {t})",
        f"declare {t} @llvm.sqrt.{type_.suffix}({t})",
        f"declare {e} @exp{suffix}({e})",
        f"declare {e} @log{suffix}({e})",
        f"declare {e} @atan2{suffix}({e}, {e})",
    ]
