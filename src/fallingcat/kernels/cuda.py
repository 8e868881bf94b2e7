"""CUDA text of a program: one thread per state, structure of arrays.

Value ``k`` of state ``i`` lies at ``[k * n + i]``, so that neighbouring threads read and write neighbouring numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import pi
from typing import Any, NamedTuple

from .ctext import Real, statement
from .program import Chunk, Instruction, Program
from .registers import Plan, plan

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


class Shape(NamedTuple):
    """How a kernel is laid out on a multiprocessor."""

    block: int
    """threads in a block"""
    least: int
    """blocks that a multiprocessor must be able to hold"""
    keep: int
    """values that a thread keeps in registers; the others wait in shared memory"""
    stride: int = 0
    """instructions between two barriers, which keep the warps of a block together in the instruction cache"""


class Text(NamedTuple):
    """A kernel's text and what its launch needs."""

    source: str
    block: int
    shared: int
    """bytes of dynamic shared memory"""


def text(program: Program, dtype: str, name: str, shape: Shape) -> Text:
    """The kernel ``name(a0, a1, ..., out, n)`` as one straight line."""
    real = Real(dtype)
    moves = plan(program.instructions, program.inputs, shape.keep)
    lines = [*_sincos(real), *_head(program, real, name, shape)]
    if moves.places:
        lines.append("    extern __shared__ char pool[];")
        lines.append(f"    volatile {real.text} *const w = (volatile {real.text} *)pool + threadIdx.x;")
    lines += [*_second_pointers(program, real), *_straight(program, real, moves, shape)]
    shared = moves.places * shape.block * (8 if dtype == "float64" else 4)
    return Text("\n".join([*lines, "}", ""]), shape.block, shared)


def chunked(program: Program, dtype: str, name: str, shape: Shape) -> Text:
    """The same as a chain of functions, with a workspace in the thread's local memory."""
    real = Real(dtype)
    lines = [*_sincos(real)]
    for c, chunk in enumerate(program.chunks):
        lines += _function(program, chunk, real, f"{name}_chunk{c}")
    lines += _head(program, real, name, shape)
    lines.append(f"    {real.text} w[{max(program.slots, 1)}];")
    arguments = ", ".join([*(f"a{k}" for k in range(len(program.argument_sizes))), "out", "n", "w"])
    for c in range(len(program.chunks)):
        lines += [f"    {name}_chunk{c}({arguments});", "    __syncthreads();"]
    return Text("\n".join([*lines, "}", ""]), shape.block, 0)


def _second_pointers(program: Program, real: Real) -> list[str]:
    """Pointers for reading inputs again, of which the compiler cannot know that they are the first ones: it would keep
    every address in registers from the first reading to the second.
    """
    count = range(len(program.argument_sizes))
    changed = ", ".join(['"+r"(m)', *(f'"+l"(b{k})' for k in count)])
    return [
        "    unsigned m = n;",
        *(f"    const {real.text} *b{k} = a{k};" for k in count),
        f'    asm volatile("" : {changed});',
    ]


def _head(program: Program, real: Real, name: str, shape: Shape) -> list[str]:
    return [
        f'extern "C" __global__ void __launch_bounds__({shape.block}, {shape.least})',
        f"{name}({_parameters(program, real)})",
        "{",
        "    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;",
        "    i = i < n ? i : n - 1;  // the threads that are left over repeat the last state",
        *(f"    a{k} += i;" for k in range(len(program.argument_sizes))),
        "    out += i;",
    ]


def _parameters(program: Program, real: Real) -> str:
    inputs = (f"const {real.text} *__restrict__ a{k}" for k in range(len(program.argument_sizes)))
    return ", ".join([*inputs, f"{real.text} *__restrict__ out", "const unsigned n"])


def _at(pointer: str, index: int) -> str:
    return f"{pointer}[{index}ULL * n]"


def _store(k: int, source: str) -> str:
    return f"    __stcs(out + {k}ULL * n, {source});"  # streaming: nobody reads it here again


