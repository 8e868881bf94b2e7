"""The falling cat: dropped upside down without spin, it lands on its feet.

A manoeuvre planned from the curvature of its own shape, tracked by its joints, with zero angular momentum to rounding
throughout. The command `fallingcat drop` does the same.
"""

from __future__ import annotations

import numpy as np

import fallingcat as fc
from fallingcat.planning.righting.page import drop_page
from fallingcat.visualization import Page


def page() -> Page:
    fall = fc.planning.drop()
    print(f"turned by {np.degrees(fall.turned):.1f} degrees; angular momentum {fall.angular_momentum.max():.0e}")
    return drop_page(fall, fc.robots.cat(), is_cat=True)


if __name__ == "__main__":
    print(page().write("cat_falls.html"))
