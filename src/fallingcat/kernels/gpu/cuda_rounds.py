"""CUDA text of a stage that is taken again and again (:func:`fallingcat.arrays.repeat`): a loop in each thread.

What a round leaves for the next one lies in shared memory, each number of a thread in two places: what the last round
left, which this one reads, and what this one makes.  A thread whose state has arrived waits for those of its warp.
"""

from __future__ import annotations

from collections.abc import Callable

from ..ir.instructions import Input
from ..text.shared import Real
from .cuda import Body, Text, fitted, opening, second_pointers
from .repeated import CARRIED, Rounds
from .stages import Stage


def text(stage: Rounds, arguments: int, dtype: str, name: str) -> Text:
    """The kernel ``name(a0, a1, ..., workspace, t, out, n)``, as :func:`.cuda.text` makes them."""
    real, size, last = Real(dtype), len(stage.results), len(stage.results) - 1
    straight = Stage(stage.lines, stage.inputs, [], [])
    fit = fitted(straight, dtype, beside=size + len(stage.starts))

    def place(k: int) -> str:
        return f"w[{(fit.moves.places + k) * fit.block}]"

    old = {k: place(size + j) for j, k in enumerate(stage.starts)}
    body = _Body(stage.inputs, real, fit.block, _targets(stage, place), old)
    for step in fit.moves.steps:
        body.add(step)
    first = {k: real.constant(x) if isinstance(x, float) else _read(arguments, x) for k, x in stage.starts.items()}
    constants = {k: real.constant(x) for k, x in enumerate(stage.results) if not isinstance(x, int)}
    lines = [
        *opening(name, fit, arguments, real),
        *second_pointers(arguments + 1, real),
        *(f"    {old[k]} = {x};" for k, x in first.items()),
        *(f"    {place(k)} = {x};" for k, x in constants.items()),
        f"    for (unsigned round = 0; round < {stage.most}; round++) {{",
        '    asm volatile("" : "+r"(m));  // numbers are read anew in each round, and not kept in registers',
        *body.finished(),
        f"    if ({place(last)} > {real.constant(0.0)}) break;",
        *(f"    {old[k]} = {place(k)};" for k in old),
        "    }",
    ]
    for k, targets in stage.targets.items():
        for at, negative, aside in targets:
            lines.append(f"    __stcs(fc_at({'t' if aside else 'out'}, {at}, n), {'-' * negative}{place(k)});")
    return Text(name, "\n".join([*lines, "}", ""]), fit.block, fit.shared, fit.block)


def _read(arguments: int, place: int) -> str:
    return f"__ldg(fc_at(a{arguments}, {place}, n))"


def _targets(stage: Rounds, place: Callable[[int], str]) -> dict[int, list[str]]:
    """value -> what keeps it."""
    targets: dict[int, list[str]] = {}
    for k, x in enumerate(stage.results):
        if isinstance(x, int):
            targets.setdefault(x, []).append(f"{place(k)} = {{}};")
    return targets


class _Body(Body):
    """A round: what comes from the last one lies in ``old`` places, all else is in the workspace."""

    def __init__(
        self, inputs: dict[int, Input], real: Real, block: int, targets: dict[int, list[str]], old: dict[int, str]
    ) -> None:
        super().__init__(inputs, real, block, targets)
        self._old, self._read = old, {*inputs.values()}

    def _input(self, x: int) -> str:
        place = self._inputs[x]
        return self._old[place.offset] if place.argument == CARRIED else super()._input(x)
