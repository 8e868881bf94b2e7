"""Parameters of the hopper studies."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from ..kind import Parameters
from ..validation import Gain, Positive, rule_error

Count = Annotated[int, Field(ge=1, le=1000)]


class HopperParameters(Parameters):
    """Initial state of a hopper, and the gains of its controller.

    The columns of [Feurstein] Tables 4.6-4.8 and 4.11-4.13.
    """

    robot: Literal["prismatic_hopper", "revolute_hopper"]
    duration: Annotated[float, Field(gt=0.0, le=3600.0)]
    """s"""
    g: Gain
    """gravity (m/s^2)"""
    x: float
    """position of the base (m)"""
    y: float
    """height of the base above the floor (m)"""
    theta: float
    """angle of the base (rad)"""
    q1: float
    """joint (rad or m)"""
    vx: float = 0.0
    """velocity of the base, along its own axes (m/s)"""
    vy: float = 0.0
    omega: float = 0.0
    """angular velocity of the base (rad/s)"""
    q1_dot: float = 0.0
    """rad/s or m/s"""
    disturbance: float = 0.0
    """added to ``theta`` (rad)"""
    controller: Literal["I", "II", "III", "allocated"] = "II"
    """radial only; polar spring on the virtual leg; polar spring on the locked-velocity frame; that of II with its
    torque on the external velocity alone"""
    K_r: Gain
    """radial spring (N/m)"""
    D_r: Gain = 0.0
    """radial damper, in flight (N s/m)"""
    K_p: Gain = 0.0
    """polar spring, in stance (N m/rad)"""
    D_p: Gain = 0.0
    """polar damper, in stance (N m s/rad)"""
    K_E: Gain = 0.0
    """energy controller (s/m^2)"""
    r_des: Positive | Literal["initial"]
    """rest length of the radial spring (m)"""
    alpha_des: float = 0.0
    """rad"""
    E_des: float | Literal["initial"] = "initial"
    """J; ``initial``: kinetic, gravitational and spring energy at the start"""
    K_floor_x: Gain = 1e4
    """N/m"""
    K_floor_y: Gain = 1e4
    D_floor_x: Gain = 1e3
    """N s/m"""
    D_floor_y: Gain = 1e3
    shortest_flight: Gain = 0.015
    """s; a shorter one is a bounce of the foot, not a hop"""


class ScanParameters(HopperParameters):
    """Figure 4.7: ``q1`` varied, the virtual leg vertical; ``q1``, ``theta`` and ``r_des`` are then found for each."""

    q1_first: float
    """rad"""
    q1_last: float
    """rad"""
    points: Annotated[int, Field(ge=3, le=1000)]

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if not self.q1_first < self.q1_last:
            raise rule_error("q1_first lies below q1_last")
        return self


class BasinParameters(HopperParameters):
    """A run that converges, and how much its gait can be pushed: bisections on both sides of every coordinate."""

    basin_hops: Annotated[int, Field(ge=0, le=1000)] = 25
    """hops within which a pushed gait must be back; 0: no pushes"""
    basin_steps: Annotated[int, Field(ge=1, le=30)] = 3
    """halvings of the interval in which the edge lies"""


class SearchParameters(HopperParameters):
    """A gait that was found, and the random gains, rest lengths, energies and starts among which it was."""

    samples: Annotated[int, Field(ge=2, le=1_000_000)] = 10_000
    """runs with random parameters"""
    trial: Annotated[float, Field(gt=0.0, le=600.0)] = 8.0
    """s: how long each"""
    again: Annotated[int, Field(ge=1, le=1000)] = 20
    """runs that go forward and are examined again"""
    longer: Annotated[float, Field(gt=0.0, le=3600.0)] = 30.0
    """s: for how long"""


class AttractionParameters(HopperParameters):
    """A run that converges, and the starts from which its gait is looked for: a grid of four axes, evenly spaced."""

    tolerance: Annotated[float, Field(gt=0.0, le=1e-3)] = 1e-5
    """tolerance of the steps of the runs from the grid"""
    lean_first: float
    """lean of the virtual leg from the vertical (rad)"""
    lean_last: float
    leans: Count
    height_first: float
    """height of the foot above the floor (m)"""
    height_last: float
    heights: Count
    joint_first: float
    """rad"""
    joint_last: float
    joints: Count
    speed_first: float
    """speed of the whole robot, forward (m/s)"""
    speed_last: float
    speeds: Count
