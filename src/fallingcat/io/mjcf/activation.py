"""Activation dynamics and muscles of actuators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from ...model import Activation, Actuator, FirstOrderFilter, Integrator, Model, Muscle, MuscleActivation
from ..numbers import parse_number, vector
from ..safe_xml import Element
from .at_rest import AtRest
from .files import FilesReader
from .ignored import Tally

ATTRIBUTES: Final = ("actdim", "actearly", "actlimited", "actrange")
"""Attributes of an activation; ``actearly`` says in which step a control acts, and changes no motion of small steps."""
RATES: Final = (0.01, 0.04, 0.0)
CURVES: Final = (0.75, 1.05, -1.0, 200.0, 0.5, 1.6, 1.5, 1.3, 1.2)
"""MuJoCo's muscle: range (2), force, scale, lmin, lmax, vmax, fpmax, fvmax."""
PLACEHOLDER_MUSCLE: Final = Muscle(1.0, (0.0, 1.0))
"""Muscle whose force and lengths are not known yet."""
SAMPLES: Final = 4000
"""Random configurations in which the lengths of a muscle are looked for where a file gives none."""


def number_of(text: str) -> float:
    """The number in a text, 0 where it is none."""
    return parse_number(text.strip()) or 0.0


def activation_of(dyntype: str, numbers: Sequence[float], others: Mapping[str, str]) -> Activation | None:
    """Activation of an actuator; None where it has no state."""
    more: dict[str, Any] = {}
    ends = [number_of(word) for word in others.get("actrange", "0 0").split()]
    limited = others.get("actlimited", "auto")
    if len(ends) == 2 and ends[0] < ends[1] and limited != "false":
        more["within"] = (ends[0], ends[1])
    if dyntype == "integrator":
        return Integrator(**more)
    if dyntype in ("filter", "filterexact"):
        return FirstOrderFilter(max(numbers[0], 1e-15), **more)
    if dyntype == "muscle":
        rise, fall, smooth = (max(x, 0.0) for x in numbers[:3])
        return MuscleActivation(rise, fall, smooth, **more)
    return None


def muscle_of(
    actuator: Actuator, curve: Sequence[float], element: Element, drawn: AtRest, reader: FilesReader, tally: Tally
) -> Actuator | None:
    """The actuator with its force and lengths; a force below zero means ``scale / acc0``, as in MuJoCo."""
    low, high, force, scale, lmin, lmax, vmax, fpmax, fvmax = curve
    if force < 0.0:
        J = actuator.gear * _moments(actuator, drawn)[1]
        force = scale / max(float(np.linalg.norm(np.linalg.solve(drawn.mass_matrix, J))), 1e-15)
    if "lengthrange" in element.attributes:
        ends = tuple(vector(reader, element, "lengthrange", 2).tolist())
    else:
        ends = _lengths(actuator, drawn)
        if not ends[0] < ends[1]:
            tally.note("a <muscle> whose lengths are not known is not read: give it a 'lengthrange'", element)
            return None
        tally.note("a muscle without 'lengthrange': lengths are those of random postures", element)
    if not ends[0] < ends[1]:
        reader.fail(element, "the shortest length of a muscle lies below the longest", f"{ends[0]:g} and {ends[1]:g}")
    muscle = Muscle(force, (ends[0], ends[1]), (low, high), lmin, lmax, vmax, fpmax, fvmax)
    return replace(actuator, muscle=muscle)


def _moments(actuator: Actuator, drawn: AtRest) -> tuple[float, np.ndarray]:
    """Length on which an actuator pulls, and its moment arms."""
    if actuator.transmission is None:
        q, _, row = drawn.joint(actuator.joint)
        return q, row
    arm = actuator.transmission.arm(drawn, {tendon.name: tendon for tendon in drawn.model.tendons})
    return float(np.asarray(arm.length)), drawn.moments(arm)


def _lengths(actuator: Actuator, drawn: AtRest) -> tuple[float, float]:
    """Shortest and longest length in random postures, each joint at a limit or between."""
    rng, model = np.random.default_rng(0), drawn.model
    found = []
    for _ in range(SAMPLES // max(model.n, 1)):
        at = {}
        for name, limits in zip(model.joint_names, model.limits, strict=True):
            ends = (max(limits.lower, -np.pi), min(limits.upper, np.pi))
            at[name] = float(rng.choice([*ends, rng.uniform(*ends)]))
        found.append(actuator.gear * _moments(actuator, AtRest(model, at, drawn.base))[0])
    low, high = sorted(actuator.gear * x for x in _tendon_limits(actuator, model))
    return max(min(found), low), min(max(found), high)


def _tendon_limits(actuator: Actuator, model: Model) -> tuple[float, float]:
    """Lengths that the limits of a tendon let it have (m); infinite where it has none."""
    name = getattr(actuator.transmission, "tendon", None)
    return next((t.limits for t in model.tendons if t.name == name and t.limits), (-np.inf, np.inf))
