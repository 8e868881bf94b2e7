"""A mesh file for tests."""

from __future__ import annotations

from pathlib import Path

import numpy as np


def cube_file(folder: Path) -> None:
    """A cube of edge 2 around the origin, as STL in text."""
    x = np.array([-1.0, 1.0])
    corners = np.stack(np.meshgrid(x, x, x, indexing="ij"), axis=-1).reshape(-1, 3)
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    faces = [(a, b, c) for a, b, c, _ in quads] + [(a, c, d) for a, _, c, d in quads]
    facets = "".join(
        "facet normal 0 0 0\nouter loop\n"
        + "".join("vertex {} {} {}\n".format(*corners[i]) for i in face)
        + "endloop\nendfacet\n"
        for face in faces
    )
    (folder / "cube.stl").write_text(f"solid cube\n{facets}endsolid cube\n")
