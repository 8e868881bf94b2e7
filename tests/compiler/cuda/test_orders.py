"""Orders, cuts and moves are those of their definitions, written without any bookkeeping."""

import numpy as np
import pytest

from fallingcat.compiler.cuda import spilling as registers
from fallingcat.compiler.cuda import stages
from fallingcat.compiler.ir.instructions import Input, Instruction
from fallingcat.compiler.ir.schedule import schedule, waiting

INPUTS = {k: Input(0, k) for k in range(6)}
SEEDS = range(12)


def straight_line(seed, count=120):
    """Random instructions; some operands are constants that are equal to the numbers of values."""
    rng = np.random.default_rng(seed)
    lines = []
    for value in range(len(INPUTS), len(INPUTS) + count):
        near = rng.integers(max(0, value - 30), value, size=3)
        operands = [int(x) if rng.random() < 0.9 else float(x) for x in near]
        lines.append(Instruction(value, "fma", tuple(operands)))
    return lines


def values(line):
    return [x for x in line.operands if type(x) is int]


@pytest.mark.parametrize("seed", SEEDS)
def test_what_waits_is_made_before_and_used_later(seed):
    lines = straight_line(seed)
    alive = [
        {x for line in lines[at:] for x in values(line)} & {line.value for line in lines[:at]}
        | {line.value for line in lines[at : at + 1] if any(line.value in values(u) for u in lines[at:])}
        for at in range(len(lines))
    ]
    assert waiting(lines) == max(map(len, alive))


def order_by_definition(lines, roots):
    """Depth first, the heavier operand first; at once whatever frees as many values as it makes."""
    made = {line.value: line for line in lines}
    operands = {v: [x for x in dict.fromkeys(values(line)) if x in made] for v, line in made.items()}
    users = {v: [u for u in operands if v in operands[u]] for v in operands}
    needs = {}
    for v, xs in operands.items():
        needs[v] = {v}.union(*(needs[x] for x in xs))
    order = []

    def left(v):
        return [u for u in users[v] if u not in order]

    def ready(v):
        return v not in order and all(x in order for x in operands[v])

    def emit(value):
        todo = [value]
        while todo:
            v = todo.pop()
            if v not in order:
                order.append(v)
                near = [u for u in users[v] if ready(u)]
                near += [u for x in operands[v] if len(left(x)) == 1 for u in left(x) if ready(u)]
                todo += [u for u in near if not users[u] or any(len(left(x)) == 1 for x in operands[u])]

    def visit(v):
        if v not in order:
            for x in sorted(operands[v], key=lambda x: len(needs[x]))[::-1]:
                visit(x)
            if v not in order:
                emit(v)

    for root in sorted(roots, key=lambda v: -len(needs[v])):
        visit(root)
    return [made[v] for v in order]


@pytest.mark.parametrize("seed", SEEDS)
def test_orders_are_those_of_the_definition(seed):
    lines = straight_line(seed)
    rng = np.random.default_rng(seed)
    roots = [lines[-1].value, *(int(x) for x in rng.choice([line.value for line in lines[:-1]], 5, replace=False))]
    order = schedule(lines, INPUTS, roots, longest=0)
    assert order == order_by_definition(lines, roots)
    assert all(x in INPUTS or x in [u.value for u in order[:at]] for at, line in enumerate(order) for x in values(line))


def cuts_by_definition(lines, costs, count):
    """Near equal parts; each cut where the fewest values wait, a sixth of a part around."""

    def waits(at):
        used = {x for line in lines[at:] for x in values(line)}
        return sum(line.value in used for line in lines[:at])

    cuts = [0]
    for k in range(1, count):
        part = sum(costs) / count
        near = [i for i in range(cuts[-1] + 1, len(lines)) if abs(sum(costs[:i]) / part - k) <= 1 / 6]
        cuts += [min(near, key=waits)] if near else []
    return cuts[1:]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("count", [1, 3, 10, 60])
def test_cuts_are_those_of_the_definition(seed, count):
    lines = straight_line(seed)
    costs = np.random.default_rng(seed).choice([1.0, 1.1, 2.2, 13.2], len(lines)).tolist()
    assert stages.bounds(lines, costs, count) == cuts_by_definition(lines, costs, count)


def moves_by_definition(lines, keep):
    """What is used last goes, the smaller number first; what is needed now stays."""
    at_hand, spilled, free, places, steps = set(), {}, [], 0, []

    def next_use(x, at):
        return next((k for k in range(at, len(lines)) if x in values(lines[k])), None)

    def make_room(at):
        nonlocal places
        while len(at_hand) >= keep and at_hand - {*values(lines[at])}:
            x = min(at_hand - {*values(lines[at])}, key=lambda x: (-next_use(x, at), x))
            at_hand.remove(x)
            if x not in INPUTS:
                if not free:
                    free.append(places)
                    places += 1
                spilled[x] = free.pop()
                steps.append(registers.Step("spill", x, spilled[x]))

    for at, line in enumerate(lines):
        for x in dict.fromkeys(values(line)):
            if x not in at_hand:
                make_room(at)
                steps.append(registers.Step("reload", x, spilled[x]) if x in spilled else registers.Step("read", x))
                free += [spilled.pop(x)] if x in spilled else []
                at_hand.add(x)
        at_hand -= {x for x in values(line) if next_use(x, at + 1) is None}
        make_room(at)
        steps.append(registers.Step("compute", line.value, line=line))
        at_hand |= {line.value} if next_use(line.value, at + 1) else set()
    return steps, places


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("keep", [4, 9, 14])
def test_moves_are_those_of_the_definition(seed, keep):
    lines = straight_line(seed)
    steps, places = moves_by_definition(lines, keep)
    assert registers.Planner(lines, INPUTS).plan(keep) == registers.Plan(registers._reload_early(steps), places)
    assert places
