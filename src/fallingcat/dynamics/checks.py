"""Arguments of the wrong shape or without a value are named before they spread."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import is_numeric
from ..errors import ModelError
from ..model import Model, State


def vector(x: Any, length: int, what: str) -> Any:
    """``x`` as a vector of the given length; finite, if it holds numbers."""
    if isinstance(x, (list, tuple)):
        try:
            x = np.array(x, dtype=float)
        except (TypeError, ValueError):
            raise ModelError(f"{what} is a vector of {length} numbers, not {x!r}") from None
    if np.shape(x) != (length,):
        raise ModelError(f"{what} has shape ({length},), not {np.shape(x)}")
    if is_numeric(x) and not np.isfinite(x).all():
        raise ModelError(f"{what} holds a number that is not finite, at index {int(np.argmin(np.isfinite(x)))}")
    return x


def check_state(model: Model, state: State) -> None:
    """An error unless ``state`` has the shapes of the model and holds no NaN: a record that was changed by hand."""
    shapes = ((4, 4), (model.nq - model.base.nq,), (model.m,), (model.n,))
    for name, x, shape in zip(State._fields, state, shapes, strict=True):
        if np.shape(x) != shape:
            raise ModelError(f"{name} has shape {shape} for {model.name!r}, not {np.shape(x)}")
        if is_numeric(x) and not np.isfinite(x).all():
            raise ModelError(f"{name} holds a number that is not finite: {np.asarray(x).tolist()}")


def choice(x: Any, options: tuple[str, ...], what: str) -> str:
    """``x`` if it is one of ``options``, else an error that lists them."""
    if x not in options:
        raise ModelError(f"{what} is one of {', '.join(options)}, not {x!r}")
    return str(x)


def total_mass(model: Model) -> float:
    """The mass of the robot (kg), or an error where there is none to divide by."""
    if model.mass == 0.0:
        raise ModelError(f"{model.name!r} has no mass, so no center of mass")
    return model.mass
