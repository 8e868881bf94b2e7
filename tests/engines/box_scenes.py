"""Boxes on compliant floors: braking, accelerating, turning, spinning, landing; in fallingcat and in the reference."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

import fallingcat as fc
from fallingcat.arrays import array, concatenate, cos, sin
from fallingcat.contact import CompliantFloor, corners
from fallingcat.control import Law

from . import stored
from .reference_floor import GRAVITY, ReferenceFloor, RigidBody, run

EDGES = (0.3, 0.2, 0.1)  # m


@dataclass(frozen=True)
class Pull(Law):
    """A horizontal force of constant size at the origin of the base, whose direction turns."""

    size: float
    """N"""
    turn: float = 0.0
    """rad/s"""
    name: str = "pull"

    def forces(self, model: fc.Model, t: Any, state: fc.State, touching: frozenset[str]) -> Any:
        F = array([self.size * cos(self.turn * t), self.size * sin(self.turn * t), 0.0 * t])
        return concatenate([state.pose[:3, :3].T @ F, np.zeros(model.nv - 3)])


@dataclass(frozen=True)
class BoxScene:
    """A box on the four points of its lower side."""

    mass: float = 10.0
    stiffness: tuple[float, float] = (1e4, 1e4)
    damping: tuple[float, float] = (1e3, 1e3)
    friction: float = 0.5
    velocity: tuple[float, float, float] = (1.0, 0.0, 0.0)
    spin: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """rad/s, world axes"""
    height: float | None = None
    """of the lowest point (m); None: as deep as it rests"""
    pitch: float = 0.0
    """rad"""
    slope: float = 0.0
    """rad: gravity has a component along x"""
    pull: float = 0.0
    turn: float = 0.0
    duration: float = 0.5
    rotates: bool = True
    """whether the box may turn, or only move without turning"""

    @property
    def gravity(self) -> np.ndarray:
        return GRAVITY * np.array([np.sin(self.slope), 0.0, -np.cos(self.slope)])

    @property
    def inertia(self) -> np.ndarray:
        a, b, c = (edge**2 for edge in EDGES)
        return self.mass / 12.0 * np.diag([b + c, a + c, a + b])

    @property
    def corners(self) -> np.ndarray:
        a, b, c = EDGES
        return np.array([(x, y, -c / 2.0) for x, y in product((a / 2.0, -a / 2.0), (b / 2.0, -b / 2.0))])

    @property
    def pose(self) -> np.ndarray:
        c, s = np.cos(self.pitch), np.sin(self.pitch)
        H = np.eye(4)
        H[:3, :3] = [[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]]
        rests = -self.mass * GRAVITY * np.cos(self.slope) / (4.0 * self.stiffness[0])
        H[2, 3] = (rests if self.height is None else self.height) - (self.corners @ H[:3, :3].T)[:, 2].min()
        return H

    def ours(self) -> tuple[fc.Model, fc.State, tuple[Law, ...], CompliantFloor]:
        """Robot, start, laws and floor in fallingcat."""
        body = fc.Body(self.mass, np.zeros(3), self.inertia)
        group = fc.lie.SE3() if self.rotates else fc.lie.R3()
        model, points = corners(fc.robots.free_body(group, body), "body", [tuple(x) for x in self.corners])
        model, H = replace(model, gravity=self.gravity), self.pose
        twist = np.concatenate([H[:3, :3].T @ self.velocity, H[:3, :3].T @ self.spin])
        state = model.state(pose=H, twist=twist[: model.m])
        floor = CompliantFloor(points, self.stiffness, self.damping, friction=self.friction, normal=(0.0, 0.0, 1.0))
        return model, state, (Pull(self.pull, self.turn),) if self.pull else (), floor

    def simulate(self, **options: Any) -> fc.Trajectory:
        model, state, laws, floor = self.ours()
        return fc.simulate(model, state, self.duration, laws, floor, **{"every": 10**6} | options)

    def reference(self) -> np.ndarray:
        """Place, rotation matrix by rows, velocity and angular velocity (world) at the end, by the reference floor."""
        assert self.rotates, "the reference is a box that may turn"
        pull = self._pull if self.pull else None
        body = RigidBody(self.mass, self.inertia, self.corners, tuple(self.gravity), pull)
        H = self.pose
        start = body.start(H[:3, 3], self.velocity, self.spin, H[:3, :3])
        floor = ReferenceFloor(self.stiffness, self.damping, self.friction)
        end: np.ndarray = run(body, floor, start, self.duration).y[-1]
        return end

    def _pull(self, t: float) -> np.ndarray:
        return self.pull * np.array([np.cos(self.turn * t), np.sin(self.turn * t), 0.0])


def motion(state: fc.State) -> np.ndarray:
    """A state of a box as :meth:`BoxScene.reference` has it."""
    R, m = state.pose[:3, :3], len(state.twist)
    spin = R @ state.twist[3:] if m == 6 else np.zeros(3)
    return np.concatenate([state.pose[:3, 3], R.ravel(), R @ state.twist[:3], spin])


def light(mass: float, **more: Any) -> BoxScene:
    """On a floor that is overdamped for light boxes."""
    return BoxScene(mass, (2e4, 2e4), (200.0, 200.0), **more)


def thrown(seed: int) -> BoxScene:
    """Masses of 50 g to 20 kg on floors from underdamped to overdamped, thrown with spin and tilt."""
    rng = np.random.default_rng(1000 + seed)
    mass = 10.0 ** rng.uniform(-1.3, 1.3)
    stiffness = mass * 10.0 ** rng.uniform(3.0, 4.7)
    damping = 10.0 ** rng.uniform(-1.0, 1.0) * np.sqrt(stiffness * mass)
    along = stiffness * 10.0 ** rng.uniform(-1.5, 0.5), damping * 10.0 ** rng.uniform(-1.0, 1.0)
    friction, velocity = rng.uniform(0.1, 1.2), (*rng.uniform(-2.0, 2.0, 2), rng.uniform(-1.0, 0.0))
    spin = rng.normal(size=3) * rng.choice([0.0, 1.0, 4.0])
    height, pitch = rng.choice([0.0, 0.01, 0.05]), rng.choice([0.0, 0.0, 0.3, -0.8])
    return BoxScene(
        mass,
        (stiffness, along[0]),
        (damping, along[1]),
        friction,
        tuple(map(float, velocity)),
        tuple(map(float, spin)),
        float(height),
        float(pitch),
        duration=0.4,
    )


RIGID = {"stiffness": (1e5, 1e5), "damping": (1e3, 1e3)}
BRAKING = {
    f"{K_t:g}/{D_t:g}": BoxScene(stiffness=(1e4, K_t), damping=(1e3, D_t), duration=0.6)
    for K_t, D_t in ((1e3, 1e3), (1e3, 300.0), (1e4, 1e3), (2e4, 2e3))
}
LIGHT = {f"{mass:g} kg": light(mass) for mass in (0.05, 0.1, 0.2, 1.0, 3.0)} | {
    "0.4 kg": BoxScene(0.4, (3e4, 3e4), (300.0, 300.0)),
    "0.5 kg, slow": light(0.5, velocity=(0.2, 0.0, 0.0), duration=0.2),
}
LANDING = {
    "thrown": BoxScene(2.0, **RIGID, velocity=(1.0, 0.0, -1.0), height=0.02),
    "thrown, tilted": BoxScene(
        2.0, **RIGID, velocity=(1.0, 0.3, -0.5), spin=(1.0, 2.0, 3.0), height=0.01, pitch=0.2, duration=0.2
    ),
    "thrown, soft": BoxScene(velocity=(1.0, 0.0, -0.5), height=0.0),
    "dropped, 3 kg": light(3.0, height=0.02),
    "dropped, 0.2 kg": light(0.2, height=0.02),
}
DRIVEN = {
    "accelerating": BoxScene(velocity=(0.0, 0.0, 0.0), pull=98.1, duration=0.3),
    "accelerating, 1 kg": light(1.0, velocity=(0.0, 0.0, 0.0), pull=9.81, duration=0.3),
    "turning": BoxScene(velocity=(0.2, 0.0, 0.0), pull=98.1, turn=20.0),
    "turning, 1 kg": light(1.0, velocity=(0.2, 0.0, 0.0), pull=9.81, turn=20.0),
    "spinning, 1 kg": light(1.0, spin=(0.0, 0.0, 10.0), duration=0.3),
    "slope": BoxScene(velocity=(0.0, 0.0, 0.0), slope=np.deg2rad(35.0)),
    "slope, 0.2 kg": light(0.2, velocity=(0.0, 0.0, 0.0), slope=np.deg2rad(35.0)),
}
RANDOM = {str(seed): thrown(seed) for seed in range(24)}
SCENES = {
    f"{kind} {name}": scene
    for kind, found in (
        ("braking", BRAKING),
        ("light", LIGHT),
        ("landing", LANDING),
        ("driven", DRIVEN),
        ("random", RANDOM),
    )
    for name, scene in found.items()
}


def error(name: str, end: np.ndarray) -> float:
    """Distance of the center from where the reference has it, relative to the length of its way, in a scene."""
    want = stored.box(name)[:3]
    return float(np.linalg.norm(end[:3] - want) / np.linalg.norm(want - SCENES[name].pose[:3, 3]))
