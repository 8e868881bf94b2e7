"""A page whose names are all attacks."""

import numpy as np

from fallingcat.visualization import Box, Capsule, Chart, Fact, HeatMap, Line, Page, Scene, Trace, Triangle

NASTY = "</script><img src=x onerror=alert(1)> & \u2028 \"'`${1}"


def nasty_page():
    t = np.linspace(0.0, 1.0, 11)
    poses = np.tile(np.eye(4), (11, 1, 1))
    poses[:, 2, 3] = 1.0 - t
    solids = [
        Capsule((0, 0, 0), (0.1, 0, 0), 0.02),
        Box((0, 0, 0), (0.1, 0.2, 0.05)),
        Triangle([(0, 0, 0), (1, 0, 0), (0, 1, 0)]),
    ]
    grid = np.linspace(-1.0, 1.0, 5)
    return Page(
        NASTY,
        NASTY,
        facts=[Fact(NASTY, NASTY, NASTY)],
        blocks=(
            Scene(t, {NASTY: poses}, {NASTY: solids}, speed=0.3, ghosts=(0.0, 0.5)),
            HeatMap(
                NASTY, grid, grid, np.outer(grid, grid), NASTY, NASTY, NASTY, [Trace(NASTY, grid, grid, t[:5])], NASTY
            ),
            Chart(NASTY, t, [Line(NASTY, np.sin(t)), Line("gaps", np.where(t < 0.5, np.nan, t))], NASTY),
            Chart("sizes", t, [Line("log", 10.0 ** (-10 * t))], log=True),
        ),
    )
