"""CUDA text of a stage that is taken again and again (:func:`fallingcat.arrays.while_loop`): a loop in each thread.

What a round leaves for the next one lies in shared memory, each number of a thread in two places: what the last round
left, which this one reads, and what this one makes.  A thread whose state has arrived waits for those of its warp; so
after some rounds states that have not are listed, and others go on with those alone.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..codegen.c_syntax import Real
from ..ir.instructions import Instruction
from .column_loops import EXIT, KEEP, LAST_ROUND, ListedStates, Rounds
from .emitter import STATE_OF_THREAD, Body, Columns, Text, fit_stage, opening, second_pointers
from .stages import Stage


def text(stage: Rounds, arguments: int, dtype: str, name: str) -> Text:
    """The kernel ``name(a0, a1, ..., workspace, t, out, n)``, as :func:`.cuda.text` makes them."""
    real, results = Real(dtype), [*dict.fromkeys(stage.keeps.values())]
    fit = fit_stage(Stage(stage.lines, stage.inputs, [], []), dtype, extra_places=len(results) + len(stage.starts))
    places = [f"w[{(fit.moves.places + k) * fit.block}]" for k in range(len(results) + len(stage.starts))]
    new = dict(zip(results, places, strict=False))
    old = dict(zip(stage.starts, places[len(results) :], strict=True))
    body = _Body(stage, real, fit.block, old, new)
    for step in fit.moves.steps:
        body.add(step)
    first = {k: real.constant(x) if isinstance(x, float) else _read(arguments, x) for k, x in stage.starts.items()}
    find = _listed_state(arguments, stage.taken) if stage.taken else ["const unsigned own = i;", *STATE_OF_THREAD]
    lines = [
        *opening(name, fit, arguments, real, find),
        *second_pointers(arguments + 1, real),
        *(f"    {old[k]} = {x};" for k, x in first.items()),
        "    bool arrived = false;",
        f"    for (unsigned round = 0; round < {stage.most}; round++) {{",
        '    asm volatile("" : "+r"(m));  // numbers are read anew in each round, and not kept in registers',
        *body.finished(),
        *(f"    {old[k]} = {new[k]};" for k in old),
        "    }",
    ]
    for k, targets in stage.targets.items():
        for at, negative, spilled in targets:
            lines.append(f"    __stcs(fc_at({'t' if spilled else 'out'}, {at}, n), {'-' * negative}{new[k]});")
    if stage.left:
        lines += _listing(stage.left, old)
    return Text(name, "\n".join([*lines, "}", ""]), fit.block, fit.shared, fit.block)


def _read(arguments: int, place: int) -> str:
    return f"__ldg(fc_at(a{arguments}, {place}, n))"


def _listed_state(arguments: int, some: ListedStates) -> Sequence[str]:
    """Lines with which a thread finds a state that was left over."""
    return [
        f"if (i >= *(const unsigned *)fc_at(a{arguments}, {some.many}, count)) return;",
        f"i = ((const unsigned *)fc_at(a{arguments}, {some.who}, count))[i];",
    ]


def _listing(some: ListedStates, old: dict[int, str]) -> list[str]:
    """A thread whose state has not arrived leaves it to others."""
    row = "(unsigned *)(fc_at(t, {}, n) - i)"
    return [
        "    if (!arrived && own < count) {",
        f"        const unsigned last = atomicAdd({row.format(some.many)}, 1u);",
        f"        ({row.format(some.who)})[last] = i;",
        *(f"        *fc_at(t, {place}, n) = {old[k]};" for k, place in some.kept.items()),
        "    }",
    ]


class _Body(Body):
    """Body of a round.

    What comes from the last one lies in ``old`` places, what it makes in ``new`` ones, all else is in the workspace.
    """

    def __init__(self, stage: Rounds, real: Real, block: int, old: dict[int, str], new: dict[int, str]) -> None:
        super().__init__(stage.inputs, real, block, {}, Columns())
        self._keeps, self._old, self._new = stage.keeps, old, new
        self._read = {*stage.inputs.values()}

    def _input(self, x: int) -> str:
        place = self._inputs[x]
        return self._old[place.offset] if place.argument == LAST_ROUND else super()._input(x)

    def _compute(self, line: Instruction) -> None:
        if line.op not in (KEEP, EXIT):
            super()._compute(line)
            return
        (x,) = line.operands
        number = self._names[x] if isinstance(x, int) else self._real.constant(x)
        if line.op == KEEP:
            self._lines.append(f"    {self._new[self._keeps[line.value]]} = {number};")
        else:
            self._lines += [f"    arrived = {number} > {self._real.constant(0.0)};", "    if (arrived) break;"]
