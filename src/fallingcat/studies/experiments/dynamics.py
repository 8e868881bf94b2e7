"""Dynamic control as a kind of study: [ETH] 3.8 to 3.11, the planar arm under torques, a quadruped on its feet."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, Final, NamedTuple, SupportsFloat

import numpy as np
from pydantic import Field

from ...control import (
    BaseTask,
    Impedance,
    InverseDynamics,
    JointsTask,
    OperationalSpace,
    PositionTask,
    PrioritizedControl,
    TorqueLaw,
    VirtualModel,
    accelerations,
    floating_inverse_dynamics,
    gains,
    support_dynamics,
    task_dynamics,
)
from ...dynamics import (
    bias_forces,
    constrained_forward_dynamics,
    forward_kinematics,
    gravity_forces,
    inverse_dynamics,
    jacobian,
    jacobian_derivative,
    link_pose,
    mass_matrix,
)
from ...model import Body, Model, State, robots
from ...simulation import Trajectory, simulate
from ...visualization import Chart, Dot, Line, Scene, appearance
from ..kind import Figures, Parameters, Progress, StudyKind, study_kind
from ..tables import Study

TIP: Final = "end_effector"
GOAL: Final = np.array([0.9, 0.5, -0.6])
FEET: Final = tuple(f"{end}_{side}_foot" for end in ("front", "rear") for side in ("left", "right"))
PLANE: Final = (True, False, True)
STIFFNESS, DAMPING = np.array([800.0, 350.0, 100.0]), np.array([100.0, 40.0, 8.0])
"""N m/rad and N m s/rad, of the impedance"""


class DynamicParameters(Parameters):
    """Parameters of the arm that goes to a posture."""

    hertz: Annotated[float, Field(gt=0.0, le=20.0)] = 3.0
    """natural frequency (Hz) of the joints under inverse dynamics"""
    payload: Annotated[float, Field(ge=0.0, le=20.0)] = 1.0
    """kg at the tip, of which one of the laws does not know"""
    duration: Annotated[float, Field(gt=0.1, le=20.0)] = 6.0
    """s; what sags is at rest by then"""


class ControlResult(NamedTuple):
    """Numbers of the examples, and the simulated runs."""

    numbers: dict[str, float]
    runs: dict[str, Trajectory]
    """the arm under four laws"""


@study_kind
class DynamicControl(StudyKind[DynamicParameters, ControlResult]):
    """Torques of the planar arm and of a quadruped, and what they bring about."""

    name, parameters = "dynamic-control", DynamicParameters
    measures: Mapping[str, Callable[[ControlResult], SupportsFloat]] = {
        name: partial(lambda seen, name: seen.numbers[name], name=name)
        for name in (
            *("k_p", "k_d", "damping_of_350_37", "linear_equation", "sag", "payload_offset"),
            *("Lambda_11", "Lambda_12", "Lambda_22", "p_1", "p_2", "tau_1", "tau_2", "tau_3", "a_1", "a_2", "a_3"),
            *("wall_force", "wall_motion", "rank_4", "rank_3", "rank_2", "rank_1", "rank_0", "two_feet"),
            *("internal_motion", "internal_force", "algorithm_2", "example_3_10_1", "virtual_joints", "virtual_base"),
        )
    }

    def run(self, parameters: DynamicParameters, progress: Progress) -> ControlResult:
        """Evaluate the formulas, and simulate the arm under each law."""
        progress("the planar arm in formulas", 0.0)
        numbers = {**joint_numbers(), **task_numbers(), **wall_numbers()}
        progress("a quadruped on its feet", 0.2)
        numbers |= floating_numbers()
        runs: dict[str, Trajectory] = {}
        arm, loaded = robots.planar_arm(), with_payload(robots.planar_arm(), parameters.payload)
        for i, (name, (robot, law)) in enumerate(laws(arm, loaded, parameters).items()):
            progress(f"the planar arm under {name}", 0.3 + 0.15 * i)
            runs[name] = simulate(robot, robot.neutral(), parameters.duration, law, dt=1e-3, integrator="rkmk4")
        numbers |= closed_loop(arm, loaded, runs, parameters)
        return ControlResult(numbers, runs)

    def figures(self, study: Study, seen: ControlResult) -> Figures:
        """The arm in motion, and how far it is from its goal under each law."""
        run = seen.runs["inverse dynamics"]
        keep = np.linspace(0, len(run) - 1, 200).astype(int)
        drawn, notes = appearance(run.model)
        moved = [forward_kinematics(run.model, run.state(int(i))) for i in keep]
        poses = {name: np.array([each[name] for each in moved]) for name in drawn}
        tips = np.array([link_pose(run.model, run.state(int(i)), TIP)[:3, 3] for i in keep])
        scene = Scene(run.times[keep], poses, drawn, floor=True, extras=[Dot("tip", tips)], notes=notes)
        lines = [Line(name, np.maximum(np.abs(GOAL - run.joints).max(axis=1), 1e-9)) for name, run in seen.runs.items()]
        torques = [Line(name, np.abs(run.forces).max(axis=1)) for name, run in seen.runs.items()]
        charts = (
            Chart("Largest joint error", run.times, lines, "rad", log=True),
            Chart("Largest torque", run.times, torques, "N m"),
        )
        return Figures((scene,), charts)


# 3.8: joints ----------------------------------------------------------------------------------------------------------


def with_payload(arm: Model, mass: float) -> Model:
    """The arm with a point mass at its tip."""
    link = arm.links[-1]
    tip = arm.frame(TIP).placement[:3, 3]
    total = link.body.mass + mass
    center = (link.body.mass * link.body.center + mass * tip) / total
    inertia = link.body.inertia.copy()
    for m, c in ((link.body.mass, link.body.center - center), (mass, tip - center)):
        inertia += m * (c @ c * np.eye(3) - np.outer(c, c))
    return arm.replace_body(link.name, Body(total, center, inertia))


def laws(arm: Model, loaded: Model, parameters: DynamicParameters) -> dict[str, tuple[Model, TorqueLaw]]:
    """Robots and laws, by name."""
    k, d = gains(parameters.hertz)
    return {
        "impedance": (arm, Impedance(GOAL, STIFFNESS, DAMPING)),
        "impedance and gravity": (arm, Impedance(GOAL, STIFFNESS, DAMPING, gravity=True)),
        "inverse dynamics": (arm, InverseDynamics(GOAL, k, d)),
        "inverse dynamics without the payload": (loaded, InverseDynamics(GOAL, k, d, estimate=arm)),
    }


def joint_numbers() -> dict[str, float]:
    """Gains for 3 Hz, and the damping ratio of the printed gains."""
    k, d = gains(3.0)
    return {"k_p": k, "k_d": d, "damping_of_350_37": 37.0 / (2.0 * np.sqrt(350.0))}


def closed_loop(
    arm: Model, loaded: Model, runs: Mapping[str, Trajectory], parameters: DynamicParameters
) -> dict[str, float]:
    """Residuals of the runs in the equations of their closed loops (3.74), (3.78)."""
    run = runs["inverse dynamics"]
    w, t = 2.0 * np.pi * parameters.hertz, run.times[:, None]
    expected = GOAL * (1.0 + w * t) * np.exp(-w * t)
    k = gains(parameters.hertz).stiffness
    sagged, off = _end(runs["impedance"]), _end(runs["inverse dynamics without the payload"])
    missing = gravity_forces(loaded, off) - gravity_forces(arm, off)
    held = mass_matrix(arm, off) @ (k * (GOAL - off.joints))
    return {
        "linear_equation": float(np.abs(GOAL - run.joints - expected).max()),
        "sag": float(np.abs(STIFFNESS * (GOAL - sagged.joints) - gravity_forces(arm, sagged)).max()),
        "payload_offset": float(np.abs(held - missing).max()),
    }


def _end(run: Trajectory) -> State:
    return run.state(len(run) - 1)


# 3.9: tasks -----------------------------------------------------------------------------------------------------------


def task_numbers() -> dict[str, float]:
    """Task dynamics of the arm at (30, 60, 60) deg, rates (0.1, -0.2, 0.3) rad/s, acceleration (1, 1) m/s^2."""
    arm = robots.planar_arm()
    at = arm.state(joints=[np.pi / 6, np.pi / 3, np.pi / 3], rates=[0.1, -0.2, 0.3])
    tip = PositionTask(TIP, acceleration=[1.0, 0.0, 1.0], gain=0.0, mask=PLANE)
    still = JointsTask(joints=("joint1", "joint2"), gain=0.0)
    inertia, _, p = task_dynamics(arm, at, tip)
    tau = OperationalSpace(tip).torques(arm, at)
    a = accelerations(arm, at, [[tip], [still]]).acceleration
    return {
        "Lambda_11": inertia[0, 0],
        "Lambda_12": inertia[0, 1],
        "Lambda_22": inertia[1, 1],
        **{f"p_{i + 1}": p[i] for i in range(2)},
        **{f"tau_{i + 1}": tau[i] for i in range(3)},
        **{f"a_{i + 1}": a[i] for i in range(3)},
    }


def wall_numbers() -> dict[str, float]:
    """A tip that presses on a rigid wall across x while it moves along it (3.97)."""
    arm = robots.planar_arm()
    at = arm.state(joints=[np.pi / 6, np.pi / 3, np.pi / 3])
    J, Jdot = (f(arm, at, TIP, "mixed")[:1] for f in (jacobian, jacobian_derivative))
    tip = PositionTask(TIP, acceleration=[0.7, 0.0, 1.3], gain=0.0, mask=PLANE)
    law = OperationalSpace(tip, force=(9.0, 0.0), pressed=(True, False))
    held = constrained_forward_dynamics(arm, at, law.forces(arm, 0.0, at, frozenset()), J, Jdot @ at.velocity)
    along = jacobian(arm, at, TIP, "mixed")[2] @ held.acceleration
    return {"wall_force": float(abs(-held.multipliers[0] - 9.0)), "wall_motion": float(abs(along - 1.3))}


# 3.10, 3.11: contacts -------------------------------------------------------------------------------------------------


def floating_numbers() -> dict[str, float]:
    """A quadruped that stands on some of its feet."""
    dog, rng = robots.quadruped(), np.random.default_rng(0)
    at = dog.state(joints=np.tile([0.1, 0.6, -1.2], 4))
    found: dict[str, float] = {}
    for feet in range(5):
        found[f"rank_{feet}"] = floating_inverse_dynamics(dog, at, np.zeros(dog.nv), FEET[:feet]).rank
    wanted = rng.standard_normal(dog.nv)
    J = support_dynamics(dog, at, FEET[:2]).J
    consistent = wanted - np.linalg.pinv(J) @ (J @ wanted)
    found["two_feet"] = float(np.linalg.norm(floating_inverse_dynamics(dog, at, consistent, FEET[:2]).residual))
    up = BaseTask(acceleration=[0.3, -0.2, 0.5, 0.1, 0.4, -0.3], gain=0.0)
    torques = PrioritizedControl([[up]], FEET).torques(dog, at)
    moved = _acceleration_under(dog, at, torques)
    inverse = floating_inverse_dynamics(dog, at, moved, FEET)
    squeezed = floating_inverse_dynamics(dog, at, moved, FEET, torques=rng.standard_normal(dog.n))
    found["algorithm_2"] = float(np.abs(inverse.torques - torques).max())
    found["internal_motion"] = float(np.abs(_acceleration_under(dog, at, squeezed.torques) - moved).max())
    found["internal_force"] = float(np.abs(squeezed.forces - inverse.forces).max())
    arm = robots.planar_arm()
    state = arm.state(joints=[0.3, 0.4, 0.5], rates=[0.6, 0.7, 0.8])
    alone = PrioritizedControl([[JointsTask(acceleration=[1.0, 2.0, 3.0], gain=0.0)]]).torques(arm, state)
    found["example_3_10_1"] = float(np.abs(alone - inverse_dynamics(arm, state, np.array([1.0, 2.0, 3.0]))).max())
    return found | virtual_numbers(dog, at)


def _acceleration_under(dog: Model, at: State, torques: np.ndarray) -> np.ndarray:
    """The acceleration under torques, on four feet."""
    J, bias, _, _ = support_dynamics(dog, at, FEET)
    forces = np.concatenate([np.zeros(dog.m), torques])
    return np.asarray(constrained_forward_dynamics(dog, at, forces, J, bias).acceleration)


def virtual_numbers(dog: Model, at: State) -> dict[str, float]:
    """Residual of ``g + J_c' F_c - S' tau`` in joints and, beside ``-F_v``, in the base (3.117)-(3.121)."""
    law = VirtualModel([BaseTask()], force=(5.0, -3.0, 20.0, 0.5, 0.2, -0.4), contacts=FEET)
    pull, J, g = law.virtual_force(dog, 0.0, at), support_dynamics(dog, at, FEET).J, bias_forces(dog, at)
    exerted = -np.linalg.pinv(J[:, : dog.m].T) @ (g + pull)[: dog.m]
    rows = g + J.T @ exerted - np.concatenate([np.zeros(dog.m), law.torques(dog, at)])
    return {
        "virtual_joints": float(np.abs(rows[dog.m :]).max()),
        "virtual_base": float(np.abs(rows[: dog.m] + pull[: dog.m]).max()),
    }