def _straight(program: Program, real: Real, moves: Plan, shape: Shape) -> list[str]:
    """Statement by statement; each result is written as soon as it is there."""
    lines: list[str] = []
    names: dict[int, str] = {}
    angles: dict[Any, int] = {}
    places = _places(enumerate(program.outputs))
    lines += [_store(k, real.constant(x)) for k, x in enumerate(program.outputs) if type(x) is float]
    done = 0
    reads: set[tuple[int, int]] = set()
    for number, step in enumerate(moves.steps):
        x = step.value
        if step.kind == "aside":
            lines.append(f"    w[{step.place * shape.block}] = {names[x]};")
        elif step.kind == "back":
            names[x] = f"w{number}"
            lines.append(f"    const {real.text} w{number} = w[{step.place * shape.block}];")
        elif step.kind == "read":
            argument, index = program.inputs[x]
            names[x] = f"r{number}"
            source = _at(f"a{argument}", index)
            if (argument, index) in reads:  # volatile: the compiler would rather keep the first reading in a register
                source = f"*(const volatile {real.text} *)(b{argument} + {index}ULL * m)"
            reads.add((argument, index))
            lines.append(f"    const {real.text} r{number} = {source};")
            lines += [_store(k, f"r{number}") for k in places.pop(x, ())]
        else:
            assert step.line is not None
            lines += _statement(real, step.line, names, angles)
            names[x] = f"v{x}"
            lines += [_store(k, f"v{x}") for k in places.pop(x, ())]
            done += 1
            if shape.stride and done % shape.stride == 0:
                lines.append("    __syncthreads();")
    for x, ks in places.items():  # inputs that nothing uses but the result
        argument, index = program.inputs[x]
        lines += [_store(k, _at(f"a{argument}", index)) for k in ks]
    return lines


def _places(outputs: Iterable[tuple[int, Any]]) -> dict[int, list[int]]:
    places: dict[int, list[int]] = {}
    for k, x in outputs:
        if isinstance(x, int):
            places.setdefault(x, []).append(k)
    return places


def _statement(real: Real, line: Instruction, names: dict[int, str], angles: dict[Any, int]) -> list[str]:
    v, t = line.value, real.text
    operands = [names[x] if isinstance(x, int) else real.constant(x) for x in line.operands]
    if line.op == "div" and t == "float":  # 2 units in the last place; the exact one has a branch that costs registers
        return [f"    const float v{v} = __fdividef({operands[0]}, {operands[1]});"]
    if line.op not in ("sin", "cos"):
        return [f"    {statement(real, line, operands)}"]
    angle = line.operands[0]
    before = []
    if angle not in angles:
        angles[angle] = v
        before = [f"    {t} s{v}, c{v};", f"    fc_sincos({operands[0]}, &s{v}, &c{v});"]
    return [*before, f"    const {t} v{v} = {line.op[0]}{angles[angle]};"]


def _function(program: Program, chunk: Chunk, real: Real, name: str) -> Iterator[str]:
    """A chunk as a function that is not inlined; ``w`` is the thread's workspace."""
    yield f"static __device__ __noinline__ void {name}({_parameters(program, real)}, {real.text} *__restrict__ w)"
    yield "{"
    names: dict[int, str] = {}
    angles: dict[Any, int] = {}
    for line in chunk.instructions:
        for x in line.operands:
            if isinstance(x, int) and x not in names:
                names[x] = f"v{x}"
                place = program.inputs.get(x)
                source = f"w[{chunk.loads[x]}]" if place is None else _at(f"a{place[0]}", place[1])
                yield f"    const {real.text} v{x} = {source};"
        yield from _statement(real, line, names, angles)
        names[line.value] = f"v{line.value}"
    for value, slot in chunk.stores.items():
        yield f"    w[{slot}] = v{value};"
    for k, x in chunk.outputs:
        place = program.inputs.get(x) if isinstance(x, int) else None
        source = real.constant(x) if not isinstance(x, int) else f"v{x}" if place is None else _at(f"a{place[0]}", place[1])
        yield _store(k, source)
    yield "}"


def _sincos(real: Real) -> Iterator[str]:
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
