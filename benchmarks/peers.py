"""Single calls from Python of every peer that is installed: the same robot file, a random state, one core, in one run.

Pinocchio and MuJoCo are compared in more depth by ``kernels.py``; here are Drake, iDynTree, adam (CasADi) and JaxSim
(jit) too.  Each call sets a state and computes, as a control loop would.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import time
import warnings
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
from kernels import _dicts, random_arguments, robots
from rich.console import Console
from rich.table import Table

import fallingcat as fc
from fallingcat.compiler.compare import COMPILER, mujoco_calls, pinocchio_calls, take_turns

RESULT = Path(__file__).parent / "results" / "peers.json"
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "inverse_dynamics": fc.inverse_dynamics,
    "mass_matrix": fc.mass_matrix,
    "forward_dynamics": fc.forward_dynamics,
    "coriolis_matrix": fc.coriolis_matrix,
}
Calls = dict[str, Callable[[], Any]]


def drake_calls(urdf: str, model: fc.Model) -> Calls:
    """``MultibodyPlant``: the positions are set anew, so that nothing comes from its cache."""
    from pydrake.multibody.parsing import Parser
    from pydrake.multibody.plant import MultibodyPlant
    from pydrake.multibody.tree import MultibodyForces

    plant = MultibodyPlant(0.0)
    Parser(plant).AddModelsFromString(urdf, "urdf")
    plant.Finalize()
    context, forces, rng = plant.CreateDefaultContext(), MultibodyForces(plant), np.random.default_rng(0)
    q, v = plant.GetPositions(context), rng.normal(size=plant.num_velocities())
    plant.get_actuation_input_port().FixValue(context, np.zeros(plant.num_actuated_dofs()))

    def fresh() -> None:
        plant.SetPositions(context, q)
        plant.SetVelocities(context, v)

    def inverse() -> Any:
        fresh()
        return plant.CalcInverseDynamics(context, v, forces)

    def mass() -> Any:
        fresh()
        return plant.CalcMassMatrix(context)

    def forward() -> Any:
        fresh()
        return plant.get_generalized_acceleration_output_port().Eval(context)

    return {"inverse_dynamics": inverse, "mass_matrix": mass, "forward_dynamics": forward}


def idyntree_calls(urdf: str, model: fc.Model) -> Calls:
    """``KinDynComputations`` of the SWIG bindings."""
    import idyntree.bindings as idyn

    loader = idyn.ModelLoader()
    if not loader.loadModelFromString(urdf, "urdf"):
        raise RuntimeError("it does not load the file")
    dynamics = idyn.KinDynComputations()
    dynamics.loadRobotModel(loader.model())
    n, rng = dynamics.model().getNrOfDOFs(), np.random.default_rng(0)
    pose, s, twist, rates, g = np.eye(4), rng.normal(size=n), rng.normal(size=6), rng.normal(size=n), [0.0, 0.0, -9.81]
    M = idyn.MatrixDynSize(6 + n, 6 + n)
    torques, none = idyn.FreeFloatingGeneralizedTorques(dynamics.model()), idyn.LinkWrenches(dynamics.model())
    base, joints = idyn.Vector6(), idyn.VectorDynSize(n)
    none.zero()

    def mass() -> Any:
        dynamics.setRobotState(pose, s, twist, rates, g)
        return dynamics.getFreeFloatingMassMatrix(M)

    def inverse() -> Any:
        dynamics.setRobotState(pose, s, twist, rates, g)
        return dynamics.inverseDynamics(base, joints, none, torques)

    if not (mass() and inverse()):
        raise RuntimeError("its functions fail")
    return {"mass_matrix": mass, "inverse_dynamics": inverse}


def adam_calls(urdf: str, model: fc.Model) -> Calls:
    """adam's CasADi functions, called with NumPy arrays."""
    from adam.casadi import KinDynComputations

    names = [joint.name for joint in model.joints]
    dynamics, rng = KinDynComputations(with_origins(urdf), names), np.random.default_rng(0)
    H, s, nu, rates = np.eye(4), rng.normal(size=len(names)), rng.normal(size=6), rng.normal(size=len(names))
    mass, bias = dynamics.mass_matrix_fun(), dynamics.bias_force_fun()
    return {"mass_matrix": lambda: mass(H, s), "inverse_dynamics": lambda: bias(H, s, nu, rates)}


