"""Stages for programs with large dense results: first what results share, then tiles of results that share much.

An entry of a dense product needs a row and a column; the next entry of the row needs the whole of another column.
Along rows a thread has all columns waiting, far more than its registers hold.  A tile of rows and columns fits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ..ir.instructions import Instruction
from ..ir.program import Program
from ..ir.schedule import operands_of, schedule, users_of
from .stages import LARGEST, Stages, bounds, connected, cost

ROOM = {"float32": 170, "float64": 115}
"""Values that a tile may read, so that they stay in registers; measured on an H200."""


def tiled(program: Program, dtype: str) -> Stages:
    """The program as stages for what is shared, and one for each tile of results."""
    trees = _private(program)
    inside = {line.value for tree in trees for line in tree}
    core = [line for line in program.instructions if line.value not in inside]
    wanted = [x for tree in trees for line in tree for x in line.operands if isinstance(x, int)]
    core = schedule(core, program.inputs, [*wanted, *program.outputs])
    costs = [cost(line, dtype) for line in core]
    cuts = bounds(core, program.inputs, costs, -int(-sum(costs) // LARGEST))
    parts = [core[a:b] for a, b in zip([0, *cuts], [*cuts, len(core)], strict=True)]
    tiles = _grouped(trees, inside, dtype)
    return connected(program, [*parts, *([line for k in tile for line in trees[k]] for tile in tiles)])


def _private(program: Program) -> list[list[Instruction]]:
    """For each result that nothing uses but its own negative, the instructions that only it needs, operands first."""
    by = {line.value: line for line in program.instructions}
    operands = operands_of(program.instructions)
    users = users_of(operands)
    results = dict.fromkeys(x for x in program.outputs if isinstance(x, int) and x in by)
    signs = {v for v in results if by[v].op == "neg" and not users[v] and by[v].operands[0] in results}
    inner = {v for v, us in users.items() if len(us) == 1 and v not in results}
    place = {v: k for k, v in enumerate(by)}
    trees = []
    for root in results:
        if root not in signs and signs.issuperset(users[root]):
            tree = [root]
            for v in tree:  # grows on the way
                tree += [x for x in operands[v] if x in inner]
            trees.append([by[v] for v in sorted([*tree, *users[root]], key=place.__getitem__)])
    return trees


def _grouped(trees: Sequence[list[Instruction]], inside: set[int], dtype: str) -> list[list[int]]:
    """The trees in groups that read few values each."""
    bit: dict[int, int] = {}
    missing: dict[int, int] = {}  # tree -> what it still has to read, as the bits of a whole number
    for k, tree in enumerate(trees):
        reads = {x for line in tree for x in line.operands if isinstance(x, int) and x not in inside}
        missing[k] = sum(1 << bit.setdefault(x, len(bit)) for x in reads)
    costs = [sum(cost(line, dtype) for line in tree) + 4.0 for tree in trees]
    groups: list[list[int]] = []
    while missing:
        groups.append(_group(missing, costs, ROOM[dtype]))
        for k in groups[-1]:
            del missing[k]
    return groups


def _group(missing: dict[int, int], costs: list[float], room: int) -> list[int]:
    """A group that begins with the first tree, whatever that reads, until it is long or has no room for more.

    It grows by the values that complete most trees for each value read: so rows and columns in turn, to a square.
    """
    group: list[int] = []
    held, lacking, more = 0, missing, next(iter(missing.values()))
    while True:
        held |= more
        lacking = {k: x & ~more for k, x in lacking.items()}
        group += [k for k, x in lacking.items() if not x]
        lacking = {k: x for k, x in lacking.items() if x}
        fitting = Counter(x for x in lacking.values() if x.bit_count() <= room - held.bit_count())
        if not fitting or sum(costs[k] for k in group) >= LARGEST:
            return group
        more = max(fitting, key=lambda x: fitting[x] / (1 + x.bit_count()))
