"""Learning to walk: environment steps per second, time to a policy, falls of robots that differ, determinism.

python benchmarks/learning.py walk --seconds 60            # CPU, 256 quadrupeds; --target cuda on a GPU
python benchmarks/learning.py walk --robot humanoid --target cuda
python benchmarks/learning.py speed --target cuda          # random actions, and with the learner
python benchmarks/learning.py twice --target cuda          # the same seed gives the same policy

Contacts are those of the feet with the ground; there is no self-contact.  Episodes start anew, masses, friction and
pushes differ, observations and rewards are computed: all that is part of a step.
"""

from __future__ import annotations

import time

BEGAN = time.perf_counter()

import argparse  # noqa: E402
import json  # noqa: E402
import platform  # noqa: E402
from dataclasses import replace  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402
import torch  # noqa: E402

import fallingcat as fc  # noqa: E402
from fallingcat.learning import Environment, Learner, Randomization, Settings, Walk, evaluate  # noqa: E402
from fallingcat.learning.training import DEFAULT_ROBOTS, DEFAULT_SETTINGS  # noqa: E402

RESULT = Path(__file__).parent / "results" / "learning.json"
HARD = Randomization(mass=(0.8, 1.2), friction=(0.4, 1.2), push=0.5, push_period=5.0)
"""masses +-20 %, friction 0.4 to 1.2, pushes of up to 0.5 m/s along x and y every 5 s"""
ERROR = "speed error (m/s)"
GOAL = 0.15  # m/s
COMMANDS = ((0.5, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.3, 0.0), (0.0, -0.3, 0.0), (0.0, 0.0, 0.5), (0.0, 0.0, 1.0),
            (0.0, 0.0, -0.5))  # fmt: skip
"""m/s, m/s, rad/s"""


def task(robot: str, randomization: Randomization = HARD) -> Walk:
    return Walk(getattr(fc.robots, robot)(), randomization=randomization)


class Commanded(Walk):
    """Walking under one command; its metrics are the velocities."""

    goal = (0.0, 0.0, 0.0)

    def command(self, library: Any, count: int) -> Any:
        return library.constant(self.goal) + library.uniform(0.0, 0.0, count, 3)

    def metrics(self, now: Any) -> dict[str, Any]:
        return {"v_x (m/s)": now.twist[:, 0], "v_y (m/s)": now.twist[:, 1], "w_z (rad/s)": now.twist[:, 5]}


def followed(options: Any, policy: Any) -> dict[str, Any]:
    """Share that stands, and mean velocities, of robots that differ, under each of some commands."""
    found = {}
    for goal in COMMANDS:
        one = Commanded(getattr(fc.robots, options.robot)(), randomization=HARD)
        object.__setattr__(one, "goal", goal)
        judge = Environment(one, options.judged, target=options.target, library="torch", seed=7)
        found[str(goal)] = evaluate(judge, policy.on(judge.library), 10.0, seed=7)._asdict()
    return found


def settings(options: Any) -> Settings:
    return replace(DEFAULT_SETTINGS[options.target], **json.loads(options.settings))


def synchronize(target: str) -> None:
    if target == "cuda":
        torch.cuda.synchronize()


def machine(target: str) -> str:
    return torch.cuda.get_device_name() if target == "cuda" else platform.processor() or platform.machine()


