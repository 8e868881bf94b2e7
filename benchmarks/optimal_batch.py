"""Times of many optimal control problems solved together: a standing quadruped, 20 nodes, disturbed starts.

python benchmarks/optimal_batch.py                   # CPU, writes results/optimal_batch.json
python benchmarks/optimal_batch.py --prepare FILE    # starts and the optima of the CPU, for a machine with a GPU
python benchmarks/optimal_batch.py --gpu FILE        # GPU, beside these optima
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from optimal import standing_problem

import fallingcat as fc
from fallingcat.optimal import BatchSolver
from fallingcat.optimal.solver import Solver

HERE = Path(__file__).parent
PROBLEMS, REPEATS = 1000, 5
TOLERANCE = 1e-6


def problem_of(model: fc.Model, joints: np.ndarray) -> fc.optimal.Problem:
    """The quadruped moves its trunk over feet that stand, within the drives' limits."""
    feet = [frame.name for frame in model.frames]
    height = -min(float(fc.link_pose(model, model.state(joints=joints), foot)[2, 3]) for foot in feet)
    start = model.state(position=[0.0, 0.0, height], joints=joints)
    return standing_problem(model, start, feet, limits=None)


def disturbed(problem: fc.optimal.Problem, count: int, seed: int = 0) -> fc.State:
    """Starts on standing feet: standard deviations of 0.05 rad, 1 cm, 0.2 m/s and rad/s of the trunk."""
    rng, model, start = np.random.default_rng(seed), problem.model, problem.start
    pose = np.repeat(start.pose[None], count, axis=0)
    pose[:, :3, 3] += 0.01 * rng.normal(size=(count, 3))
    joints, twist = start.joints + 0.05 * rng.normal(size=(count, model.n)), 0.2 * rng.normal(size=(count, 6))
    rates = np.zeros((count, model.n))
    for i in range(count):
        state = fc.State(pose[i], joints[i], twist[i], rates[i])
        J = np.concatenate([fc.dynamics.jacobian(model, state, foot)[:3] for foot in problem.dynamics.points])
        rates[i] = -np.linalg.solve(J[:, 6:], J[:, :6] @ twist[i])
    return fc.State(pose, joints, twist, rates)


def times_of(solver: BatchSolver, starts: fc.State, clock: Callable[[], float]) -> dict[str, float]:
    """Median seconds of a batch with code and memory that are ready, and those of the first."""
    first = time.perf_counter()
    solver.solve(starts)
    found, times = {"first_s": time.perf_counter() - first}, []
    for _ in range(REPEATS):
        began = clock()
        result = solver.solve(starts)
        times.append(clock() - began)
    found |= {"seconds": statistics.median(times), "least_s": min(times), "converged": int(result.converged.sum())}
    return found | {"iterations": float(result.iterations.mean()), "most_iterations": int(result.iterations.max())}


def on_cpu(problem: fc.optimal.Problem, starts: fc.State) -> dict:
    """Processor time of the batch and of the single solver."""
    for kernel in (problem.dynamics.linear, problem.stepping.follow):
        kernel.optimized()
    some = fc.State(*(part[:100] for part in starts))
    out: dict = {"machine": f"{platform.machine()}, processor time of one thread, shared 2-core machine"}
    out["batch, one thread"] = times_of(BatchSolver(problem, tolerance=TOLERANCE), starts, time.process_time)
    solver, times = Solver(problem, TOLERANCE, 1e-6), []
    for _ in range(3):
        began = time.process_time()
        for i in range(100):
            solver.motion.start_at(some.at(i))
            solver.run(solver.motion.guess(None, None), 200)
        times.append(10.0 * (time.process_time() - began))
    return out | {"single, of 100 problems": {"seconds": statistics.median(times), "least_s": min(times)}}


def on_gpu(problem: fc.optimal.Problem, starts: fc.State, reference: np.ndarray) -> dict:
    """Wall time on a GPU, and the largest difference from the optima of the CPU (N m)."""
    import cupy

    for kernel in (problem.dynamics.linear, problem.stepping.follow):
        kernel.optimized()  # the last problems are solved by the processor
    solver = BatchSolver(problem, tolerance=TOLERANCE, target="cuda", gains=False)
    out: dict = {"machine": f"{cupy.cuda.runtime.getDeviceProperties(0)['name'].decode()}, wall time"}
    for count in (PROBLEMS, 4 * PROBLEMS):
        many = fc.State(*(np.concatenate([part] * (count // PROBLEMS)) for part in starts))
        out[f"GPU, {count} problems"] = times_of(solver, many, time.perf_counter)
        print(count, json.dumps(out), flush=True)
    result = solver.solve(starts)
    out["beside the CPU"] = {"forces": float(np.abs(result.forces - reference).max())}
    print(str(result), out["beside the CPU"], flush=True)
    return out


def main() -> None:
    """Write or print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prepare", metavar="FILE", help="write starts and optima")
    parser.add_argument("--gpu", metavar="FILE", help="read them, and solve on a GPU (needs CuPy)")
    asked = parser.parse_args()
    dog = fc.robots.quadruped()
    problem = problem_of(dog, np.array([0.0, 0.6, -1.2] * 4))
    starts = disturbed(problem, PROBLEMS)
    if asked.prepare:
        np.savez(asked.prepare, forces=BatchSolver(problem, threads=2).solve(starts).forces)
        return
    name = "optimal_batch_gpu.json" if asked.gpu else "optimal_batch.json"
    with np.load(asked.gpu) if asked.gpu else open(__file__) as given:
        out = on_gpu(problem, starts, given["forces"]) if asked.gpu else on_cpu(problem, starts)
    (HERE / "results" / name).write_text(json.dumps(out, indent=1) + "\n")
    print(json.dumps(out, indent=1))


if __name__ == "__main__":
    main()
