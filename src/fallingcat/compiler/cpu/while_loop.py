"""LLVM text of what a program repeats until it has arrived."""

from __future__ import annotations

from collections.abc import Iterator

from ..ir.instructions import Input, Repeat
from ..ir.program import Program
from .guards import calls
from .loop import arguments, pointer_to
from .operation import Type


def repeat_text(program: Program, repeat: Repeat, type_: Type, label: str, name: str) -> Iterator[str]:
    """Internal function of a loop: numbers into their places, then rounds until all lanes have arrived.

    That may be seen before a round is over.

    A lane that has arrived keeps its numbers, so it does not matter who its neighbours are.
    """
    t, k = type_.text, type_.condition
    none = "false" if type_.lanes == 1 else "zeroinitializer"
    yield f"define internal void @{label}({arguments(program)}) noinline nounwind {{"
    yield "entry:"
    for i, start in enumerate(repeat.starts):
        yield f"  %old{i} = getelementptr {t}, ptr %work, i64 {repeat.old + i}"
        if isinstance(start, Input):
            yield f"  %from{i} = getelementptr {t}, ptr {pointer_to(start.argument, name)}, i64 {start.offset}"
            yield f"  %first{i} = load {t}, ptr %from{i}, align {type_.bytes}"
        number = f"%first{i}" if isinstance(start, Input) else type_.constant(start)
        yield f"  store {t} {number}, ptr %old{i}, align {type_.bytes}"
    yield "  br label %part0"
    last, piece = len(repeat.parts) - 1, 0
    for e, ((place, outputs), part) in enumerate(zip(repeat.exits, repeat.parts, strict=True)):
        yield f"part{e}:"
        if not e:
            yield f"  %n = phi i64 [ 0, %entry ], [ %n1, %part{last}leave ]"
            yield f"  %before = phi {k} [ {none}, %entry ], [ %after{last}, %part{last}leave ]"
        labels = [f"{label}_chunk{piece + k}" for k in range(len(part))]
        yield from calls(program, part, labels, type_, name, f"_{e}")
        piece += len(part)
        yield f"  %sign{e} = getelementptr {t}, ptr %work, i64 {place + len(repeat.symbols)}"
        yield f"  %flag{e} = load {t}, ptr %sign{e}, align {type_.bytes}"
        yield f"  %now{e} = fcmp ogt {t} %flag{e}, {type_.constant(0.0)}"
        yield f"  %after{e} = or {k} %before, %now{e}"
        yield f"  %bits{e} = bitcast {k} %after{e} to i{type_.lanes}"
        yield f"  %open{e} = icmp ne i{type_.lanes} %bits{e}, -1"
        yield f"  br i1 %open{e}, label %part{e + 1}, label %part{e}leave" if e < last else f"  br label %part{e}leave"
        yield f"part{e}leave:"
        yield from _take_exit(repeat, type_, e, place, outputs)
        if e < last:
            yield "  br label %end"
    yield "  %n1 = add i64 %n, 1"
    yield f"  %fewer = icmp slt i64 %n1, {repeat.most}"
    yield f"  %again = and i1 %fewer, %open{last}"
    yield "  br i1 %again, label %part0, label %end"
    yield "end:"
    yield "  ret void"
    yield "}"


def _take_exit(repeat: Repeat, type_: Type, e: int, place: int, outputs: list[object]) -> Iterator[str]:
    """The numbers of an exit become the old ones, in lanes that had not arrived before this round."""
    t = type_.text
    for i in range(len(repeat.symbols)):
        if not repeat.stays(i, outputs[i]):
            yield f"  %new{e}_{i} = getelementptr {t}, ptr %work, i64 {place + i}"
            yield f"  %o{e}_{i} = load {t}, ptr %old{i}, align {type_.bytes}"
            yield f"  %m{e}_{i} = load {t}, ptr %new{e}_{i}, align {type_.bytes}"
            yield f"  %x{e}_{i} = select {type_.condition} %before, {t} %o{e}_{i}, {t} %m{e}_{i}"
            yield f"  store {t} %x{e}_{i}, ptr %old{i}, align {type_.bytes}"