def walk(options: Any) -> dict[str, Any]:
    """Train for some seconds, evaluate policies on robots that differ."""
    robots = options.robots or DEFAULT_ROBOTS[options.target]
    world = Environment(task(options.robot), robots, target=options.target, library="torch", seed=options.seed)
    synchronize(options.target)
    result: dict[str, Any] = {
        "robot": options.robot, "machine": machine(options.target), "robots": robots, "settings": options.settings,
        "until the learner begins (s)": time.perf_counter() - BEGAN, "randomization": vars(HARD), "curve": [],
    }  # fmt: skip
    policies: dict[str, Any] = {}
    begun, cpu = time.perf_counter(), time.process_time()
    learner = Learner(world, settings(options), seed=options.seed)
    while time.perf_counter() - begun < options.seconds:
        row = learner.iterate()
        spent = time.perf_counter() - begun
        row |= {"seconds": spent, "since the first line (s)": time.perf_counter() - BEGAN}
        row |= {"processor time (s)": time.process_time() - cpu, "actions": learner.actions_taken}
        result["curve"].append(row)
        if ERROR in row and row[ERROR] < GOAL and "seconds to the goal" not in result:
            result["seconds to the goal"], result["seconds to the goal, in all"] = spent, time.perf_counter() - BEGAN
            result["processor seconds to the goal"] = row["processor time (s)"]
            result["actions to the goal"] = learner.actions_taken
        for mark in options.marks:
            if spent > mark and f"{mark:.0f} s" not in policies:
                policies[f"{mark:.0f} s"] = learner.policy()
    policies["end"] = learner.policy()
    result["actions per s with learner"] = learner.actions_taken / result["curve"][-1]["seconds"]
    result["broken"] = sum(row["broken"] for row in result["curve"])
    some = result["curve"][:: max(1, len(result["curve"]) // 16)]
    result["curve"] = [{name: float(f"{x:.4g}") for name, x in row.items()} for row in some]
    judge = Environment(task(options.robot), options.judged, target=options.target, library="torch", seed=7)
    for name, policy in policies.items():
        found = evaluate(judge, policy.on(judge.library), 10.0, seed=7)
        result[f"{options.judged:,} robots, 10 s, policy at {name}"] = found._asdict()
        print(name, found, flush=True)
    if options.commands:
        result["commands"] = followed(options, policies["end"])
    if options.policy:
        policies["end"].save(options.policy)
    return result


def speed(options: Any) -> dict[str, Any]:
    """Steps per second with random actions, and with the learner."""
    found: dict[str, Any] = {"machine": machine(options.target), "robot": options.robot}
    sizes = (4096, 16384, 65536, 262144) if options.target == "cuda" else (256, 1024)
    for randomization in (Randomization(), HARD):
        kind = "robots that differ, pushes" if randomization is HARD else "equal robots"
        for robots in sizes:
            world = Environment(
                task(options.robot, randomization), robots, target=options.target, library="torch", seed=0
            )
            world.reset(0, stagger=True)
            for k in range(20 + options.rounds):
                if k == 20:
                    synchronize(options.target)
                    begun = time.perf_counter()
                world.step(0.5 * world.library.normal(robots, world.actions))
            synchronize(options.target)
            rate = robots * options.rounds / (time.perf_counter() - begun)
            found[f"random actions per s, {robots} {kind}"] = rate
            print(kind, robots, f"{rate:.3g}", world.report(), flush=True)
    for robots in sizes[1:]:
        world = Environment(task(options.robot), robots, target=options.target, library="torch", seed=0)
        learner = Learner(world, settings(options), seed=0)
        learner.iterate()
        synchronize(options.target)
        begun = time.perf_counter()
        for _ in range(5):
            learner.iterate()
        synchronize(options.target)
        rate = 5 * learner.settings.steps * robots / (time.perf_counter() - begun)
        found[f"actions per s with learner, {robots} robots"] = rate
        print("learner", robots, f"{rate:.3g}", flush=True)
    return found


def twice(options: Any) -> dict[str, Any]:
    """The same seed twice, and once more without a CUDA graph: are the policies equal, bit by bit?"""
    found = []
    for graph in (True, True, False):
        world = Environment(task(options.robot), 4096 if options.target == "cuda" else 64, target=options.target,
                            library="torch", seed=3)  # fmt: skip
        learner = Learner(world, replace(settings(options), graph=graph), seed=3)
        for _ in range(options.rounds // 10):
            learner.iterate()
        found.append(learner.theta.detach().cpu().numpy())
    return {
        "machine": machine(options.target), "rounds": options.rounds // 10,
        "equal bit by bit": bool(np.array_equal(*found[:2])),
        "equal to rounds without a CUDA graph": bool(np.array_equal(*found[1:])),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["walk", "speed", "twice"])
    parser.add_argument("--robot", default="quadruped", choices=["quadruped", "humanoid"])
    parser.add_argument("--target", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument(
        "--marks", type=float, nargs="*", default=[10.0], help="times (s) whose policies are judged too"
    )
    parser.add_argument("--robots", type=int)
    parser.add_argument("--settings", default="{}", help="numbers of the learner, JSON")
    parser.add_argument("--judged", type=int, default=4096, help="robots on which policies are judged")
    parser.add_argument("--commands", action="store_true", help="judge the last policy under single commands too")
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--policy", type=Path, help="file of the policy")
    parser.add_argument("--output", type=Path, default=RESULT)
    options = parser.parse_args()
    result = {"walk": walk, "speed": speed, "twice": twice}[options.what](options)
    seed = f", seed {options.seed}" if options.what == "walk" else ""
    known = json.loads(options.output.read_text()) if options.output.exists() else {}
    known[f"{options.what} {options.robot} {options.target}{seed}"] = result
    options.output.write_text(json.dumps(known, indent=1) + "\n")
    print(json.dumps({name: x for name, x in result.items() if name != "curve"}, indent=1))


if __name__ == "__main__":
    main()
