"""An arm follows a motion: a spring lags and sags, inverse dynamics does not.

Three joints swing. One law is a spring and a damper on each joint, another computes torques by inverse dynamics
([ETH] 3.8). The last run carries a load that the law does not model.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import fallingcat as fc
from fallingcat.visualization import Chart, Line, Page

DURATION = 3.0  # s


def goal(t):
    return [0.6 * np.sin(2.0 * t), 0.4 * np.cos(2.0 * t), 0.5 * np.sin(4.0 * t)]


def page() -> Page:
    arm = fc.robots.planar_arm()
    last = arm.links[-1]
    load = fc.Body(1.5 * last.body.mass, last.body.center, 1.5 * last.body.inertia)
    loaded = replace(arm, links=(*arm.links[:-1], replace(last, body=load)))
    exact = fc.control.InverseDynamics(goal, *fc.control.gains(hertz=2.0))
    laws = {
        "springs": (arm, fc.control.Impedance(goal, 60.0, 6.0)),
        "springs and gravity": (arm, fc.control.Impedance(goal, 60.0, 6.0, gravity=True)),
        "inverse dynamics": (arm, exact),
        "inverse dynamics, unknown load": (loaded, replace(exact, estimate=arm)),
    }
    start = arm.state(joints=goal(0.0), rates=[1.2, 0.0, 2.0])
    runs = {name: fc.simulate(model, start, DURATION, law, integrator="rkmk4") for name, (model, law) in laws.items()}
    lines = []
    for name, run in runs.items():
        away = np.degrees(run.joints - np.array([goal(t) for t in run.times]))
        print(f"{name:32} at most {np.abs(away).max():7.3f} degrees off")
        lines.append(Line(name, away[:, 0]))
    chart = Chart("Error of the first joint", runs["springs"].times, lines, "degrees")
    moving = runs["inverse dynamics"].animate().blocks[0]
    return Page("An arm follows a motion", "springs, and inverse dynamics with and without a load", (), (moving, chart))


if __name__ == "__main__":
    print(page().write("arm_follows.html"))
