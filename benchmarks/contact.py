"""Robots that land on four or eight points: error after a second over the processor time it takes, beside MuJoCo.

python benchmarks/contact.py                  # this processor: single runs and batches, ours and MuJoCo's (Euler, RK4)
python benchmarks/contact.py --hard           # the same on hard contacts: time steps of Moreau, beside MuJoCo
python benchmarks/contact.py --gpu            # on a machine with a GPU and CuPy: batches on compliant and on hard
                                              # contacts, their error beside the CPU, and MuJoCo Warp if it is there
                                              # (else its rows of before stay)
python benchmarks/contact.py --prepare FILE   # what the CPU makes of it, for a GPU machine that has no compiler for its
                                              # own: --gpu --reference FILE
"""

from __future__ import annotations

import argparse
import functools
import importlib.util
import json
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import fallingcat as fc
from fallingcat.compiler.compare import bare_urdf
from fallingcat.simulation import BatchSimulator, Implicit

RESULT = Path(__file__).parent / "results" / "contact.json"
WARP = "MuJoCo Warp Euler"
STEPS = ((2e-3, "float32", None), (2e-3, "float64", None), (1e-3, "float32", None), (2e-3, "float32", 1))
HARD = ((2e-3, "float32", None), (2e-3, "float64", None))
"""s, on a GPU, and sweeps on compliant floors: None, as many as a step needs, is the default."""
JUDGED, TIMED = 1.0, 10.0
"""s: the length of a run whose error is measured, beside one with 64 times smaller steps; and of one that is timed."""


class Scene(NamedTuple):
    """A robot above the ground, held by springs and dampers in its joints."""

    model: fc.Model
    start: fc.State
    points: tuple[str, ...]
    stiffness: float
    damping: float

    @property
    def laws(self) -> tuple[fc.control.Law, ...]:
        rest = tuple(float(x) for x in self.start.joints)
        return fc.control.JointSpring(self.stiffness, rest), fc.control.JointDamper(self.damping)

    @property
    def hard(self) -> fc.contact.HardContacts:
        return fc.contact.HardContacts(self.points, friction=0.8)

    @property
    def floor(self) -> fc.contact.CompliantFloor:
        return fc.contact.CompliantFloor(self.points, (3e4, 3e4), (300.0, 300.0), friction=0.8)


def quadruped() -> Scene:
    model = fc.robots.quadruped()
    pose = np.eye(4)
    pose[2, 3] = 0.36
    start = model.state(pose=pose, joints=np.tile([0.0, 0.6, -1.2], 4), twist=[0.3, 0.1, 0.0, 0.2, 0.1, 0.3])
    return Scene(model, start, tuple(frame.name for frame in model.frames), 200.0, 5.0)


def humanoid() -> Scene:
    """On the four corners of each sole."""
    model, left = fc.contact.corners(fc.robots.humanoid(), "left_sole", (0.2, 0.1))
    model, right = fc.contact.corners(model, "right_sole", (0.2, 0.1))
    pose = np.eye(4)
    pose[2, 3] = 0.92
    start = model.state(pose=pose, twist=[0.05, 0.05, 0.0, 0.0, 0.0, 0.1])
    return Scene(model, start, (*left, *right), 1000.0, 30.0)


def hopper() -> Scene:
    """In its plane, on one foot."""
    model = fc.robots.revolute_hopper()
    pose = np.eye(4)
    pose[1, 3] = 0.5
    start = model.state(pose=pose, joints=[1.2], twist=[0.2, 0.0, 0.0])
    return Scene(model, start, ("foot",), 20.0, 0.1)


SCENES: dict[str, Callable[[], Scene]] = {"quadruped": quadruped, "humanoid": humanoid}


def processor_time(run: Callable[[], Any], repeats: int) -> tuple[float, list[float]]:
    """Median and quartiles of the processor time (s)."""
    run()
    times = []
    for _ in range(repeats):
        began = time.process_time()
        run()
        times.append(time.process_time() - began)
    low, mid, high = statistics.quantiles(times, n=4)
    return mid, [low, high]


