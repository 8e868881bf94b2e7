"""Momentum and energy of a free-floating robot over many steps: our integrators and MuJoCo's, on the same robot.

A chain of three bodies in space, no gravity, no forces: linear momentum, angular momentum and energy are constants.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import tempfile
import time
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from rich.console import Console
from rich.table import Table

import fallingcat as fc
from fallingcat.simulation import MomentumMidpoint, Rosenbrock

RESULT = Path(__file__).parent / "results" / "drift.json"
CHAIN = """
<mujoco model="three bodies">
  <option gravity="0 0 0" timestep="{dt}" integrator="{integrator}"/>
  <worldbody>
    <body name="middle">
      <freejoint/>
      <inertial mass="3" pos="0 0 0" diaginertia="0.03 0.04 0.05"/>
      <body name="left" pos="-0.2 0 0">
        <joint name="one" type="hinge" axis="0 0 1"/>
        <inertial mass="1" pos="-0.15 0.02 0" diaginertia="0.01 0.02 0.02"/>
      </body>
      <body name="right" pos="0.2 0 0">
        <joint name="two" type="hinge" axis="0 1 0"/>
        <inertial mass="1.5" pos="0.15 0 0.03" diaginertia="0.01 0.02 0.02"/>
      </body>
    </body>
  </worldbody>
</mujoco>
"""
START = {"joints": [0.4, -0.3], "twist": [0.1, -0.2, 0.05, 0.3, 0.5, -0.4], "rates": [0.8, -0.6]}
OURS = ("momentum", "midpoint", "rkmk4", "rosenbrock", "semi_implicit")
PEERS = ("RK4", "Euler", "implicit", "implicitfast")
METHODS = {"midpoint": MomentumMidpoint(), "rosenbrock": Rosenbrock(tolerance=None)}


def robot() -> fc.Model:
    """The chain, read from the text that MuJoCo gets."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "chain.xml")
        path.write_text(CHAIN.format(dt=1e-3, integrator="RK4"))
        return fc.load(path)


def drifts(model: fc.Model, states: list[fc.State]) -> dict[str, float]:
    """The largest deviations from the start, relative; and the trend of the energy over the whole run."""
    h = np.array([fc.momentum(model, s, "centroidal") for s in states])
    e = np.array([fc.kinetic_energy(model, s) for s in states])
    size = [np.linalg.norm(h[0, part]) for part in (slice(0, 3), slice(3, 6))]
    ok = np.isfinite(e)
    trend = np.polyfit(np.arange(len(e))[ok], e[ok], 1)[0] * len(e) / e[0] if ok.sum() > 2 else np.nan
    return {
        "linear": float(np.abs(h[:, :3] - h[0, :3]).max() / size[0]),
        "angular": float(np.abs(h[:, 3:] - h[0, 3:]).max() / size[1]),
        "energy": float(np.abs(e - e[0]).max() / e[0]),
        "energy_trend": float(trend),
    }


def ours(model: fc.Model, integrator: str, steps: int, dt: float) -> dict[str, Any]:
    """One run of ours."""
    method = METHODS.get(integrator, integrator)
    start = time.perf_counter()
    run = fc.simulate(model, model.state(**START), steps * dt, integrator=method, dt=dt, every=max(1, steps // 500))
    seconds = time.perf_counter() - start
    return {"status": run.status, "us_per_step": 1e6 * seconds / steps, **drifts(model, list(run.states))}


def theirs(model: fc.Model, integrator: str, steps: int, dt: float) -> dict[str, Any]:
    """One run of MuJoCo's; its states are measured by our functions."""
    other = mujoco.MjModel.from_xml_string(CHAIN.format(dt=dt, integrator=integrator))
    data = mujoco.MjData(other)
    data.qpos[:], data.qvel[:] = model.to_mujoco(model.state(**START))
    states, every = [model.state(**START)], max(1, steps // 500)
    status = "finished"
    start = time.perf_counter()
    for count in range(1, steps + 1):
        mujoco.mj_step(other, data)
        if count % every == 0:
            if not np.isfinite(data.qvel).all() or data.warning.number.any():
                status = f"diverged before {count * dt:g} s"
                break
            states.append(model.from_mujoco(data.qpos, data.qvel))
    seconds = time.perf_counter() - start
    return {"status": status, "us_per_step": 1e6 * seconds / count, **drifts(model, states)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--dt", type=float, default=1e-3)
    parser.add_argument("--output", type=Path, default=RESULT)
    arguments = parser.parse_args()
    model, console = robot(), Console()
    rows: dict[str, dict[str, Any]] = {}
    for name, run in [*((f"fallingcat {i}", ours) for i in OURS), *((f"MuJoCo {i}", theirs) for i in PEERS)]:
        rows[name] = run(model, name.split()[1], arguments.steps, arguments.dt)
        console.print(name, rows[name])
    table = Table(title=f"{arguments.steps:,} steps of {arguments.dt:g} s")
    for column in ("integrator", "linear", "angular", "energy", "trend", "us per step", "status"):
        table.add_column(column)
    for name, row in rows.items():
        numbers = [f"{row[key]:.1e}" for key in ("linear", "angular", "energy", "energy_trend")]
        table.add_row(name, *numbers, f"{row['us_per_step']:.1f}", row["status"])
    console.print(table)
    about = {
        "steps": arguments.steps,
        "dt_s": arguments.dt,
        "versions": {name: importlib.metadata.version(name) for name in ("fallingcat", "mujoco", "numpy")},
        "machine": {"python": platform.python_version(), "processor": platform.machine(), "cores": os.cpu_count()},
    }
    arguments.output.write_text(json.dumps({**about, "rows": rows}, indent=2) + "\n")


if __name__ == "__main__":
    main()
