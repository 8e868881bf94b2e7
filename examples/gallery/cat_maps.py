"""Which gait turns a cat: the curvature of its connection over two joints, and the loop with most of it inside."""

from __future__ import annotations

import numpy as np

import fallingcat as fc
from fallingcat.planning.gaits.survey import survey
from fallingcat.planning.gaits.survey_page import survey_page
from fallingcat.visualization import Page


def page() -> Page:
    found = survey(fc.robots.two_cylinder_cat(), ("spine_z", "spine_y"), np.radians(60.0), None, "base", False)
    return survey_page(found)


if __name__ == "__main__":
    print(page().write("cat_maps.html"))
