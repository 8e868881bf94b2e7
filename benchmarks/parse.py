"""How long `fallingcat.io.read` takes: talos, and generated chains whose times should grow as their lengths do."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import report
from rich.console import Console
from rich.table import Table

from fallingcat.io import read

RESULT = Path(__file__).parent / "results" / "parse.json"
LENGTHS = (250, 500, 1000, 2000, 4000)
LINK = """ <link name="link{0}">
  <inertial><origin xyz="0 0 0.1" rpy="0 0 0"/><mass value="1.0"/>
   <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>
  <visual><origin xyz="0 0 0.1" rpy="0 0.1 0"/><geometry><cylinder radius="0.05" length="0.2"/></geometry></visual>
 </link>"""
JOINT = """ <joint name="joint{0}" type="{2}"><parent link="link{0}"/><child link="link{1}"/>
  <origin xyz="0 0 0.2" rpy="0.1 0 0"/>{3}</joint>"""
MOVING = '<axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="10" velocity="5"/>'


def chain(length: int) -> str:
    """A URDF of `length` links in a row; every tenth joint is fixed."""
    links = [LINK.format(i) for i in range(length)]
    joints = []
    for i in range(length - 1):
        kind, inside = ("fixed", "") if i % 10 == 9 else ("revolute", MOVING)
        joints.append(JOINT.format(i, i + 1, kind, inside))
    return '<?xml version="1.0"?>\n<robot name="chain">\n' + "\n".join(links + joints) + "\n</robot>\n"


def talos() -> Path | None:
    """The humanoid of example-robot-data, if that package is installed."""
    try:
        files = importlib.metadata.files("example-robot-data") or []
    except importlib.metadata.PackageNotFoundError:
        return None
    return next((Path(str(file.locate())).resolve() for file in files if file.name == "talos_full_v2.urdf"), None)


def timed(path: Path, repeats: int) -> dict[str, float]:
    """Reading one file `repeats` times, after once for the caches."""
    model, _ = read(path)
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        read(path)
        times.append(time.perf_counter() - start)
    size = path.stat().st_size
    return {"bytes": size, "links": len(model.links), "median_s": statistics.median(times), "min_s": min(times)}


def measure(repeats: int) -> dict[str, Any]:
    """All files; `exponent` is the slope of log time over log length: 1 is linear."""
    results: dict[str, dict[str, float]] = {}
    if (robot := talos()) is not None:
        results["talos_full_v2.urdf"] = timed(robot, repeats)
    with tempfile.TemporaryDirectory() as folder:
        for length in LENGTHS:
            path = Path(folder, f"chain{length}.urdf")
            path.write_text(chain(length))
            results[f"chain of {length:,} links"] = timed(path, repeats)
    times = [results[f"chain of {length:,} links"]["min_s"] for length in LENGTHS]
    return {
        "repeats": repeats,
        "files": results,
        "exponent": float(np.polyfit(np.log(LENGTHS), np.log(times), 1)[0]),
        "versions": {name: importlib.metadata.version(name) for name in ("fallingcat", "numpy", "defusedxml")},
        "machine": {
            "python": platform.python_version(),
            "system": platform.platform(),
            "cores": os.cpu_count(),
            "load": os.getloadavg()[0],  # other work in the last minute, in cores; times mean little above 1.5
        },
    }


def show(result: dict[str, Any]) -> None:
    """The table."""
    table = Table("file", "KiB", "links after merging", "median", "best", title=f"{result['repeats']} repeats, ms")
    for name, r in result["files"].items():
        cells = f"{r['bytes'] / 1024:.0f}", str(r["links"]), f"{1e3 * r['median_s']:.0f}", f"{1e3 * r['min_s']:.0f}"
        table.add_row(name, *cells)
    Console().print(table)
    Console().print(f"time grows as length to the power {result['exponent']:.2f}")


if __name__ == "__main__":
    report.main(__doc__, RESULT, 5, measure, show)