def with_origins(urdf: str) -> str:
    """adam needs an ``<origin>`` in every joint and inertial, where URDF does not."""
    tree = ElementTree.fromstring(urdf)
    for element in (*tree.iter("joint"), *tree.iter("inertial")):
        if element.find("origin") is None:
            ElementTree.SubElement(element, "origin", xyz="0 0 0", rpy="0 0 0")
    return ElementTree.tostring(tree, encoding="unicode")


def jaxsim_calls(urdf: str, model: fc.Model) -> Calls:
    """JaxSim under ``jit``, in float64."""
    import jax

    jax.config.update("jax_enable_x64", True)
    import jaxsim.api as js

    robot = js.model.JaxSimModel.build_from_model_description(urdf)
    data = js.data.JaxSimModelData.build(robot)
    tau, base = jax.numpy.zeros(robot.dofs()), jax.numpy.zeros(6)
    inverse = jax.jit(lambda d, a: js.model.inverse_dynamics(robot, d, joint_accelerations=a, base_acceleration=base))
    forward = jax.jit(lambda d, t: js.model.forward_dynamics_aba(robot, d, joint_forces=t))
    mass = jax.jit(lambda d: js.model.free_floating_mass_matrix(robot, d))
    return {
        "inverse_dynamics": lambda: jax.block_until_ready(inverse(data, tau)),
        "forward_dynamics": lambda: jax.block_until_ready(forward(data, tau)),
        "mass_matrix": lambda: jax.block_until_ready(mass(data)),
    }


PEERS: dict[str, Callable[[str, fc.Model], Calls]] = {
    "Pinocchio": lambda urdf, model: pinocchio_calls(urdf),
    "MuJoCo": lambda urdf, model: mujoco_calls(urdf),
    "Drake": drake_calls,
    "iDynTree": idyntree_calls,
    "adam (CasADi)": adam_calls,
    "JaxSim (jit)": jaxsim_calls,
}


Angles = dict[str, float]


def pinocchio_mass(urdf: str, angles: Angles) -> np.ndarray:
    import pinocchio as pin

    model = pin.buildModelFromXML(urdf, pin.JointModelFreeFlyer())
    q = pin.neutral(model)
    for name, angle in angles.items():
        q[model.joints[model.getJointId(name)].idx_q] = angle
    return np.array(pin.crba(model, model.createData(), q))


def mujoco_mass(urdf: str, angles: Angles) -> np.ndarray:
    import mujoco

    spec = mujoco.MjSpec.from_string(urdf.replace("</robot>", f"{COMPILER}</robot>"))
    spec.worldbody.first_body().add_freejoint()
    model = spec.compile()
    data, M = mujoco.MjData(model), np.zeros((model.nv, model.nv))
    for name, angle in angles.items():
        data.joint(name).qpos = angle
    mujoco.mj_forward(model, data)
    mujoco.mj_fullM(model, data, M)
    return M


def drake_mass(urdf: str, angles: Angles) -> np.ndarray:
    from pydrake.multibody.parsing import Parser
    from pydrake.multibody.plant import MultibodyPlant

    plant = MultibodyPlant(0.0)
    Parser(plant).AddModelsFromString(urdf, "urdf")
    plant.Finalize()
    context = plant.CreateDefaultContext()
    for name, angle in angles.items():
        plant.GetJointByName(name).set_angle(context, angle)
    return np.array(plant.CalcMassMatrix(context))


def idyntree_mass(urdf: str, angles: Angles) -> np.ndarray:
    import idyntree.bindings as idyn

    loader, dynamics = idyn.ModelLoader(), idyn.KinDynComputations()
    loader.loadModelFromString(urdf, "urdf")
    dynamics.loadRobotModel(loader.model())
    model = dynamics.model()
    n, M = model.getNrOfDOFs(), idyn.MatrixDynSize()
    s = np.zeros(n)
    for name, angle in angles.items():
        s[model.getJoint(model.getJointIndex(name)).getDOFsOffset()] = angle
    dynamics.setRobotState(np.eye(4), s, np.zeros(6), np.zeros(n), [0.0, 0.0, -9.81])
    M.resize(6 + n, 6 + n)
    dynamics.getFreeFloatingMassMatrix(M)
    return np.array(M.toNumPy())


