"""Microseconds per step of stacked cubes and of a gripper, ours and MuJoCo's: `python benchmarks/objects.py`."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

import fallingcat as fc
from fallingcat.contact import BodyContacts, CompliantBodies, body_pairs

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from support.object_scenes import at, gripper, squeezed, stack

STEPS, REPEATS, BATCH = 2000, 5, 64
WORLD = '<mujoco><option timestep="0.001" cone="elliptic"/><default><geom friction="0.5 0 0"/></default><worldbody>{}'
CUBE = '<body pos="0 0 {z}"><freejoint/><geom type="box" size="{h} {h} {h}" mass="{m}"/></body>'
FINGER = '<body pos="{x} 0 0"><joint type="slide" axis="1 0 0"/><geom type="box" size=".01 .02 .02" mass=".2"/></body>'


def best(call: Callable[[], Any], steps: int = STEPS) -> float:
    """Processor time (us) per step, the least of several."""
    spent = []
    for _ in range(REPEATS):
        begin = time.process_time()
        call()
        spent.append(time.process_time() - begin)
    return 1e6 * min(spent) / steps


def mujoco_time(bodies: str, forces: Any = 0.0) -> float:
    """Of MuJoCo."""
    model = mujoco.MjModel.from_xml_string(WORLD.format(bodies) + "</worldbody></mujoco>")
    data = mujoco.MjData(model)

    def steps() -> None:
        mujoco.mj_resetData(model, data)
        data.qfrc_applied[:] = forces
        mujoco.mj_step(model, data, nstep=STEPS)

    return best(steps)


def our_times(scene: fc.Model, start: fc.State, touch: BodyContacts, laws: Any = ()) -> list[float]:
    """Of single runs with their error estimates, rigid and compliant, and of each scene of a batch on one thread."""
    soft = CompliantBodies(touch.pairs, stiffness=1e4, damping=50.0, friction=touch.friction)
    duration, many = STEPS * 1e-3, fc.State.stack([start] * BATCH)

    def single(contact: fc.contact.Contact = touch) -> None:
        fc.simulate(scene, start, duration, laws, contact=contact, dt=1e-3)

    simulator = fc.simulation.BatchSimulator(scene, many, laws, touch, dt=1e-3, threads=1)
    single()
    single(soft)
    return [
        best(single),
        best(lambda: single(soft)),
        best(lambda: simulator.step(steps=STEPS // 10), STEPS // 10 * BATCH),
    ]


def main() -> None:
    """Print a table."""
    lower = '<geom type="box" size="2 2 .5" pos="0 0 -.5"/>'
    cubes = lower + "".join(CUBE.format(z=0.05 + 0.1 * i, h=0.05, m=1.0) for i in range(3))
    hand = "".join(FINGER.format(x=x) for x in (-0.04, 0.04)) + CUBE.format(z=0.0, h=0.03, m=0.5)
    scene = gripper()
    grasp = BodyContacts(body_pairs(scene, [("hand/l", "cube"), ("hand/r", "cube")]), friction=0.5)
    held = scene, scene.state(joints=[-0.04, 0.04, *at(0.0, 0.0, 0.0)]), grasp, squeezed(6.0)
    rows = {
        "three cubes, stacked": (mujoco_time(cubes), *our_times(*stack(3, friction=0.5))),
        "two fingers and a cube": (mujoco_time(hand, np.r_[6.0, -6.0, np.zeros(6)]), *our_times(*held)),
    }
    print("| scene | MuJoCo | rigid | compliant | rigid, batch of 64 |\n|---|---|---|---|---|")
    for name, times in rows.items():
        print(f"| {name} | {' | '.join(f'{t:.1f}' for t in times)} |")


if __name__ == "__main__":
    main()