# ours -----------------------------------------------------------------------------------------------------------------


def ours(scene: Scene, dt: float, repeats: int, hard: bool = False) -> dict[str, Any]:
    laws, floor, name = scene.laws, scene.hard if hard else scene.floor, "moreau" if hard else "implicit"

    def run(length: float, step: float = dt) -> fc.Trajectory:
        every = max(1, round(0.01 / step))
        return fc.simulate(scene.model, scene.start, length, laws, floor, integrator=name, dt=step, every=every)

    began = time.process_time()
    run(dt)
    first = time.process_time() - began
    fine = run(JUDGED, dt / 64.0).poses[-1, :3, 3]
    took, spread = processor_time(lambda: run(TIMED), repeats)
    many = fc.State(*(np.tile(x, (4096, *[1] * x.ndim)) for x in scene.start))
    batch, _ = processor_time(
        functools.partial(BatchSimulator(scene.model, many, laws, floor, dt=dt).step, 20), repeats
    )
    error = float(np.abs(run(JUDGED).poses[-1, :3, 3] - fine).max())
    creep = float(np.abs(run(TIMED).twists[-1]).max())
    return row(f"fallingcat {name}", dt, took, spread, error) | {
        "first step (s)": first,
        "batch steps per s and core": 4096 * 20 / batch,
        "base moves after 10 s (m/s, rad/s)": creep,
    }


# MuJoCo ---------------------------------------------------------------------------------------------------------------


def in_mujoco(scene: Scene) -> Any:
    """The same robot with joint springs and dampers, on spheres of 1 mm at its points."""
    import mujoco

    spec = mujoco.MjSpec.from_string(bare_urdf(scene.model))  # nothing else touches here either
    spec.compiler.fusestatic, spec.compiler.discardvisual = False, False
    root = spec.worldbody.first_body()
    root.add_freejoint()
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[10, 10, 1], friction=[0.8, 0, 0])
    for name in scene.points:
        frame = scene.model.frame(name)
        body = next(b for b in spec.bodies if b.name == frame.link)
        body.add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[1e-3, 0, 0], pos=frame.placement[:3, 3], mass=0.0)
    model = spec.compile()
    for name, angle in zip(scene.model.joint_names, scene.start.joints, strict=True):
        joint = model.joint(name).id
        model.jnt_stiffness.reshape(model.njnt, -1)[joint, 0] = scene.stiffness
        model.dof_damping.reshape(model.nv, -1)[model.jnt_dofadr[joint], 0] = scene.damping
        model.qpos_spring[model.jnt_qposadr[joint]] = angle
    return model


def mujocos(scene: Scene, integrator: str, dt: float, repeats: int) -> dict[str, Any]:
    import mujoco

    model = in_mujoco(scene)
    data = mujoco.MjData(model)
    model.opt.integrator = getattr(mujoco.mjtIntegrator, f"mjINT_{integrator.upper()}")
    q, v = scene.model.to_mujoco(scene.start)

    def run(length: float, step: float = dt) -> np.ndarray:
        model.opt.timestep = step
        mujoco.mj_resetData(model, data)
        data.qpos[:], data.qvel[:] = q, v
        for _ in range(round(length / step)):
            mujoco.mj_step(model, data)
        return data.qpos[:3].copy()

    error = float(np.abs(run(JUDGED) - run(JUDGED, dt / 64.0)).max())
    took, spread = processor_time(lambda: run(TIMED), repeats)
    creep = float(np.abs(data.qvel[:6]).max())
    return row(f"MuJoCo {integrator}", dt, took, spread, error) | {"base moves after 10 s (m/s, rad/s)": creep}


def row(name: str, dt: float, took: float, spread: list[float], error: float) -> dict[str, Any]:
    return {
        "method": name,
        "dt": dt,
        "steps per s": TIMED / dt / took,
        "simulated s per s": TIMED / took,
        "quartiles": [TIMED / x for x in reversed(spread)],
        "error after 1 s (m)": error,
    }


