"""CUDA text of a program: one thread per state, structure of arrays.

Value ``k`` of state ``i`` lies at ``[k * n + i]``, so that neighbouring threads read and write neighbouring numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from math import pi
from typing import Any

from .ctext import Real, statement
from .program import Chunk, Instruction, Program

STRAIGHT = 14_000
"""Up to so many instructions a kernel is one function; beyond, chunks (the compiler's time grows faster than the text)."""

# sin r = r + r^3 p(r^2), cos r = 1 - r^2/2 + r^4 p(r^2) on |r| <= pi/4: equal-ripple polynomials found by Remez
# exchange with 50 digits; relative errors of sin 3.6e-9 and 3.5e-18, absolute ones of cos 9.6e-11 and 4.7e-20
_SIN = {
    "float32": (-0.1666665487351335, 0.008332173545500305, -0.00019516656132537136),
    "float64": (
        -0.16666666666666632,
        0.008333333333322316,
        -0.00019841269829725235,
        2.7557313662069537e-06,
        -2.5050753266578296e-08,
        1.5896505073664253e-10,
    ),
}
_COS = {
    "float32": (0.0416666467478363, -0.0013887361453232805, 2.443773045724937e-05),
    "float64": (
        0.0416666666666666,
        -0.001388888888887399,
        2.4801587289394967e-05,
        -2.755731432604291e-07,
        2.0875719560409487e-09,
        -1.1359448770978467e-11,
    ),
}
# pi/2 in steps whose products with small whole numbers are exact, and the number that rounds when it is added
_STEPS = {
    "float32": (1.5703125, 4.837512969970703e-4, 7.549789954891882e-8),
    "float64": (pi / 2, 6.123233995736766e-17),
}
_ROUND = {"float32": 1.5 * 2.0**23, "float64": 1.5 * 2.0**52}


def text(program: Program, dtype: str, name: str, block: int = 128, least: int = 1, chunked: bool | None = None) -> str:
    """The kernel ``name(a0, a1, ..., out, n)``; ``block`` threads, at least ``least`` blocks on a multiprocessor."""
    real = Real(dtype)
    if chunked is None:
        chunked = len(program.instructions) > STRAIGHT
    lines = [*sincos(real)]
    if chunked:
        for c, chunk in enumerate(program.chunks):
            lines += _function(program, chunk, real, f"{name}_chunk{c}")
    lines.append(f'extern "C" __global__ void __launch_bounds__({block}, {least})')
    lines.append(f"{name}({parameters(program, real)})")
    lines += ["{", "    const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;", "    if (i >= n) return;"]
    lines += [f"    a{k} += i;" for k in range(len(program.argument_sizes))]
    lines.append("    out += i;")
    if chunked:
        lines.append(f"    {real.text} w[{max(program.slots, 1)}];")
        arguments = ", ".join([*(f"a{k}" for k in range(len(program.argument_sizes))), "out", "n", "w"])
        lines += [f"    {name}_chunk{c}({arguments});" for c in range(len(program.chunks))]
    else:
        lines += _body(program, program.instructions, {}, list(enumerate(program.outputs)), real)
    return "\n".join([*lines, "}", ""])


def parameters(program: Program, real: Real) -> str:
    """Of the kernel: the arguments, the result and the number of states."""
    inputs = (f"const {real.text} *__restrict__ a{k}" for k in range(len(program.argument_sizes)))
    return ", ".join([*inputs, f"{real.text} *__restrict__ out", "const long long n"])


def _function(program: Program, chunk: Chunk, real: Real, name: str) -> Iterator[str]:
    """A chunk as a function that is not inlined; ``w`` is the thread's workspace."""
    yield f"static __device__ __noinline__ void {name}({parameters(program, real)}, {real.text} *__restrict__ w)"
    yield "{"
    yield from _body(program, chunk.instructions, chunk.loads, chunk.outputs, real)
    for value, slot in chunk.stores.items():
        yield f"    w[{slot}] = v{value};"
    yield "}"


def _body(program: Program, lines: list[Instruction], loads: dict[int, int], outputs: list[Any], real: Real) -> list[str]:
    writer = Writer(program, real, outputs, lambda x: f"w[{loads[x]}]")
    for line in lines:
        writer.add(line)
    return writer.finished()


class Writer:
    """A straight line of statements: each value is read before its first use, each result written as soon as it is
    there.
    """

    def __init__(
        self, program: Program, real: Real, outputs: Iterable[tuple[int, Any]], elsewhere: Callable[[int], str]
    ) -> None:
        self.lines: list[str] = []
        self._inputs, self._real, self._elsewhere = program.inputs, real, elsewhere
        self._known: set[int] = set()
        self._angles: dict[Any, int] = {}
        self._places: dict[int, list[int]] = {}
        for place, x in outputs:
            if isinstance(x, int):
                self._places.setdefault(x, []).append(place)
            else:
                self.lines.append(f"    __stcs(out + {place} * n, {real.constant(x)});")

    def add(self, line: Instruction) -> None:
        real, v = self._real, line.value
        operands = [self._operand(x) for x in line.operands]
        if line.op in ("sin", "cos"):
            angle = line.operands[0]
            if angle not in self._angles:
                self._angles[angle] = v
                self.lines += [f"    {real.text} s{v}, c{v};", f"    fc_sincos({operands[0]}, &s{v}, &c{v});"]
            self.lines.append(f"    const {real.text} v{v} = {line.op[0]}{self._angles[angle]};")
        else:
            self.lines.append(f"    {statement(real, line, operands)}")
        self._known.add(v)
        self._write(v)

    def finished(self) -> list[str]:
        """All lines, with those results that are inputs or come from elsewhere."""
        for x in list(self._places):
            self._operand(x)
            self._write(x)
        return self.lines

    def _operand(self, x: Any) -> str:
        if not isinstance(x, int):
            return self._real.constant(x)
        if x not in self._known:
            self._known.add(x)
            place = self._inputs.get(x)
            source = self._elsewhere(x) if place is None else f"a{place[0]}[{place[1]} * n]"
            self.lines.append(f"    const {self._real.text} v{x} = {source};")
        return f"v{x}"

    def _write(self, x: int) -> None:
        self.lines.extend(f"    __stcs(out + {place} * n, v{x});" for place in self._places.pop(x, ()))


def sincos(real: Real) -> Iterator[str]:
    """Sine and cosine together, without a branch: off by less than 2 units in the last place up to |x| of some 1e4."""
    t, c, fma = real.text, real.constant, real.function("fma")
    whole, bits = ("long long", "__double_as_longlong") if t == "double" else ("int", "__float_as_int")
    yield f"static __device__ __forceinline__ void fc_sincos(const {t} x, {t} *s, {t} *c)"
    yield "{"
    yield f"    const {t} shifted = {fma}(x, {c(2 / pi)}, {c(_ROUND[real.dtype])});"
    yield f"    const {t} m = {c(_ROUND[real.dtype])} - shifted;"
    yield f"    {t} r = x;"
    for step in _STEPS[real.dtype]:
        yield f"    r = {fma}(m, {c(step)}, r);"
    yield f"    const {t} t = r * r;"
    for name, coefficients in (("p", _SIN[real.dtype]), ("k", _COS[real.dtype])):
        yield f"    {t} {name} = {c(coefficients[-1])};"
        for x in reversed(coefficients[:-1]):
            yield f"    {name} = {fma}({name}, t, {c(x)});"
    yield f"    p = {fma}(p * t, r, r);"
    yield f"    k = {fma}({fma}(k, t, {c(-0.5)}), t, {c(1.0)});"
    yield f"    const {whole} quadrant = {bits}(shifted);"
    yield f"    const {t} a = (quadrant & 1) ? k : p, b = (quadrant & 1) ? p : k;"
    yield "    *s = (quadrant & 2) ? -a : a;"
    yield "    *c = ((quadrant + 1) & 2) ? -b : b;"
    yield "}"
