"""Numbers of several tasks in one array, for compiled code that takes new goals without new code."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...arrays.types import FloatArray, Vector
from ...model import Model
from .task import Task


def pack_tasks(model: Model, tasks: Sequence[Task]) -> FloatArray:
    """Numbers of several tasks in one array, ``(..., count)``."""
    parts = [task.packed(model) for task in tasks]
    if len(parts) == 1:
        return parts[0].copy()
    if all(part.ndim == 1 for part in parts):
        return np.concatenate([np.zeros(0), *parts])
    lead = np.broadcast_shapes(*(part.shape[:-1] for part in parts))
    return np.concatenate([np.zeros((*lead, 0)), *(np.broadcast_to(x, (*lead, x.shape[-1])) for x in parts)], axis=-1)


def fill_tasks(model: Model, forms: Sequence[Task], numbers: Vector) -> list[Task]:
    """Tasks of these forms with numbers of :func:`pack_tasks`."""
    tasks, start = [], 0
    for form in forms:
        end = start + count(model, (form,))
        tasks.append(form.filled(model, numbers[start:end]))
        start = end
    return tasks


def count(model: Model, forms: Sequence[Task]) -> int:
    """Number of entries of :func:`pack_tasks`."""
    return sum(int(np.prod(shape, dtype=int)) for form in forms for shape in form.number_shapes(model).values())


def example(model: Model, forms: Sequence[Task]) -> np.ndarray:
    """Numbers that :func:`fill_tasks` takes: goals that are matrices are the identity, which every group has."""
    shapes = [shape for form in forms for shape in form.number_shapes(model).values()]
    parts = [np.eye(shape[0]) if len(shape) == 2 else np.full(shape, 0.5) for shape in shapes]
    return np.concatenate([np.zeros(0), *(part.ravel() for part in parts)])
