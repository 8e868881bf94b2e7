"""The gait that turns a chain of three rods most, and the map that explains it: `python examples/gaits/best_gait.py`.

Needs CasADi: `pip install 'fallingcat[casadi]'`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import fallingcat as fc
from fallingcat.model import Body, Joint, Limits, Link, Model
from fallingcat.model.joints import Revolute
from fallingcat.planning import Plane, curvature_map, optimize
from fallingcat.visualization import HeatMap, Trace, map_svg

REACH, WEIGHTS = 2.0, (2e-3, 5e-4, 5e-5)


def three_rods() -> Model:
    """Rods of 1 kg and 1 m in the plane, hinged end to end; nothing holds them."""
    z, slim = (0.0, 0.0, 1.0), np.diag([0.001, 1.0 / 12.0, 1.0 / 12.0])
    links = [
        Link(n, Body(1.0, np.array([x, 0.0, 0.0]), slim)) for n, x in (("middle", 0.0), ("left", -0.5), ("right", 0.5))
    ]
    joints = []
    for name, x in (("left", -0.5), ("right", 0.5)):
        place = np.eye(4)
        place[0, 3] = x
        joints.append(Joint(f"{name}_hinge", Revolute(z), "middle", name, place, limits=Limits(-REACH, REACH)))
    return Model("three rods", fc.lie.SE2(), tuple(links), tuple(joints), gravity=np.zeros(3))


def picture() -> str:
    """The map with the best gaits for several weights of effort, as SVG."""
    rods = three_rods()
    grid = np.linspace(-1.1 * REACH, 1.1 * REACH, 41)
    chart = curvature_map(rods, Plane.of_joints(rods, "left_hinge", "right_hinge"), grid, grid)
    traces = []
    for weight in WEIGHTS:
        best = optimize(rods, "rz", weight=weight, harmonics=4)
        path = np.degrees(best.gait(np.linspace(0.0, 1.0, 361)).q)
        traces.append(Trace(f"weight {weight:g}: {np.degrees(best.value):.1f}°", path[:, 0], path[:, 1]))
        print(f"weight {weight:g}: {np.degrees(best.value):.2f} degrees, effort {best.effort:.3g}, {best.message}")
    return map_svg(
        HeatMap(
            "Three rods: turn per area of gait",
            np.degrees(grid),
            np.degrees(grid),
            -chart.values[:, :, 2],
            x_label="left hinge (degrees)",
            y_label="right hinge (degrees)",
            unit="rad/rad²",
            traces=traces,
            equal=True,
            zero="zero curvature",
        ),
        width=520,
        height=500,
    )


if __name__ == "__main__":
    Path(sys.argv[1] if len(sys.argv) > 1 else "best_gait.svg").write_text(picture(), encoding="utf-8")
