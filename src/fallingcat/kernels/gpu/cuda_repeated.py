"""CUDA text of a stage that does the same to many things of each state (:mod:`.repeated`).

A block takes 32 states, a lane for each, so that neighbouring lanes read and write neighbouring numbers.  First its
warps bring what all things share into shared memory; then each warp takes some things at a time, so that one reading of
a shared number serves several of them.  Tables say where the numbers of each thing come from and where they go.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any, NamedTuple

from ..text.shared import Real, expression
from .cuda import Text
from .machine import SHARED
from .repeated import Repeated, Target

LANES = 32
"""States of a block."""
BESIDE = 45
"""Registers for addresses and the like, beside the values of things."""
NEAR, FAR = 6, 40
"""So many instructions before its use a number of shared memory, or of memory, is asked for."""
PROFILES = 6
"""Patterns of places that a thread keeps at hand; more come from a table."""


class Layout(NamedTuple):
    """How the things of a stage are shared out."""

    together: int
    """things that a warp takes at a time, one or two"""
    warps: int
    """of a block"""
    least: int
    """blocks that a multiprocessor should be able to hold"""
    groups: int


def laid_out(stage: Repeated, dtype: str) -> Layout:
    """Two things together where registers hold them, and as many warps as they allow; measured on an H200."""
    each = stage.alive * (2 if dtype == "float64" else 1)
    together = 2 if 2 * each <= 170 else 1
    most = 65_536 // (32 * min(255, BESIDE + together * each))
    groups = -(-stage.things // together)
    warps = min(groups, 8 if most >= 16 else 4)
    return Layout(together, warps, max(1, most // warps), groups)


def text(stage: Repeated, arguments: int, dtype: str, name: str) -> Text:
    """The kernel ``name(a0, a1, ..., workspace, t, out, n)``, as :func:`.cuda.text` makes them."""
    real, layout = Real(dtype), laid_out(stage, dtype)
    size = 8 if dtype == "float64" else 4
    shared = len(stage.shared) * LANES * size
    fits = shared <= SHARED
    least = max(1, min(layout.least, SHARED // (shared + 1024))) if fits else layout.least
    tables = _Tables(name, layout, real)
    inputs = "".join(f"const {real.text} *__restrict__ a{k}, " for k in range(arguments + 1))
    body = _Body(stage, real, layout, tables, name, fits).lines()
    threads = LANES * layout.warps
    lines = [
        *tables.text(),
        f"static __device__ const int {name}_shared[] = {{{', '.join(map(str, stage.shared.values()))}, -1}};",
        f'extern "C" __global__ void __launch_bounds__({threads}, {least})',
        f"{name}({inputs}{real.text} *__restrict__ t, {real.text} *__restrict__ out, const unsigned count)",
        "{",
        f"    const unsigned lane = threadIdx.x % {LANES}, warp = threadIdx.x / {LANES};",
        f"    unsigned i = blockIdx.x * {LANES} + lane;",
        "    i = i < count ? i : count - 1;  // the lanes that are left over repeat the last state",
        "    const unsigned n = count;",
        f"    const {real.text} *const s = a{arguments} + i;",
        "    t += i;",
        "    out += i;",
    ]
    if fits and stage.shared:
        lines += [
            "    extern __shared__ char pool[];",
            f"    volatile {real.text} *const w = (volatile {real.text} *)pool + lane;",
            f"    for (unsigned k = warp; k < {len(stage.shared)}; k += {layout.warps})",
            f"        w[k * {LANES}] = __ldg(fc_at(s, __ldg({name}_shared + k), n));",
            "    __syncthreads();",
        ]
    lines += [
        f"    for (unsigned g = warp; g < {layout.groups}; g += {layout.warps}) {{",
        f"        const unsigned thing = g * {layout.together};",
        f"        const int *const table = {name}_table + thing;",
        *(f"        {line}" for line in body),
        "    }",
        "}",
        "",
    ]
    return Text(name, "\n".join(lines), threads, shared if fits else 0, LANES)


class Pattern(NamedTuple):
    """Places of a number for each thing: ``profile[thing] + offset``, for things from ``first`` to ``end`` alone."""

    profile: int
    offset: int
    first: int
    end: int


class Patterns:
    """Profiles that the places of many numbers follow: those of a matrix are one for its columns, one offset a row.

    >>> patterns = Patterns()
    >>> [patterns.of({0: 10, 1: 20, 2: 30}), patterns.of({1: 21, 2: 31}), patterns.of({0: 5, 1: 6})]
    [Pattern(profile=0, offset=0, first=0, end=3), Pattern(profile=0, offset=1, first=1, end=3), Pattern(profile=1, offset=0, first=0, end=2)]
    """  # noqa: E501

    def __init__(self) -> None:
        self.profiles: list[dict[int, int]] = []

    def of(self, places: dict[int, int]) -> Pattern | None:
        """The pattern of these places (thing -> place); None where things are left out between, or all profiles are."""
        first, end = min(places), max(places) + 1
        if len(places) < end - first:
            return None
        for number, profile in enumerate(self.profiles):
            apart = {place - profile[k] for k, place in places.items() if k in profile}
            if len(apart) == 1:
                offset = apart.pop()
                profile.update((k, place - offset) for k, place in places.items() if k not in profile)
                return Pattern(number, offset, first, end)
        if len(self.profiles) == PROFILES:
            return None
        self.profiles.append(dict(places))
        return Pattern(len(self.profiles) - 1, 0, first, end)


class _Tables:
    """Whence and whither for each thing, as rows of one table; of things beyond the last, nothing."""

    def __init__(self, name: str, layout: Layout, real: Real) -> None:
        self._name, self._layout, self._real = name, layout, real
        self._rows: list[list[int]] = []
        self._constants: dict[float, int] = {0.0: 0}

    def row(self, entries: dict[int, int]) -> tuple[str, list[str]]:
        """A new row: the statement that reads it, and how it names the entry of each thing of a group; -1 is none."""
        together = self._layout.together
        things = together * self._layout.groups
        start, name = len(self._rows) * things, f"e{len(self._rows)}"
        self._rows.append([entries.get(k, -1) for k in range(things)])
        if together == 1:
            return f"const int {name} = __ldg(table + {start});", [name]
        return f"const int2 {name} = __ldg((const int2 *)(table + {start}));", [f"{name}.x", f"{name}.y"]

    def constant(self, x: float) -> int:
        """The entry of a number: ``-1 - k`` is constant ``k``."""
        return -1 - self._constants.setdefault(x, len(self._constants))

    def text(self) -> Iterator[str]:
        numbers = [str(x) for row in self._rows for x in row] or ["0"]
        yield f"static __device__ const int __align__(8) {self._name}_table[] = {{{', '.join(numbers)}}};"
        numbers = [self._real.constant(x) for x in self._constants]
        yield f"static __device__ const {self._real.text} {self._name}_constants[] = {{{', '.join(numbers)}}};"


class _Body:
    """The statements for one group of things."""

    def __init__(self, stage: Repeated, real: Real, layout: Layout, tables: _Tables, name: str, fits: bool) -> None:
        self._stage, self._real, self._layout, self._tables, self._fits = stage, real, layout, tables, fits
        self._name = name
        self._shared = {x: k for k, x in enumerate(stage.shared)}
        self._patterns = Patterns()
        self._numbers = count()

    def lines(self) -> list[str]:
        stage, made = self._stage, []
        asked, names = self._asked(), {}
        for at, line in enumerate(stage.lines):
            for x in asked.get(at, ()):
                if x in stage.rows:
                    made += self._taken(x)
                else:
                    names[x] = f"w{next(self._numbers)}"
                    made.append(f"const {self._real.text} {names[x]} = {self._read(x)};")
            for k in range(self._layout.together):
                operands = [self._operand(x, k, names) for x in line.operands]
                made.append(f"const {self._real.text} v{line.value}_{k} = {expression(self._real, line.op, operands)};")
            if line.value in stage.results:
                made += self._written(line.value)
        profiles = []
        for number, profile in enumerate(self._patterns.profiles):
            beyond = range(stage.things, self._layout.groups * self._layout.together)  # read like the last, not written
            read, entries = self._tables.row(profile | dict.fromkeys(beyond, profile[max(profile)]))
            profiles += [read, *(f"const int p{number}_{k} = {entry};" for k, entry in enumerate(entries))]
        return [*profiles, *made]

    def _taken(self, x: int) -> list[str]:
        """A number of each thing, from the workspace or, where it is one for some things, from the constants."""
        row = dict(enumerate(self._stage.rows[x]))
        places = {k: place for k, place in row.items() if isinstance(place, int)}
        pattern = self._patterns.of(places) if len(places) == len(row) else None
        read = []
        if pattern is None:
            entries = {k: p if isinstance(p, int) else self._tables.constant(p) for k, p in row.items()}
            statement, entry_of = self._tables.row(entries)
            read, found = [statement], [f"fc_from({entry}, s, n, {self._name}_constants)" for entry in entry_of]
        else:
            own = [f"p{pattern.profile}_{k} + {pattern.offset}" for k in range(self._layout.together)]
            found = [f"__ldg(fc_at(s, {place}, n))" for place in own]
        return [*read, *(f"const {self._real.text} v{x}_{k} = {value};" for k, value in enumerate(found))]

    def _written(self, x: int) -> list[str]:
        result = self._stage.results[x]
        made: list[str] = []
        for copy in range(max(map(len, result))):
            goals = {k: targets[copy] for k, targets in enumerate(result) if copy < len(targets)}
            pattern = None
            kinds = {(negative, aside) for _, negative, aside in goals.values()}
            if len(kinds) == 1:
                pattern = self._patterns.of({k: target.place for k, target in goals.items()})
            made += self._by_table(x, goals) if pattern is None else self._by_pattern(x, pattern, *kinds.pop())
        return made

    def _by_pattern(self, x: int, pattern: Pattern, negative: bool, aside: bool) -> list[str]:
        profile, offset, first, end = pattern
        whole = first == 0 and end == self._layout.together * self._layout.groups
        made = []
        for k in range(self._layout.together):
            place, value = f"p{profile}_{k} + {offset}", f"{'-' if negative else ''}v{x}_{k}"
            address = f"fc_at({'t' if aside else 'out'}, {place}, n)"
            holds = f"thing + {k} - {first}u < {end - first}u"
            made.append(f"__stcs({address}, {value});" if whole else f"fc_put({holds}, {address}, {value});")
        return made

    def _by_table(self, x: int, goals: dict[int, Target]) -> list[str]:
        """Entries are ``4 place + 2 aside + negative``."""
        entries = {k: 4 * place + 2 * aside + negative for k, (place, negative, aside) in goals.items()}
        read, entry_of = self._tables.row(entries)
        return [read, *(f"fc_to({entry}, v{x}_{k}, t, out, n);" for k, entry in enumerate(entry_of))]

    def _asked(self) -> dict[int, list[int]]:
        """Line -> what is asked for before it: rows once, long before their first use, shared numbers before each."""
        stage = self._stage
        asked: dict[int, list[int]] = {}
        seen: dict[int, int] = {}
        for at, line in enumerate(stage.lines):
            for x in dict.fromkeys(x for x in line.operands if isinstance(x, int)):
                if x in stage.rows and x not in seen:
                    asked.setdefault(max(0, at - FAR), []).append(x)
                    seen[x] = at
                elif x in self._shared and seen.get(x, -NEAR) <= at - NEAR:
                    asked.setdefault(max(0, at - NEAR), []).append(x)
                    seen[x] = at
        return asked

    def _read(self, x: int) -> str:
        k = self._shared[x]
        return f"w[{k * LANES}]" if self._fits else f"__ldg(fc_at(s, {self._stage.shared[x]}, n))"

    def _operand(self, x: Any, k: int, names: dict[int, str]) -> str:
        if not isinstance(x, int):
            return self._real.constant(x)
        return names[x] if x in self._shared else f"v{x}_{k}"


def prelude(real: Real) -> Iterator[str]:
    """What these kernels call: a number from where a table says, and one to where it says; without branches, which take
    the compiler long.
    """
    t, size, kind = (real.text, 8, "d") if real.text == "double" else (real.text, 4, "f")
    parameters = f"const {t} *s, const unsigned n, const {t} *constants"
    yield f"static __device__ __forceinline__ {t} fc_from(const int k, {parameters})"
    yield "{"
    yield "    return __ldg(k < 0 ? constants - 1 - k : fc_at(s, k, n));"
    yield "}"
    yield f"static __device__ __forceinline__ void fc_put(const bool k, {t} *p, const {t} y)"
    yield "{"
    store = f"{{ .reg .pred p; setp.ne.s32 p, %0, 0; @p st.global.cs.f{8 * size} [%1], %2; }}"
    yield f'    asm volatile("{store}" :: "r"((int)k), "l"(p), "{kind}"(y));'
    yield "}"
    yield f"static __device__ __forceinline__ void fc_to(const int k, const {t} x, {t} *w, {t} *out, const unsigned n)"
    yield "{"
    yield "    fc_put(k >= 0, fc_at(k & 2 ? w : out, k >> 2, n), k & 1 ? -x : x);"
    yield "}"
