"""Scenes of the audit: MJCF text, start, and a law of mechanics that every simulator is held to.

Each law has a closed form; none depends on how contact or joints are modelled inside an engine.  Positions and
velocities are those of MuJoCo (``qpos``, ``qvel``): quaternions wxyz, linear velocity of free bodies in world axes,
angular in body axes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import measures
import numpy as np

GRAVITY = 9.81  # m/s^2
SPEED, FRICTION = 1.0, 0.5  # m/s of a sliding box, coefficient of Coulomb friction
TURN = np.radians(37.0)  # of a scene that is turned about the vertical: no multiple of a pyramid's angle
LIMIT = 0.5  # rad, range of a joint


@dataclass(frozen=True)
class Run:
    """One simulation: file, start, duration (s), constant joint forces (n)."""

    mjcf: str
    qpos: tuple[float, ...]
    qvel: tuple[float, ...]
    duration: float
    forces: tuple[float, ...] = ()


@dataclass(frozen=True)
class Law:
    """A law, the runs that it needs, and the number that is zero where it holds.

    Attributes:
        name: Short name, a row of the table.
        unit: Unit of the number.
        tolerance: Largest number that counts as holding, the same for every engine.
        runs: Simulations.
        error: Number of the motions, in the order of ``runs``.
        statement: One sentence.
    """

    name: str
    unit: str
    tolerance: float
    runs: tuple[Run, ...]
    error: Callable[..., float]
    statement: str


def mjcf(bodies: str, *, gravity: tuple[float, float, float] = (0.0, 0.0, -GRAVITY)) -> str:
    gx, gy, gz = gravity
    return (
        f'<mujoco model="scene"><compiler angle="radian"/><option timestep="0.002" gravity="{gx} {gy} {gz}"/>'
        f"<worldbody>{bodies}</worldbody></mujoco>"
    )


def body(name: str, inside: str, *, pos: str = "0 0 0", joint: str = "", mass: float = 1.0, half: float = 0.2) -> str:
    """A rod of mass 1 along x, from its joint on."""
    thin, long = mass * 0.001, mass * half**2 / 3.0
    return (
        f'<body name="{name}" pos="{pos}">{joint}<inertial pos="{half} 0 0" mass="{mass}" '
        f'diaginertia="{thin} {long} {long}"/>{inside}</body>'
    )


def hinge(name: str, axis: str, more: str = "") -> str:
    return f'<joint name="{name}" type="hinge" axis="{axis}" {more}/>'


def three_rods(gravity: float) -> str:
    """Three rods with two joints, free: the least robot whose shape can turn it."""
    tail = body("tail", "", pos="0.4 0 0", joint=hinge("second", "0 0 1"))
    middle = body("middle", tail, pos="0.4 0 0", joint=hinge("first", "0 1 0"))
    return mjcf(body("front", middle, joint="<freejoint/>"), gravity=(0.0, 0.0, -gravity))


def other_base() -> str:
    """The same robot, with the middle rod as its base."""
    joint = '<joint name="first" type="hinge" axis="0 -1 0" pos="0.4 0 0"/>'
    front = (
        f'<body name="front" pos="-0.4 0 0">{joint}'
        '<inertial pos="0.2 0 0" mass="1" diaginertia="0.001 0.013333333333333334 0.013333333333333334"/></body>'
    )
    tail = body("tail", "", pos="0.4 0 0", joint=hinge("second", "0 0 1"))
    return mjcf(body("middle", front + tail, joint="<freejoint/>"), gravity=(0.0, 0.0, 0.0))


def double_pendulum() -> str:
    lower = body("lower", "", pos="0.4 0 0", joint=hinge("elbow", "0 1 0"))
    return mjcf(body("upper", lower, joint=hinge("shoulder", "0 1 0")))


def limited_pendulum() -> str:
    return mjcf(body("rod", "", joint=hinge("shoulder", "0 1 0", f'limited="true" range="-1 {LIMIT}"')))


def box(gravity: tuple[float, float, float] = (0.0, 0.0, -GRAVITY), scale: float = 1.0) -> str:
    """A cube of 1 kg and 0.2 m on a plane; ``scale`` units of length are a metre."""
    half, sliding = 0.1 * scale, f'friction="{FRICTION} 0 0" condim="3"'
    inertia = 1.0 / 6.0 * (0.2 * scale) ** 2
    return mjcf(
        f'<geom name="floor" type="plane" size="{10 * scale} {10 * scale} {scale}" {sliding}/>'
        f'<body name="box" pos="0 0 {half}"><freejoint/>'
        f'<inertial pos="0 0 0" mass="1" diaginertia="{inertia} {inertia} {inertia}"/>'
        f'<geom name="cube" type="box" size="{half} {half} {half}" {sliding}/></body>',
        gravity=tuple(scale * each for each in gravity),
    )


def tilted(degrees: float) -> tuple[float, float, float]:
    """Gravity of a slope, in axes of the slope."""
    angle = np.radians(degrees)
    return GRAVITY * float(np.sin(angle)), 0.0, -GRAVITY * float(np.cos(angle))


def resting(scale: float = 1.0) -> tuple[float, ...]:
    return (0.0, 0.0, 0.1 * scale, 1.0, 0.0, 0.0, 0.0)


def sliding(angle: float = 0.0, spin: float = 0.0, scale: float = 1.0) -> tuple[float, ...]:
    """Velocity along a direction of the plane, turning about the vertical."""
    return (scale * SPEED * float(np.cos(angle)), scale * SPEED * float(np.sin(angle)), 0.0, 0.0, 0.0, spin)


FLYING = Run(three_rods(0.0), (0, 0, 0, 1, 0, 0, 0, 0.4, -0.3), (0.3, -0.2, 0.1, 1.0, -2.0, 1.5, 3.0, -4.0), 10.0)
FALLING = Run(three_rods(GRAVITY), FLYING.qpos, FLYING.qvel, 1.0)
SWINGING = Run(double_pendulum(), (0.3, 0.5), (0.0, 0.0), 10.0)
DRIVEN = Run(double_pendulum(), (0.3, 0.5), (0.0, 0.0), 2.0, (1.0, -0.5))
STOPPED = Run(limited_pendulum(), (0.0,), (0.0,), 5.0)
BRAKING = Run(box(), resting(), sliding(), 1.0)
TURNED = Run(box(), (*resting()[:3], float(np.cos(TURN / 2)), 0.0, 0.0, float(np.sin(TURN / 2))), sliding(TURN), 1.0)
DIAGONAL = Run(box(), resting(), sliding(TURN), 1.0)
MILLIMETRES = Run(box(scale=1000.0), resting(1000.0), sliding(scale=1000.0), 1.0)
HELD = Run(box(tilted(20.0)), resting(), (0.0,) * 6, 10.0)
SLIPPING = Run(box(tilted(35.0)), resting(), (0.0,) * 6, 1.0)


def rebased() -> Run:
    """The flight, told by its middle rod."""
    qpos, qvel = measures.seen_from(FLYING, "middle")
    first = FLYING.qpos[7:]
    return Run(other_base(), (*qpos, *first), (*qvel, *FLYING.qvel[6:]), 2.0)


LAWS = (
    Law("linear momentum in flight", "1", 1e-9, (FLYING,), measures.linear_momentum_drift,
        "Internal motion does not move the center of mass: momentum after 10 s, relative to the sum over bodies."),
    Law("angular momentum in flight", "1", 1e-9, (FLYING,), measures.angular_momentum_drift,
        "Internal motion does not change angular momentum: largest drift in 10 s, relative."),
    Law("center of mass in free fall", "m", 1e-5, (FALLING,), measures.off_parabola,
        "It falls on a parabola: distance after 1 s."),
    Law("energy in flight", "1", 1e-3, (FLYING,), measures.energy_drift,
        "Nothing dissipates: largest change of energy in 10 s, relative."),
    Law("energy of a double pendulum", "1", 1e-3, (SWINGING,), measures.energy_drift,
        "Nothing dissipates: largest change in 10 s, relative to the largest kinetic energy."),
    Law("work of constant torques", "1", 1e-3, (DRIVEN,), measures.energy_without_work,
        "Energy changes by torque times angle: largest difference in 2 s, relative to the work done."),
    Law("another base", "m", 1e-3, (Run(FLYING.mjcf, FLYING.qpos, FLYING.qvel, 2.0), rebased()),
        measures.distance_of_tails, "The same robot described from another link moves the same: tail after 2 s."),
    Law("Coulomb braking", "1", 0.01, (BRAKING,), measures.braking_error,
        "A box at 1 m/s stops after v^2 / (2 mu g) = 0.1019 m: relative error."),
    Law("braking in every direction", "1", 0.01, (BRAKING, DIAGONAL), measures.anisotropy,
        "The same distance along the box's axes and at 37 degrees to them: relative difference."),
    Law("turned scene", "m", 1e-6, (BRAKING, TURNED), measures.turned_apart,
        "A scene turned by 37 degrees about the vertical moves as before, turned: distance after 1 s."),
    Law("units", "m", 1e-6, (BRAKING, MILLIMETRES), measures.units_apart,
        "The same scene in millimetres moves the same: distance after 1 s."),
    Law("sticking on a slope", "m", 1e-3, (HELD,), measures.displacement,
        "A box on 20 degrees with mu = 0.5 stays: displacement after 10 s."),
    Law("sliding down a slope", "1", 0.01, (SLIPPING,), measures.slope_error,
        "On 35 degrees it accelerates with g (sin - mu cos): relative error of the distance after 1 s."),
    Law("joint limit at rest", "rad", 1e-2, (STOPPED,), measures.beyond_limit_at_rest,
        "A pendulum rests at its limit: angle beyond it after 5 s."),
    Law("joint limit at impact", "rad", 0.05, (STOPPED,), measures.beyond_limit,
        "It does not pass its limit: largest angle beyond it."),
)  # fmt: skip
