"""Friction that follows from the surfaces of a robot's shapes where a user gives none."""

from __future__ import annotations

from enum import Enum
from typing import Any, Final

import numpy as np

from ..errors import ModelError, describe
from ..geometry.body_pairs import BodyPair
from ..geometry.surfaces import ground_frictions, pair_frictions
from ..model import Model


class _LeftOut(Enum):
    """Kind of what stands for an argument that a user left out: equal to itself alone, also once it is copied."""

    BY_SURFACES = "by surfaces"

    def __repr__(self) -> str:
        return f"<{self.value}>"


BY_SURFACES: Final[Any] = _LeftOut.BY_SURFACES
"""In place of a coefficient that follows from the surfaces of shapes."""
DEFAULT_FRICTION: Final = 1.0
"""Coefficient where no surface is known, as rubber on concrete; None, which a user may give, holds every point."""
BETWEEN_BODIES: Final = 0.5
"""The same between bodies."""


def friction_on(model: Model, points: tuple[str, ...], given: Any) -> Any:
    """Coefficients of points on the ground: one for all, or one for each where they differ.

    Args:
        model: Robot.
        points: Names of links and frames.
        given: What the user gave; :data:`BY_SURFACES`: they follow from the surfaces of shapes.

    Returns:
        A coefficient, None (points stick) or a tuple.
    """
    if given is not BY_SURFACES:
        return given
    found = [DEFAULT_FRICTION if mu is None else mu for mu in ground_frictions(model, points)]
    return tuple(found) if len({*found}) > 1 else found[0] if found else DEFAULT_FRICTION


def friction_between(model: Model, pairs: tuple[BodyPair, ...], given: Any) -> Any:
    """Coefficients of pairs of bodies: one for all, or one for each where they differ.

    Args:
        model: Scene.
        pairs: Shapes that may touch.
        given: What the user gave; :data:`BY_SURFACES`: they follow from the surfaces of shapes.

    Returns:
        A coefficient, None (bodies stick) or a tuple.
    """
    if given is not BY_SURFACES:
        return given
    found = [BETWEEN_BODIES if mu is None else mu for mu in pair_frictions(model, pairs)]
    return found[0] if len({*found}) == 1 else tuple(found)


def coefficient(given: Any, i: int = 0) -> Any:
    """Coefficient of one point; None: it sticks, as do stops, which have none of their own."""
    if given is BY_SURFACES:
        return DEFAULT_FRICTION
    if isinstance(given, tuple):
        return given[i] if i < len(given) else None
    return given


def check_friction(given: Any, points: tuple[str, ...], whose: str) -> None:
    """Refuse what is no coefficient of friction, and no tuple with one for each point."""
    if given is BY_SURFACES or given is None:
        return
    each = isinstance(given, tuple)
    try:
        numbers = np.array(given, dtype=float)
    except (TypeError, ValueError, OverflowError):
        numbers = np.array([np.nan])
    if numbers.shape != ((len(points),) if each else ()) or not (np.isfinite(numbers) & (numbers >= 0.0)).all():
        rule = "a finite number that is not negative, or a tuple with one for each point"
        raise ModelError(f"friction of {whose} is {rule}, not {describe(given)}")
