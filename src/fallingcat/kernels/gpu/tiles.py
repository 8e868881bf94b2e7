"""Stages for programs with large dense results: first what results share, then tiles of results that share much.

An entry of a dense product needs a row and a column; the next entry of the row needs the whole of another column.
Along rows a thread has all columns waiting, far more than its registers hold.  A tile of rows and columns fits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ..ir.instructions import Instruction
from ..ir.program import Program
from ..ir.schedule import schedule
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
    users: dict[int, list[int]] = {line.value: [] for line in program.instructions}
    for line in program.instructions:
        for x in dict.fromkeys(line.operands):
            if isinstance(x, int) and x in users:
                users[x].append(line.value)
    results = dict.fromkeys(x for x in program.outputs if isinstance(x, int) and x in by)
    place = {line.value: k for k, line in enumerate(program.instructions)}
    signs = {v for v in results if by[v].op == "neg" and not users[v] and by[v].operands[0] in results}
    trees = []
    for root in results:
        if root in signs or not signs.issuperset(users[root]):
            continue
        tree, todo = {root, *users[root]}, [root]
        while todo:
            for x in by[todo.pop()].operands:
                if isinstance(x, int) and x in by and len(users[x]) == 1 and x not in results and x not in tree:
                    tree.add(x)
                    todo.append(x)
        trees.append([by[v] for v in sorted(tree, key=place.__getitem__)])
    return trees


def _grouped(trees: Sequence[list[Instruction]], inside: set[int], dtype: str) -> list[list[int]]:
    """The trees in groups that read few values each.

    A group grows by the values that complete most trees for each value read: so rows and columns in turn, to a square.
    """
    bit: dict[int, int] = {}
    missing: dict[int, int] = {}  # tree -> what it still has to read, as the bits of a whole number
    for k, tree in enumerate(trees):
        reads = {x for line in tree for x in line.operands if isinstance(x, int) and x not in inside}
        missing[k] = sum(1 << bit.setdefault(x, len(bit)) for x in reads)
    costs = [sum(cost(line, dtype) for line in tree) + 4.0 for tree in trees]
    groups: list[list[int]] = []
    while missing:
        held, work, lacking = 0, 0.0, dict(missing)
        group: list[int] = []
        while work < LARGEST:
            room = ROOM[dtype] - held.bit_count() if group else len(bit)
            counts = Counter(lacking.values())
            fitting = [x for x in counts if x.bit_count() <= room]
            if not fitting:
                break
            best = (
                max(fitting, key=lambda x: counts[x] / (1 + x.bit_count())) if group else next(iter(lacking.values()))
            )
            held |= best
            lacking = {k: x & ~best for k, x in lacking.items()}
            done = [k for k, x in lacking.items() if not x]
            work += sum(costs[k] for k in done)
            group += done
            for k in done:
                del lacking[k], missing[k]
            if not lacking:
                break
        groups.append(group)
    return groups
