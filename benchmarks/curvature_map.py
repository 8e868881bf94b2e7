"""A curvature map of 30 x 30 shapes of a seven-joint arm: ours beside differences of Pinocchio's mass matrix."""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin

import fallingcat as fc
from fallingcat.model import Model
from fallingcat.planning import Mapper, Plane

RESULT = Path(__file__).parent / "results" / "curvature_map.json"
GRID, STEP = np.linspace(-1.0, 1.0, 30), 1e-5


def robots() -> tuple[Model, Any]:
    """The orbital arm for us and for Pinocchio, from the same file; the map does not depend on gravity."""
    arm = fc.robots.orbital_arm()
    limited = tuple(replace(j, limits=replace(j.limits, velocity=10.0, effort=100.0)) for j in arm.joints)
    heavy = Model(arm.name, arm.base, arm.links, limited, frames=arm.frames)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "arm.urdf")
        fc.save(heavy, path)
        return fc.load(path), pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer())


def plane() -> Plane:
    """Joints 2 and 3 together, and joint 4: [Mishra] V-B."""
    directions = np.zeros((7, 2))
    directions[[1, 2], 0], directions[3, 1] = np.sqrt(0.5), 1.0
    return Plane(directions, np.zeros(7))


def differences(peer: Any, where: Plane) -> np.ndarray:
    """``DA(x, y)`` on the grid: central differences of ``A = Mb^-1 Mbq`` from Pinocchio's CRBA, and the bracket."""
    data, base, G = peer.createData(), np.array([0.0, 0, 0, 0, 0, 0, 1.0]), fc.lie.SE3()
    x, y = where.directions.T

    def A(q: np.ndarray) -> np.ndarray:
        M = pin.crba(peer, data, np.concatenate([base, q]))
        M = np.triu(M) + np.triu(M, 1).T
        return np.linalg.solve(M[:6, :6], M[:6, 6:])

    out = np.empty((len(GRID), len(GRID), 6))
    for i, a in enumerate(GRID):
        for j, b in enumerate(GRID):
            q = where.shapes(np.array([[a, b]]))[0]
            dx, dy = ((A(q + STEP * d) - A(q - STEP * d)) / (2 * STEP) for d in (x, y))
            here = A(q)
            out[i, j] = dx @ y - dy @ x - G.ad(here @ x) @ (here @ y)
    return out


def crba_alone(peer: Any) -> None:
    """The mass matrices that the differences need, five for each point, and nothing else."""
    data, q = peer.createData(), np.concatenate([[0.0, 0, 0, 0, 0, 0, 1.0], np.ones(7)])
    for _ in range(5 * len(GRID) ** 2):
        pin.crba(peer, data, q)


def median_ms(call: Callable[[], Any], repeats: int) -> float:
    call()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return 1e3 * statistics.median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help=f"write {RESULT.name}")
    arguments = parser.parse_args()
    model, peer = robots()
    where, mapper = plane(), Mapper(model)
    ours, theirs = mapper.map(where, GRID, GRID).values, differences(peer, where)
    result = {
        "points": len(GRID) ** 2,
        "ours_ms": median_ms(lambda: mapper.map(where, GRID, GRID), 50),
        "differences_of_pinocchio_ms": median_ms(lambda: differences(peer, where), 5),
        "pinocchio_crba_alone_ms": median_ms(lambda: crba_alone(peer), 5),  # the least that a loop in C++ would save
        "largest_gap": float(np.abs(ours - theirs).max()),
    }
    for name in ("differences_of_pinocchio", "pinocchio_crba_alone"):
        result[f"ratio_{name}"] = result[f"{name}_ms"] / result["ours_ms"]
    print(json.dumps(result, indent=2))
    if arguments.write:
        RESULT.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
