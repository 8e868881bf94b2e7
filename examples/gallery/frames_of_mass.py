"""One robot, five velocities: how base and joints share mass in each.

The same equations of motion in five velocities. With the average or the locked velocity of the base, the mass matrix
has no block between base and joints ([Mishra], [Traversaro]).
"""

from __future__ import annotations

import numpy as np

import fallingcat as fc
from fallingcat.visualization import Chart, Line, Page


def page() -> Page:
    dog = fc.robots.quadruped()
    state = dog.random_state(np.random.default_rng(3))
    eom = fc.equations(dog, state)
    frames = {
        "base": eom,
        "mixed": eom.change(fc.changes.mixed(dog, state)),
        "another link": eom.change(fc.changes.base_at(dog, state, dog.link_names[3])),
        "centroidal": eom.change(fc.changes.centroidal(dog, state)),
        "momentum": eom.change(fc.changes.momentum_map(dog, state)),
    }
    lines = []
    for name, seen in frames.items():
        shared = np.abs(seen.M[:6, 6:]).max(axis=0)
        print(f"{name:14} at most {shared.max():8.1e} kg, kg m or kg m^2; certified: {seen.certify().passed}")
        lines.append(Line(name, np.maximum(shared, 1e-18)))
    chart = Chart("Mass that base and joint share", np.arange(dog.n), lines, log=True, x_label="joint", wide=True)
    return Page("One robot, five velocities", "the block of the mass matrix between base and joints", blocks=(chart,))


if __name__ == "__main__":
    print(page().write("frames_of_mass.html"))
