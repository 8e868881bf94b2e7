"""Basin of a stationary gait: the largest pushes from which it returns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from ...geometry.contact_points import position
from ...lie import rotations
from ...model import Model, State
from ...simulation import Event, Rosenbrock, StatusCode, Trajectory
from ...simulation.runner.recorded_runs import record_runs
from ..kind import Progress
from .hopper import FOOT, floor, laws, start
from .measures import hop_period, stationarity, step_length
from .observed import Observed
from .parameters import BasinParameters

PUSHES: Final = {"height": 0.02, "lean": np.radians(4.0), "speed": 0.1, "spin": np.radians(60.0)}
"""Pushes at the apex, and the smallest size of each: m, rad, m/s, rad/s."""
EDGES: Final = tuple(f"{name}_{side}" for name in (*PUSHES, "release") for side in ("low", "high"))
"""Names of the numbers that :func:`basin` returns."""
DOUBLINGS: Final = 5
RELEASE: Final = np.radians(2.0)
"""The smallest change of the angle from which the leg is released (rad)."""
TOLERANCE: Final = 1e-5
"""Tolerance of the integrator: enough to tell if a gait comes back."""

FALL_EVENT: Final = Event("the base is on the floor", lambda t, state: float(state.pose[1, 3]), -1, terminal=True)
"""Ends a run that does not come back."""


def basin(model: Model, seen: Observed, p: BasinParameters, progress: Progress) -> dict[str, float]:
    """Largest pushes from which the gait comes back.

    The :data:`EDGES`: ``NAME_low`` and ``NAME_high`` for every push (m, degrees, m/s, degrees/s), and for the angle of
    release (degrees); not a number where the run itself does not end in a gait.
    """
    if not p.basin_hops or not stationarity(seen) < 1.0:
        return dict.fromkeys(EDGES, float("nan"))
    judge = _Judge(model, seen, p, progress)
    units = {key: (RELEASE if _name(key) == "release" else PUSHES[_name(key)]) for key in EDGES}
    signed = {key: -unit if key.endswith("_low") else unit for key, unit in units.items()}
    found = _edges(judge, signed, p.basin_steps)
    angles = ("lean", "spin", "release")
    return {key: float(np.degrees(edge)) if _name(key) in angles else edge for key, edge in found.items()}


def _name(key: str) -> str:
    """Name of the push behind an edge."""
    return key.removesuffix("_low").removesuffix("_high")


def _edges(
    returns: Callable[[dict[str, float]], dict[str, bool]], units: dict[str, float], halvings: int
) -> dict[str, float]:
    """Largest size of each push up to which everything tried came back.

    Doubled until it does not, then halved; all of them in step, so that their runs are computed together.

    Example:
        >>> found = _edges(lambda tried: {k: abs(x) < 0.7 for k, x in tried.items()}, {"low": -0.1, "high": 0.1}, 8)
        >>> {key: round(edge, 2) for key, edge in found.items()}
        {'low': -0.7, 'high': 0.7}
    """
    inside: dict[str, float] = dict.fromkeys(units, 0.0)
    outside: dict[str, float] = {}

    def test_sizes(sizes: dict[str, float]) -> None:
        for key, back in (returns(sizes) if sizes else {}).items():
            (inside if back else outside)[key] = sizes[key]

    for doubling in range(DOUBLINGS):
        test_sizes({key: unit * 2.0**doubling for key, unit in units.items() if key not in outside})
    for _ in range(halvings):
        test_sizes({key: 0.5 * (inside[key] + edge) for key, edge in outside.items()})
    return inside


class _Judge:
    """Judge of pushes, by their name and size: those that end in the gait."""

    def __init__(self, model: Model, seen: Observed, p: BasinParameters, progress: Progress) -> None:
        self.model, self.p, self._progress, self._run_count = model, p, progress, 0
        self.apex = seen.apex(seen.hops[-1])
        self.period, self.step = hop_period(seen), step_length(seen)

    def __call__(self, sizes: dict[str, float]) -> dict[str, bool]:
        self._progress("pushing", self._run_count / (DOUBLINGS + self.p.basin_steps))
        self._run_count += 1
        pushed = {key: size for key, size in sizes.items() if _name(key) != "release"}
        states = [_push(self.model, self.apex, _name(key), size) for key, size in pushed.items()]
        back = dict(zip(pushed, self._end(states, self.p.basin_hops * self.period), strict=True))
        turned = {key: size for key, size in sizes.items() if key not in pushed}
        starts = [self.p.model_copy(update={"theta": self.p.theta + size}) for size in turned.values()]
        released = self._end([start(self.model, own) for own in starts], self.p.duration)
        return back | dict(zip(turned, released, strict=True))

    def _end(self, states: list[State], duration: float) -> list[bool]:
        """True for runs that end in the gait."""
        if not states:
            return []
        free = [float(position(self.model, state, FOOT)[1]) >= 0.0 for state in states]
        begun = [state for state, above in zip(states, free, strict=True) if above]  # in the ground nothing can start
        own, rule = [laws(self.model, state, self.p) for state in begun], Rosenbrock(TOLERANCE)
        runs = record_runs(self.model, begun, duration, own, floor(self.p), rule=rule, dt=1.0) if begun else []
        back = iter([self._hops_like_gait(run) for run in runs])
        return [above and next(back) for above in free]

    def _hops_like_gait(self, run: Trajectory) -> bool:
        """True if a run did not fall, and hops as the gait does."""
        if run.code is not StatusCode.FINISHED or run.poses[:, 1, 3].min() <= 0.0:
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
