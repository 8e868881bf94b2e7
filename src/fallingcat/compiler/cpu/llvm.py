"""LLVM text of a program: one state in scalars, or a block of states in SIMD lanes, from the same instructions.

Both do the same operations in the same order with explicit fused multiply-adds, so they give the same bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..ir.instructions import Chunk, Loop, Repeat
from ..ir.program import Program
from .guards import calls, holds_somewhere, loaded
from .loop import arguments, loop_text, pointer_to, width
from .operation import Type, declarations, instruction, intrinsics, sincos
from .while_loop import repeat_text

__all__ = ["Type", "module"]

MIN_OUTPUT_RUN = 6
"""Outputs in a row; fewer are written one by one."""


def module(program: Program, type_: Type, name: str, group: int = 1, clear: bool = True) -> str:
    """The functions ``{name}_chunk0`` ... and ``{name}(arguments..., out, work)`` for ``type_.lanes`` states.

    With one lane, loops take ``group`` things at a time.  Without ``clear`` the workspace is left as it was, zero at
    first.
    """
    types = {type_.lanes}
    lines = [*_table(program, type_, name)]
    for c, chunk in enumerate(program.chunks):
        label = f"{name}_chunk{c}"
        if isinstance(chunk, Loop):
            wide = Type(type_.element, width(chunk, group)) if type_.lanes == 1 else type_
            types.add(wide.lanes)
            lines += loop_text(program, chunk, type_, wide, label, name)
        elif isinstance(chunk, Repeat):
            pieces = [f"{name}_repeat{c}_chunk{k}" for k in range(len(chunk.chunks))]
            for piece, part in zip(pieces, chunk.chunks, strict=True):
                lines += _chunk(program, part, type_, piece, name)
            lines += repeat_text(program, chunk, type_, f"{name}_repeat{c}", name)
        else:
            lines += _chunk(program, chunk, type_, label, name)
    lines += _body(program, type_, name, clear)
    text = "\n".join(lines)
    more: list[str] = []
    for wide in (Type(type_.element, lanes) for lanes in sorted(types)):
        more += intrinsics(wide)
        if f"@{name}_sincos{wide.lanes}(" in text:
            more += sincos(wide, name)
    return "\n".join([text, *more, *declarations(type_)])


def _table(program: Program, type_: Type, name: str) -> Iterator[str]:
    if program.table:
        e = type_.element
        numbers = ", ".join(f"{e} {Type(e, 1).constant(x)}" for x in program.table)
        yield f"@{name}_table = internal constant [{len(program.table)} x {e}] [{numbers}], align 64"


def _body(program: Program, type_: Type, name: str, clear: bool) -> Iterator[str]:
    yield f"define internal void @{name}({arguments(program)}) nounwind {{"
    for k, (start, count) in enumerate(program.clear if clear else []):
        yield f"  %clear{k} = getelementptr {type_.text}, ptr %work, i64 {start}"
        size = count * type_.bytes
        yield f"  call void @llvm.memset.p0.i64(ptr align {type_.bytes} %clear{k}, i8 0, i64 {size}, i1 false)"
    kinds = ("repeat" if isinstance(chunk, Repeat) else "chunk" for chunk in program.chunks)
    labels = [f"{name}_{kind}{c}" for c, kind in enumerate(kinds)]
    yield from calls(program, program.chunks, labels, type_, name, "")
    yield "  ret void"
    yield "}"


def _chunk(program: Program, chunk: Chunk, type_: Type, label: str, name: str) -> list[str]:
    """One internal, never inlined function: loads, the straight line, stores."""
    out = [f"define internal void @{label}({arguments(program)}) noinline nounwind {{"]
    t = type_.text
    known: set[int] = set()
    conditions = program.conditions

    def operand(x: Any) -> str:
        if not isinstance(x, int):
            return type_.constant(x)
        if x not in known:
            known.add(x)
            if x in program.inputs:
                argument, index = program.inputs[x]
                source = pointer_to(argument, name)
            else:
                source, index = "%work", chunk.loads[x]
            out.append(f"  %p{x} = getelementptr {t}, ptr {source}, i64 {index}")
            loaded = f"%l{x}" if x in conditions else f"%v{x}"
            out.append(f"  {loaded} = load {t}, ptr %p{x}, align {type_.bytes}")
            if x in conditions:
                out.append(f"  %v{x} = fcmp une {t} {loaded}, {type_.constant(0.0)}")
        return f"%v{x}"

    if chunk.choices:
        out += _skip_branch(program, chunk, type_, name)
    pairs: dict[Any, str] = {}
    for line in chunk.instructions:
        known.add(line.value)
        if line.op in ("sin", "cos"):
            angle = line.operands[0]
            x = operand(angle)
            if x not in pairs:
                pairs[x] = f"%sc{line.value}"
                out.append(f"  {pairs[x]} = call {{{t}, {t}}} @{name}_sincos{type_.lanes}({t} {x})")
            out.append(f"  %v{line.value} = extractvalue {{{t}, {t}}} {pairs[x]}, {0 if line.op == 'sin' else 1}")
        else:
            given = [f"%v{x}" if type(x) is int and x in known else operand(x) for x in line.operands]
            out += instruction(type_, line.value, line.op, given)
    for slot, value in [*((slot, value) for value, slot in chunk.stores.items()), *chunk.kept]:
        kept = operand(value)
        out.append(f"  %s{slot} = getelementptr {t}, ptr %work, i64 {slot}")
        if isinstance(value, int) and value in conditions:
            out.append(f"  %k{slot} = uitofp {type_.condition} {kept} to {t}")
            kept = f"%k{slot}"
        out.append(f"  store {t} {kept}, ptr %s{slot}, align {type_.bytes}")
    for run in _runs(program, chunk.outputs):
        place, x = run[0]
        if len(run) > 1:
            out += _store_outputs(program, type_, name, run)
            continue
        source = operand(x)
        out.append(f"  %o{place} = getelementptr {t}, ptr %out, i64 {place}")
        out.append(f"  store {t} {source}, ptr %o{place}, align {type_.bytes}")
    return [*out, "  ret void", "}"]


def _skip_branch(program: Program, chunk: Chunk, type_: Type, name: str) -> Iterator[str]:
    """The way past a chunk whose guard holds in no lane: its choices take the other value."""
    t, otherwise, guard = type_.text, chunk.otherwise, chunk.guard
    assert guard is not None
    yield from holds_somewhere(program, chunk, guard, type_, name, "%guard")
    yield "  br i1 %guardany, label %all, label %none"
    yield "none:"
    left = [*((slot, x) for x, slot in chunk.stores.items()), *chunk.kept]
    written = [*(("%work", slot, x) for slot, x in left), *(("%out", place, x) for place, x in chunk.outputs)]
    for k, (to, place, x) in enumerate((to, place, x) for to, place, x in written if x in otherwise):
        value = otherwise[x]
        if isinstance(value, int):
            yield from loaded(program, chunk, value, type_, name, f"%other{k}")
        source = f"%other{k}" if isinstance(value, int) else type_.constant(value)
        yield f"  %to{k} = getelementptr {t}, ptr {to}, i64 {place}"
        yield f"  store {t} {source}, ptr %to{k}, align {type_.bytes}"
    yield "  ret void"
    yield "all:"


def _runs(program: Program, outputs: list[tuple[int, Any]]) -> list[list[tuple[int, Any]]]:
    """Outputs one by one, but for long stretches of zeros, and of numbers that lie side by side in memory already."""
    runs: list[list[tuple[int, Any]]] = []
    for place, x in sorted(outputs):
        if runs and runs[-1][-1][0] == place - 1 and _is_adjacent(program, runs[-1][-1][1], x):
            runs[-1].append((place, x))
        else:
            runs.append([(place, x)])
    return [part for run in runs for part in ([run] if len(run) >= MIN_OUTPUT_RUN else [[item] for item in run])]


def _is_adjacent(program: Program, x: Any, y: Any) -> bool:
    if not isinstance(x, int) or not isinstance(y, int):
        return not isinstance(x, int) and not isinstance(y, int) and str(x) == str(y) == "0.0"
    a, b = program.inputs.get(x), program.inputs.get(y)
    return a is not None and b is not None and b == (a.argument, a.offset + 1)


def _store_outputs(program: Program, type_: Type, name: str, run: list[tuple[int, Any]]) -> Iterator[str]:
    """The outputs of a run, several at a time where one state lies in scalars."""
    place, x = run[0]
    start = 0
    while start < len(run):
        count = min(8, 1 << ((len(run) - start).bit_length() - 1)) if type_.lanes == 1 else 1
        t, at, value = Type(type_.element, count * type_.lanes).text, place + start, "zeroinitializer"
        align = f"align {type_.bytes}"
        if isinstance(x, int):
            argument, offset = program.inputs[x]
            value = f"%y{at}"
            yield f"  %f{at} = getelementptr {type_.text}, ptr {pointer_to(argument, name)}, i64 {offset + start}"
            yield f"  {value} = load {t}, ptr %f{at}, {align}"
        elif count * type_.lanes == 1:
            value = type_.constant(0.0)
        yield f"  %o{at} = getelementptr {type_.text}, ptr %out, i64 {at}"
        yield f"  store {t} {value}, ptr %o{at}, {align}"
        start += count