# GPU ------------------------------------------------------------------------------------------------------------------


def simulator(
    scene: Scene, hard: bool, dt: float, sweeps: int | None, count: int, seed: int, **where: Any
) -> BatchSimulator:
    """Robots that differ in their joint rates."""
    where["integrator"] = None if hard else Implicit(sweeps)
    many = fc.State(*(np.tile(x, (count, *[1] * x.ndim)) for x in scene.start))
    many = many._replace(rates=np.random.default_rng(seed).normal(size=(count, scene.model.n)))
    return BatchSimulator(scene.model, many, scene.laws, scene.hard if hard else scene.floor, dt=dt, **where)


def on_cpu(scene: Scene, hard: bool, dt: float, sweeps: int | None) -> tuple[np.ndarray, float]:
    """The poses of 1,000 robots after 100 ms, and the error of one after a second."""
    same = simulator(scene, hard, dt, sweeps, 1000, 1)
    same.step(round(0.1 / dt))
    floor, name = (scene.hard, "moreau") if hard else (scene.floor, Implicit(sweeps))
    ends = [
        fc.simulate(scene.model, scene.start, JUDGED, scene.laws, floor, integrator=name, dt=step).poses[-1]
        for step in (dt, dt / 64.0)
    ]
    return same.packed()[:, :12], float(np.abs(ends[0] - ends[1])[:3, 3].max())


def on_gpu(
    scene: Scene, hard: bool, dt: float, sweeps: int | None, count: int, dtype: str, cpu: tuple[np.ndarray, float]
) -> dict[str, Any]:
    """Steps per second of a simulator, and 100 ms of 1,000 robots beside the CPU's float64."""
    import cupy

    began = time.perf_counter()
    big = simulator(scene, hard, dt, sweeps, count, 0, target="cuda", dtype=dtype)
    big.step(1)
    cupy.cuda.Device().synchronize()
    compiled = time.perf_counter() - began
    times = []
    for _ in range(7):
        began = time.perf_counter()
        big.step(50)
        cupy.cuda.Device().synchronize()
        times.append((time.perf_counter() - began) / 50)
    small = simulator(scene, hard, dt, sweeps, 1000, 1, target="cuda", dtype=dtype)
    small.step(round(0.1 / dt))
    off = np.abs(small.packed()[:, :12] - cpu[0]).max(axis=1)
    kernels = big.stepper.on("cuda", dtype)
    return {
        "method": "fallingcat moreau" if hard else "fallingcat implicit",
        "dtype": dtype,
        "dt": dt,
        **({} if hard else {"sweeps": sweeps}),
        "robots": count,
        "steps per s": count / statistics.median(times),
        "simulated s per s": dt * count / statistics.median(times),
        "first step (s)": compiled,
        "pose beside CPU float64 after 0.1 s": {"median": float(np.median(off)), "worst": float(off.max())},
        "error after 1 s (m)": cpu[1],
        "operations": sum(sum(kernel.operations.values()) for kernel in kernels),
        "stages": sum(len(kernel.stages.stages) for kernel in kernels),
    }


