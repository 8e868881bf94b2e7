"""A hopper, its controller and its floor, from the parameters of a study."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...contact import CompliantFloor
from ...control import Law
from ...dynamics import center_of_mass, kinetic_energy, link_pose, potential_energy
from ...errors import FallingCatError, ModelError
from ...model import Model, State, robots
from ...simulation import Event, Rosenbrock, Trajectory, simulate
from ...simulation.runner.recorded_runs import record_runs
from .hopping_laws import (
    EnergyController,
    ExternalPolarSpring,
    LockedPolarSpring,
    PolarSpring,
    RadialDamper,
    RadialSpring,
    virtual_leg,
)
from .parameters import HopperParameters

FOOT = "foot"
TOLERANCE, LARGEST = 1e-7, 5e-3
"""Tolerance of the integrator; and its largest step (s), for curves that look smooth in flight."""


def robot(p: HopperParameters) -> Model:
    """The hopper, under the gravity of the study."""
    return replace(getattr(robots, p.robot)(), gravity=np.array([0.0, -p.g, 0.0]))


def start(model: Model, p: HopperParameters) -> State:
    """The state in which the hopper is released."""
    pose = model.base.element(np.array([p.x, p.y, p.theta + p.disturbance]))
    return model.state(pose=pose, joints=[p.q1], twist=[p.vx, p.vy, p.omega], rates=[p.q1_dot])


def laws(model: Model, state: State, p: HopperParameters) -> tuple[Law, ...]:
    """The controller of [Feurstein] 4.1.5; a gain of zero leaves a line of zeros in the ledger.

    >>> from fallingcat.studies import load
    >>> p = load("revolute-6").parameters
    >>> hopper = robot(p)
    >>> [law.name for law in laws(hopper, start(hopper, p), p)]
    ['radial spring', 'radial damper', 'energy controller', 'polar spring']
    """
    rest = float(virtual_leg(model, state, FOOT).length) if p.r_des == "initial" else p.r_des
    spring = RadialSpring(p.K_r, rest, FOOT)
    energy = p.E_des
    if energy == "initial":
        energy = float(kinetic_energy(model, state) + potential_energy(model, state) + spring.energy(model, state))
    radial = (spring, RadialDamper(p.D_r, foot=FOOT), EnergyController(p.K_E, energy, spring))
    return (*radial, *_polar(state, p))


def _polar(state: State, p: HopperParameters) -> tuple[Law, ...]:
    if p.controller == "I":
        return ()
    if p.controller in ("II", "allocated"):
        kind = PolarSpring if p.controller == "II" else ExternalPolarSpring
        return (kind(p.K_p, p.D_p, p.alpha_des, foot=FOOT),)
    # alpha_c is measured from the posture of the start, so that it is 0 there
    turn, reference = float(np.arctan2(state.pose[1, 0], state.pose[0, 0])), tuple(map(float, state.joints))
    return (LockedPolarSpring(p.K_p, p.D_p, p.alpha_des + turn, foot=FOOT, reference=reference),)


def floor(p: HopperParameters) -> CompliantFloor:
    """The visco-elastic floor of [Feurstein] 4.1.4."""
    return CompliantFloor((FOOT,), (p.K_floor_y, p.K_floor_x), (p.D_floor_y, p.D_floor_x), friction=None)


def simulate_hopper(
    model: Model,
    state: State,
    p: HopperParameters,
    duration: float | None = None,
    progress: Callable[[float], None] | None = None,
    tolerance: float = TOLERANCE,
    events: Sequence[Event] = (),
    largest: float = LARGEST,
) -> Trajectory:
    """The motion from ``state``, over the study's duration unless another is given (s), in steps up to ``largest``."""
    lasts = p.duration if duration is None else duration
    return simulate(
        model, state, lasts, laws(model, state, p), floor(p),
        integrator=Rosenbrock(tolerance), dt=largest, events=events, progress=progress,
    )  # fmt: skip


def simulated_together(many: Sequence[HopperParameters], target: str = "cpu") -> list[Trajectory | Exception]:
    """The motions of many studies, or why there is none: hoppers of one kind under one gravity on one floor at once."""
    groups: dict[tuple[Any, ...], list[int]] = {}
    for i, p in enumerate(many):
        groups.setdefault((robot_and_floor(p), p.duration, p.controller), []).append(i)
    out: list[Any] = [None] * len(many)
    for some in groups.values():
        for i, found in zip(some, _simulate_batch([many[i] for i in some], target), strict=True):
            out[i] = found
    return out


def robot_and_floor(p: HopperParameters) -> tuple[Any, ...]:
    """Parameters that determine the compiled code: robots that share them differ in numbers alone."""
    return p.robot, p.g, p.K_floor_x, p.K_floor_y, p.D_floor_x, p.D_floor_y


def _simulate_batch(many: list[HopperParameters], target: str) -> list[Trajectory | Exception]:
    model = robot(many[0])
    begun: list[tuple[State, tuple[Law, ...]] | FallingCatError] = []
    for p in many:
        try:
            state = start(model, p)
            begun.append((state, laws(model, state, p)))
        except FallingCatError as error:
            begun.append(error)
    good = [each for each in begun if not isinstance(each, FallingCatError)]
    found = iter(
        record_runs(
            model, [state for state, _ in good], many[0].duration, [own for _, own in good], floor(many[0]),
            rule=Rosenbrock(TOLERANCE), dt=LARGEST, target=target,
        )
        if good
        else ()
    )  # fmt: skip
    return [each if isinstance(each, FallingCatError) else next(found) for each in begun]


def upright_angle(model: Model, joint: float) -> float:
    """The base angle (rad) at which the virtual leg points straight down, for a joint coordinate.

    >>> print(f"{upright_angle(robots.revolute_hopper(), 1.7802):.4f}")
    -2.5174
    """
    state = model.state(joints=[joint])
    o: Any = link_pose(model, state, FOOT)[:2, 3] - center_of_mass(model, state)[:2]
    if not np.any(o):
        raise ModelError(f"at q1 = {joint:g} the foot is at the center of mass: there is no virtual leg")
    return float(-0.5 * np.pi - np.arctan2(o[1], o[0]))
