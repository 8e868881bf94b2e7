"""Kernels beside the plain functions and beside Pinocchio and MuJoCo, where these are installed, on one robot."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..dynamics import coriolis_matrix, forward_dynamics, inverse_dynamics, mass_matrix
from ..errors import FallingCatError
from ..model import Model, Passive
from .compilation import compile

Call = Callable[[], Any]

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "inverse_dynamics": inverse_dynamics,
    "mass_matrix": mass_matrix,
    "forward_dynamics": forward_dynamics,
    "coriolis_matrix": coriolis_matrix,
}
"""Functions that are compared unless others are named."""

COMPILER = '<mujoco><compiler balanceinertia="true" boundmass="1e-9" boundinertia="1e-12" fusestatic="false"/></mujoco>'


class TimeQuartiles(NamedTuple):
    """Seconds for one call."""

    median: float
    low: float
    high: float
    """quartiles over the rounds"""


class Row(NamedTuple):
    """One function; ``times`` has ``kernel``, ``batch`` (for each state), ``numpy`` and the peers by name."""

    function: str
    operations: int
    compile_s: float
    times: dict[str, TimeQuartiles]


def time_quartiles(times: list[float]) -> TimeQuartiles:
    """Median and quartiles.

    Example:
        >>> time_quartiles([3.0, 1.0, 2.0])
        TimeQuartiles(median=2.0, low=1.5, high=2.5)
    """
    if len(times) < 2:
        return TimeQuartiles(times[0], times[0], times[0])
    low, median, high = statistics.quantiles(times, n=4, method="inclusive")
    return TimeQuartiles(median, low, high)


def take_turns(calls: Mapping[str, Call], rounds: int = 15, round_s: float = 2e-3) -> dict[str, TimeQuartiles]:
    """Times of several calls, measured in turn, so that a busy moment of the machine hits all of them."""
    counts = {name: _calls_lasting(call, round_s) for name, call in calls.items()}
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            times[name].append(_seconds(call, counts[name]))
    return {name: time_quartiles(ts) for name, ts in times.items()}


def _seconds(call: Call, count: int) -> float:
    start = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - start) / count


def _calls_lasting(call: Call, seconds: float) -> int:
    """Number of calls that last about ``seconds``; the first call is warm-up."""
    call()
    return max(1, int(seconds / max(_seconds(call, 1), 1e-8)))


def compare(
    model: Model, batch: int = 4096, rounds: int = 15, functions: Mapping[str, Callable[..., Any]] = FUNCTIONS
) -> list[Row]:
    """One row for each of ``functions``."""
    rng = np.random.default_rng(0)
    state = model.random_state(rng)
    q, v = model.flatten(state)
    x = rng.normal(size=model.nv)
    others = peers(model)
    rows = []
    for name, function in functions.items():
        start = time.perf_counter()
        kernel = compile(model, function).optimized()
        compile_s = time.perf_counter() - start
        further = [x] if len(kernel.signature) == 3 else []
        one = [q, v, x][: len(kernel.signature)]
        many = [np.tile(a, (batch, 1)) for a in one]
        calls: dict[str, Call] = {
            "kernel": partial(kernel, *one),
            "batch": partial(kernel, *many),
            "numpy": partial(function, model, state, *further),
        }
        calls |= {peer: quantities[name] for peer, quantities in others.items() if name in quantities}
        times = take_turns(calls, rounds)
        times["batch"] = TimeQuartiles(*(t / batch for t in times["batch"]))
        rows.append(Row(name, sum(kernel.operations.values()), compile_s, times))
    return rows


def bare_urdf(model: Model) -> str:
    """The robot as URDF without shapes, whose meshes may be elsewhere and whose collisions would take time.

    Without springs, dampers and friction in joints, tendons and actuators too: forward dynamics of others may take
    these along, and ours not.
    """
    from ..io import save

    links = tuple(replace(link, visuals=(), collisions=()) for link in model.links)
    joints = tuple(replace(joint, passive=Passive()) for joint in model.joints)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "robot.urdf")
        bare = replace(
            model, links=links, joints=joints, actuators=(), driven=None, tendons=(), force_elements=(),
            start=None, named_states=(),
        )  # fmt: skip
        save(bare, path)
        return path.read_text(encoding="utf-8")


def peers(model: Model) -> dict[str, dict[str, Call]]:
    """Calls of the same quantities in the libraries that are installed and can read the robot."""
    try:
        urdf = bare_urdf(model)
    except FallingCatError:  # a joint that URDF does not know
        return {}
    out = {}
    for name, build in (("Pinocchio", pinocchio_calls), ("MuJoCo", mujoco_calls)):
        try:
            out[name] = build(urdf, free=model.base.dim == 6)
        except Exception:  # not installed, or it cannot read the robot: left out
            continue
    return out


def pinocchio_calls(urdf: str, free: bool = True) -> dict[str, Call]:
    """Pinocchio from Python."""
    import pinocchio as pin

    model = pin.buildModelFromXML(urdf, pin.JointModelFreeFlyer()) if free else pin.buildModelFromXML(urdf)
    data, rng = model.createData(), np.random.default_rng(0)
    q = pin.integrate(model, pin.neutral(model), rng.normal(size=model.nv))
    v, x = rng.normal(size=model.nv), rng.normal(size=model.nv)
    return {
        "inverse_dynamics": lambda: pin.rnea(model, data, q, v, x),
        "mass_matrix": lambda: pin.crba(model, data, q),
        "forward_dynamics": lambda: pin.aba(model, data, q, v, x),
        "coriolis_matrix": lambda: pin.computeCoriolisMatrix(model, data, q, v),
        "centroidal_momentum_matrix": lambda: pin.ccrba(model, data, q, v),
        "centroidal_momentum_matrix_derivative": lambda: pin.dccrba(model, data, q, v),
        "inverse_dynamics_derivatives": lambda: pin.computeRNEADerivatives(model, data, q, v, x),
        "forward_dynamics_derivatives": lambda: pin.computeABADerivatives(model, data, q, v, x),
    }


def mujoco_calls(urdf: str, free: bool = True) -> dict[str, Call]:
    """MuJoCo from Python; its functions compute more than what is compared (collisions, actuators, none here)."""
    import mujoco

    spec = mujoco.MjSpec.from_string(urdf.replace("</robot>", f"{COMPILER}</robot>"))
    if free:
        spec.worldbody.first_body().add_freejoint()
    model = spec.compile()
    data = mujoco.MjData(model)
    data.qvel[:] = data.qfrc_applied[:] = data.qacc[:] = 0.1
    full = np.zeros((model.nv, model.nv))
    mujoco.mj_forward(model, data)

    def mass() -> None:
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_makeM(model, data)
        mujoco.mj_fullM(model, data, full)

    return {
        "inverse_dynamics": lambda: mujoco.mj_inverse(model, data),
        "mass_matrix": mass,
        "forward_dynamics": lambda: mujoco.mj_forward(model, data),
    }
