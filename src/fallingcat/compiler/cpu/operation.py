"""LLVM text of single operations, and of sine and cosine, in scalars or SIMD lanes."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from fractions import Fraction
from math import factorial, nan, pi
from typing import NamedTuple

from ...arrays.operations import FUNCTIONS, OPERATIONS

# pi/2 as a sum of two doubles; the product with a whole number is fused, so the reduction is exact to about 1e-32
_HALF_PI = (pi / 2, 6.123233995736766e-17)
_ROUND = 1.5 * 2.0**52  # adding it leaves the nearest whole number in the low bits
_SIN = [float(Fraction((-1) ** k, factorial(2 * k + 1))) for k in range(9)]
_COS = [float(Fraction((-1) ** k, factorial(2 * k))) for k in range(10)]
SINGLE_SIN = 6  # terms that float32 needs
INLINE_FUNCTIONS = ("sin", "cos", "sqrt")
"""Functions that have code of their own here; the others are those of the C library."""
ELEMENTS = {"float64": "double", "float32": "float"}
"""LLVM type of the numbers of each dtype."""


class Type(NamedTuple):
    """The element and the number of lanes."""

    element: str
    lanes: int

    @property
    def text(self) -> str:
        """Type in LLVM's words, e.g. ``<8 x double>``."""
        return self.element if self.lanes == 1 else f"<{self.lanes} x {self.element}>"

    @property
    def integer(self) -> str:
        """Whole numbers of the same width."""
        bits = "i64" if self.element == "double" else "i32"
        return bits if self.lanes == 1 else f"<{self.lanes} x {bits}>"

    @property
    def condition(self) -> str:
        """Truth values, one for each lane."""
        return "i1" if self.lanes == 1 else f"<{self.lanes} x i1>"

    @property
    def suffix(self) -> str:
        """As in ``llvm.fma.v8f64``."""
        bits = "f64" if self.element == "double" else "f32"
        return bits if self.lanes == 1 else f"v{self.lanes}{bits}"

    @property
    def bytes(self) -> int:
        """Size of a value in memory (bytes)."""
        return self.lanes * (8 if self.element == "double" else 4)

    def constant(self, x: float) -> str:
        """Constant in LLVM's words, bit by bit."""
        if self.element == "float":
            x = struct.unpack("f", struct.pack("f", x))[0]
        bits = f"0x{struct.unpack('<Q', struct.pack('<d', x))[0]:016X}"
        return bits if self.lanes == 1 else f"splat ({self.element} {bits})"

    def whole(self, n: int) -> str:
        """Whole number in LLVM's words."""
        bits = "i64" if self.element == "double" else "i32"
        return str(n) if self.lanes == 1 else f"splat ({bits} {n})"


def instruction(type_: Type, value: int, op: str, x: list[str]) -> list[str]:
    """Lines of LLVM for one operation on operands ``x``."""
    t, v = type_.text, f"%v{value}"
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
    if op == "select":
        return [f"  {v} = select {type_.condition} {x[0]}, {t} {x[1]}, {t} {x[2]}"]
    names = OPERATIONS[op].names
    if "llvm" in names:
        return [f"  {v} = {names['llvm']} {t} {', '.join(x)}"]
    return list(_library_call(type_, value, names["c"], x))


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


def sincos(type_: Type, name: str) -> Iterator[str]:
    """Sine and cosine together, without a branch.

    Reduce by pi/2 in two steps, Taylor, then swap and sign by quadrant; NaN for angles above 2^51 quadrants, which have
    no whole number.
    """
    t, c, whole = type_.text, type_.constant, type_.whole
    fma = f"call {t} @llvm.fma.{type_.suffix}"
    yield f"define internal {{{t}, {t}}} @{name}_sincos{type_.lanes}({t} %x) alwaysinline nounwind {{"
    rounding = _ROUND if type_.element == "double" else 1.5 * 2.0**23
    farthest = rounding / 3.0 * (pi / 2.0)  # beyond it that sum has no digit for single quadrants
    steps = _HALF_PI if type_.element == "double" else (1.5703125, 4.837512969970703e-4, 7.549789954891882e-8)
    # Adding 1.5 * 2^52 rounds to the nearest whole number and leaves it in the low bits: the quadrant, read below.
    yield f"  %shifted = {fma}({t} %x, {t} {c(2 / pi)}, {t} {c(rounding)})"
    yield f"  %n = fsub {t} %shifted, {c(rounding)}"
    yield f"  %m = fneg {t} %n"
    last = "%x"
    # Cody and Waite: pi/2 in parts of falling size, so that x - n pi/2 keeps its digits where it nearly cancels.
    for i, step in enumerate(steps):
        yield f"  %r{i} = {fma}({t} %m, {t} {c(step)}, {t} {last})"
        last = f"%r{i}"
    yield f"  %square = fmul {t} {last}, {last}"
    yield f"  %size = call {t} @llvm.fabs.{type_.suffix}({t} %x)"
    yield f"  %near = fcmp ole {t} %size, {c(farthest)}"
    yield f"  %t = select {type_.condition} %near, {t} %square, {t} {c(nan)}"  # too far away to say where on the circle
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


def intrinsics(type_: Type) -> list[str]:
    """Declarations of LLVM's own functions."""
    t = type_.text
    return [
        f"declare {t} @llvm.fma.{type_.suffix}({t}, {t}, {t})",
        f"declare {t} @llvm.sqrt.{type_.suffix}({t})",
        f"declare {t} @llvm.fabs.{type_.suffix}({t})",
    ]


def declarations(type_: Type) -> list[str]:
    """Declarations of all functions that the code may call."""
    e = type_.element
    suffix = "" if e == "double" else "f"
    library = [
        f"declare {e} @{row.names['c']}{suffix}({', '.join([e] * row.inputs)})"
        for name, row in FUNCTIONS.items()
        if name not in INLINE_FUNCTIONS
    ]
    return ["declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)", *library]