def warps(scene: Scene, dt: float, count: int) -> dict[str, Any]:
    """MuJoCo Warp (float32, Euler) on the same scene: steps per second, and the error of one robot after a second."""
    import mujoco
    import mujoco_warp as mjw
    import warp as wp

    model = in_mujoco(scene)
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = scene.model.to_mujoco(scene.start)
    model.opt.timestep = dt
    mujoco.mj_forward(model, data)
    rows = 4 * len(scene.points) + model.nv + 8

    def worlds(n: int) -> tuple[Any, Callable[[int], float]]:
        m, d = mjw.put_model(model), mjw.put_data(model, data, nworld=n, nconmax=len(scene.points) + 4, njmax=rows)
        mjw.step(m, d)
        with wp.ScopedCapture() as capture:
            mjw.step(m, d)

        def run(steps: int) -> float:
            wp.synchronize()
            began = time.perf_counter()
            for _ in range(steps):
                wp.capture_launch(capture.graph)
            wp.synchronize()
            return (time.perf_counter() - began) / steps

        return d, run

    began = time.perf_counter()
    _, run = worlds(count)
    compiled = time.perf_counter() - began
    times = [run(50) for _ in range(7)]
    one, alone = worlds(1)
    alone(round(JUDGED / dt) - 1)  # one step was taken before the capture
    end = one.qpos.numpy()[0, :3]
    model.opt.timestep = dt / 64.0
    for _ in range(round(64 * JUDGED / dt)):
        mujoco.mj_step(model, data)
    return {
        "method": WARP,
        "date": time.strftime("%Y-%m-%d"),
        "dtype": "float32",
        "dt": dt,
        "robots": count,
        "steps per s": count / statistics.median(times),
        "simulated s per s": dt * count / statistics.median(times),
        "first step (s)": compiled,
        "error after 1 s (m)": float(np.abs(end - data.qpos[:3]).max()),
    }


def gpu_ways() -> list[tuple[bool, float, str, int | None]]:
    """Hard contacts or not, steps (s), kind of numbers, sweeps."""
    return [(hard, *step) for hard, steps in ((False, STEPS), (True, HARD)) for step in steps]


def gpu_rows(name: str, scene: Scene, count: int, known: Any, before: list[Any]) -> list[Any]:
    """Ours, and MuJoCo Warp's."""
    rows = []
    for hard, dt, dtype, sweeps in gpu_ways():
        key = f"{name} {hard} {dt} {sweeps}"
        cpu = (known[key], float(known[f"{key} error"])) if known else on_cpu(scene, hard, dt, sweeps)
        fewer = 3 if hard and dtype == "float64" else 0  # they take rounds by the thousand while they land
        rows.append(on_gpu(scene, hard, dt, sweeps, count >> fewer, dtype, cpu))
    if name not in SCENES:
        return rows
    if importlib.util.find_spec("mujoco_warp"):
        return [*rows, warps(scene, 2e-3, 1 << 17)]
    return [*rows, *(row for row in before if row["method"] == WARP)]


def prepare(file: Path) -> None:
    """What the CPU makes of the batches."""
    data: dict[str, Any] = {}
    for name, scene in (SCENES | {"hopper": hopper}).items():
        for hard, dt, sweeps in dict.fromkeys((hard, dt, sweeps) for hard, dt, _, sweeps in gpu_ways()):
            key = f"{name} {hard} {dt} {sweeps}"
            data[key], data[f"{key} error"] = on_cpu(scene(), hard, dt, sweeps)
    np.savez(file, **data)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--gpu", action="store_true")
    parser.add_argument("--hard", action="store_true")
    parser.add_argument("--prepare", type=Path)
    parser.add_argument("--reference", type=Path)
    parser.add_argument("--count", type=int, default=1 << 21, help="robots on a GPU")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    if options.prepare:
        prepare(options.prepare)
        return
    kind = "contact_gpu.json" if options.gpu else "contact_hard.json" if options.hard else RESULT.name
    output = options.output or RESULT.with_name(kind)
    before = json.loads(output.read_text()) if output.exists() else {}
    known = np.load(options.reference) if options.reference else None
    result: dict[str, Any] = {"python": platform.python_version(), "date": time.strftime("%Y-%m-%d")}
    for name, scene in (SCENES | ({"hopper": hopper} if options.gpu else {})).items():
        if options.gpu:
            rows = gpu_rows(name, scene(), options.count, known, before.get(name, []))
        else:
            rows = [ours(scene(), dt, options.repeats, options.hard) for dt in (1e-3, 2e-3, 4e-3)]
            rows += [mujocos(scene(), kind, 1e-3, options.repeats) for kind in ("Euler", "implicitfast", "RK4")]
        if name == "hopper":  # which falls over within the second
            rows = [{key: x for key, x in row.items() if not key.startswith("error")} for row in rows]
        result[name] = rows
        for each in rows:
            print(name, json.dumps(each), flush=True)
        output.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
