"""CUDA text that gives every limb of the robot a warp of its own.

Where one thread per state would need more values than it has registers (forward dynamics keeps some fifteen per joint
from its inward to its outward sweep), the limbs share the work: 32 states to a block, one warp per limb and one for the
trunk.  They meet at a few barriers and hand values over in shared memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..model import Model
from .ctext import Real
from .cuda import Writer, parameters, sincos
from .program import Instruction, Program
from .schedule import schedule

TRUNK = 0
COPIED = 600
"""Expressions of the trunk alone are computed by every limb anew if they are no more instructions than this."""


class Limbs(NamedTuple):
    """For each joint the part (0 is the trunk) that it belongs to."""

    parts: int
    of_joint: tuple[int, ...]


def limbs(model: Model) -> Limbs | None:
    """Limbs of similar size; None for a robot that does not branch well (a single arm)."""
    count = len(model.joints)
    children: dict[int, list[int]] = {}
    for joint, parent in enumerate(model.parents):
        children.setdefault(parent, []).append(joint + 1)

    def under(link: int) -> list[int]:
        return [link, *(x for child in children.get(link, []) for x in under(child))]

    open_ = [under(child) for child in children.get(0, [])]
    while open_ and len(max(open_, key=len)) > max(2, -(-count // 4)):
        largest = max(open_, key=len)
        open_.remove(largest)
        open_ += [under(child) for child in children.get(largest[0], [])]
    small = max(map(len, open_), default=0) // 3
    kept = [links for links in open_ if len(links) > small]
    if not 2 <= len(kept) <= 15 or sum(map(len, kept)) < 0.6 * count:
        return None
    of_joint = [TRUNK] * count
    for part, links in enumerate(kept, start=1):
        for link in links:
            of_joint[link - 1] = part
    return Limbs(len(kept) + 1, tuple(of_joint))


@dataclass
class Share:
    """The instructions of one part, in order, with the phase of each."""

    lines: list[Instruction]
    phase: dict[int, int]


def text(program: Program, model: Model, plan: Limbs, dtype: str, name: str, least: int = 1) -> str:
    """The kernel ``name(a0, ..., out, n)`` for blocks of ``32 * plan.parts`` threads and 32 states."""
    real, threads = Real(dtype), 32 * plan.parts
    home = _homes(program, model, plan)
    shares = _shares(program, plan, home)
    slots, size = _slots(program, shares, home)
    lines = [*sincos(real), f'extern "C" __global__ void __launch_bounds__({threads}, {least})']
    lines += [f"{name}({parameters(program, real)})", "{", f"    __shared__ {real.text} w[{max(size, 1)}][32];"]
    lines.append("    const int lane = threadIdx.x & 31, part = threadIdx.x >> 5;")
    lines.append("    long long i = blockIdx.x * 32LL + lane;")
    lines.append("    i = i < n ? i : n - 1;  // idle lanes repeat the last state")
    lines += [f"    a{k} += i;" for k in range(len(program.argument_sizes))]
    lines.append("    out += i;")
    last = max((p for share in shares for p in share.phase.values()), default=0)
    for part, share in enumerate(shares):
        mine = [(k, x) for k, x in enumerate(program.outputs) if home.get(x, TRUNK) == part]
        writer = Writer(program, real, mine, lambda x: f"w[{slots[x]}][lane]")
        lines.append(f"    {'else ' if part else ''}if (part == {part}) {{")
        now = 0
        for line in share.lines:
            while now < share.phase[line.value]:
                writer.lines.append(_barrier(threads))
                now += 1
            writer.add(line)
            if line.value in slots and home[line.value] == part:
                writer.lines.append(f"    w[{slots[line.value]}][lane] = v{line.value};")
        lines += [*writer.finished(), *[_barrier(threads)] * (last - now), "    }"]
    return "\n".join([*lines, "}", ""])


def _barrier(threads: int) -> str:
    # by number: the warps wait at different places of the text, which __syncthreads does not promise to bear
    return f'    asm volatile("bar.sync 1, {threads};" ::: "memory");'


def _homes(program: Program, model: Model, plan: Limbs) -> dict[int, int]:
    """The part that computes each value: the one limb that it depends on, or else the one limb that needs it."""
    depends: dict[int, int] = {x: 1 << _part_of(program, model, plan, *place) for x, place in program.inputs.items()}
    trunk = 1 << TRUNK
    for line in program.instructions:
        depends[line.value] = trunk
        for x in line.operands:
            depends[line.value] |= depends[x] if isinstance(x, int) else 0
    needed: dict[int, int] = {}
    if len(program.outputs) == model.nv:
        for k, x in enumerate(program.outputs):
            if isinstance(x, int):
                needed[x] = needed.get(x, 0) | 1 << _part_of_rate(model, plan, k)
    else:
        needed = {x: trunk for x in program.outputs if isinstance(x, int)}
    for line in reversed(program.instructions):
        for x in line.operands:
            if isinstance(x, int):
                needed[x] = needed.get(x, 0) | needed[line.value]
    home = {}
    for line in program.instructions:
        own, wanted = depends[line.value] & ~trunk, needed[line.value]
        one = own if own.bit_count() == 1 else wanted if own and wanted.bit_count() == 1 else trunk
        home[line.value] = one.bit_length() - 1
    return home


def _part_of(program: Program, model: Model, plan: Limbs, argument: int, index: int) -> int:
    if program.argument_sizes[argument] == model.nq and argument == 0:
        for part, place in zip(plan.of_joint, model.q_slices, strict=True):
            if place.start <= index - model.base.nq < place.stop:
                return part
        return TRUNK
    return _part_of_rate(model, plan, index) if program.argument_sizes[argument] == model.nv else TRUNK


def _part_of_rate(model: Model, plan: Limbs, index: int) -> int:
    for part, place in zip(plan.of_joint, model.v_slices, strict=True):
        if place.start <= index - model.m < place.stop:
            return part
    return TRUNK


def _shares(program: Program, plan: Limbs, home: dict[int, int]) -> list[Share]:
    """Each part's instructions; what the limbs need of the trunk's own kinematics they compute themselves."""
    copied = _copied(program, home)
    phase: dict[tuple[int, int], int] = {}
    lines: list[list[Instruction]] = [[] for _ in range(plan.parts)]
    for line in program.instructions:
        for part in copied.get(line.value, {home[line.value]}):
            at = 0
            for x in line.operands:
                if isinstance(x, int) and x not in program.inputs:
                    here = (part, x) in phase
                    at = max(at, phase[part, x] if here else phase[home[x], x] + 1)
            phase[part, line.value] = at
            lines[part].append(line)
    shares = []
    for part, mine in enumerate(lines):
        phases = {line.value: phase[part, line.value] for line in mine}
        wanted = [x for x in program.outputs if isinstance(x, int) and x in phases]
        exported = [line.value for line in mine if home[line.value] == part]
        order = schedule(mine, program.inputs, [*wanted, *_ends(mine, exported)])
        shares.append(Share(sorted(order, key=lambda line: phases[line.value]), phases))
    return shares


def _ends(lines: Sequence[Instruction], values: list[int]) -> list[int]:
    """The values that no instruction of the part uses: results for others."""
    used = {x for line in lines for x in line.operands if isinstance(x, int)}
    return [x for x in values if x not in used]


def _copied(program: Program, home: dict[int, int]) -> dict[int, set[int]]:
    """Values of the trunk that depend on the trunk alone, and the parts that compute them (all that need them)."""
    alone: set[int] = set()
    for line in program.instructions:
        operands = [x for x in line.operands if isinstance(x, int) and x not in program.inputs]
        if home[line.value] == TRUNK and all(x in alone for x in operands):
            alone.add(line.value)
    if len(alone) > COPIED:
        return {}
    parts = {x: {TRUNK} for x in alone}
    for line in reversed(program.instructions):
        users = parts.get(line.value, {home[line.value]})
        for x in line.operands:
            if x in parts:
                parts[x] |= users
    return parts


def _slots(program: Program, shares: list[Share], home: dict[int, int]) -> tuple[dict[int, int], int]:
    """Places in shared memory of what one part computes and another uses; reused two phases after the last use."""
    until: dict[int, int] = {}
    for part, share in enumerate(shares):
        for line in share.lines:
            for x in line.operands:
                if isinstance(x, int) and x not in program.inputs and x not in share.phase:
                    assert home[x] != part
                    until[x] = max(until.get(x, 0), share.phase[line.value])
    slots: dict[int, int] = {}
    busy: list[int] = []
    for x in sorted(until, key=lambda x: shares[home[x]].phase[x]):
        start = shares[home[x]].phase[x]
        slot: Any = next((k for k, end in enumerate(busy) if end < start), None)
        if slot is None:
            slot = len(busy)
            busy.append(0)
        busy[slot], slots[x] = until[x], slot
    return slots, len(busy)
