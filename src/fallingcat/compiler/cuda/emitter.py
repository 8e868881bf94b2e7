"""CUDA text of one stage of a program: one thread per state, structure of arrays.

Value ``k`` of state ``i`` lies at ``[k * n + i]``, so that neighbouring threads read and write neighbouring numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import pi
from typing import Any, NamedTuple

from ..codegen.c_syntax import Real, statement
from ..ir.instructions import Input, Instruction
from ..ir.schedule import waiting
from .cost_model import SHARED_MEMORY, Work
from .spilling import Plan, Planner, Step
from .stages import Stage

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
    """Layout of a kernel on a multiprocessor."""

    block: int
    """threads in a block"""
    least: int
    """blocks that a multiprocessor should be able to hold: they share its 65,536 registers"""
    keep: int
    """values that a thread keeps in registers; the others wait in shared memory"""
    spilled: int = 0
    """at most so many"""
    above: int = 0
    """values that wait at least: with fewer, registers are for what is read"""

    def warps(self, shared: int) -> float:
        """That a multiprocessor holds, if each thread needs so many bytes of shared memory."""
        return min(self.block * self.least, SHARED_MEMORY // max(1, shared)) / 32


SHAPES = {
    "float32": (
        Shape(128, 4, 90),
        Shape(128, 3, 130),
        Shape(64, 6, 155, 0, 100),
        Shape(64, 4, 200, 40, 200),
        Shape(64, 4, 170, 223),  # of more, shared memory does not hold four blocks
        Shape(64, 4, 236),
    ),
    "float64": (Shape(128, 3, 60), Shape(64, 4, 88)),
}
"""The first whose limits a stage keeps is taken, or the last; measured on an H200."""


class Text(NamedTuple):
    """A kernel's text and what its launch needs."""

    name: str
    source: str
    block: int
    shared: int
    """bytes of dynamic shared memory"""
    states: int
    """that a block takes"""


def text(stage: Stage, arguments: int, dtype: str, name: str, shape: Shape | None = None) -> Text:
    """Kernel ``name(a0, a1, ..., workspace, t, out, n)`` of one stage.

    ``arguments`` are those of the function, without the workspace.
    """
    real, fit = Real(dtype), fit_stage(stage, dtype, shape)
    lines = [*opening(name, fit, arguments, real), *statements(stage, arguments, real, fit, Columns())]
    return Text(name, "\n".join([*lines, "}", ""]), fit.block, fit.shared, fit.block)


class Columns:
    """Read-only arguments and write-only results: number ``k`` of all states is a row."""

    first = "a0"
    """the pointer to the first argument"""

    def read(self, place: Input, again: bool) -> str:
        """Expression that reads an input; ``again`` by the second pointer."""
        pointer, length = ("b", "m") if again else ("a", "n")
        return f"__ldg(fc_at({pointer}{place[0]}, {place[1]}, {length}))"

    def written(self, array: str, place: int) -> str:
        """With braces where the name of the value goes."""
        return f"__stcs(fc_at({array}, {place}, n), {{}});"


def statements(stage: Stage, arguments: int, real: Real, fit: Fit, access: Columns) -> list[str]:
    """All of a stage, for one state."""
    targets: dict[int, list[str]] = {}
    for x, target in _targets(stage, access):
        if isinstance(x, int):
            targets.setdefault(x, []).append(target)
    body = Body(stage.inputs, real, fit.block, targets, access)
    for step in fit.moves.steps:
        body.add(step)
    statements = body.finished()
    return [
        *(second_pointers(arguments + 1, real, access.first) if body.again else ()),
        *(f"    {target.format(real.constant(x))}" for x, target in _targets(stage, access) if not isinstance(x, int)),
        *statements,
    ]


class Fit(NamedTuple):
    """A block that a multiprocessor can hold."""

    block: int
    """threads"""
    least: int
    """blocks of this shape that a multiprocessor should be able to hold"""
    moves: Plan
    shared: int
    """bytes of dynamic shared memory"""


