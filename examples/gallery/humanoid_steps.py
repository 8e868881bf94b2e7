"""A humanoid steps in place, controlled with its base at the foot that stands.

On one foot a robot is an arm: the wrench that holds the foot follows from the motion of the joints, and stays inside
the cone of its sole. In the middle of each shift of weight the other foot becomes the base; torques stay continuous.
"""

from __future__ import annotations

import fallingcat as fc
from fallingcat.visualization import Page


def page() -> Page:
    study = fc.studies.run("stepping-in-place", steps=4)
    for row in study.rows:
        print(f"{row.name}: {row.ours:.2g} {row.unit}")
    above, below = study.study.kind.figures(study.study, study.observed)
    return Page("A humanoid steps in place", "its base is the foot that stands", blocks=(*above, *below))


if __name__ == "__main__":
    print(page().write("humanoid_steps.html"))
