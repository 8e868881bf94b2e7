"""Starts of compliant contacts: what they remember of points, and which of these touch."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....arrays import concatenate
from ....compiler import compile
from ....compiler.compilation import compile_step
from ....contact.base import Mode
from ....contact.compliant_bodies import heights_at
from ....contact.sample_modes import modes_of_samples
from ....geometry.contact_points import positions
from ....geometry.point_positions import level_heights
from ....model import Model, State
from ...problem.compiled_dynamics import cached_kernel
from ...problem.problem import Problem
from ...problem.vector_field import layout_of


def anchors(problem: Problem, many: State) -> np.ndarray:
    """``N x memory``: what a floor remembers of ``N`` states from which it starts: where its points are."""
    if problem.contact is None:
        return np.zeros((len(many.pose), 0))
    floor: Any = problem.contact
    start = compile(problem.model, starts_at, state=["pose", "joints"], floor=floor)
    found = np.asarray(start(many.pose[:, :3], many.joints))
    memory = found.shape[1] - len(floor.points)
    floor.check_heights(problem.model, found[:, memory:])
    return found[:, :memory]


def starts_at(model: Model, state: State, *, floor: Any) -> Any:
    """:func:`anchors_at`, then the heights of the points over the ground (m)."""
    return concatenate([anchors_at(model, state, floor=floor), heights_at(model, state, contact=floor)])


def anchors_at(model: Model, state: State, *, floor: Any) -> Any:
    """Memory of the points of a contact that have just touched."""
    found = [np.zeros(0)]
    for part in floor.parts:
        if part.pairs:
            found.append(np.zeros(part.memory_size))
        else:
            ground, places = part.ground(model), positions(model, state, part.points)
            found += [part.unloaded(i, ground.site(p), p) for i, p in enumerate(places)]
    return concatenate(found)


def modes_of(problem: Problem, memory: int, packed: np.ndarray) -> tuple[Mode, ...]:
    """Modes of a floor, the points that touch, at each of ``N`` packed states."""
    contact: Any = problem.contact
    if contact is None:
        return ((),) * len(packed)
    rows, joints = layout_of(problem, memory).configuration(packed)
    return modes_of_samples(_heights(problem.model, contact, rows, joints) < 0.0)


def _heights(model: Model, contact: Any, rows: np.ndarray, joints: np.ndarray) -> np.ndarray:
    """``N x points`` (m), given the rows ``[R p]`` of poses (N x 3 x 4) and joint coordinates (N x k)."""
    if any(part.pairs or not part.ground(model).flat for part in contact.parts):
        make = lambda: compile_step(model, heights_at, {}, ["pose", "joints"], contact=contact)  # noqa: E731
        return np.asarray(cached_kernel((heights_at, model, contact), make)(rows, joints))
    each = ((part.ground(model), rows, joints, part.points, part.radii) for part in contact.parts)
    return np.hstack([level_heights(model, *about) for about in each])
