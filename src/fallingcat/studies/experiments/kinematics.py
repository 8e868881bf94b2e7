"""Kinematic control as a kind of study: [ETH] 2.9, the planar arm's tasks and four ways to turn a wrist."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, Any, Final, NamedTuple, SupportsFloat

import numpy as np
from pydantic import Field

from ...compiler import compile
from ...control import JointsTask, PositionTask, RotationTask, inverse_kinematics, velocities
from ...dynamics import jacobian, link_pose
from ...lie import Trivial
from ...lie.charts import EulerXYZ, EulerZYX, RotationVector
from ...lie.charts.chart import RotationChart
from ...model import Joint, Link, Model, State, robots
from ...model.joints import Revolute
from ...visualization import Chart, Line, Picture
from ..kind import Figures, Parameters, Progress, StudyKind, study_kind
from ..tables import Study

CHARTS: Final[dict[str, RotationChart | None]] = {
    "Euler ZYX": EulerZYX(),
    "Euler XYZ": EulerXYZ(),
    "rotation vector": RotationVector(),
    "shortest rotation": None,
}
NINTHS: Final = ((1, -2, 2), (-2, 4, -4), (2, -4, 4))
"""Nine times the null-space projector (2.237), as printed."""
COLORS: Final = ("#1f6fd0", "#c44e14", "#1d2430", "#2e8b57")
"""colors of the figure: blue, red, black, green"""


class KinematicParameters(Parameters):
    """Parameters of the steps of Examples 2.9.7 and 2.9.8."""

    k: Annotated[float, Field(gt=0.0, le=1.0)] = 0.001
    """the share of the way that one step goes"""
    tolerance: Annotated[float, Field(gt=0.0, lt=1.0)] = 0.01
    """rad: what is left when it ends"""


class Path(NamedTuple):
    """A way from one rotation to another."""

    rotations: np.ndarray
    """``count + 1 x 3 x 3``"""

    @property
    def updates(self) -> int:
        """Number of steps."""
        return len(self.rotations) - 1

    @property
    def angles(self) -> np.ndarray:
        """Angle of each step (rad)."""
        turns = np.linalg.norm(self.rotations[1:] - self.rotations[:-1], axis=(1, 2)) / np.sqrt(8.0)
        return 2.0 * np.arcsin(np.minimum(turns, 1.0))


class KinematicsResult(NamedTuple):
    """Joint velocities, errors and paths of the examples."""

    single: np.ndarray
    stacked: np.ndarray
    prioritised: np.ndarray
    damped: np.ndarray
    errors: dict[str, tuple[float, float]]
    """for each of them the squared errors of the end effector and of the joints"""
    task_velocities: np.ndarray
    """``4``: velocity of the end effector (x, z) and rates of joints 1 and 2 under equal priority, (2.231)"""
    projector: np.ndarray
    """``3 x 3``: null-space projector of the end effector, (2.237)"""
    upright: str
    """status of inverse kinematics for the upright arm, 2 m above its goal"""
    paths: dict[str, Path]


@study_kind
class KinematicControl(StudyKind[KinematicParameters, KinematicsResult]):
    """Joint velocities of the planar arm, and the paths of a wrist."""

    name, parameters = "kinematic-control", KinematicParameters
    measures: Mapping[str, Callable[[KinematicsResult], SupportsFloat]] = {
        **{
            f"{which}_{i + 1}": partial(lambda seen, which, i: getattr(seen, which)[i], which=which, i=i)
            for which in ("single", "stacked", "prioritised", "damped")
            for i in range(3)
        },
        **{f"stacked_velocity_{i + 1}": partial(lambda seen, i: seen.task_velocities[i], i=i) for i in range(4)},
        "projector_off": lambda seen: np.abs(seen.projector - np.array(NINTHS) / 9.0).max(),
        **{
            f"{which}_error_{k + 1}": partial(lambda seen, which, k: seen.errors[which][k], which=which, k=k)
            for which in ("single", "stacked", "prioritised")
            for k in range(2)
        },
        "upright_is_stationary": lambda seen: float(seen.upright == "stationary"),
        **{
            f"updates_{chart.replace(' ', '_')}": partial(lambda seen, chart: seen.paths[chart].updates, chart=chart)
            for chart in CHARTS
        },
        **{
            f"angle_{chart.replace(' ', '_')}": partial(lambda seen, chart: seen.paths[chart].angles.sum(), chart=chart)
            for chart in CHARTS
        },
    }

    def run(self, parameters: KinematicParameters, progress: Progress) -> KinematicsResult:
        """Evaluate the joint velocities of the examples, and follow the paths in every chart."""
        progress("the planar arm", 0.0)
        arm = robots.planar_arm()
        at = arm.state(joints=[np.pi / 6, np.pi / 3, np.pi / 3])
        tip = PositionTask("end_effector", velocity=[1.0, 0.0, 1.0], mask=(True, False, True))
        still = JointsTask(joints=("joint1", "joint2"))
        found = {
            "single": velocities(arm, at, [[tip]]).rates,
            "stacked": velocities(arm, at, [[tip, still]]).rates,
            "prioritised": velocities(arm, at, [[tip], [still]]).rates,
            "damped": velocities(arm, at, [[tip]], damping=0.1).rates,
        }
        J, wanted = tip.demand(arm, at).J, np.array([1.0, 1.0])
        errors = {name: (float(np.sum((J @ v - wanted) ** 2)), float(v[:2] @ v[:2])) for name, v in found.items()}
        upright = inverse_kinematics(arm, [PositionTask("end_effector", [0.0, 0.0, 2.0])], restarts=0).status
        paths = {}
        for i, (name, chart) in enumerate(CHARTS.items()):
            progress(f"along the {name}", 0.1 + 0.2 * i)
            paths[name] = wrist_path(chart, parameters.k, parameters.tolerance)
        stacked = found["stacked"]
        velocity, projector = np.append(J @ stacked, stacked[:2]), np.eye(3) - np.linalg.pinv(J) @ J
        return KinematicsResult(
            **found, errors=errors, task_velocities=velocity, projector=projector, upright=upright, paths=paths
        )

    def figures(self, study: Study, seen: KinematicsResult) -> Figures:
        """The paths on the sphere, and how fast they go."""
        x = np.linspace(0.0, 1.0, 400)
        lines = []
        for name, path in seen.paths.items():
            gone = np.append(0.0, np.cumsum(path.angles))
            lines.append(Line(name, np.interp(x, np.linspace(0.0, 1.0, len(gone)), gone)))
        note = "Tips of the three axes, seen from (1, 1, 1): " + ", ".join(
            f"{name} {path.angles.sum():.3f} rad" for name, path in seen.paths.items()
        )
        sphere = Picture(
            "Like the figure of Examples 2.9.7 and 2.9.8: four paths on the sphere", sphere_svg(seen), note
        )
        return Figures((sphere,), (Chart("Angle gone", x, lines, "rad", x_label="share of the updates"),))


# Examples 2.9.7, 2.9.8 ------------------------------------------------------------------------------------------------


def wrist() -> Model:
    """Three hinges about z, y and x, one after the other: [ETH] (2.245)."""
    names = ("base", "z", "y", "x")
    axes = ((0.0, 0.0, 1.0), (0.0, 1.0, 0.0), (1.0, 0.0, 0.0))
    joints = tuple(Joint(f"q_{names[i + 1]}", Revolute(axes[i]), names[i], names[i + 1]) for i in range(3))
    return Model("wrist", Trivial(), tuple(Link(name) for name in names), joints)


def wrist_path(chart: RotationChart | None, k: float, tolerance: float) -> Path:
    """Steps ``q <- q + k J_A^-1 (chi* - chi)`` along a chart (2.243), or along the shortest rotation (2.255)."""
    model = wrist()
    goal = link_pose(model, model.state(joints=[0.7, 1.5, -0.5]), "x")[:3, :3]
    ask = compile(model, tracking_error, state=("joints",), inputs={"goal": (3, 3)}, chart=chart)
    q, rotations = np.array([-0.7, 0.0, 1.5]), []
    for _ in range(int(20.0 / k)):
        error, J, R = ask(q, goal)
        rotations.append(R)
        if np.linalg.norm(error) < tolerance:
            break
        q = q + k * np.linalg.solve(J, error)
    return Path(np.array(rotations))


def tracking_error(model: Model, state: State, goal: Any, *, chart: RotationChart | None) -> tuple[Any, Any, Any]:
    """Error that a step follows, its Jacobian, and the rotation."""
    R, J = link_pose(model, state, "x")[:3, :3], jacobian(model, state, "x", "mixed")[3:]
    if chart is None:
        return RotationTask("x", goal).motion(model, state).error, J, R
    here = chart.from_matrix(R)
    return chart.from_matrix(goal) - here, chart.rate_matrix_inverse(here) @ J, R


def sphere_svg(seen: KinematicsResult, size: int = 460) -> str:
    """The tips of the three axes along every path, seen from (1, 1, 1)."""
    right, up = np.array([-1.0, 1.0, 0.0]) / np.sqrt(2.0), np.array([-1.0, -1.0, 2.0]) / np.sqrt(6.0)
    toward, half = np.ones(3) / np.sqrt(3.0), size / 2
    parts = [f'<circle cx="{half}" cy="{half}" r="{0.44 * size:.1f}" fill="#f7f6f2" stroke="#c9d0db"/>']
    for (name, path), color in zip(seen.paths.items(), COLORS, strict=True):
        tips = path.rotations[:: max(1, path.updates // 300)]
        for axis in range(3):
            p = tips[:, :, axis]
            for ahead in (False, True):  # what is behind the sphere is faint
                runs = np.split(np.arange(len(p)), np.flatnonzero(np.diff((p @ toward > 0.0).astype(int))) + 1)
                shown = [run for run in runs if len(run) > 1 and bool(p[run[0]] @ toward > 0.0) is ahead]
                for run in shown:
                    points = " ".join(
                        f"{half + 0.44 * size * (p[i] @ right):.1f},{half - 0.44 * size * (p[i] @ up):.1f}" for i in run
                    )
                    style = f'fill="none" stroke="{color}" stroke-width="2" opacity="{1.0 if ahead else 0.3}"'
                    parts.append(f'<polyline points="{points}" {style}><title>{name}</title></polyline>')
    box = f'viewBox="{-half} 0 {2 * size} {size}" width="{2 * size}" height="{size}"'  # wide: a page shows all of it
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {box}>'
    return head + "\n".join(parts) + "</svg>\n"
