"""Processor time of one iteration of optimal control, beside crocoddyl where an interpreter with it is given.

python benchmarks/optimal.py [--crocoddyl PYTHON]   # writes results/optimal.json
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import subprocess
import time
import warnings
from pathlib import Path

import numpy as np
from optimal_case import CONTROL_WEIGHT, DAMPING, DT, FEET, NODES, REPEATS, SHIFT, STATE_WEIGHTS

import fallingcat as fc
from fallingcat.arrays import concatenate
from fallingcat.optimal import MPC, ContactPhases, Phase, Problem, solve
from fallingcat.optimal.solver import Solver

HERE = Path(__file__).parent


def timed(function, count=20):
    """Median processor time of a call (ms)."""
    for _ in range(3):
        function()
    times = []
    for _ in range(REPEATS):
        began = time.process_time()
        for _ in range(count):
            function()
        times.append((time.process_time() - began) / count)
    return 1e3 * statistics.median(times), 1e3 * min(times)


def standing_problem(model, start, feet, shift=SHIFT, damping=DAMPING, friction=None, limits=(-np.inf, np.inf)):
    """Move the trunk of a robot that stands, with weights on all of its state and forces."""
    goal, n = start.pose.copy(), model.n
    goal[:3, 3] += shift
    back, joints = np.linalg.inv(goal), start.joints
    w = np.sqrt(np.concatenate([STATE_WEIGHTS[:6], np.ones(n), STATE_WEIGHTS[18:24], np.full(n, 0.01)]))

    def there(model, state, forces, data):
        away = concatenate([model.base.log(back @ state.pose), state.joints - joints, state.twist, state.rates])
        return w * away

    def moving(model, state, forces, data):
        return np.sqrt(DT) * concatenate([there(model, state, forces, data), np.sqrt(CONTROL_WEIGHT) * forces])

    phases = ContactPhases(model, [Phase(NODES, tuple(feet))], DT, friction, damping=damping)
    return Problem(phases, start, cost=moving, final_cost=there, force_limits=limits)


def measured(problem):
    """Times of one iteration and of its parts (ms), and of a predictive tick."""
    began = time.process_time()
    found = solve(problem, tolerance=1e-10)
    out = {"status": found.status.value, "cost": found.cost, "iterations": found.iterations}
    out["first_call_s"] = time.process_time() - began
    solver = Solver(problem, 1e-10, 1e-6)
    motion = solver.motion
    nodes, penalties = motion.guess(None, None), motion.penalties(10.0)
    for kernel in (problem.dynamics.linear, problem.stepping.follow):
        kernel.optimized()
    for _ in range(200):
        solver.improved(nodes, 1, penalties)
    about, policy = motion.expanded(nodes, penalties), solver.policy(nodes, 1e-9)

    def iteration():
        solver.searched(nodes, about, solver.policy(nodes, 1e-9), penalties)
        motion.expanded(nodes, penalties)

    mpc = MPC(problem)
    mpc.tick(problem.start)
    parts = {
        "iteration": iteration,
        "derivatives": motion._kernels[0],
        "terms": motion._kernels[1][0][0],
        "expansion": lambda: motion.expanded(nodes, penalties),
        "backward": lambda: solver.policy(nodes, 1e-9),
        "line_search": lambda: solver.searched(nodes, about, policy, penalties),
        "tick": lambda: mpc.tick(problem.start),
    }
    for name, function in parts.items():
        out[f"{name}_ms"], out[f"{name}_least_ms"] = timed(function)
    out["operations"] = sum(problem.dynamics.linear.operations.values())
    return out, found


def solo12(python):
    """Both sides, in turn."""
    call = [python, str(HERE / "optimal_crocoddyl.py")]
    peer = json.loads(subprocess.run(call, check=True, capture_output=True, text=True).stdout)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = fc.load(peer["urdf"])
    q = peer["start"]
    own = dict(zip(peer["joints"], q[7:], strict=True))
    start = model.state(position=q[:3], joints=[own[name] for name in model.joint_names])
    ours, found = measured(standing_problem(model, start, FEET))
    again = json.loads(subprocess.run(call, check=True, capture_output=True, text=True).stdout)
    order = [peer["joints"].index(name) for name in model.joint_names]
    forces = np.array(peer["forces"])[:, order]
    same = {"cost": abs(found.cost / peer["cost"] - 1.0), "forces": float(np.abs(found.forces - forces).max())}
    kept = [name for name in peer if name.endswith("_ms")]
    theirs = {name: 0.5 * (peer[name] + again[name]) for name in kept} | {"cost": peer["cost"]}
    return {"ours": ours, "crocoddyl": theirs, "difference": same}


def humanoid():
    """The sample humanoid, 30 joints, held at the middle of each sole."""
    model = fc.robots.humanoid()
    feet = [frame.name for frame in model.frames if "sole" in frame.name or "foot" in frame.name]
    feet = [feet[0], feet[len(feet) // 2]]
    joints = np.zeros(model.n)
    height = -min(float(fc.dynamics.link_pose(model, model.state(joints=joints), f)[2, 3]) for f in feet)
    start = model.state(position=[0.0, 0.0, height], joints=joints)
    return measured(standing_problem(model, start, feet, [0.01, 0.0, -0.01], None))[0] | {"points": feet}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--crocoddyl", metavar="PYTHON", help="interpreter with crocoddyl, pin and example-robot-data")
    asked = parser.parse_args()
    dog = fc.robots.quadruped()
    start = dog.standing(fc.contact.HardContacts([f.name for f in dog.frames]), np.array([0.0, 0.6, -1.2] * 4))
    out = {"machine": f"{platform.machine()}, processor time, one thread, shared 2-core machine", "nodes": NODES}
    out["quadruped"] = measured(standing_problem(dog, start, [f.name for f in dog.frames]))[0]
    out["humanoid"] = humanoid()
    if asked.crocoddyl:
        out["solo12"] = solo12(asked.crocoddyl)
    (HERE / "results" / "optimal.json").write_text(json.dumps(out, indent=1) + "\n")
    print(json.dumps(out, indent=1))


if __name__ == "__main__":
    main()
