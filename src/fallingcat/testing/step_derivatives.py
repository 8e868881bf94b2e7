"""Law of derivatives of steps, and hard cases for it: grazing, sticking that turns into sliding, redundant contacts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..arrays.types import Float_n
from ..contact import CompliantFloor, Contact, HardContacts
from ..errors import ModelError
from ..geometry.contact_points import position
from ..model import Frame, Model, State, robots
from ..records import concise
from ..simulation import StepDerivatives, step_derivatives
from .report import Report, Requirement

DIFFERENCE = 1e-6
"""Relative step of the differences, of order 2 to one side."""


@concise
class HardStep(NamedTuple):
    """A step that is hard to differentiate.

    Example:
        >>> [case.name for case in hard_steps()][:2]
        ['grazing', 'grazing, hard']
    """

    name: str
    model: Model
    contact: Contact
    state: State
    forces: Float_n
    """``n`` (N m or N)"""
    smooth: bool
    """False where the step has a kink: its derivatives are those of one side"""
    dt: float = 2e-3


def hard_steps() -> tuple[HardStep, ...]:
    """Steps on which derivatives through contact are known to go wrong.

    A point that grazes the ground; one between sticking and sliding; a floor that steps do not resolve; a box on four
    corners, which share its weight in many ways; a leg with a foot of a gram.

    Returns:
        Cases.

    Example:
        >>> len(hard_steps())
        9
    """
    return (*_ball(), *_box(), *_light_foot())


def _ball() -> tuple[HardStep, ...]:
    """A body that touches with its center."""
    ball = robots.free_body()
    point, nothing = (ball.links[0].name,), np.zeros(0)
    floor = CompliantFloor(point, (1e4, 1e4), (50.0, 50.0), friction=0.5)
    stiff = CompliantFloor(point, (1e9, 1e9), (1e5, 1e5), friction=0.5)
    slides, falls = np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0]), np.array([0.3, 0.1, -0.2, 0.5, 0.0, 0.0])
    return (
        HardStep("grazing", ball, floor, ball.state(twist=slides), nothing, False),
        HardStep("grazing, hard", ball, HardContacts(point, friction=0.5), ball.state(twist=slides), nothing, True),
        HardStep("sticking or sliding", ball, floor, _about_to_slide(ball, floor), nothing, False),
        HardStep("stiff floor", ball, stiff, ball.state(pose=_at_height(-1e-8), twist=falls), nothing, True),
    )


def _box() -> tuple[HardStep, ...]:
    """A box on its corners."""
    body, half = robots.free_body(), 0.05
    places = [_at_height(-half) for _ in range(4)]
    for place, x, y in zip(places, (-half, -half, half, half), (-half, half, -half, half), strict=True):
        place[:2, 3] = x, y
    frames = tuple(Frame(f"corner{i}", body.links[0].name, place) for i, place in enumerate(places))
    box, corners = replace(body, frames=frames), tuple(frame.name for frame in frames)
    moves, rests = [0.2, 0.0, 0.0, 0.0, 0.0, 0.1], [0.0] * 6
    hard, soft = HardContacts(corners, friction=0.7), CompliantFloor(corners, (1e4, 1e4), (50.0, 50.0), friction=0.7)
    return (
        HardStep("redundant, sliding", box, hard, box.state(pose=_at_height(half), twist=moves), np.zeros(0), False),
        HardStep("redundant, sticking", box, hard, box.state(pose=_at_height(half), twist=rests), np.zeros(0), True),
        HardStep("redundant, soft", box, soft, box.state(pose=_at_height(half - 2e-3), twist=moves), np.zeros(0), True),
    )


def _light_foot() -> tuple[HardStep, ...]:
    """A leg whose last link has a gram."""
    hopper = robots.revolute_hopper()
    thigh, shank = hopper.links
    light = replace(shank, body=replace(shank.body, mass=1e-3, inertia=0.02 * shank.body.inertia))
    leg, asked = replace(hopper, links=(thigh, light)), np.array([0.05])
    low = leg.state(joints=[0.3], twist=[0.2, -0.1, 0.3], rates=[0.5])
    depth = position(leg, low, "foot")[1]
    hard, soft = (
        HardContacts(("foot",), friction=0.6),
        CompliantFloor(("foot",), (1e4, 1e4), (50.0, 50.0), friction=0.6),
    )
    down = np.eye(4)
    down[1, 3] = -depth
    sunk = down - 1e-3 * np.outer(np.eye(4)[1], np.eye(4)[3])
    return (
        HardStep("light foot, hard", leg, hard, low._replace(pose=down), asked, True),
        HardStep("light foot, soft", leg, soft, low._replace(pose=sunk), asked, True),
    )


def _at_height(z: float) -> np.ndarray:
    pose = np.eye(4)
    pose[2, 3] = z
    return pose


def _about_to_slide(ball: Model, floor: CompliantFloor) -> State:
    """State from which a step sticks, next to those from which it slides: by bisection."""
    derivatives = step_derivatives(ball, None, floor, dt=HardStep._field_defaults["dt"])
    pose, start = _at_height(-1e-3), derivatives.begin(ball.state(pose=_at_height(-1e-3)))
    low, high = 0.0, 1.0
    for _ in range(60):
        speed = 0.5 * (low + high)
        state = ball.state(pose=pose, twist=[speed, 0.0, 0.0, 0.0, 0.0, 0.0])
        _, _, memory = derivatives.step(*ball.flatten(state), start)
        low, high = (speed, high) if np.array_equal(memory[:2], start[:2]) else (low, speed)
    return ball.state(pose=pose, twist=[low, 0.0, 0.0, 0.0, 0.0, 0.0])


def check_step_derivatives(derivatives: StepDerivatives, *given: Any, smooth: bool = True) -> Report:
    """Compare derivatives of a step with differences of the step itself.

    Args:
        derivatives: Derivatives of a step, for the target ``"cpu"``.
        given: Arguments of the step, in the order of :attr:`.StepDerivatives.arguments`.
        smooth: True if the derivatives of both sides must be the same; else each column is that of one side.

    Returns:
        Report of the comparison.

    Raises:
        BrokenLawError: They differ.

    Example:
        >>> import fallingcat as fc
        >>> cat = fc.robots.two_cylinder_cat()
        >>> derivatives = fc.simulation.step_derivatives(cat, dt=0.01)
        >>> q, v = cat.flatten(cat.state(rates=[1.0, -0.5]))
        >>> check_step_derivatives(derivatives, q, v, [0.1, 0.0]).passed
        True
    """
    if not isinstance(derivatives, StepDerivatives):
        raise ModelError("check_step_derivatives takes fc.simulation.step_derivatives(...)")
    law = BOTH_SIDES if smooth else ONE_SIDE
    subject = f"derivatives of steps of {derivatives.model.name!r}"
    return Report.of(subject, iter([law.check_cases(subject, [(derivatives, *given)])]))


def _columns(derivatives: StepDerivatives, given: tuple[Any, ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Derivatives, and differences to both sides, of order 2."""
    group, sizes, nv = derivatives.model.configuration, list(derivatives._shapes.values()), derivatives.model.nv
    parts = [np.asarray(x, dtype=float).ravel() for x in given]
    given = (
        (*parts[: len(sizes) - 1], np.concatenate(parts[len(sizes) - 1 :])) if len(parts) > len(sizes) else tuple(parts)
    )
    found = np.hstack([np.asarray(x) for x in derivatives.function(*given)])
    kept = "memory" in derivatives.rows
    moving = [i for i, name in enumerate(derivatives._shapes) if name != "q" and (kept or name != "memory")]
    first = derivatives.step.function(*given)

    def step_result(moved: list[np.ndarray]) -> np.ndarray:
        out = derivatives.step.function(*moved)
        parts = [group.between(first[0], out[0]), out[1] - first[1]]
        return np.concatenate([*parts, *([out[2] - first[2]] if kept else [])])

    def difference_quotients(change: Any) -> tuple[np.ndarray, np.ndarray]:
        one, two, back, far = (step_result(change(k * DIFFERENCE)) for k in (1.0, 2.0, -1.0, -2.0))
        return (4.0 * one - two) / (2.0 * DIFFERENCE), (far - 4.0 * back) / (2.0 * DIFFERENCE)

    pairs = [difference_quotients(lambda h, d=d: [group.integrate(given[0], h * d), *given[1:]]) for d in np.eye(nv)]
    for i in moving:
        for d in np.eye(len(given[i])):
            scale = max(1.0, float(np.abs(d @ given[i])))
            changed = lambda h, i=i, d=d, s=scale: [x + h * s * d if k == i else x for k, x in enumerate(given)]  # noqa: E731
            pairs.append(tuple(x / scale for x in difference_quotients(changed)))  # type: ignore[arg-type]
    ahead, behind = (np.array(x).T for x in zip(*pairs, strict=True))
    return found, ahead, behind


def _column_errors(found: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Largest error of each column, in units of the rows."""
    rows = np.maximum(1.0, np.abs(expected).max(axis=1, initial=0.0))[:, None]
    return np.asarray((np.abs(found - expected) / rows).max(axis=0, initial=0.0))


def _both_residuals(derivatives: StepDerivatives, *given: Any) -> float:
    found, ahead, behind = _columns(derivatives, given)
    return float(_column_errors(found, 0.5 * (ahead + behind)).max(initial=0.0))


def _one(derivatives: StepDerivatives, *given: Any) -> float:
    found, ahead, behind = _columns(derivatives, given)
    return float(np.minimum(_column_errors(found, ahead), _column_errors(found, behind)).max(initial=0.0))


BOTH_SIDES = Requirement(
    "differences", "they are the slopes of the step", 5e-6, _both_residuals
)  # hard contacts end at 1e-12 m/s
ONE_SIDE = Requirement("one side", "each column is the slope of the step to one side", 2e-4, _one)  # kinks are curved
