"""CUDA text of a stage that does the same to many things of each state (:mod:`fallingcat.compiler.cuda.column_loops`).

A block takes 32 or 64 states, a lane for each, so that neighbouring lanes read and write neighbouring numbers.  First
its warps bring what all things share into shared memory; then each warp takes some things at a time, so that one
reading of a shared number serves several of them.  Tables say where the numbers of each thing come from and where they
go.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any, NamedTuple

from ..codegen.c_syntax import Real, expression
from .address_patterns import Pattern, Patterns
from .column_loops import RepeatedInstructions, Target
from .cost_model import REGISTERS, SHARED_MEMORY
from .emitter import Text

LINE_BYTES = 256
"""Bytes of neighbouring states that a block reads and writes at a time: of 32 or 64 states."""
ADDRESS_REGISTERS = {"float32": 32, "float64": 45}
"""Registers of a thread for addresses and loop counters, in addition to those of values."""
MIN_SHARED_COPIES = {"float32": 4, "float64": 3}
"""Two blocks share a multiprocessor if its shared memory could hold their shared numbers this many times."""
WARP_COUNTS = (16, 8, 4)
"""Warps (or pairs of warps) of a block; the first count that registers allow is taken."""
SHARED_LOOKAHEAD, GLOBAL_LOOKAHEAD = 6, 40
"""Instructions between the load of a number from shared, or global, memory and its use: they hide the latency."""
MIN_SKIPPED_COLUMNS = 4
"""A branch skips a part of the code if at least this many columns do not need it."""
MAX_MEAN_USES = 1.25
"""Mean number of uses of a shared number up to which neighbours are read together, 16 bytes at a time."""


class Layout(NamedTuple):
    """Distribution of the things of a stage over threads."""

    lanes: int
    """states of a block"""
    per_thread: int
    """things that a warp (or a pair of warps, by its lanes) takes at a time, one or two"""
    warps: int
    """warps, or pairs of warps, of a block"""
    least: int
    """blocks that a multiprocessor should be able to hold"""
    groups: int


def stage_layout(stage: RepeatedInstructions, dtype: str) -> Layout:
    """Layout with two things together where registers hold them, and as many warps as they allow.

    In two blocks where what is shared is little; measured on an H200.
    """
    size = 8 if dtype == "float64" else 4
    each = stage.alive * size // 4
    per_thread = 2 if 2 * each <= 170 else 1
    lanes, groups = LINE_BYTES // size, -(-stage.things // per_thread)
    least = 2 if MIN_SHARED_COPIES[dtype] * len(stage.shared) * LINE_BYTES <= SHARED_MEMORY else 1
    needed = min(255, ADDRESS_REGISTERS[dtype] + per_thread * each)
    warps = next((w for w in WARP_COUNTS if REGISTERS // (lanes * w * least) >= needed), WARP_COUNTS[-1])
    return Layout(lanes, per_thread, min(groups, warps), least, groups)


def text(stage: RepeatedInstructions, arguments: int, dtype: str, name: str) -> Text:
    """The kernel ``name(a0, a1, ..., workspace, t, out, n)``, as :func:`.cuda.text` makes them."""
    first = first_needed(stage)
    stage = stage._replace(lines=sorted(stage.lines, key=lambda line: first[line.value]))  # operands stay in front
    real, layout = Real(dtype), stage_layout(stage, dtype)
    tables = _Tables(name, layout, real)
    body = _Body(stage, real, layout, tables, name)
    statements, shared = body.lines(), body.pool.bytes
    least = max(1, min(layout.least, SHARED_MEMORY // (shared + 1024)))
    lanes, threads = layout.lanes, layout.lanes * layout.warps
    inputs = "".join(f"const {real.text} *__restrict__ a{k}, " for k in range(arguments + 1))
    lines = [
        *tables.text(),
        *body.pool.table(name),
        f'extern "C" __global__ void __launch_bounds__({threads}, {least})',
        f"{name}({inputs}{real.text} *__restrict__ t, {real.text} *__restrict__ out, const unsigned count)",
        "{",
        f"    const unsigned lane = threadIdx.x % {lanes}, warp = threadIdx.x / {lanes};",
        f"    unsigned i = blockIdx.x * {lanes} + lane;",
        "    i = i < count ? i : count - 1;  // the lanes that are left over repeat the last state",
        "    const unsigned n = count;",
        f"    const {real.text} *const s = a{arguments} + i;",
        "    t += i;",
        "    out += i;",
        *body.pool.filled(name, layout.warps),
        f"    for (unsigned k = 0; k < {layout.groups}; k += {layout.warps}) {{",
        f"        const unsigned g = k + (k / {layout.warps} % 2 ? {layout.warps - 1} - warp : warp);  // to and fro",
        f"        if (g >= {layout.groups}) continue;",
        f"        const unsigned thing = g * {layout.per_thread};",
        f"        const int *const table = {name}_table + thing;",
        *(f"        {line}" for line in statements),
        "    }",
        "}",
        "",
    ]
    return Text(name, "\n".join(lines), threads, shared, lanes)


class _Pool:
    """Shared numbers of a block in the order of their uses: those used once are read several at a time, 16 bytes."""

    def __init__(self, places: dict[int, int], asked: list[int], real: Real, lanes: int) -> None:
        size = LINE_BYTES // lanes
        self._real, self._lanes = real, lanes
        self.several = 16 // size if len(asked) <= MAX_MEAN_USES * len(places) else 1
        self.order = [*dict.fromkeys(asked)]
        self.place = {x: k for k, x in enumerate(self.order)}
        self._sources = [places[x] for x in self.order]
        self._sources += self._sources[-1:] * (-len(self.order) % self.several)
        self._chunk = LINE_BYTES * self.several
        self.bytes = self._chunk * len(self._sources) // self.several
        self.fits = self.bytes <= SHARED_MEMORY
        if not self.fits:
            self.bytes, self.several = 0, 1

    def table(self, name: str) -> Iterator[str]:
        if self.bytes:
            sources = ", ".join(map(str, self._sources))
            yield f"static __device__ const int __align__(16) {name}_shared[] = {{{sources}}};"

    def filled(self, name: str, warps: int) -> Iterator[str]:
        """The statements by which a block brings its numbers."""
        if not self.bytes:
            return
        wide = self.several if self.several > 1 else ""
        entries = [f"e.{part}" for part in "xyzw"[: self.several]] if wide else ["e"]
        yield "    extern __shared__ char pool[];"
        yield f"    const unsigned w = (unsigned)__cvta_generic_to_shared(pool) + {self._chunk // self._lanes} * lane;"
        yield f"    for (unsigned k = warp; k < {len(self._sources) // self.several}; k += {warps}) {{"
        yield f"        const int{wide} e = __ldg((const int{wide} *){name}_shared + k);"
        for part, entry in enumerate(entries):
            into = f"w + {self._chunk} * k + {LINE_BYTES // self._lanes * part}"
            yield f"        fc_bring({into}, fc_place({entry}, s, out, n));"
        yield "    }"
        yield "    fc_brought();"
        yield "    __syncthreads();"

    def read_statement(self, x: int, name: str, again: bool) -> tuple[str, dict[int, str]]:
        """The statement that reads ``x`` as ``name``, and what it gives; its neighbours too when they come first."""
        t, chunk, part = self._real.text, *divmod(self.place[x], self.several)
        address = f"w + {self._chunk * chunk}"
        if self.several == 1:
            return f"const {t} {name} = fc_one({address});", {x: name}
        statement = f"const {t}{self.several} {name} = fc_several({address});"
        if again:
            return statement, {x: f"{name}.{'xyzw'[part]}"}
        neighbours = self.order[self.several * chunk :][: self.several]
        return statement, {y: f"{name}.{'xyzw'[k]}" for k, y in enumerate(neighbours)}


def first_needed(stage: RepeatedInstructions) -> dict[int, int]:
    """For each value the first thing whose results need it: of a symmetric matrix row k is for columns from k on."""
    first = {x: next((k for k, goes in enumerate(result) if goes), 0) for x, result in stage.results.items()}
    for line in reversed(stage.lines):
        for x in line.operands:
            if isinstance(x, int):
                first[x] = min(first.get(x, stage.things), first[line.value])
    return first


class _Tables:
    """Whence and whither for each thing, as rows of one table; of things beyond the last, nothing."""

    def __init__(self, name: str, layout: Layout, real: Real) -> None:
        self._name, self._layout, self._real = name, layout, real
        self._rows: list[list[int]] = []
        self._constants: dict[float, int] = {0.0: 0}

    def row(self, entries: dict[int, int]) -> tuple[str, list[str]]:
        """A new row: the statement that reads it, and how it names the entry of each thing of a group; -1 is none."""
        per_thread = self._layout.per_thread
        things = per_thread * self._layout.groups
        start, name = len(self._rows) * things, f"e{len(self._rows)}"
        self._rows.append([entries.get(k, -1) for k in range(things)])
        if per_thread == 1:
            return f"const int {name} = __ldg(table + {start});", [name]
        return f"const int2 {name} = __ldg((const int2 *)(table + {start}));", [f"{name}.x", f"{name}.y"]

    def entry(self, x: int | float) -> int:
        """Entry: ``2 place`` in the workspace, ``2 place + 1`` in the results; ``-1 - k`` is constant ``k``."""
        if isinstance(x, int):
            return 2 * x if x >= 0 else 2 * ~x + 1
        return -1 - self._constants.setdefault(x, len(self._constants))

    def text(self) -> Iterator[str]:
        numbers = [str(x) for row in self._rows for x in row] or ["0"]
        yield f"static __device__ const int __align__(8) {self._name}_table[] = {{{', '.join(numbers)}}};"
        numbers = [self._real.constant(x) for x in self._constants]
        yield f"static __device__ const {self._real.text} {self._name}_constants[] = {{{', '.join(numbers)}}};"


class _Body:
    """The statements for one group of things."""

    def __init__(self, stage: RepeatedInstructions, real: Real, layout: Layout, tables: _Tables, name: str) -> None:
        self._stage, self._real, self._layout, self._tables = stage, real, layout, tables
        self._name = name
        self._asked = self._prefetches()
        asked = [x for at in sorted(self._asked) for x in self._asked[at] if x in stage.shared]
        self.pool = _Pool(stage.shared, asked, real, layout.lanes)
        self._first = first_needed(stage)
        self._patterns = Patterns()
        self._numbers = count()

    def lines(self) -> list[str]:
        stage, made = self._stage, []
        names: dict[int, str] = {}
        near: dict[int, str] = {}
        reached = 0
        for at, line in enumerate(stage.lines):
            if self._first[line.value] >= reached + MIN_SKIPPED_COLUMNS:
                reached = self._first[line.value]
                made.append(f"if (thing + {self._layout.per_thread} <= {reached}) continue;  // the rest is for others")
            for x in self._asked.get(at, ()):
                made += self._read_row(x) if x in stage.rows else self._read_shared(x, names, near)
            for k in range(self._layout.per_thread):
                operands = [self._operand(x, k, names) for x in line.operands]
                made.append(f"const {self._real.text} v{line.value}_{k} = {expression(self._real, line.op, operands)};")
            if line.value in stage.results:
                made += self._written(line.value)
        profiles = []
        for number, profile in enumerate(self._patterns.profiles):
            beyond = range(
                stage.things, self._layout.groups * self._layout.per_thread
            )  # read like the last, not written
            read, entries = self._tables.row(profile | dict.fromkeys(beyond, profile[max(profile)]))
            profiles += [read, *(f"const int p{number}_{k} = {entry};" for k, entry in enumerate(entries))]
        return [*profiles, *made]

    def _read_row(self, x: int) -> list[str]:
        """A number of each thing, from the workspace or, where it is one for some things, from the constants."""
        row = dict(enumerate(self._stage.rows[x]))
        places = {k: place for k, place in row.items() if isinstance(place, int)}
        result = all(place < 0 for place in places.values())
        alike = len(places) == len(row) and (result or all(place >= 0 for place in places.values()))
        pattern = self._patterns.of({k: ~p if result else p for k, p in places.items()}) if alike else None
        read = []
        if pattern is None:
            entries = {k: self._tables.entry(p) for k, p in row.items()}
            statement, entry_of = self._tables.row(entries)
            read, found = [statement], [f"fc_from({entry}, s, out, n, {self._name}_constants)" for entry in entry_of]
        else:
            own = [f"p{pattern.profile}_{k} + {pattern.offset}" for k in range(self._layout.per_thread)]
            found = [f"__ldg(fc_at({'out' if result else 's'}, {place}, n))" for place in own]
        return [*read, *(f"const {self._real.text} v{x}_{k} = {value};" for k, value in enumerate(found))]

    def _written(self, x: int) -> list[str]:
        result = self._stage.results[x]
        made: list[str] = []
        for copy in range(max(map(len, result))):
            goals = {k: targets[copy] for k, targets in enumerate(result) if copy < len(targets)}
            pattern = None
            kinds = {(negative, spilled) for _, negative, spilled in goals.values()}
            if len(kinds) == 1:
                pattern = self._patterns.of({k: target.place for k, target in goals.items()})
            made += self._by_table(x, goals) if pattern is None else self._by_pattern(x, pattern, *kinds.pop())
        return made

    def _by_pattern(self, x: int, pattern: Pattern, negative: bool, spilled: bool) -> list[str]:
        profile, offset, first, end = pattern
        whole = first == 0 and end == self._layout.per_thread * self._layout.groups
        made = []
        for k in range(self._layout.per_thread):
            place, value = f"p{profile}_{k} + {offset}", f"{'-' if negative else ''}v{x}_{k}"
            address = f"fc_at({'t' if spilled else 'out'}, {place}, n)"
            holds = f"thing + {k} - {first}u, {end - first}u"
            made.append(f"__stcs({address}, {value});" if whole else f"fc_put({holds}, {address}, {value});")
        return made

    def _by_table(self, x: int, goals: dict[int, Target]) -> list[str]:
        """Entries are ``4 place + 2 spilled + negative``."""
        entries = {k: 4 * place + 2 * spilled + negative for k, (place, negative, spilled) in goals.items()}
        read, entry_of = self._tables.row(entries)
        return [read, *(f"fc_to({entry}, v{x}_{k}, t, out, n);" for k, entry in enumerate(entry_of))]

    def _prefetches(self) -> dict[int, list[int]]:
        """Line -> loads before it: rows once, long before their first use, shared numbers before each."""
        stage = self._stage
        asked: dict[int, list[int]] = {}
        seen: dict[int, int] = {}
        for at, line in enumerate(stage.lines):
            for x in dict.fromkeys(x for x in line.operands if isinstance(x, int)):
                if x in stage.rows and x not in seen:
                    asked.setdefault(max(0, at - GLOBAL_LOOKAHEAD), []).append(x)
                    seen[x] = at
                elif x in stage.shared and seen.get(x, -SHARED_LOOKAHEAD) <= at - SHARED_LOOKAHEAD:
                    asked.setdefault(max(0, at - SHARED_LOOKAHEAD), []).append(x)
                    seen[x] = at
        return asked

    def _read_shared(self, x: int, names: dict[int, str], near: dict[int, str]) -> list[str]:
        """A shared number, unless it came with its neighbour."""
        if x in near:
            names[x] = near.pop(x)
            return []
        name = f"w{next(self._numbers)}"
        if not self.pool.fits:
            names[x] = name
            return [f"const {self._real.text} {name} = __ldg(fc_place({self._stage.shared[x]}, s, out, n));"]
        statement, found = self.pool.read_statement(x, name, again=x in names)
        names[x] = found.pop(x)
        near.update(found)
        return [statement]

    def _operand(self, x: Any, k: int, names: dict[int, str]) -> str:
        if not isinstance(x, int):
            return self._real.constant(x)
        return names[x] if x in self._stage.shared else f"v{x}_{k}"


def prelude(real: Real) -> Iterator[str]:
    """Functions that these kernels call: a number from where a table says, and one to where it says.

    Without branches, which take the compiler long.
    """
    t, size, kind = (real.text, 8, "d") if real.text == "double" else (real.text, 4, "f")
    several = 16 // size
    into = ", ".join(f"%{k}" for k in range(several))
    found = ", ".join(f'"={kind}"(x.{part})' for part in "xyzw"[:several])
    yield f"static __device__ __forceinline__ {t}{several} fc_several(const unsigned p)"
    yield "{"
    yield f"    {t}{several} x;"
    yield f'    asm volatile("ld.shared.v{several}.f{8 * size} {{{into}}}, [%{several}];" : {found} : "r"(p));'
    yield "    return x;"
    yield "}"
    yield f"static __device__ __forceinline__ {t} fc_one(const unsigned p)"
    yield "{"
    yield f"    {t} x;"
    yield f'    asm volatile("ld.volatile.shared.f{8 * size} %0, [%1];" : "={kind}"(x) : "r"(p));'
    yield "    return x;"
    yield "}"
    yield f"static __device__ __forceinline__ void fc_bring(const unsigned p, const {t} *from)"
    yield "{"
    yield "#if __CUDA_ARCH__ >= 800  // which copy by themselves"
    yield f'    asm volatile("cp.async.ca.shared.global [%0], [%1], {size};" :: "r"(p), "l"(from) : "memory");'
    yield f'#else\n    asm volatile("st.shared.f{8 * size} [%0], %1;" :: "r"(p), "{kind}"(__ldg(from)) : "memory");'
    yield "#endif\n}"
    yield "static __device__ __forceinline__ void fc_brought()"
    yield "{"
    yield '#if __CUDA_ARCH__ >= 800\n    asm volatile("cp.async.wait_all;" ::: "memory");\n#endif\n}'
    pointers = f"const {t} *s, const {t} *o, const unsigned n"
    yield f"static __device__ __forceinline__ const {t} *fc_place(const int k, {pointers})"
    yield "{"
    yield "    return fc_at(k < 0 ? o : s, k < 0 ? ~k : k, n);"
    yield "}"
    yield f"static __device__ __forceinline__ {t} fc_from(const int k, {pointers}, const {t} *constants)"
    yield "{"
    yield "    return __ldg(k < 0 ? constants - 1 - k : fc_at(k & 1 ? o : s, k >> 1, n));"
    yield "}"
    yield f"static __device__ __forceinline__ void fc_put(const unsigned k, const unsigned end, {t} *p, const {t} y)"
    yield "{"
    store = f"{{ .reg .pred p; setp.lt.u32 p, %0, %1; @p st.global.cs.f{8 * size} [%2], %3; }}"
    yield f'    asm volatile("{store}" :: "r"(k), "r"(end), "l"(p), "{kind}"(y));'
    yield "}"
    yield f"static __device__ __forceinline__ void fc_to(const int k, const {t} x, {t} *w, {t} *out, const unsigned n)"
    yield "{"
    yield "    fc_put(k, 1u << 31, fc_at(k & 2 ? w : out, k >> 2, n), k & 1 ? -x : x);"
    yield "}"
