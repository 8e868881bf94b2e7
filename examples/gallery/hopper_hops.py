"""A hopper of [Feurstein]: a spring in its leg, a controller that keeps its energy, and a foot on compliant ground."""

from __future__ import annotations

import fallingcat as fc
from fallingcat.visualization import Page


def page() -> Page:
    result = fc.studies.run("revolute-4")
    for row in result.rows[:6]:
        print(f"{row.name:44} {row.published or '':>12} {row.ours} {row.unit} {row.verdict}")
    return result.page()


if __name__ == "__main__":
    print(page().write("hopper_hops.html"))