def fit_stage(stage: Stage, dtype: str, shape: Shape | None = None, extra_places: int = 0) -> Fit:
    """Shape that suits a stage, or a given one.

    As long as shared memory has all places of its threads, and so many for each ``extra_places`` those of its moves.
    """
    shape, moves, _ = stage.laid if stage.laid and not shape else stage_layout(stage, dtype, shape)
    size = 8 if dtype == "float64" else 4
    while (moves.places + extra_places) * shape.block * size > SHARED_MEMORY and shape.block > 32:
        shape = shape._replace(block=shape.block // 2, least=2 * shape.least)
    if (
        moves.places + extra_places
    ) * shape.block * size > SHARED_MEMORY:  # more than all shared memory: let the compiler spill
        moves = Planner(stage.lines, stage.inputs).plan(len(stage.lines))
    shared = (moves.places + extra_places) * shape.block * size
    return Fit(shape.block, max(1, min(shape.least, SHARED_MEMORY // (shared + 1024))), moves, shared)


STATE_OF_THREAD = ("i = i < count ? i : count - 1;  // the threads that are left over repeat the last state",)
"""Statement by which a thread finds its state: that of its own number."""


def opening(
    name: str, fit: Fit, arguments: int, real: Real, find: Sequence[str] = STATE_OF_THREAD, more: str = ""
) -> list[str]:
    """The signature, and where a thread finds its state and, if it needs any, its places in shared memory."""
    inputs = "".join(f"const {real.text} *__restrict__ a{k}, " for k in range(arguments + 1))
    lines = [
        f'extern "C" __global__ void __launch_bounds__({fit.block}, {fit.least})',
        f"{name}({inputs}{real.text} *__restrict__ t, {real.text} *__restrict__ out, const unsigned count{more})",
        "{",
        "    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;",
        *(f"    {line}" for line in find),
        "    const unsigned n = count | (i >> 31);  // adds nothing, but now addresses are one instruction each",
        *(f"    a{k} += i;" for k in range(arguments + 1)),
        "    t += i;",
        "    out += i;",
    ]
    if fit.shared:
        lines.append("    extern __shared__ char pool[];")
        lines.append(f"    volatile {real.text} *const w = (volatile {real.text} *)pool + threadIdx.x;")
    return lines


def _targets(stage: Stage, access: Columns) -> list[tuple[Any, str]]:
    """(value or float, what writes it, where its name goes in braces)."""
    places = [*((x, "out", place) for place, x in stage.outputs), *((x, "t", place) for place, x in stage.stores)]
    return [(x, access.written(array, place)) for x, array, place in places]


class StageLayout(NamedTuple):
    """A stage on the machine: its shape, its moves, and what it takes for one state (s)."""

    shape: Shape
    moves: Plan
    seconds: float


def stage_layout(stage: Stage, dtype: str, shape: Shape | None = None) -> StageLayout:
    """In the shape that suits it, if none is given."""
    *tried, last = [shape] if shape else candidate_shapes(waiting(stage.lines), dtype)
    planner = Planner(stage.lines, stage.inputs)
    plans = ((one, planner.plan_within(one.keep, one.spilled)) for one in tried)
    one, moves = next((found for found in plans if found[1]), (last, None))
    moves = moves or planner.plan(last.keep)
    copies = len(moves.steps) - len(stage.lines) - len(stage.inputs)
    warps = one.warps(moves.places * (8 if dtype == "float64" else 4))
    return StageLayout(one, moves, Work.of(stage, dtype).seconds(copies, warps))


def candidate_shapes(most: int, dtype: str) -> list[Shape]:
    """The shapes in which a stage is tried, in which so many values wait at most; the last one always does."""
    *some, last = SHAPES[dtype]
    return [*(x for x in some if x.above <= most <= x.keep + x.spilled), last]


def second_pointers(count: int, real: Real, first: str = "a0") -> list[str]:
    """Pointers for reading inputs again, of which the compiler cannot know that they are the first ones.

    It would keep every value, or at least every address, in registers from the first reading to the second.
    """
    changed = ", ".join(['"+r"(m)', *(f'"+l"(b{k})' for k in range(count))])
    return [
        "    unsigned m = n;",
        f"    const {real.text} *b0 = {first};",
        *(f"    const {real.text} *b{k} = a{k};" for k in range(1, count)),
        f'    asm volatile("" : {changed});',
    ]


class Body:
    """The statements of a straight line; each result is written as soon as it is there, by its ``targets``."""

    def __init__(
        self, inputs: dict[int, Input], real: Real, block: int, targets: dict[int, list[str]], access: Columns
    ) -> None:
        self.again = False
        self._inputs, self._real, self._block, self._targets, self._access = inputs, real, block, targets, access
        self._names: dict[int, str] = {}
        self._angles: dict[Any, int] = {}
        self._read: set[Input] = set()
        self._fresh: set[Input] = set()
        self._lines: list[str] = []

    def add(self, step: Step) -> None:
        """Write the lines of one step."""
        x, t, number = step.value, self._real.text, len(self._lines)
        if step.kind == "spill":
            self._lines.append(f"    w[{step.place * self._block}] = {self._names[x]};")
        elif step.kind == "reload":
            self._names[x] = f"w{number}"
            self._lines.append(f"    const {t} w{number} = w[{step.place * self._block}];")
        elif step.kind == "read":
            self._names[x] = f"r{number}"
            source = self._input(x)
            self._lines.append(f"    const {t} r{number} = {source};")
            self._write(x)
        else:
            assert step.line is not None
            self._compute(step.line)
            self._write(x)

    def finished(self) -> list[str]:
        """All statements; what is an input and a result, and nothing else, comes last."""
        for x in list(self._targets):
            self._names[x] = self._input(x)
            self._write(x)
        return self._lines

    def _input(self, x: int) -> str:
        place = self._inputs[x]
        again = place in self._read
        if again:
            self.again = True
            if place in self._fresh:  # the compiler must not know that it is the same address once more
                self._lines.append('    asm volatile("" : "+r"(m), "+l"(b0));')
                self._fresh.clear()
            self._fresh.add(place)
        self._read.add(place)
        return self._access.read(place, again)

    def _compute(self, line: Instruction) -> None:
        real, v = self._real, line.value
        operands = [self._names[x] if isinstance(x, int) else real.constant(x) for x in line.operands]
        self._names[v] = f"v{v}"
        if line.op == "div" and real.text == "float":
            # 2 units in the last place; the exact one has a branch, and that costs registers
            self._lines.append(f"    const float v{v} = __fdividef({operands[0]}, {operands[1]});")
        elif line.op in ("sin", "cos"):
            angle = line.operands[0]
            if angle not in self._angles:
                self._angles[angle] = v
                self._lines += [
                    f"    {real.text} s{v}, c{v};",
                    f"    fc_sincos({operands[0]}, &s{v}, &c{v});",
                ]
            self._lines.append(f"    const {real.text} v{v} = {line.op[0]}{self._angles[angle]};")
        else:
            self._lines.append(f"    {statement(real, line, operands)}")

    def _write(self, x: int) -> None:
        self._lines += [f"    {target.format(self._names[x])}" for target in self._targets.pop(x, ())]


def prelude(real: Real) -> Iterator[str]:
    """Functions that the kernels call: addresses, and sine and cosine together, without a branch.

    They are off by less than 2 units in the last place up to |x| of some 1e4.
    """
    for name, pattern in (("INFINITY", "0x7f800000"), ("NAN", "0x7fffffff")):  # NVRTC has no header for them
        yield f"#ifndef {name}\n#define {name} __int_as_float({pattern})\n#endif"
    yield from _at(real)
    t, c, fma = real.text, real.constant, real.function("fma")
    whole, bits = ("long long", "__double_as_longlong") if t == "double" else ("int", "__float_as_int")
    yield f"static __device__ __forceinline__ void fc_sincos(const {t} x, {t} *s, {t} *c)"
    yield "{"
    yield f"    const {t} shifted = {fma}(x, {c(2 / pi)}, {c(_ROUND[real.dtype])});"
    yield f"    const {t} m = {c(_ROUND[real.dtype])} - shifted;"
    yield f"    {t} r = x;"
    for step in _STEPS[real.dtype]:
        yield f"    r = {fma}(m, {c(step)}, r);"
    yield f"    const {t} square = r * r;  // above 1, the angle is too far away to say where on the circle"
    yield f'    const {t} t = square <= {c(1.0)} ? square : {real.function("nan")}("");'
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


def _at(real: Real) -> Iterator[str]:
    """Sum ``p + k * n`` in one instruction that the compiler cannot take apart.

    It would derive addresses from each other and keep hundreds of them in registers.
    """
    t, size = real.text, 8 if real.text == "double" else 4
    for const in ("const ", ""):
        yield f"static __device__ __forceinline__ {const}{t} *fc_at({const}{t} *p, unsigned k, unsigned n)"
        yield "{"
        yield "    unsigned long long r;"
        address = "(unsigned long long)p"
        yield f'    asm("mad.wide.u32 %0, %1, %2, %3;" : "=l"(r) : "r"(n), "r"(k * {size}), "l"({address}));'
        yield f"    return ({const}{t} *)r;"
        yield "}"
