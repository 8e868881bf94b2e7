"""LLVM text of what a program repeats until it has arrived."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..ir.instructions import Input, Repeat
from ..ir.program import Program
from .loop import arguments, call_arguments, pointer_to
from .operation import Type


def repeat_text(
    program: Program, repeat: Repeat, type_: Type, label: str, pieces: Sequence[str], name: str
) -> Iterator[str]:
    """One internal function: numbers into their places, then rounds of ``pieces`` until all lanes have arrived.

    A lane that has arrived keeps its numbers, so it does not matter who its neighbours are.
    """
    t, k, size = type_.text, type_.condition, len(repeat.symbols)
    none = "false" if type_.lanes == 1 else "zeroinitializer"

    def at(name: str, place: int) -> str:
        return f"  %{name} = getelementptr {t}, ptr %work, i64 {place}"

    def stored(number: str, place: str) -> str:
        return f"  store {t} {number}, ptr %{place}, align {type_.bytes}"

    def loaded(number: str, place: str) -> str:
        return f"  %{number} = load {t}, ptr %{place}, align {type_.bytes}"

    yield f"define internal void @{label}({arguments(program)}) noinline nounwind {{"
    yield "entry:"
    for i, start in enumerate(repeat.starts):
        yield at(f"old{i}", repeat.old + i)
        yield at(f"new{i}", repeat.new + i)
        if isinstance(start, Input):
            yield f"  %from{i} = getelementptr {t}, ptr {pointer_to(start.argument, name)}, i64 {start.offset}"
            yield loaded(f"first{i}", f"from{i}")
        yield stored(f"%first{i}" if isinstance(start, Input) else type_.constant(start), f"old{i}")
    yield at("sign", repeat.new + size)
    yield "  br label %round"
    yield "round:"
    yield "  %n = phi i64 [ 0, %entry ], [ %n1, %round ]"
    yield f"  %before = phi {k} [ {none}, %entry ], [ %after, %round ]"
    for piece in pieces:
        yield f"  call void @{piece}({call_arguments(program)})"
    for i in range(size):
        yield loaded(f"o{i}", f"old{i}")
        yield loaded(f"m{i}", f"new{i}")
        yield f"  %x{i} = select {k} %before, {t} %o{i}, {t} %m{i}"
        yield stored(f"%x{i}", f"old{i}")
    yield loaded("flag", "sign")
    yield f"  %now = fcmp ogt {t} %flag, {type_.constant(0.0)}"
    yield f"  %after = or {k} %before, %now"
    yield f"  %bits = bitcast {k} %after to i{type_.lanes}"
    yield f"  %open = icmp ne i{type_.lanes} %bits, -1"
    yield "  %n1 = add i64 %n, 1"
    yield f"  %fewer = icmp slt i64 %n1, {repeat.most}"
    yield "  %again = and i1 %fewer, %open"
    yield "  br i1 %again, label %round, label %end"
    yield "end:"
    yield "  ret void"
    yield "}"
