"""The dynamics of a humanoid and of talos: call times beside Pinocchio, operation counts, JAX compile times."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pinocchio as pin
import report
from rich.console import Console
from rich.table import Table

import fallingcat as fc
from fallingcat.arrays import Graph

RESULT = Path(__file__).parent / "results" / "dynamics.json"
RATIOS = ("ratio", "ratio_of_best")
Call = Callable[[], Any]

# Multiplications and additions for an unbranched chain of n hinges on a fixed base, general geometry, as they are
# quoted in the survey Featherstone & Orin, "Robot dynamics: equations and algorithms", ICRA 2000, and in the book
# Featherstone 2008, section 10.3.  Written down from memory, not from the page: check before citing.
# The free base is not in n, so the formulas for RNEA and ABA are on the low side for our robots; the one for CRBA is on
# the high side, because the branches of a tree do not couple.
PUBLISHED: dict[str, tuple[str, Callable[[int], int]]] = {
    "inverse_dynamics": ("RNEA, Balafoutis & Patel: (93n - 69) + (81n - 66)", lambda n: 174 * n - 135),
    "mass_matrix": ("CRBA, Featherstone: (10n^2 + 22n - 32) + (6n^2 + 37n - 43)", lambda n: 16 * n * n + 59 * n - 75),
    "forward_dynamics": ("ABA, McMillan & Orin: (224n - 30) + (205n - 37)", lambda n: 429 * n - 67),
}


def path_of(name: str, package: str) -> Path:
    """A robot file of an installed package."""
    files = importlib.metadata.files(package) or []
    return next(Path(str(file.locate())).resolve() for file in files if file.name == name)


def robots() -> dict[str, tuple[fc.Model, Any]]:
    """Each robot for us and for Pinocchio, from the same file."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        humanoid = Path(folder, "humanoid.urdf")
        fc.save(fc.robots.humanoid(), humanoid)
        paths = {"humanoid": humanoid, "talos": path_of("talos_full_v2.urdf", "example-robot-data")}
        free = pin.JointModelFreeFlyer
        return {
            name: (fc.load(path, loops="open"), pin.buildModelFromUrdf(str(path), free()))
            for name, path in paths.items()
        }


# call times ---------------------------------------------------------------------------------------------------------


def calls(model: fc.Model, other: Any) -> dict[str, tuple[Call, Call]]:
    """The same quantity from us and from Pinocchio, each at a random state of its own."""
    rng = np.random.default_rng(0)
    state, x = model.random_state(rng), rng.normal(size=model.nv)
    data, q, v = other.createData(), pin.neutral(other), rng.normal(size=other.nv)
    for joint in list(other.joints)[2:]:
        q[joint.idx_q : joint.idx_q + joint.nq] = rng.normal(size=joint.nq)
    tip = model.link_names[-1]
    frame = other.getFrameId(tip)

    def jacobian() -> Any:
        return pin.computeFrameJacobian(other, data, q, frame, pin.LOCAL)

    return {
        "forward_kinematics": (
            lambda: fc.forward_kinematics(model, state),
            lambda: pin.framesForwardKinematics(other, data, q),
        ),
        "jacobian": (lambda: fc.jacobian(model, state, tip), jacobian),
        "inverse_dynamics": (lambda: fc.inverse_dynamics(model, state, x), lambda: pin.rnea(other, data, q, v, x)),
        "mass_matrix": (lambda: fc.mass_matrix(model, state), lambda: pin.crba(other, data, q)),
        "forward_dynamics": (lambda: fc.forward_dynamics(model, state, x), lambda: pin.aba(other, data, q, v, x)),
        "coriolis_matrix": (
            lambda: fc.coriolis_matrix(model, state),
            lambda: pin.computeCoriolisMatrix(other, data, q, v),
        ),
        "centroidal_momentum_matrix": (
            lambda: fc.centroidal_momentum_matrix(model, state),
            lambda: pin.ccrba(other, data, q, v),
        ),
        "centroidal_momentum_matrix_derivative": (
            lambda: fc.dynamics.centroidal_momentum_matrix_derivative(model, state),
            lambda: pin.dccrba(other, data, q, v),
        ),
        "inverse_dynamics_derivatives": (
            lambda: fc.inverse_dynamics_derivatives(model, state, x),
            lambda: pin.computeRNEADerivatives(other, data, q, v, x),
        ),
        "forward_dynamics_derivatives": (
            lambda: fc.forward_dynamics_derivatives(model, state, x),
            lambda: pin.computeABADerivatives(other, data, q, v, x),
        ),
    }


def seconds(call: Call, times: int) -> float:
    """Mean wall time of ``times`` calls in a row."""
    start = time.perf_counter()
    for _ in range(times):
        call()
    return (time.perf_counter() - start) / times


def summary(times: list[float]) -> dict[str, float]:
    low, median, high = statistics.quantiles(times, n=4, method="inclusive")
    return {"median_s": median, "quartile_low_s": low, "quartile_high_s": high, "min_s": min(times)}


def call_times(model: fc.Model, other: Any, repeats: int) -> dict[str, Any]:
    """Both take turns; the ratio is that of the medians, and of the best, which a busy machine disturbs less."""
    out = {}
    for name, (ours, theirs) in calls(model, other).items():
        seconds(ours, 3), seconds(theirs, 30)
        rounds = [(seconds(ours, 3), seconds(theirs, 300)) for _ in range(repeats)]
        mine, peer = (summary(list(times)) for times in zip(*rounds, strict=True))
        ratios = {"ratio": mine["median_s"] / peer["median_s"], "ratio_of_best": mine["min_s"] / peer["min_s"]}
        out[name] = {"ours": mine, "pinocchio": peer, **ratios}
    return out


