"""LLVM text of guards: tests whether a condition holds for any state of a block, and the code that depends on it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from ..ir.instructions import Chunk, Loop, Repeat
from ..ir.program import Program
from .loop import call_arguments, pointer_to
from .operation import Type


def calls(
    program: Program, chunks: Sequence[Chunk | Loop | Repeat], labels: Sequence[str], type_: Type, name: str, mark: str
) -> Iterator[str]:
    """Calls of chunks by their ``labels``, past those whose guards hold nowhere and that have nothing to leave then.

    ``mark`` tells the names of such places from those of other calls in the same function.
    """
    each = [(f"{k}{mark}", chunk, label) for k, (chunk, label) in enumerate(zip(chunks, labels, strict=True))]

    def asked(item: tuple[str, Any, str]) -> int | None:
        """Guard without which a chunk is not called: it leaves no choices."""
        return item[1].guard if isinstance(item[1], Chunk) and not item[1].choices else None

    def call(items: list[tuple[str, Any, str]]) -> Iterator[str]:
        for _, chunk, label in items:
            again = ", ptr %work" if isinstance(chunk, Loop) else ""
            yield f"  call void @{label}({call_arguments(program)}{again})"

    def if_holds(guard: int | None, items: list[tuple[str, Any, str]], kind: str, text: Iterator[str]) -> Iterator[str]:
        """The text of some calls, passed over where a guard of theirs holds nowhere."""
        if guard is None:
            yield from text
            return
        place = f"{kind}{items[0][0]}"
        yield from holds_somewhere(program, items[0][1], guard, type_, name, f"%{place}")
        yield f"  br i1 %{place}any, label %in{place}, label %past{place}"
        yield f"in{place}:"
        yield from text
        yield f"  br label %past{place}"
        yield f"past{place}:"

    def runs(items: list[tuple[str, Any, str]]) -> Iterator[str]:
        for guard, run in groupby(items, key=asked):
            part = list(run)
            yield from if_holds(guard, part, "guard", call(part))

    for within, run in groupby(each, key=lambda item: item[1].within if isinstance(item[1], Chunk) else None):
        part = list(run)
        yield from if_holds(within, part, "within", runs(part))


def holds_somewhere(program: Program, chunk: Chunk, guard: int, type_: Type, name: str, to: str) -> Iterator[str]:
    """``{to}any``: whether a guard of a chunk holds in any lane."""
    yield from loaded(program, chunk, guard, type_, name, to)
    yield f"  {to}holds = fcmp une {type_.text} {to}, {type_.constant(0.0)}"
    yield f"  {to}lanes = bitcast {type_.condition} {to}holds to i{type_.lanes}"
    yield f"  {to}any = icmp ne i{type_.lanes} {to}lanes, 0"


def loaded(program: Program, chunk: Chunk, x: int, type_: Type, name: str, to: str) -> Iterator[str]:
    """A value that a chunk reads, from memory."""
    where = program.inputs.get(x)
    source, index = ("%work", chunk.loads[x]) if where is None else (pointer_to(where.argument, name), where.offset)
    yield f"  {to}p = getelementptr {type_.text}, ptr {source}, i64 {index}"
    yield f"  {to} = load {type_.text}, ptr {to}p, align {type_.bytes}"
