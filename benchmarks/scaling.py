"""Trees of 1 to 200 hinges on a free base, chains (deep) and stars (flat): times beside Pinocchio and MuJoCo.

Every row says how far our inverse dynamics and Pinocchio's are apart at one state, and what the kernel takes to compile
and, beyond what the process had before, in memory.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import resource
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
import report
from rich.console import Console
from rich.table import Table

import fallingcat as fc
from fallingcat.compiler.compare import bare_urdf, compare

RESULT = Path(__file__).parent / "results" / "scaling.json"
JOINTS = (1, 2, 5, 10, 20, 50, 100, 200)
SHAPES = ("chain", "tree", "star")
COMPARED = {"inverse_dynamics": fc.inverse_dynamics, "forward_dynamics": fc.forward_dynamics}


def robot(shape: str, joints: int) -> fc.Model:
    """Random bodies and places; every link hangs on the one before it (chain), on any (tree), or on the base (star)."""
    tree = fc.robots.random_tree(
        np.random.default_rng(joints), joints, kinds=["revolute"], branching=0.0 if shape == "chain" else 1.0
    )
    if shape != "star":
        return tree
    base = tree.links[0].name
    hung = [fc.Joint(j.name, j.kind, base, j.child, j.placement, limits=j.limits) for j in tree.joints]
    return fc.Model("star", tree.base, tree.links, tuple(hung), tree.gravity)


def apart(model: fc.Model) -> float:
    """Our inverse dynamics and Pinocchio's at a random state, relative to the largest force."""
    other = pin.buildModelFromXML(bare_urdf(model), pin.JointModelFreeFlyer())
    rng = np.random.default_rng(0)
    q, v = model.flatten(model.random_state(rng))
    a = rng.normal(size=model.nv)
    theirs = fc.exchange.pinocchio(model, other)
    ours = fc.compile(model, fc.inverse_dynamics)(q, v, a)[theirs.v_order]
    there = pin.rnea(other, other.createData(), *theirs.to(q, v), a[theirs.v_order])
    return float(np.abs(ours - there).max() / np.abs(there).max())


def row(shape: str, joints: int, repeats: int) -> dict[str, Any]:
    model = robot(shape, joints)
    before = _peak()
    found = compare(model, 1024, repeats, COMPARED)
    return {
        "shape": shape,
        "joints": joints,
        "apart": apart(model),
        "more_memory_mib": _peak() - before,
        **{
            r.function: {
                "operations": r.operations,
                "compile_s": r.compile_s,
                "times": {who: spread._asdict() for who, spread in r.times.items()},
            }
            for r in found
        },
    }


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0


def measure(repeats: int) -> dict[str, Any]:
    os.environ["FALLINGCAT_CACHE"] = "off"
    rows = [row(shape, joints, repeats) for shape in SHAPES for joints in JOINTS]
    versions = {name: importlib.metadata.version(name) for name in ("fallingcat", "numpy", "llvmlite", "pin", "mujoco")}
    machine = {"python": platform.python_version(), "system": platform.platform(), "load": os.getloadavg()[0]}
    return {"repeats": repeats, "rows": rows, "versions": versions, "machine": machine}


def show(result: dict[str, Any]) -> None:
    for name in COMPARED:
        table = Table("tree", "joints", "operations", "compile, s", title=f"{name.replace('_', ' ')}, us")
        for head in ("one call", "of 1,024", "Pinocchio", "MuJoCo", "apart", "memory, MiB"):
            table.add_column(head, justify="right")
        for r in result["rows"]:
            times = {who: f"{1e6 * t['median']:.2f}" for who, t in r[name]["times"].items()}
            cells = [times.get(who, "-") for who in ("kernel", "batch", "Pinocchio", "MuJoCo")]
            cells += [f"{r['apart']:.0e}", f"{r['more_memory_mib']:.0f}"]
            size, made = f"{r[name]['operations']:,}", f"{r[name]['compile_s']:.2f}"
            table.add_row(r["shape"], str(r["joints"]), size, made, *cells)
        Console(width=130).print(table)


if __name__ == "__main__":
    report.main(__doc__, RESULT, 11, measure, show)
