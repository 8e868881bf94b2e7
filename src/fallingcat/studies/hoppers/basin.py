"""How far a stationary gait can be pushed before it does not come back."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

import numpy as np

from ...lie import rotations
from ...model import Model, State
from ...simulation import Event
from ..kind import Progress
from .hopper import simulated, start
from .measures import hop_period, stationarity, step_length
from .observed import Observed
from .parameters import BasinParameters

PUSHES: Final = {"height": 0.02, "lean": np.radians(4.0), "speed": 0.1, "spin": np.radians(60.0)}
"""What is pushed at the apex, and the smallest push: m, rad, m/s, rad/s."""
EDGES: Final = tuple(f"{name}_{side}" for name in (*PUSHES, "release") for side in ("low", "high"))
"""What :func:`basin` finds."""
DOUBLINGS: Final = 5
RELEASE: Final = np.radians(2.0)
"""The smallest change of the angle from which the leg is released (rad)."""
TOLERANCE: Final = 1e-5
"""Of the integrator: enough to tell whether a gait comes back."""

FALLEN: Final = Event("the base is on the floor", lambda t, state: float(state.pose[1, 3]), -1, terminal=True)
"""Ends a run that does not come back."""


def basin(model: Model, seen: Observed, p: BasinParameters, tell: Progress) -> dict[str, float]:
    """The :data:`EDGES`: ``NAME_low`` and ``NAME_high`` for every push (m, degrees, m/s, degrees/s), and for the angle
    of release (degrees); not a number where the run itself does not end in a gait.
    """
    if not p.basin_hops or not stationarity(seen) < 1.0:
        return dict.fromkeys(EDGES, float("nan"))
    judge = _Judge(model, seen, p)
    out = {}
    for k, key in enumerate(EDGES):
        tell("pushing", k / len(EDGES))
        name, sign = key.removesuffix("_low").removesuffix("_high"), -1.0 if key.endswith("_low") else 1.0
        unit = sign * (RELEASE if name == "release" else PUSHES[name])
        returns = judge.released if name == "release" else partial(judge.pushed, name)
        edge = _edge(returns, unit, p.basin_steps)
        out[key] = float(np.degrees(edge)) if name in ("lean", "spin", "release") else edge
    return out


def _edge(returns: Callable[[float], bool], unit: float, halvings: int) -> float:
    """The largest size up to which everything tried came back: doubled until it does not, then halved.

    >>> round(_edge(lambda x: x < 0.7, 0.1, 8), 2)
    0.7
    """
    inside, outside = 0.0, None
    for size in unit * 2.0 ** np.arange(DOUBLINGS):
        if returns(float(size)):
            inside = float(size)
        else:
            outside = float(size)
            break
    if outside is None:
        return inside
    for _ in range(halvings):
        middle = 0.5 * (inside + outside)
        inside, outside = (middle, outside) if returns(middle) else (inside, middle)
    return inside


class _Judge:
    """Whether a run ends in the gait."""

    def __init__(self, model: Model, seen: Observed, p: BasinParameters) -> None:
        self.model, self.p = model, p
        self.apex = seen.apex(seen.hops[-1])
        self.period, self.step = hop_period(seen), step_length(seen)

    def pushed(self, name: str, size: float) -> bool:
        """From the apex of the gait, pushed."""
        return self._ends(_push(self.model, self.apex, name, size), self.p.basin_hops * self.period)

    def released(self, size: float) -> bool:
        """From the start of the study, turned."""
        turned = self.p.model_copy(update={"theta": self.p.theta + size})
        return self._ends(start(self.model, turned), self.p.duration)

    def _ends(self, state: State, duration: float) -> bool:
        run = simulated(self.model, state, self.p, duration, tolerance=TOLERANCE, events=(FALLEN,), largest=1.0)
        if run.status != "finished":
            return False
        seen = Observed(run, self.p)
        same = [abs(hop_period(seen) / self.period - 1.0), abs(step_length(seen) - self.step) / abs(self.step)]
        return bool(max(same) < 0.02)


def _push(model: Model, state: State, name: str, size: float) -> State:
    """The state with one thing changed; a lean turns the robot about its base."""
    pose, twist = np.array(state.pose), np.array(state.twist)
    world = pose[:2, :2] @ twist[:2]
    if name == "height":
        pose[1, 3] += size
    elif name == "lean":
        pose[:3, :3] = np.asarray(rotations.about((0.0, 0.0, 1.0), size)) @ pose[:3, :3]
    elif name == "speed":
        world = world + np.array([size, 0.0])
    elif name == "spin":
        twist[2] += size
    twist[:2] = pose[:2, :2].T @ world
    return state._replace(pose=pose, twist=twist)
