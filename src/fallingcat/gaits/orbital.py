"""The example of [Mishra] V-B: an arm of seven joints on a small spacecraft turns it with a circular gait of three.

The paper does not give the arm's inertias; :func:`fallingcat.robots.orbital_arm` is an arm of that kind, so the method
is compared with the paper, and the digits with an independent integration.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..lie.charts import EulerXYZ
from ..model import Model, robots
from ..views import Fact, HeatMap, Page, Picture, Surface, Table, Trace, side_by_side, surface_svg
from .curves import Circle, Curve
from .displacement import Displacement, displacement
from .estimate import Estimate, estimate, estimate_error
from .frames import FRAMES
from .maps import CurvatureMap, Plane, curvature_map

POINTS = 30
"""Of the grid, each way."""
SIZE = {"width": 370, "height": 315}
"""Of pictures (pixels)."""
PUBLISHED = (("integration", (-0.4228, 0.1682, -13.73)), ("estimate", (-0.9623, 0.9873, -13.25)))
"""[Mishra] V-B (degrees, XYZ): the paper's own arm; its estimate is off by 1.045 degrees."""


class OrbitalExample(NamedTuple):
    """What the gait does, exactly and by curvature in every frame."""

    model: Model
    plane: Plane
    circle: Curve
    """in the plane"""
    map: CurvatureMap
    exact: Displacement
    estimates: tuple[Estimate, ...]

    def angles(self, pose: np.ndarray) -> np.ndarray:
        """``3`` (degrees): XYZ angles of a pose, as the paper gives them."""
        return np.degrees(np.asarray(EulerXYZ().from_matrix(pose[:3, :3])))

    def error(self, guess: Estimate) -> float:
        """degrees: the angle between an estimate and the integration."""
        return float(np.degrees(np.linalg.norm(estimate_error(self.model, self.exact, guess)[3:])))


def orbital_example(frame: str = "virtual_chassis") -> OrbitalExample:
    """The 30 x 30 map in ``frame``, the exact displacement, and the estimate in each frame.

    >>> found = orbital_example()
    >>> print(*(f"{x:.2f}" for x in found.angles(found.exact.pose)))
    -0.08 0.19 -13.77
    >>> max(found.error(guess) for guess in found.estimates if guess.frame == "minimum_perturbation") < 0.02
    True
    """
    arm = robots.orbital_arm()
    directions = np.zeros((7, 2))
    directions[[1, 2], 0], directions[3, 1] = np.sqrt(0.5), 1.0  # joints 2 and 3 together, and joint 4
    plane = Plane(directions, np.zeros(7))
    circle = Circle(0.5, center=(0.5, 0.0), start=np.pi, turns=-1.0)  # r = (1 - cos pi t, sin pi t) / 2
    gait = plane.curve(circle)
    grids = np.linspace(-0.25, 1.25, POINTS), np.linspace(-0.75, 0.75, POINTS)
    chart = curvature_map(arm, plane, *grids, frame=frame)
    guesses = tuple(estimate(arm, gait, frame=name) for name in FRAMES)
    return OrbitalExample(arm, plane, circle, chart, displacement(arm, gait), guesses)


def comparison(found: OrbitalExample) -> list[list[str]]:
    """Rows of a table: what, three angles, and how far an estimate is off (degrees)."""
    rows = [["[Mishra], " + what, *(f"{x:.4f}" for x in angles), ""] for what, angles in PUBLISHED]
    rows[1][-1] = "1.045"
    rows.append(["integration", *(f"{x:.4f}" for x in found.angles(found.exact.pose)), ""])
    for guess in found.estimates:
        name = f"estimate, {guess.frame.replace('_', ' ')}"
        rows.append([name, *(f"{x:.4f}" for x in found.angles(guess.pose)), f"{found.error(guess):.3f}"])
    return rows


HEADER = ("", "x (deg)", "y (deg)", "z (deg)", "off by (deg)")


def surfaces(found: OrbitalExample) -> str:
    """[Mishra] Fig. 8: the curvature of the three rotations over the gait's plane, the gait on it; SVG."""
    parts = [surface_svg(_surface(found, k, f"turn about {'xyz'[k]}"), **SIZE) for k in range(3)]
    return side_by_side(parts, **SIZE)


def volume(found: OrbitalExample) -> str:
    """[Mishra] Fig. 9: the curvature about z, and the volume of it under the gait; SVG."""
    whole = _surface(found, 2, "turn about z")
    fine = found.map.plane, np.linspace(0.0, 1.0, 31), np.linspace(-0.5, 0.5, 31)
    near = curvature_map(found.model, *fine, frame=found.map.frame)
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


def orbital_page(found: OrbitalExample) -> Page:
    """Maps, surfaces and the comparison, as a page."""
    s = np.linspace(0.0, 1.0, 241)
    r = found.circle(s).q
    best = min(found.estimates, key=found.error)
    facts = [
        Fact("turned", f"{np.degrees(np.linalg.norm(found.model.base.log(found.exact.pose)[3:])):.2f}°", "exact"),
        *(Fact(g.frame.replace("_", " "), f"{found.error(g):.3f}°", "error of the estimate") for g in found.estimates),
    ]
    maps = [
        HeatMap(
            f"DA about {'xyz'[k]}",
            found.map.first,
            found.map.second,
            found.map.values[:, :, 3 + k],
            x_label="r1 = (joint 2 + joint 3) / √2 (rad)",
            y_label="r2 = joint 4 (rad)",
            unit="rad/rad²",
            traces=(Trace("the gait", r[:, 0], r[:, 1]),),
            equal=True,
        )
        for k in range(3)
    ]
    seen, good = (name.replace("_", " ") for name in (found.map.frame, best.frame))
    about = (
        "[Mishra] V-B: seven joints on a spacecraft of 3.5 kg; joints 2, 3 and 4 follow a circle. Curvature of the "
        f"mechanical connection over the plane of the gait, 30 x 30 points, seen from the {seen} frame. The area "
        f"integral inside the circle estimates the turn; best in the {good} frame."
    )
    table = Table("Estimate against integration", HEADER, comparison(found), note="XYZ angles of the spacecraft.")
    pictures = (
        Picture("Like Fig. 8: curvature of the three rotations", surfaces(found)),
        Picture("Like Fig. 9: curvature about z, and its volume under the gait", volume(found)),
    )
    return Page("A gait that turns a spacecraft", about, facts, (maps[2], table, *maps[:2], *pictures))
