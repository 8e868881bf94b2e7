"""Tree traversal, written once.

A sweep visits every link with its joint; the physics of one link is a small function of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..arrays import concatenate, mirror
from ..model import Model, State
from .checks import check_state

T = TypeVar("T")


class Node(NamedTuple):
    """A joint with its numbers at one state, and the link that it carries."""

    link: int
    """Place of the link in ``model.links``; its joint is ``model.joints[link - 1]``."""
    parent: int
    """Place of the parent link."""
    H: Any
    """``4 x 4``: coordinates of the link to coordinates of the parent."""
    S: Any
    """``6 x nv``: motion subspace, in the link frame."""
    S_dot: Any
    """``6 x nv``: its time derivative, in the link frame."""
    rates: Any
    """``nv``: joint rates."""
    constant: bool
    """Whether the motion subspace is constant in the link frame (on every subgroup of SE(3)): ``S_dot`` is zero."""


def nodes(model: Model, state: State) -> list[Node]:
    """All joints at a state, parents before children."""
    check_state(model, state)
    out = []
    for i, (joint, q, v) in enumerate(zip(model.joints, model.q_slices, model.v_slices, strict=True)):
        x, rates = state.joints[q], state.rates[v]
        S, S_dot = joint.motion_subspace(x), joint.motion_subspace_derivative(x, rates)
        out.append(Node(i + 1, model.parents[i], joint.transform(x), S, S_dot, rates, joint.kind.fixed_axes))
    return out


def outward(tree: Sequence[Node], base: T, step: Callable[[Node, T], T]) -> list[T]:
    """One value per link, from the base to the tips: ``step(node, value of the parent)``."""
    values = [base]
    for node in tree:
        values.append(step(node, values[node.parent]))
    return values


def inward(tree: Sequence[Node], own: Sequence[T], carry: Callable[[Node, T], T]) -> list[T]:
    """One value per link, from the tips to the base: its own, plus ``carry(child, its value)`` for each child."""
    values: list[Any] = list(own)
    for node in reversed(tree):
        values[node.parent] = values[node.parent] + carry(node, values[node.link])
    return values


def ancestors(tree: Sequence[Node], link: int) -> list[int]:
    """The links from ``link`` (included) to the base (included)."""
    path = [link]
    while link > 0:
        link = tree[link - 1].parent
        path.append(link)
    return path


def join(parts: Sequence[Any]) -> Any:
    """One vector out of the base's part and the joints' parts; the empty one where there is none."""
    return concatenate([np.zeros(0), *parts])


def assemble(sizes: Sequence[int], blocks: dict[tuple[int, int], Any]) -> Any:
    """The matrix with the given blocks, indexed by link, and exact zeros elsewhere."""
    moving = [i for i, size in enumerate(sizes) if size]
    if not moving:
        return np.zeros((0, 0))
    rows = []
    for i in moving:
        row = [blocks[i, j] if (i, j) in blocks else np.zeros((sizes[i], sizes[j])) for j in moving]
        rows.append(concatenate(row, axis=1))
    return concatenate(rows)


def symmetric(sizes: Sequence[int], blocks: dict[tuple[int, int], Any]) -> Any:
    """The symmetric matrix whose blocks on and above the diagonal of the tree are given."""
    full = dict(blocks)
    for (i, j), block in blocks.items():
        full[j, i] = mirror(block) if i == j else block.T
    return assemble(sizes, full)


def sizes(model: Model) -> list[int]:
    """Degrees of freedom of the base and of every joint."""
    return [model.m, *(joint.kind.nv for joint in model.joints)]


def places_above(model: Model) -> list[int]:
    """For each place of a velocity the place next above it in the tree; -1 for the first."""
    last, out = [model.m - 1], list(range(-1, model.m - 1))
    for parent, v in zip(model.parents, model.v_slices, strict=True):
        places = range(model.m + v.start, model.m + v.stop)
        out += [last[parent], *places[:-1]] if places else []
        last.append(places[-1] if places else last[parent])
    return out