# operation counts ---------------------------------------------------------------------------------------------------

COUNTED: dict[str, Callable[[fc.Model, fc.State, Any], Any]] = {
    "inverse_dynamics": fc.inverse_dynamics,
    "mass_matrix": lambda model, state, x: fc.mass_matrix(model, state),
    "forward_dynamics": fc.forward_dynamics,
    "coriolis_matrix": lambda model, state, x: fc.coriolis_matrix(model, state),
    "inverse_dynamics_derivatives": lambda model, state, x: list(fc.inverse_dynamics_derivatives(model, state, x)),
}


def operation_counts(model: fc.Model) -> dict[str, Any]:
    """Scalar operations of the traced functions, quaternion of the base included."""
    out: dict[str, Any] = {}
    for name, function in COUNTED.items():
        graph = Graph()
        state = model.unflatten(graph.inputs("q", model.nq), graph.inputs("v", model.nv))
        kinds = graph.count([function(model, state, graph.inputs("x", model.nv))])
        out[name] = {"total": sum(kinds.values()), "kinds": kinds}
        if name in PUBLISHED:
            formula, count = PUBLISHED[name]
            out[name] |= {"published_formula": formula, "published": count(model.n)}
    return out


# JAX ----------------------------------------------------------------------------------------------------------------


def primitives(jaxpr: Any) -> int:
    """How many primitives a traced function has, inner functions included."""
    inner = [p.jaxpr for e in jaxpr.eqns for p in e.params.values() if hasattr(p, "jaxpr")]
    return len(jaxpr.eqns) + sum(map(primitives, inner))


def jax_times(model: fc.Model, repeats: int) -> dict[str, Any]:
    """Once traced, lowered and compiled; then called many times.  Processor time (all cores) beside wall time."""
    rng = np.random.default_rng(0)
    out = {}
    for name in ("forward_dynamics", "inverse_dynamics", "mass_matrix"):
        with jax.enable_x64(True):
            state = jax.tree.map(jax.numpy.asarray, model.random_state(rng))
            x = jax.numpy.asarray(rng.normal(size=model.nv))
            function = COUNTED[name]
            jax.clear_caches()
            start = time.perf_counter()
            traced = jax.jit(lambda state, x, f=function: f(model, state, x)).trace(state, x)
            lowered = traced.lower()
            middle, cpu = time.perf_counter(), time.process_time()
            compiled = lowered.compile()
            end, cpu_end = time.perf_counter(), time.process_time()
            times = [seconds(lambda c=compiled, s=state, y=x: c(s, y).block_until_ready(), 10) for _ in range(repeats)]
        out[name] = {
            "primitives": primitives(traced.jaxpr.jaxpr),
            "trace_s": middle - start,
            "compile_s": end - middle,
            "compile_processor_s": cpu_end - cpu,
            "run": summary(times),
        }
    return out


# all ----------------------------------------------------------------------------------------------------------------


def measure(repeats: int) -> dict[str, Any]:
    result: dict[str, Any] = {"repeats": repeats, "robots": {}}
    for name, (model, other) in robots().items():
        result["robots"][name] = {
            "joints": model.n,
            "call_times": call_times(model, other, repeats),
            "operations": operation_counts(model),
        }
    result["jax_humanoid"] = jax_times(fc.robots.humanoid(), repeats)
    packages = ("fallingcat", "numpy", "jax", "jaxlib", "pin")
    result["versions"] = {name: importlib.metadata.version(name) for name in packages}
    result["machine"] = {
        "python": platform.python_version(),
        "system": platform.platform(),
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
    }
    return result


def show(result: dict[str, Any]) -> None:
    console = Console()
    for name, robot in result["robots"].items():
        title = f"{name}, {robot['joints']} joints: call from Python, us (median of {result['repeats']}, quartiles)"
        table = Table(
            "function", "fallingcat, NumPy", "quartiles", "Pinocchio", "quartiles", "ratio", "of best", title=title
        )
        for function, t in robot["call_times"].items():
            table.add_row(function, *_cells(t["ours"]), *_cells(t["pinocchio"]), *(f"{t[r]:.0f}" for r in RATIOS))
        console.print(table)
        table = Table("function", "traced", "published", "formula, n = joints", title=f"{name}: scalar operations")
        for function, c in robot["operations"].items():
            published = f"{c['published']:,}" if "published" in c else "-"
            table.add_row(function, f"{c['total']:,}", published, c.get("published_formula", "-"))
        console.print(table)
    table = Table("function", "primitives", "trace, s", "compile, s", "processor, s", "run, us", "quartiles")
    table.title = "humanoid under jax.jit, CPU, float64"
    for function, t in result["jax_humanoid"].items():
        times = (f"{t[key]:.2f}" for key in ("trace_s", "compile_s", "compile_processor_s"))
        table.add_row(function, f"{t['primitives']:,}", *times, *_cells(t["run"]))
    console.print(table)


def _cells(t: dict[str, float]) -> tuple[str, str]:
    return f"{1e6 * t['median_s']:.1f}", f"{1e6 * t['quartile_low_s']:.1f} - {1e6 * t['quartile_high_s']:.1f}"


if __name__ == "__main__":
    report.main(__doc__, RESULT, 30, measure, show)
