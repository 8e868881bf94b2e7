"""LLVM text of a loop of a program: several things of one state at a time, or one thing of several states."""

from __future__ import annotations

from collections import Counter
from typing import Any

from ..ir.instructions import OUT, TABLE, WORK, Input, Loop
from ..ir.program import Program
from .operation import Type, instruction


def arguments(program: Program) -> str:
    """The parameters of every function: arguments, outputs, workspace."""
    return ", ".join(
        [*(f"ptr noalias %a{i}" for i in range(len(program.argument_sizes))), "ptr noalias %out", "ptr noalias %work"]
    )


def call_arguments(program: Program) -> str:
    """The same, passed on."""
    return ", ".join([*(f"ptr %a{i}" for i in range(len(program.argument_sizes))), "ptr %out", "ptr %work"])


def pointer_to(argument: int, name: str) -> str:
    """The pointer to an argument, or to what stands in its place."""
    return {WORK: "%work", OUT: "%out", TABLE: f"@{name}_table"}.get(argument, f"%a{argument}")


def width(loop: Loop, most: int) -> int:
    """Things at a time: a power of two, not more than the shortest segment has."""
    starts = [first for first, _ in loop.segments]
    shortest = min(e - s for s, e in zip(starts, [*starts[1:], loop.count], strict=True))
    return min(most, 1 << (shortest.bit_length() - 1))


def loop_text(program: Program, loop: Loop, type_: Type, wide: Type, label: str, name: str) -> list[str]:
    """One internal function; its body works on ``wide.lanes`` things of one state, or on one thing of as many states.

    The last pass over a segment ends where the segment ends, so it may do some things twice.
    """
    passes = _iterations(loop, wide.lanes if type_.lanes == 1 else 1)
    numbers = ", ".join(f"i64 {n}" for start, shift in passes for n in (start, start + shift))
    body = _Body(program, loop, type_, wide, name)
    return [
        f"@{label}_passes = internal constant [{2 * len(passes)} x i64] [{numbers}]",
        f"define internal void @{label}({arguments(program)}, ptr noalias %again) noinline nounwind {{",
        "entry:",
        "  br label %loop",
        "loop:",
        "  %i = phi i64 [ 0, %entry ], [ %i1, %loop ]",
        f"  %pass = getelementptr [2 x i64], ptr @{label}_passes, i64 %i",
        "  %thing = load i64, ptr %pass",
        "  %pass1 = getelementptr i64, ptr %pass, i64 1",
        "  %place = load i64, ptr %pass1",
        *body.text(),
        "  %i1 = add i64 %i, 1",
        f"  %more = icmp slt i64 %i1, {len(passes)}",
        "  br i1 %more, label %loop, label %end",
        "end:",
        "  ret void",
        "}",
    ]


def _iterations(loop: Loop, things: int) -> list[tuple[int, int]]:
    """For each pass the first thing, and how far the output is shifted there."""
    out = []
    ends = [*(first for first, _ in loop.segments[1:]), loop.count]
    for (first, shift), end in zip(loop.segments, ends, strict=True):
        out += [(min(start, end - things), shift) for start in range(first, end, things)]
    return out


class _Body:
    """The instructions of one pass.

    Every other use of a shared number reads it through a second pointer to the workspace, ``%again``: a compiler that
    knew it to be the same would rather keep hundreds of them on the stack than read them again.
    """

    def __init__(self, program: Program, loop: Loop, type_: Type, wide: Type, name: str) -> None:
        self.program, self.loop, self.type, self.wide, self.name = program, loop, type_, wide, name
        self.lines: list[str] = []
        self.known: set[str] = set()
        self.uses: Counter[int] = Counter()

    def text(self) -> list[str]:
        w, pairs = self.wide.text, {}
        for value, op, operands in self.loop.instructions:
            self.known.add(str(value))
            given = [self.operand(x) for x in operands]
            if op not in ("sin", "cos"):
                self.lines += instruction(self.wide, value, op, given)
                continue
            if given[0] not in pairs:
                pairs[given[0]] = f"%sc{value}"
                call = f"call {{{w}, {w}}} @{self.name}_sincos{self.wide.lanes}({w} {given[0]})"
                self.lines.append(f"  %sc{value} = {call}")
            self.lines.append(f"  %v{value} = extractvalue {{{w}, {w}}} {pairs[given[0]]}, {int(op == 'cos')}")
        for k, (where, x) in enumerate(self.loop.results):
            result = self.operand(x)
            pointer = self.address(f"out{k}", where, "%place" if where.argument == OUT else "%thing")
            self.lines.append(f"  store {w} {result}, ptr {pointer}, align {self.type.bytes}")
        return self.lines

    def operand(self, x: Any) -> str:
        if not isinstance(x, int):
            return self.wide.constant(x)
        moving = x not in self.loop.shared
        second = not moving and self.loop.shared[x].argument == WORK and self.uses[x] % 2 == 1
        self.uses[x] += 1
        tag = f"{x}_again" if second else str(x)
        if tag not in self.known:
            self.known.add(tag)
            condition = x in self.program.conditions
            self.load(tag, self.loop.rows[x] if moving else self.loop.shared[x], moving, second, condition)
        return f"%v{tag}"

    def load(self, tag: str, where: Input, moving: bool, second: bool, condition: bool) -> None:
        e, w, lanes = self.type.element, self.wide.text, self.wide.lanes
        pointer = self.address(tag, where, "%thing" if moving else None, second)
        to = f"%c{tag}" if condition else f"%v{tag}"
        if lanes > 1 and (where.argument == TABLE if self.type.lanes > 1 else not moving):  # one number for all lanes
            self.lines.append(f"  %l{tag} = load {e}, ptr {pointer}")
            self.lines.append(f"  %e{tag} = insertelement {w} poison, {e} %l{tag}, i32 0")
            self.lines.append(f"  {to} = shufflevector {w} %e{tag}, {w} poison, <{lanes} x i32> zeroinitializer")
        else:
            self.lines.append(f"  {to} = load {w}, ptr {pointer}, align {self.type.bytes}")
        if condition:
            self.lines.append(f"  %v{tag} = fcmp une {w} {to}, {self.wide.constant(0.0)}")

    def address(self, tag: str, where: Input, moving: str | None, second: bool = False) -> str:
        element = self.type.element if where.argument == TABLE else self.type.text
        start = "%again" if second else pointer_to(where.argument, self.name)
        self.lines.append(f"  %b{tag} = getelementptr {element}, ptr {start}, i64 {where.offset}")
        if moving is None:
            return f"%b{tag}"
        self.lines.append(f"  %p{tag} = getelementptr {element}, ptr %b{tag}, i64 {moving}")
        return f"%p{tag}"
