"""Processor time of ticks of predictive controllers at 1 kHz in a simulation: a stand and a trot.

python benchmarks/predictive_ticks.py [SECONDS [SOLO12.urdf]]   # writes results/predictive_ticks.json
"""

from __future__ import annotations

import json
import os
import platform
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import fallingcat as fc
from fallingcat.arrays import concatenate

HERE = Path(__file__).parent
RATE = 1000.0
"""Hz"""
DT = 1e-3
"""s: step of the simulation"""
POSTURE = np.array([0.0, 0.6, -1.2] * 4)
PUSH_SPEED = 0.3
"""m/s: of the trunk to the side at the start"""


class TimedController:
    """Controller whose ticks are timed, without the first one, which plans from nothing."""

    def __init__(self, controller: Any) -> None:
        self.controller, self.seconds = controller, list[float]()

    def __call__(self, t: float, state: fc.State) -> Any:
        """Joint forces."""
        began = time.thread_time()
        found = self.controller(t, state)
        self.seconds.append(time.thread_time() - began)
        return found

    def table(self) -> dict[str, float]:
        """Times of the ticks (ms)."""
        own = 1e3 * np.array(self.seconds[1:])
        names = {"median": 50, "percentile_90": 90, "percentile_99": 99, "largest": 100}
        found = {name: round(float(np.percentile(own, share)), 4) for name, share in names.items()}
        return found | {"ticks": len(own), "beyond_1_ms": int((own > 1.0).sum())}


def run_of(model: fc.Model, start: fc.State, feet: list[str], controller: Any, length: float) -> dict[str, Any]:
    """Times of the ticks, and where the trunk ends."""
    controller.tick(start)
    for _ in range(200):  # until all of its code is compiled well
        controller.tick(start)
    for kernel in (controller.problem.dynamics.linear, controller.problem.stepping.follow):
        kernel.optimized()
    controller.reset()
    timed = TimedController(controller)
    sampled = fc.control.SampledController(timed, rate=RATE)
    scale = model.mass * 9.81 / len(feet) / 1e-3  # N/m: each foot sinks by a millimetre
    floor = fc.contact.CompliantFloor(tuple(feet), (scale, scale), (0.02 * scale, 0.02 * scale), friction=0.8)
    began = time.process_time()
    run = fc.simulate(model, start, length, sampled, floor, dt=DT, every=10)
    share = length / (time.process_time() - began)
    end = {"tilt_deg": float(np.degrees(np.arccos(min(1.0, run.poses[-1, 2, 2])))), "x_m": float(run.poses[-1, 0, 3])}
    return timed.table() | {"simulated_s_per_s": round(share, 3), "status": run.status, **end}


def pushed(model: fc.Model, start: fc.State) -> fc.State:
    """The state after a push to the side."""
    twist = np.array(start.twist)
    twist[1] += PUSH_SPEED
    return start._replace(twist=twist)


def standing(model: fc.Model, start: fc.State, feet: list[str], length: float) -> dict[str, Any]:
    """Stand on all feet, 20 nodes of 20 ms, friction cones by penalties."""
    place, posture, effort = start.pose[:3, 3], np.asarray(start.joints), 0.36 / model.mass

    def hold(model: fc.Model, state: fc.State, forces: Any, data: Any) -> Any:
        away, turned = 20.0 * (state.pose[:3, 3] - place), 10.0 * (state.pose[:3, :3] - np.eye(3)).reshape(-1)
        moving = [2.0 * state.twist, 0.1 * state.rates, effort * forces]
        return concatenate([away, turned, 0.3 * (state.joints - posture), *moving])

    def last(model: fc.Model, state: fc.State, forces: Any, data: Any) -> Any:
        return 3.0 * hold(model, state, 0.0 * forces, data)

    phases = fc.optimal.ContactPhases(model, [fc.optimal.Phase(20, tuple(feet))], 0.02, friction=0.6)
    controller = fc.optimal.MPC(fc.optimal.Problem(phases, start, cost=hold, final_cost=last), RATE)
    return run_of(model, pushed(model, start), feet, controller, length)


def trotting(length: float) -> dict[str, Any]:
    """The sample quadruped trots at 0.5 m/s."""
    dog = fc.robots.quadruped()
    feet = [frame.name for frame in dog.frames]
    walk = fc.locomotion.PredictiveWalk(dog, feet, (0.0, 0.7, -1.4) * 4, rate=RATE)
    start = dog.standing(fc.contact.HardContacts(feet), walk.posture)
    return run_of(dog, start, feet, walk.compile(fc.locomotion.VelocityCommand(0.5)), length)


def robots(solo12: str | None) -> dict[str, tuple[fc.Model, fc.State, list[str]]]:
    """The sample quadruped, and solo12 where its file is given."""
    dog = fc.robots.quadruped()
    feet = [frame.name for frame in dog.frames]
    found = {"quadruped": (dog, dog.standing(fc.contact.HardContacts(feet), POSTURE), feet)}
    if solo12 is None:
        return found
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        solo = fc.load(solo12)
    feet = [f"{leg}_FOOT" for leg in ("FL", "FR", "HL", "HR")]
    joints = dict(zip(solo.joint_names, np.tile([0.0, 0.8, -1.6], 4), strict=True))
    start = solo.standing(fc.contact.HardContacts(feet), solo.state(joints=joints).joints)
    return found | {"solo12": (solo, start, feet)}


def main() -> None:
    """Write the table."""
    length = float(sys.argv[1]) if len(sys.argv) > 1 else 3.0
    out: dict[str, Any] = {"machine": f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"}
    out["rate_hz"] = RATE
    for name, about in robots(sys.argv[2] if len(sys.argv) > 2 else None).items():
        out[f"{name} stands"] = standing(*about, length)
        print(name, json.dumps(out[f"{name} stands"]), flush=True)
    out["quadruped trots"] = trotting(length)
    print(json.dumps(out["quadruped trots"]))
    (HERE / "results" / "predictive_ticks.json").write_text(json.dumps(out, indent=1) + "\n")


if __name__ == "__main__":
    main()
