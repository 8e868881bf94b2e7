"""The gait of an arm in orbit as a kind of study: [Mishra] V-B, how far a circle of shapes turns the spacecraft."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Literal, SupportsFloat

import numpy as np
from pydantic import Field

from ...visualization import HeatMap, Picture, Table, Trace
from ..kind import Figures, Parameters, Progress, StudyKind, study_kind
from ..tables import Study

if TYPE_CHECKING:
    from ...planning.gaits.orbital_example import OrbitalExample  # gaits are loaded when such a study runs

AXES = "xyz"


class OrbitalParameters(Parameters):
    """Parameters of the circle ``r(s) = radius (1 - cos 2 pi s, sin 2 pi s)``, and of the curvature map."""

    radius: Annotated[float, Field(gt=0.0, le=1.0)]
    """rad; joints 2 and 3 move by ``r1 / sqrt 2``, joint 4 by ``r2``"""
    frame: Literal["base", "center_of_mass", "virtual_chassis", "minimum_perturbation"] = "virtual_chassis"
    """frame of the curvature"""
    points: Annotated[int, Field(ge=3, le=200)] = 30
    """points of the drawn map, each way"""


@study_kind
class OrbitalGait(StudyKind[OrbitalParameters, "OrbitalExample"]):
    """The displacement of the spacecraft by integration, and its estimate from curvature."""

    name, parameters, resolution = "orbital-gait", OrbitalParameters, frozenset({"points"})
    measures: Mapping[str, Callable[[OrbitalExample], SupportsFloat]] = {
        # XYZ angles of the spacecraft after the gait (degrees)
        "turn_x": lambda seen: seen.angles(seen.integrated.pose)[0],
        "turn_y": lambda seen: seen.angles(seen.integrated.pose)[1],
        "turn_z": lambda seen: seen.angles(seen.integrated.pose)[2],
        "estimate_x": lambda seen: seen.angles(seen.guess.pose)[0],
        "estimate_y": lambda seen: seen.angles(seen.guess.pose)[1],
        "estimate_z": lambda seen: seen.angles(seen.guess.pose)[2],
        # how far an estimate is off: norm of log(exact^-1 guess), and its angle (degrees)
        "estimate_error": lambda seen: np.linalg.norm(seen.error(seen.map.frame)),
        "estimate_angle": lambda seen: seen.error_angle(seen.map.frame),
        "angle_in_base": lambda seen: seen.error_angle("base"),
        "angle_in_center_of_mass": lambda seen: seen.error_angle("center_of_mass"),
        "angle_in_virtual_chassis": lambda seen: seen.error_angle("virtual_chassis"),
        "angle_in_minimum_perturbation": lambda seen: seen.error_angle("minimum_perturbation"),
        # of the area integral: its way (m), and the share of z in its turn, from -1 to 1
        "estimate_way": lambda seen: np.linalg.norm(seen.guess.zeta[:3]),
        "share_of_z": lambda seen: seen.guess.zeta[5] / np.linalg.norm(seen.guess.zeta[3:]),
        "integration_error": lambda seen: seen.integrated.error,
    }

    def run(self, parameters: OrbitalParameters, progress: Progress) -> OrbitalExample:
        """Integrate the gait, and evaluate its curvature map."""
        from ...planning.gaits.orbital_example import orbital_example

        progress("integrating", 0.0)
        return orbital_example(parameters.frame, parameters.radius, parameters.points)

    def figures(self, study: Study, seen: OrbitalExample) -> Figures:
        """Maps about z, x and y, estimates in every frame, surfaces like Fig. 8 and 9."""
        from ...planning.gaits.orbital_example import surfaces, volume

        maps = [_map(seen, k) for k in range(3)]
        pictures = (
            Picture("Like Fig. 8: curvature of the three rotations", surfaces(seen)),
            Picture("Like Fig. 9: curvature about z, and its volume under the gait", volume(seen)),
        )
        return Figures((maps[2], _frames(seen)), (*maps[:2], *pictures))


def _frames(seen: OrbitalExample) -> Table:
    """XYZ angles (degrees) by integration and by every estimate."""
    rows = [("integration", seen.integrated.pose, "")]
    rows += [
        (name.replace("_", " "), guess.pose, f"{seen.error_angle(name):.3f}") for name, guess in seen.estimates.items()
    ]
    cells = [(what, *(f"{x:.4f}" for x in seen.angles(pose)), off) for what, pose, off in rows]
    note = (
        "XYZ angles of the spacecraft after the gait, in degrees; estimates by the frame that curvature is seen from."
    )
    return Table("Estimates against integration", ("", "x", "y", "z", "off by"), cells, note=note)


def _map(seen: OrbitalExample, k: int) -> HeatMap:
    r = seen.circle(np.linspace(0.0, 1.0, 241)).q
    return HeatMap(
        f"DA about {AXES[k]}, seen from the {seen.map.frame.replace('_', ' ')} frame",
        seen.map.first,
        seen.map.second,
        seen.map.values[:, :, 3 + k],
        x_label="r1 = (joint 2 + joint 3) / √2 (rad)",
        y_label="r2 = joint 4 (rad)",
        unit="rad/rad²",
        traces=(Trace("the gait", r[:, 0], r[:, 1]),),
        equal=True,
        zero="zero curvature",
    )
