"""Derivatives of steps in the tangent space of the configuration: what the methods' derivatives share.

A configuration moves by ``d`` (nv) as :func:`fallingcat.dynamics.displace` says: the base to ``pose exp(d_b)``, joints
to ``g exp(d_j)``, body-fixed.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np

from ...arrays import concatenate, cross
from ...errors import ModelError
from ...model import Model


class StepJacobian(NamedTuple):
    """Derivative of a step: rows ``[configuration; velocity; memory; carried]``, the last two where they are wanted."""

    state: Any
    """by the same"""
    forces: Any
    """by joint forces (n)"""
    numbers: Any
    """by numbers of laws and robot"""


def check_differentiable(model: Model, method: str) -> None:
    """Refuse robots whose steps have no derivatives yet, by name."""
    rule = f"derivatives of steps of {method!r} are for"
    if model.loops:
        raise ModelError(f"{rule} robots without loops, and {model.name!r} has some: take target='jax'")
    for joint in model.joints:
        if joint.mimic:
            advice = f"take target='jax', or for optimal control lock {joint.mimic.leader!r} (model.lock)"
            raise ModelError(f"{rule} joints that follow no other, and {joint.name!r} does: {advice}")
        if not joint.kind.fixed_axes:
            raise ModelError(f"{rule} joints with axes fixed in the link, not {joint.name!r}: take target='jax'")


class Place(NamedTuple):
    """Place in a link at which contact forces act: that of its only point, or its origin."""

    center: np.ndarray
    """``3``, in the link frame"""
    rows: int
    """3: a force along the axes of the link; or 6: a wrench"""

    def wrench(self, load: Any) -> Any:
        """Wrench (6) about the origin of the link."""
        return load if self.rows == 6 else concatenate([load, cross(self.center, load)])


def contact_places(model: Model, contact: Any) -> dict[int, Place]:
    """Places of the links with points that may touch."""
    on: dict[int, list[Place]] = {}
    for name, around in zip(contact.points, contact.radii, strict=True) if contact is not None else ():
        frame = model.frame(name)
        place = Place(np.asarray(frame.placement[:3, 3], dtype=float), 3) if not around else Place(np.zeros(3), 6)
        on.setdefault(model.link_index(frame.link), []).append(place)
    return {link: own[0] if len(own) == 1 else Place(np.zeros(3), 6) for link, own in on.items()}


def row_slices(places: dict[int, Place], first: int = 0) -> list[slice]:
    """Rows of the load on each link, one after the other."""
    ends = [*accumulate((place.rows for place in places.values()), initial=first)]
    return [slice(a, b) for a, b in pairwise(ends)]


class Displacement(NamedTuple):
    """Derivatives of a displacement ``g exp(x)``: by ``g`` and by ``x``, block by block of the configuration."""

    places: list[slice]
    by_start: list[Any]
    """``Ad(exp(-x))`` of each group, None: 1"""
    by_way: list[Any]
    """``dexp_right(x)``, None: 1"""

    @classmethod
    def of(cls, model: Model, x: Any) -> Displacement:
        """Derivatives at a displacement ``x`` (nv)."""
        groups = (model.base, *model.configuration.shape.factors)
        ends = [*accumulate((group.dim for group in groups), initial=0)]
        places = [slice(a, b) for a, b in pairwise(ends)]
        own = [
            None if group.additive else group.Ad(group.exp(-x[at])) for group, at in zip(groups, places, strict=True)
        ]
        way = [None if group.additive else group.dexp_right(x[at]) for group, at in zip(groups, places, strict=True)]
        return cls(places, own, way)

    def start(self, M: Any) -> Any:
        """Change (nv, or nv x k) at the end by a change ``M`` (nv, or nv x k) at the start."""
        return self._times(self.by_start, M)

    def way(self, M: Any) -> Any:
        """Change (nv, or nv x k) at the end by a change ``M`` (nv, or nv x k) of the displacement."""
        return self._times(self.by_way, M)

    def _times(self, blocks: list[Any], M: Any) -> Any:
        parts = [M[at] if block is None else block @ M[at] for block, at in zip(blocks, self.places, strict=True)]
        return concatenate([np.zeros((0, *M.shape[1:])), *parts])


def outer(a: Any, b: Any) -> Any:
    """``a b'``."""
    return a[:, None] * b[None, :]


def side_by_side(*parts: Any) -> Any:
    """Matrices with the same rows, one beside the other."""
    return concatenate(list(parts), axis=1)


def nonzero_rows(M: Any) -> np.ndarray:
    """Indices of the rows that are not exactly zero."""
    return np.array([i for i, row in enumerate(M) if any(type(e) is not float or e != 0.0 for e in row)], dtype=int)


def plus(M: Any, rows: Any, columns: Any, more: Any) -> Any:
    """``M`` with ``more`` added to some rows and columns."""
    out = np.array(M, dtype=object if M.dtype == object or more.dtype == object else M.dtype)
    at = np.ix_(rows, columns)
    out[at] = out[at] + more
    return out


class Blocks(NamedTuple):
    """Derivatives (rows x ...) by what a step depends on."""

    q: Any
    """place in the middle"""
    v: Any
    """velocity before, with which that in the middle changes as well"""
    u: Any
    """velocity in the middle alone"""
    a: Any
    """acceleration"""
    memory: Any
    numbers: Any


def chained(by: Blocks, mid: Any, before: Any, further: Any, memory: Any, own: Any, a: Any = None) -> Any:
    """Chain rule; the velocity in the middle changes by ``further`` more than that before."""
    found = by.q @ mid + by.v @ before + by.u @ further + by.memory @ memory + by.numbers @ own
    return found if a is None else found + by.a @ a


def columns(widths: Sequence[int], blocks: dict[int, Any], rows: int | None = None) -> Any:
    """Matrix of blocks side by side; those left out are zero."""
    rows = len(next(iter(blocks.values()))) if rows is None else rows
    return side_by_side(*(blocks[k] if k in blocks else np.zeros((rows, width)) for k, width in enumerate(widths)))


def padded(M: Any, columns: int) -> Any:
    """Matrix with so many columns, the last ones zero."""
    return side_by_side(M, np.zeros((len(M), columns - M.shape[1])))


def with_laws(memory: Any, laws: Any) -> Any:
    """Memory of contact and laws with another part of the laws."""
    return concatenate([memory[: len(memory) - len(laws)], laws])