def adam_mass(urdf: str, angles: Angles) -> np.ndarray:
    from adam.casadi import KinDynComputations

    mass = KinDynComputations(with_origins(urdf), list(angles)).mass_matrix_fun()
    return np.array(mass(np.eye(4), np.array(list(angles.values()))))


MASSES: dict[str, Callable[[str, Angles], np.ndarray]] = {
    "Pinocchio": pinocchio_mass,
    "MuJoCo": mujoco_mass,
    "Drake": drake_mass,
    "iDynTree": idyntree_mass,
    "adam (CasADi)": adam_mass,
}


def differences(urdf: str, model: fc.Model, peers: Iterable[str]) -> dict[str, float]:
    """How far the peers' mass matrices are from ours at one state, relative.

    Compared are eigenvalues at random angles: they do not depend on the order of the joints, nor on the axes in which
    the base's velocity is written.
    """
    state = model.random_state(np.random.default_rng(0))
    angles = dict(zip(model.joint_names, map(float, state.joints), strict=True))
    ours = np.linalg.eigvalsh(fc.mass_matrix(model, state))
    out = {}
    for peer in set(peers) & MASSES.keys():
        M = MASSES[peer](urdf, angles)
        out[peer] = float(np.abs(np.linalg.eigvalsh(M, UPLO="U") - ours).max() / ours.max())
    return out


def installed(urdf: str, model: fc.Model) -> tuple[dict[str, Calls], dict[str, str]]:
    """What each peer offers, each called once so that what compiles has compiled; and why some offer nothing."""
    offers, reasons = {}, {}
    for name, build in PEERS.items():
        try:
            start = time.perf_counter()
            offers[name] = build(urdf, model)
            for call in offers[name].values():
                call()
            reasons[name] = f"ready after {time.perf_counter() - start:.1f} s"
        except Exception as error:  # whatever another library does on a robot file that it cannot take
            offers.pop(name, None)
            reasons[name] = f"{type(error).__name__}: {str(error)[:120]}"
    return offers, reasons


def measure(rounds: int) -> dict[str, Any]:
    model, urdf = robots(quick=True)["talos_reduced"]
    offers, reasons = installed(urdf, model)
    rows: dict[str, Any] = {}
    for name, function in FUNCTIONS.items():
        kernel = fc.compile(model, function).optimized()
        calls: Calls = {"fallingcat": partial(kernel, *random_arguments(kernel))}
        calls |= {peer: offer[name] for peer, offer in offers.items() if name in offer}
        rows[name] = _dicts(take_turns(calls, rounds))
    return {
        "robot": model.name,
        "joints": model.n,
        "peers": reasons,
        "rows": rows,
        "apart": differences(urdf, model, offers),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--output", type=Path, default=RESULT)
    arguments = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = measure(arguments.rounds)
    console, table = Console(), Table(title="single calls from Python, us (and how many times ours)")
    for column in ("library", *FUNCTIONS, "M apart"):
        table.add_column(column)
    for peer in ("fallingcat", *PEERS):
        cells = []
        for row in result["rows"].values():
            us = {name: 1e6 * entry["median"] for name, entry in row.items()}
            cells.append(f"{us[peer]:.2f} ({us[peer] / us['fallingcat']:.1f}x)" if peer in row else "-")
        apart = result["apart"].get(peer)
        table.add_row(peer, *cells, "-" if apart is None else f"{apart:.0e}")
    console.print(table, result["peers"])
    names = ("fallingcat", "pin", "mujoco", "drake", "idyntree", "adam-robotics", "jaxsim", "casadi", "jax", "numpy")
    result["versions"] = {name: version(name) for name in names}
    result["machine"] = {"python": platform.python_version(), "processor": platform.machine(), "cores": os.cpu_count()}
    arguments.output.write_text(json.dumps(result, indent=2) + "\n")


def version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


if __name__ == "__main__":
    main()
