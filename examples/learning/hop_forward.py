"""A planar hopper learns to hop forward: random search over the gains of its controller, in a vector environment.

A body, a hip and a springy leg.  The controller has the form of Raibert's: in the air the hip swings the leg to where
the foot should land, on the ground it keeps the body upright, and the leg pushes while it extends.  Its six gains start
at zero, with which the hopper falls over; all that is learned from is how far it came and for how long it stayed up.
Random search [Mania]: try gains around the present ones in pairs ``g + s d``, ``g - s d``, all at once, and go along
the differences.

    python examples/learning/hop_forward.py

H. Mania, A. Guy, B. Recht, Simple random search of static linear policies is competitive for reinforcement learning,
NeurIPS 2018.
"""

from __future__ import annotations

import sys

import numpy as np

import fallingcat as fc
from fallingcat import Body, Joint, Link, Model, State
from fallingcat.contact import CompliantFloor
from fallingcat.control import JointDamper, JointSpring
from fallingcat.lie import SE2
from fallingcat.model import Frame
from fallingcat.simulation import VectorEnvironment

LENGTH = 0.5  # m, of the leg at rest
PERIOD = 5e-3  # s, from action to action
SEED, ITERATIONS, PAIRS, STEP, SPREAD = 1, 25, 16, 0.15, 0.2
SCALE = np.array([0.5, 0.3, 200.0, 20.0, 150.0, 1.0])
"""What gains of 1 mean: foot placement (s), lean (rad), uprightness (N m/rad, N m s/rad), push (N), speed (m/s)."""


def hopper() -> Model:
    """Base SE(2) in the x-y plane; at rest the foot hangs half a metre below the hip, in the body's center."""
    links = (
        Link("body", Body(8.0, [0.0, 0.0, 0.0], 0.4 * np.eye(3))),
        Link("thigh", Body(0.6, [0.0, -0.15, 0.0], 0.01 * np.eye(3))),
        Link("shank", Body(0.3, [0.0, -0.35, 0.0], 0.003 * np.eye(3))),
    )
    hip = Joint("hip", fc.joints.Revolute((0.0, 0.0, 1.0)), "body", "thigh")
    leg = Joint("leg", fc.joints.Prismatic((0.0, -1.0, 0.0)), "thigh", "shank")
    toe = np.eye(4)
    toe[1, 3] = -LENGTH
    return Model("hopper", SE2(), links, (hip, leg), np.array([0.0, -9.81, 0.0]), (Frame("foot", "shank", toe),))


def start(rng: np.random.Generator) -> State:
    """A little above the ground, nearly upright, at rest."""
    model = hopper()
    return model.state(pose=model.base.element(np.array([0.0, LENGTH + 0.1, 0.02 * rng.standard_normal()])))


def observe(state: State) -> np.ndarray:
    """``N x 7``: tilt, its rate, forward speed, hip, its rate, rate of the leg, and height of the foot."""
    c, s = state.pose[:, 0, 0], state.pose[:, 1, 0]
    tilt, speed = np.arctan2(s, c), c * state.twist[:, 0] - s * state.twist[:, 1]
    (hip, leg), height = state.joints.T, state.pose[:, 1, 3]
    foot = height - (LENGTH + leg) * np.cos(tilt + hip)
    return np.stack([tilt, state.twist[:, 2], speed, hip, *state.rates.T, foot], axis=1)


def policy(gains: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """``N x 2``: torque of the hip and push of the leg, each robot by its own gains (N x 6)."""
    tilt, turn, speed, hip, swing, extends, foot = seen.T
    placement, lean, upright, damping, push, wanted = (gains * SCALE).T
    stance = foot < 0.0
    target = placement * (speed - wanted) + lean - tilt
    in_air = 60.0 * (target - hip) - 3.0 * swing
    on_ground = upright * tilt + damping * turn
    return np.stack([np.where(stance, on_ground, in_air), np.where(stance & (extends > 0.0), push, 0.0)], axis=1)


def reward(before: State, action: np.ndarray, after: State) -> np.ndarray:
    """``N``: metres forward, and half a metre for each second."""
    return after.pose[:, 0, 3] - before.pose[:, 0, 3] + 0.5 * PERIOD


def environment(count: int, horizon: float = 3.0) -> VectorEnvironment:
    """Episodes end when the hopper falls, or after ``horizon`` (s)."""
    laws = [JointSpring(2500.0, only=("leg",)), JointDamper(12.0, only=("leg",))]
    floor = CompliantFloor(("foot",), stiffness=(3e4, 3e4), damping=(300.0, 300.0), friction=0.8)
    return VectorEnvironment(
        hopper(), count, start, reward, observe=observe,
        done=lambda state: (state.pose[:, 1, 3] < 0.3) | (state.pose[:, 0, 0] < 0.5),
        actions=([-80.0, -300.0], [80.0, 300.0]), laws=laws, contact=floor, period=PERIOD, horizon=horizon,
    )  # fmt: skip


def returns(world: VectorEnvironment, gains: np.ndarray, seed: int) -> np.ndarray:
    """``N``: the sum of rewards of each in its first episode."""
    seen, _ = world.reset(seed=seed)
    total, alive = np.zeros(world.num_envs), np.ones(world.num_envs, dtype=bool)
    while alive.any():
        seen, rewards, terminations, truncations, _ = world.step(policy(gains, seen))
        total += np.where(alive, rewards, 0.0)
        alive &= ~(terminations | truncations)
    return total


def learn(iterations: int = ITERATIONS, horizon: float = 3.0, tell: bool = True) -> tuple[np.ndarray, list[float]]:
    """The best gains (6) that were present ones, and what each iteration's present gains returned."""
    rng, gains, known, curve = np.random.default_rng(SEED), np.zeros(6), np.zeros(6), [-np.inf]
    world = environment(2 * PAIRS + 1, horizon)
    for k in range(iterations):
        d = rng.standard_normal((PAIRS, 6))
        tried = np.concatenate([gains + SPREAD * d, gains - SPREAD * d, gains[None]])
        found = returns(world, tried, seed=1000 * k)
        plus, minus = found[:PAIRS], found[PAIRS:-1]
        best = np.argsort(-np.maximum(plus, minus))[: PAIRS // 2]
        slope = (plus[best] - minus[best]) @ d[best] / len(best)
        known = gains if found[-1] >= max(curve) else known
        curve.append(float(found[-1]))
        gains = gains + STEP * slope / (np.concatenate([plus[best], minus[best]]).std() + 1e-6)
        if tell:
            print(
                f"{k:3d} {found[-1]:6.2f}, best of {len(tried)}: {found.max():6.2f} {'#' * int(4 * max(0, found[-1]))}"
            )
    return known, curve[1:]


if __name__ == "__main__":
    found, rising = learn(int(sys.argv[1]) if len(sys.argv) > 1 else ITERATIONS)
    print("gains:", (found * SCALE).round(3))
    print(f"return {rising[0]:.2f} at first, {max(rising):.2f} at best")
