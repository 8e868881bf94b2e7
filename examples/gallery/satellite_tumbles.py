"""Output feedback: an arm holds still on a satellite that tumbles at an unknown rate.

[Mishra] V-A: an observer on the base's group estimates the locked velocity from poses, and the joint torques compensate
the momentum. For comparison: springs and dampers alone, with a steady-state error.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import fallingcat as fc
from fallingcat.visualization import Chart, Line, Page


def page() -> Page:
    arm = fc.robots.orbital_arm()
    q = np.radians([10.0, 40.0, 0.0, -60.0, 0.0, 30.0, 0.0])
    start = arm.state(joints=q, twist=[0.0, 0.0, 0.0, *np.radians([10.0, 1.14, 0.0])])
    rel = fc.reduced_equations(arm, start)
    law = fc.control.OutputFeedback(
        0.5, 1.0, weights=np.diag(rel.Lq), target=q, pose_gain=6.0, locked_gain=9.0, base_weights=np.diag(rel.Mb),
        locked=np.zeros(6),
    )  # fmt: skip
    lines = []
    for name, kind in (("with the observer", "locked"), ("springs and dampers alone", "none")):
        run = fc.simulate(arm, start, 20.0, replace(law, compensation=kind), dt=2e-2)
        away = np.degrees(np.abs(run.joints - q).max(axis=1))
        print(f"{name:28} {away[-1]:.3f} degrees off in the end")
        lines.append(Line(name, away))
    chart = Chart("Largest error of a joint", run.times, lines, "degrees")
    return Page("A tumbling satellite", "its arm holds still", blocks=(run.animate().blocks[0], chart))


if __name__ == "__main__":
    print(page().write("satellite_tumbles.html"))
