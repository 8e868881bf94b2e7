"""Simulators of the audit: each takes a run and a step, and returns positions and velocities.

An engine that is not installed is left out; what was measured in another environment stays in the file of results.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
from measures import Motion
from scenes import FRICTION, Run

Simulate = Callable[[Run, float], Motion]


def engines() -> dict[str, tuple[Simulate, str]]:
    """Simulators that can be imported here, by name, with their versions."""
    found: dict[str, tuple[Simulate, str]] = {}
    for make, package in ((ours, "fallingcat"), (mujoco_engines, "mujoco"), (drake, "drake"), (mjx, "mujoco-mjx"),
                          (warp, "mujoco-warp")):  # fmt: skip
        try:
            found |= {name: (simulate, version(package)) for name, simulate in make().items()}
        except (ImportError, PackageNotFoundError):
            continue
    return found


def ours() -> dict[str, Simulate]:
    import fallingcat as fc

    def simulate(kind: type, run: Run, dt: float | None) -> Motion:
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            path = Path(folder) / "scene.xml"
            path.write_text(run.mjcf)
            model = fc.load(path)
        on_ground = (
            kind(friction=FRICTION, normal=(0.0, 0.0, 1.0)) if any(link.collisions for link in model.links) else None
        )
        start = model.from_mujoco(np.array(run.qpos), np.array(run.qvel))
        forces = (lambda t, state: np.array(run.forces)) if run.forces else None
        done = fc.simulate(model, start, run.duration, forces, on_ground, **({"dt": dt} if dt else {}))
        rows = [model.to_mujoco(done.state(i)) for i in range(len(done.times))]
        return Motion(done.times, np.array([q for q, _ in rows]), np.array([v for _, v in rows]))

    return {
        "fallingcat, hard": partial(simulate, fc.contact.HardContacts),
        "fallingcat, compliant": partial(simulate, fc.contact.CompliantFloor),
        "fallingcat, hard, own step": lambda run, dt: simulate(fc.contact.HardContacts, run, None),
        "fallingcat, compliant, own step": lambda run, dt: simulate(fc.contact.CompliantFloor, run, None),
    }


def mujoco_engines() -> dict[str, Simulate]:
    import mujoco

    def simulate(integrator: str, remedy: bool, run: Run, dt: float) -> Motion:
        model = mujoco.MjModel.from_xml_string(run.mjcf)
        model.opt.timestep = dt
        model.opt.integrator = getattr(mujoco.mjtIntegrator, f"mjINT_{integrator.upper()}")
        if remedy:  # what its documentation advises against slip
            model.opt.cone, model.opt.impratio = mujoco.mjtCone.mjCONE_ELLIPTIC, 100.0
        data = mujoco.MjData(model)
        data.qpos[:], data.qvel[:] = run.qpos, run.qvel
        if run.forces:
            data.qfrc_applied[:] = run.forces
        return stepped(run, dt, lambda: (data.qpos.copy(), data.qvel.copy()), lambda: mujoco.mj_step(model, data))

    plain = {f"MuJoCo, {name}": partial(simulate, name, False) for name in ("Euler", "implicit", "implicitfast", "RK4")}
    return plain | {"MuJoCo, implicitfast, elliptic cone, impratio 100": partial(simulate, "implicitfast", True)}


Row = tuple[np.ndarray, np.ndarray]


def stepped(run: Run, dt: float, seen: Callable[[], Row], step: Callable[[], object]) -> Motion:
    """A loop over single steps."""
    rows, count = [seen()], round(run.duration / dt)
    for _ in range(count):
        step()
        rows.append(seen())
    return Motion(dt * np.arange(count + 1), np.array([q for q, _ in rows]), np.array([v for _, v in rows]))


def drake() -> dict[str, Simulate]:
    from pydrake.multibody.parsing import Parser
    from pydrake.multibody.plant import AddMultibodyPlant, MultibodyPlantConfig
    from pydrake.systems.analysis import Simulator
    from pydrake.systems.framework import DiagramBuilder

    def simulate(solver: str, run: Run, dt: float) -> Motion:
        builder = DiagramBuilder()
        plant, _ = AddMultibodyPlant(MultibodyPlantConfig(time_step=dt, discrete_contact_approximation=solver), builder)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "scene.xml"
            path.write_text(run.mjcf)
            Parser(plant).AddModels(str(path))
        gravity = _option(run)
        plant.mutable_gravity_field().set_gravity_vector(gravity)
        plant.Finalize()
        free = len(run.qpos) > len(run.qvel)
        diagram = builder.Build()
        simulator = Simulator(diagram)
        context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
        plant.SetPositions(context, _to_drake(np.array(run.qpos)) if free else np.array(run.qpos))
        plant.SetVelocities(context, _speeds_to_drake(np.array(run.qpos), np.array(run.qvel)) if free else run.qvel)
        if run.forces:
            port = plant.get_applied_generalized_force_input_port()
            port.FixValue(context, np.array(run.forces))
        simulator.Initialize()

        def seen() -> Row:
            q, v = plant.GetPositions(context), plant.GetVelocities(context)
            if not free:
                return q.copy(), v.copy()
            qpos = np.concatenate([q[4:7], q[:4], q[7:]])
            return qpos, np.concatenate([v[3:6], _rotation(qpos[3:7]).T @ v[:3], v[6:]])

        count = iter(range(1, 10**9))
        return stepped(run, dt, seen, lambda: simulator.AdvanceTo(dt * next(count)))

    return {"Drake, SAP": partial(simulate, "sap"), "Drake, TAMSI": partial(simulate, "tamsi")}


def _option(run: Run) -> np.ndarray:
    text = run.mjcf.split('gravity="')[1].split('"')[0]
    return np.array([float(each) for each in text.split()])


def _rotation(quaternion: np.ndarray) -> np.ndarray:
    w, x, y, z = quaternion / np.linalg.norm(quaternion)
    return np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ])  # fmt: skip


def _to_drake(qpos: np.ndarray) -> np.ndarray:
    """Quaternion first."""
    return np.concatenate([qpos[3:7], qpos[:3], qpos[7:]])


def _speeds_to_drake(qpos: np.ndarray, qvel: np.ndarray) -> np.ndarray:
    """Spin first, in world axes."""
    return np.concatenate([_rotation(qpos[3:7]) @ qvel[3:6], qvel[:3], qvel[6:]])


def mjx() -> dict[str, Simulate]:
    import jax
    import mujoco
    from mujoco import mjx as accelerated

    jax.config.update("jax_enable_x64", True)

    def simulate(run: Run, dt: float) -> Motion:
        plain = mujoco.MjModel.from_xml_string(run.mjcf)
        plain.opt.timestep = dt
        model = accelerated.put_model(plain)
        data = accelerated.make_data(model).replace(qpos=np.array(run.qpos), qvel=np.array(run.qvel))
        if run.forces:
            data = data.replace(qfrc_applied=np.array(run.forces))

        def advance(here, _):
            after = accelerated.step(model, here)
            return after, (after.qpos, after.qvel)

        count = round(run.duration / dt)
        _, (qpos, qvel) = jax.jit(lambda first: jax.lax.scan(advance, first, None, count))(data)
        return Motion(dt * np.arange(count + 1), np.vstack([run.qpos, qpos]), np.vstack([run.qvel, qvel]))

    return {"MJX, Euler": simulate}


def warp() -> dict[str, Simulate]:
    import mujoco
    import mujoco_warp as warped

    def simulate(run: Run, dt: float) -> Motion:
        plain = mujoco.MjModel.from_xml_string(run.mjcf)
        plain.opt.timestep = dt
        start = mujoco.MjData(plain)
        start.qpos[:], start.qvel[:] = run.qpos, run.qvel
        if run.forces:
            start.qfrc_applied[:] = run.forces
        mujoco.mj_forward(plain, start)
        model, data = warped.put_model(plain), warped.put_data(plain, start)
        return stepped(
            run, dt, lambda: (data.qpos.numpy()[0].copy(), data.qvel.numpy()[0].copy()),
            lambda: warped.step(model, data),
        )  # fmt: skip

    return {"MuJoCo Warp, Euler (float32)": simulate}
