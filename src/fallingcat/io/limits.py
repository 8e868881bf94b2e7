"""Limits of robot files: real robots stay far below, a hostile file meets these before it costs much."""

from __future__ import annotations

from typing import Final

MAX_BYTES: Final = 16 * 2**20
"""Size of a file, and of all files that it includes together (bytes)."""
MAX_TAG: Final = 2**20
"""Length of one tag, comment or text (bytes)."""
MAX_DEPTH: Final = 3_000
"""Elements within elements; URDF is flat, MJCF nests its bodies."""
MAX_ELEMENTS: Final = 200_000
"""Elements of a file, with those of the files that it includes; a link and its joint have about fifteen."""
MAX_ATTRIBUTES: Final = 256
"""Attributes of one element."""
MAX_ATTRIBUTE: Final = 512 * 2**10
"""Length of one attribute (characters)."""
MAX_LINKS: Final = 10_000
"""Links of a robot."""
MAX_PAIRS: Final = 500_000
"""Pairs of links that do not touch, which is all of 1,000 links."""
MAX_SHAPES: Final = 20_000
"""Geoms and frames of an MJCF file: each is placed and weighed."""
MAX_MESHES: Final = 1_000
"""Meshes that are opened, because masses depend on them."""
MAX_FACES: Final = 400_000
"""Faces of one of them; a binary STL of MAX_BYTES has fewer."""
MAX_HULL: Final = 100_000
"""Vertices of a mesh whose convex hull is asked for."""
MAX_MESH_BYTES: Final = 64 * 2**20
"""Size of all these together (bytes); each is a file of at most MAX_BYTES."""
MAX_NAME: Final = 256
"""Length of a name (characters)."""
MAX_NUMBER: Final = 128
"""Length of one number (characters)."""
UNLIMITED: Final = 1e308
"""Speed or force of a joint that has no limit, in files that must name one."""
MAX_LENGTH: Final = 1e9
"""Size of any coordinate of a position (m): farther out, double precision loses the robot."""
MAX_MASS: Final = 1e30
"""Mass of a link (kg), about half the sun's."""
MIN_MASS: Final = 1e-30
"""Mass of a link that has one (kg), about an electron's: below it, products of masses underflow."""
MAX_INERTIA: Final = 1e40
"""Any entry of an inertia matrix (kg m^2)."""
MAX_MASS_RATIO: Final = 1e12
"""Heaviest link to lightest; beyond it a warning: forward dynamics would lose all digits."""
MAX_WARNINGS: Final = 1_000
"""Warnings about one file; further ones are left out."""
