"""Tree traversal, written once.

A sweep visits every link with its joint; the physics of one link is a small function of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, reduce
from itertools import accumulate, pairwise
from operator import add
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..arrays import concatenate, mirror, place_blocks
from ..arrays.types import Matrix, Pose, Vector
from ..model import Model, State
from .checks import check_state

T = TypeVar("T")


class Node(NamedTuple):
    """Joint with its numbers at one state, and the link that it carries."""

    link: int
    """Place of the link in ``model.links``; its joint is ``model.joints[link - 1]``."""
    parent: int
    """Place of the parent link."""
    H: Pose
    """``4 x 4``: coordinates of the link to coordinates of the parent."""
    S: Matrix
    """``6 x nv``: motion subspace, in the link frame, per rate of the joint or of the one that it follows."""
    S_dot: Matrix
    """``6 x nv``: its time derivative, in the link frame."""
    rates: Vector
    """``nv``: rates of the joint, or of the one that it follows."""
    constant: bool
    """True if the motion subspace is constant in the link frame (on every subgroup of SE(3)): ``S_dot`` is zero."""


def nodes(model: Model, state: State) -> list[Node]:
    """All joints at a state, parents before children."""
    check_state(model, state)
    out = []
    for i, (joint, q, v) in enumerate(zip(model.joints, model.q_slices, model.v_slices, strict=True)):
        x, rates = state.joints[q], state.rates[v]
        S, S_dot = joint.motion_subspace(x), joint.motion_subspace_derivative(x, rates)
        out.append(Node(i + 1, model.parents[i], joint.transform(x), S, S_dot, rates, joint.kind.fixed_axes))
    return out


def propagate_outward(tree: Sequence[Node], base: T, step: Callable[[Node, T], T]) -> list[T]:
    """One value per link, from the base to the tips: ``step(node, value of the parent)``."""
    values = [base]
    for node in tree:
        values.append(step(node, values[node.parent]))
    return values


def accumulate_inward(tree: Sequence[Node], own: Sequence[T], carry: Callable[[Node, T], T]) -> list[T]:
    """One value per link, from the tips to the base: its own, plus ``carry(child, its value)`` for each child."""
    values: list[Any] = list(own)
    for node in reversed(tree):
        values[node.parent] = values[node.parent] + carry(node, values[node.link])
    return values


def ancestors(tree: Sequence[Node], link: int) -> list[int]:
    """Links from ``link`` (included) to the base (included)."""
    path = [link]
    while link > 0:
        link = tree[link - 1].parent
        path.append(link)
    return path


def last_carried(tree: Sequence[Node]) -> list[int]:
    """Last of the links that each link carries, or itself: links are numbered depth first."""
    last = list(range(len(tree) + 1))
    for node in reversed(tree):
        last[node.parent] = max(last[node.parent], last[node.link])
    return last


Factors = tuple[Sequence[Matrix], Sequence[Matrix]]
"""Two matrices for each link, whose products are blocks of a matrix."""


class Places(NamedTuple):
    """Index ranges of the base and of every joint in a quasi-velocity; parts are given link by link.

    A joint that follows another has no place of its own: its part is added to that of its leader.
    """

    sizes: list[int]
    """degrees of freedom that move each link: those of the base, or of its joint (of a follower, its leader's)"""
    leads: list[int]
    """for each link the one whose joint leads that of the link: its own, where that follows none"""

    @classmethod
    def from_model(cls, model: Model) -> Places:
        """Index ranges of the base and of every joint of a robot."""
        return cls([model.m, *(joint.kind.nv for joint in model.joints)], [0, *(i + 1 for i in model.leaders)])

    def spans(self, tree: Sequence[Node]) -> list[slice]:
        """Axes of each link and of all that it carries, which lie side by side: links are numbered depth first."""
        starts = self._starts
        return [slice(starts[i], starts[last + 1]) for i, last in enumerate(last_carried(tree))]

    @property
    def rate_selection(self) -> np.ndarray:
        """Matrix ``T`` (axes of all links x nv) of 0 and 1: which rate moves which axis."""
        starts = np.cumsum([size if lead == i else 0 for i, (size, lead) in enumerate(zip(*self, strict=True))])
        axes = [starts[lead] - self.sizes[lead] + c for lead in self.leads for c in range(self.sizes[lead])]
        return np.eye(int(starts[-1]))[axes]

    def add_followers(self, parts: Sequence[T]) -> list[T]:
        """Parts of all that have a place, in order, each with those of its followers."""
        found: dict[int, Any] = {}
        for lead, part in zip(self.leads, parts, strict=True):
            found[lead] = found[lead] + part if lead in found else part
        return [found[i] for i in sorted(found)]

    def vector(self, parts: Sequence[Vector]) -> Vector:
        """Vector of the base's part and the joints' parts; the empty one where there is none."""
        return concatenate([np.zeros(0), *self.add_followers(parts)])

    def columns(self, parts: Sequence[Matrix]) -> Matrix:
        """Matrix of the columns of the base and of the joints."""
        return concatenate(self.add_followers(parts), axis=1)

    def matrix(self, blocks: dict[tuple[int, int], Matrix]) -> Matrix:
        """Matrix with the given blocks, indexed by links, and exact zeros elsewhere."""
        moving = [i for i, (size, lead) in enumerate(zip(self.sizes, self.leads, strict=True)) if size and lead == i]
        if not moving:
            return np.zeros((0, 0))
        found = _sum_blocks(((self.leads[i], self.leads[j]), block) for (i, j), block in blocks.items())
        rows = []
        for i in moving:
            row = [found[i, j] if (i, j) in found else np.zeros((self.sizes[i], self.sizes[j])) for j in moving]
            rows.append(concatenate(row, axis=1))
        return concatenate(rows)

    def upper_rows(self, tree: Sequence[Node], *factors: Factors) -> list[Matrix]:
        """Sums of ``a_i' b_k`` over factors ``(a, b)``, of each link i with all that it carries, itself first."""
        wide = [(a, concatenate(b, axis=1)) for a, b in factors]
        return [reduce(add, (a[i].T @ b[:, span] for a, b in wide)) for i, span in enumerate(self.spans(tree))]

    def lower_columns(self, tree: Sequence[Node], *factors: Factors) -> list[Matrix]:
        """Sums of ``a_k b_i`` over factors ``(a, b)``, of each link i with all that it carries, without itself."""
        tall, spans = [(concatenate(a), b) for a, b in factors], self.spans(tree)
        behind = [slice(span.start + size, span.stop) for span, size in zip(spans, self.sizes, strict=True)]
        return [reduce(add, (a[span] @ b[i] for a, b in tall)) for i, span in enumerate(behind)]

    def strips(self, rows: Sequence[Matrix], columns: Sequence[Matrix]) -> Matrix:
        """Matrix of strips along the tree, and exact zeros elsewhere.

        ``rows`` are those of each link over its own axes and all that it carries, ``columns`` those over what it
        carries: links are numbered depth first, so that these axes lie side by side.
        """
        starts = self._starts
        blocks = []
        for i, (row, column) in enumerate(zip(rows, columns, strict=True)):
            own, below = slice(starts[i], starts[i + 1]), slice(starts[i + 1], starts[i] + row.shape[1])
            blocks += [(own, slice(own.start, below.stop), row), (below, own, column)]
        return self._joined(place_blocks(starts[-1], blocks))

    def symmetric(self, rows: Sequence[Matrix]) -> Matrix:
        """Symmetric matrix of the rows of each link over its own axes and all that it carries."""
        parts = [(row[:, :size], row[:, size:]) for row, size in zip(rows, self.sizes, strict=True)]
        exact = [concatenate([mirror(own), below], axis=1) for own, below in parts]
        M = self.strips(exact, [below.T for _, below in parts])
        return M if self.leads == list(range(len(self.leads))) else mirror(M)

    @property
    def _starts(self) -> list[int]:
        """First axis of each link, and the number of axes, those of followers too."""
        return [0, *accumulate(self.sizes)]

    def _joined(self, M: Matrix) -> Matrix:
        """Matrix of velocities from one of axes: followers join their leaders."""
        if self.leads == list(range(len(self.leads))):
            return M
        spans = [slice(a, b) for a, b in pairwise(self._starts)]
        wide = self.columns([M[:, span] for span in spans])
        return concatenate(self.add_followers([wide[span] for span in spans]))


def _sum_blocks(blocks: Iterable[tuple[tuple[int, int], Matrix]]) -> dict[tuple[int, int], Matrix]:
    """Blocks at the same place added up."""
    found: dict[tuple[int, int], Matrix] = {}
    for at, block in blocks:
        found[at] = found[at] + block if at in found else block
    return found


def places_above(model: Model) -> Sequence[int]:
    """Place of a velocity next above each one in the tree; -1 for the first.

    Where joints follow others, mass matrices have entries beyond those of the tree of links: then in the tree of their
    elimination, which holds these, and what they fill.
    """
    if model.leaders != tuple(range(len(model.joints))):
        return _elimination_tree(model)
    last, out = [model.m - 1], list(range(-1, model.m - 1))
    for parent, v in zip(model.parents, model.v_slices, strict=True):
        places = range(model.m + v.start, model.m + v.stop)
        out += [last[parent], *places[:-1]] if places else []
        last.append(places[-1] if places else last[parent])
    return out


@lru_cache(maxsize=64)
def _elimination_tree(model: Model) -> tuple[int, ...]:
    """The next place above each that is coupled to it when all below are eliminated, the last first."""
    own = [range(model.m), *(range(model.m + v.start, model.m + v.stop) for v in model.v_slices)]
    coupled: list[set[int]] = [set() for _ in range(model.nv)]
    ways: list[set[int]] = [set(own[0])]
    for places, parent in zip(own[1:], model.parents, strict=True):
        ways.append(ways[parent] | set(places))
    for places, way in zip(own, ways, strict=True):
        for i in places:
            for j in way:
                coupled[max(i, j)] |= {min(i, j)} - {max(i, j)}
    above = [-1] * model.nv
    for i in reversed(range(model.nv)):
        if coupled[i]:
            above[i] = max(coupled[i])
            coupled[above[i]] |= coupled[i] - {above[i]}
    return tuple(above)
