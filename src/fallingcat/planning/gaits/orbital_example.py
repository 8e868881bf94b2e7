"""Example of [Mishra] V-B: an arm of seven joints on a small spacecraft turns it with a circular gait of three.

The paper does not give the arm's inertias; :func:`fallingcat.robots.orbital_arm` is an arm of that kind, so the method
is compared with the paper, and the digits with an independent integration: the study ``orbital-gait``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ...lie.charts import EulerXYZ
from ...model import Model, robots
from ...visualization import Surface, side_by_side, surface_svg
from ..curvature.frames import FRAMES
from ..curvature.maps import CurvatureMap, Plane, curvature_map
from .curves import Circle, Curve
from .displacement import Displacement, displacement
from .estimate import Estimate, estimate, estimate_error

SIZE = {"width": 370, "height": 315}
"""Size of pictures (pixels)."""


class OrbitalExample(NamedTuple):
    """Displacement of the gait, exactly and by curvature in every frame."""

    model: Model
    plane: Plane
    circle: Curve
    """in the plane"""
    map: CurvatureMap
    integrated: Displacement
    estimates: dict[str, Estimate]
    """by frame"""

    @property
    def guess(self) -> Estimate:
        """Estimate in the frame of the map."""
        return self.estimates[self.map.frame]

    def angles(self, pose: np.ndarray) -> np.ndarray:
        """XYZ angles (3; degrees) of a pose, as the paper gives them."""
        return np.degrees(np.asarray(EulerXYZ().from_matrix(pose[:3, :3])))

    def error(self, frame: str) -> np.ndarray:
        """Error ``log(integrated^-1 guess)`` (6) of the estimate in a frame."""
        return estimate_error(self.model, self.integrated, self.estimates[frame])

    def error_angle(self, frame: str) -> float:
        """Angle (degrees) between the estimate in a frame and the integration."""
        return float(np.degrees(np.linalg.norm(self.error(frame)[3:])))


def orbital_example(frame: str = "virtual_chassis", radius: float = 0.5, points: int = 30) -> OrbitalExample:
    """The map in ``frame`` (``points`` each way), the exact displacement, and the estimate in each frame.

    >>> found = orbital_example()
    >>> print(*(f"{x:.2f}" for x in found.angles(found.integrated.pose)))
    -0.08 0.19 -13.77
    >>> found.error_angle("minimum_perturbation") < 0.02
    True
    """
    arm = robots.orbital_arm()
    directions = np.zeros((7, 2))
    directions[[1, 2], 0], directions[3, 1] = np.sqrt(0.5), 1.0  # joints 2 and 3 together, and joint 4
    plane = Plane(directions, np.zeros(7))
    circle = Circle(radius, center=(radius, 0.0), start=np.pi, turns=-1.0)  # r = radius (1 - cos pi t, sin pi t)
    gait = plane.curve(circle)
    grids = radius * np.linspace(-0.5, 2.5, points), radius * np.linspace(-1.5, 1.5, points)
    chart = curvature_map(arm, plane, *grids, frame=frame)
    guesses = {name: estimate(arm, gait, frame=name) for name in FRAMES}
    return OrbitalExample(arm, plane, circle, chart, displacement(arm, gait), guesses)


def surfaces(found: OrbitalExample) -> str:
    """[Mishra] Fig. 8: the curvature of the three rotations over the gait's plane, the gait on it; SVG."""
    parts = [surface_svg(_surface(found, k, f"turn about {'xyz'[k]}"), **SIZE) for k in range(3)]
    return side_by_side(parts, **SIZE)


def volume(found: OrbitalExample) -> str:
    """[Mishra] Fig. 9: the curvature about z, and the volume of it under the gait; SVG."""
    whole = _surface(found, 2, "turn about z")
    r = found.circle(np.linspace(0.0, 1.0, 5)).q  # its four corners
    first, second = np.linspace(r.min(axis=0), r.max(axis=0), 31).T
    near = curvature_map(found.model, found.map.plane, first, second, frame=found.map.frame)
    inside = _surface(found._replace(map=near), 2, "its volume under the gait", inside=True)
    largest = float(np.abs(found.map.values[:, :, 5]).max())
    parts = [surface_svg(one, **SIZE) for one in (whole, replace(inside, scale=largest))]
    return side_by_side(parts, **SIZE, columns=2)


def _surface(found: OrbitalExample, axis: int, title: str, inside: bool = False) -> Surface:
    path = found.circle(np.linspace(0.0, 1.0, 241)).q.T
    values = found.map.values[:, :, 3 + axis]
    return Surface(
        title,
        found.map.first,
        found.map.second,
        values,
        path,
        x_label="r1 (rad)",
        y_label="r2 (rad)",
        z_label="DA (rad/rad²)",
        inside=inside,
    )
