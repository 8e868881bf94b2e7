"""Kernels beside Pinocchio and MuJoCo: single calls, batches, compile times, precision, threads, scaling, memory."""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import resource
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
from rich.console import Console
from rich.table import Table

import fallingcat as fc
from fallingcat.compiler import aligned
from fallingcat.compiler.compare import (
    TimeQuartiles,
    bare_urdf,
    mujoco_calls,
    pinocchio_calls,
    take_turns,
    time_quartiles,
)
from fallingcat.compiler.cpu import native
from fallingcat.compiler.ir.trace import Recipe, trace

RESULT = Path(__file__).parent / "results" / "kernels.json"

# our function -> Pinocchio's, and the ratio that the project has set itself
SINGLE: dict[str, tuple[Callable[..., Any], str, float]] = {
    "inverse_dynamics": (fc.inverse_dynamics, "inverse_dynamics", 5.0),
    "mass_matrix": (fc.mass_matrix, "mass_matrix", 4.0),
    "forward_dynamics": (fc.forward_dynamics, "forward_dynamics", 4.0),
    "coriolis_matrix": (fc.coriolis_matrix, "coriolis_matrix", 4.0),
    "centroidal_momentum_matrix_derivative": (
        fc.dynamics.centroidal_momentum_matrix_derivative,
        "centroidal_momentum_matrix_derivative",
        4.0,
    ),
    "forward_dynamics_derivatives": (fc.forward_dynamics_derivatives, "forward_dynamics_derivatives", 4.0),
    "reduced_equations": (fc.reduced_equations, "coriolis_matrix", 1.0),
}
BATCHED = {"inverse_dynamics": fc.inverse_dynamics, "forward_dynamics": fc.forward_dynamics}
BATCH = 4096
LARGEST = 150_000
"""Operations; what has more compiles for minutes and is reported as such."""
SMALL = 20_000
"""The same for ``--quick``."""


def path_of(name: str, package: str) -> Path:
    """A robot file of an installed package."""
    files = importlib.metadata.files(package) or []
    return next(Path(str(file.locate())).resolve() for file in files if file.name == name)


def robots(quick: bool) -> dict[str, tuple[fc.Model, str]]:
    """Each robot and its URDF text, which all libraries read."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        models = {"talos_reduced": fc.load(path_of("talos_reduced.urdf", "example-robot-data"))}
        if not quick:
            models["solo12"] = fc.load(path_of("solo12.urdf", "example-robot-data"))
            models["humanoid"] = fc.robots.humanoid()
        return {name: (model, bare_urdf(model)) for name, model in models.items()}


def random_arguments(kernel: Any, count: int | None = None, seed: int = 0) -> list[np.ndarray]:
    """Arguments of a kernel, one state or ``count`` of them (64 different ones, repeated)."""
    rng = np.random.default_rng(seed)
    model = kernel.model
    rows = []
    for _ in range(1 if count is None else min(count, 64)):
        known = dict(zip("qv", model.flatten(model.random_state(rng)), strict=True))
        rows.append([known.get(a.name, rng.normal(size=a.size)) for a in kernel.signature])
    columns = [np.array(column, dtype=kernel.dtype) for column in zip(*rows, strict=True)]
    if count is None:
        return [column[0] for column in columns]
    return [np.ascontiguousarray(np.resize(column, (count, column.shape[1]))) for column in columns]


def in_blocks(kernel: Any, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """States in the layout of :meth:`Kernel.blocks`."""
    out = []
    for x in arrays:
        block = aligned((len(x) // kernel.lanes, x.shape[1], kernel.lanes), kernel.dtype)
        block[:] = x.reshape(-1, kernel.lanes, x.shape[1]).swapaxes(1, 2)
        out.append(block)
    return out


# measurements -------------------------------------------------------------------------------------------------------


def sizes_of(model: fc.Model) -> dict[str, int]:
    """How many operations each function has."""
    return {name: sum(trace(Recipe(model, f)).face.operations.values()) for name, (f, _, _) in SINGLE.items()}


def single_calls(model: fc.Model, urdf: str, rounds: int, names: Sequence[str]) -> dict[str, Any]:
    """One state, from Python."""
    theirs, mujoco = pinocchio_calls(urdf), mujoco_calls(urdf)
    out = {}
    for name in names:
        function, peer, bar = SINGLE[name]
        kernel = fc.compile(model, function).optimized()
        calls = {"ours": partial(kernel, *random_arguments(kernel)), "pinocchio": theirs[peer]}
        if name in mujoco:
            calls["mujoco"] = mujoco[name]
        times = take_turns(calls, rounds)
        out[name] = {
            "operations": sum(kernel.operations.values()),
            "times": _dicts(times),
            "ratio": times["pinocchio"].median / times["ours"].median,
            "bar": bar,
        }
    return out


def batches(model: fc.Model, urdf: str, rounds: int) -> dict[str, Any]:
    """For each state of a batch of 4,096, on one core."""
    peer = pin.buildModelFromXML(urdf, pin.JointModelFreeFlyer())
    pool = pin.ModelPool(peer, 1)
    rng = np.random.default_rng(0)
    columns = [pin.integrate(peer, pin.neutral(peer), rng.normal(size=peer.nv)) for _ in range(64)]
    q = np.asfortranarray(np.resize(np.array(columns), (BATCH, peer.nq)).T)
    v, x, result = (np.asfortranarray(rng.normal(size=(peer.nv, BATCH))) for _ in range(3))
    loops = {
        "inverse_dynamics": lambda: pin.rneaInParallel(1, pool, q, v, x, result),
        "forward_dynamics": lambda: pin.abaInParallel(1, pool, q, v, x, result),
    }
    out = {}
    for name, function in BATCHED.items():
        calls: dict[str, Callable[[], Any]] = {"pinocchio": loops[name]}
        for dtype in ("float64", "float32"):
            kernel = fc.compile(model, function, dtype=dtype)
            plain = random_arguments(kernel, BATCH)
            calls[f"{dtype} plain"] = partial(kernel, *plain)
            calls[f"{dtype} blocks"] = partial(kernel.blocks, *in_blocks(kernel, plain))
            if dtype == "float64":
                calls["float64 plain, 2 threads"] = partial(kernel, *plain, threads=2)
        times = {key: TimeQuartiles(*(t / BATCH for t in ts)) for key, ts in take_turns(calls, rounds, 0.02).items()}
        ratios = {key: times["pinocchio"].median / t.median for key, t in times.items()}
        out[name] = {"times": _dicts(times), "ratios": ratios, "bars": {"float64 blocks": 30.0, "float64 plain": 20.0}}
    return out


def to_callable(model: fc.Model, rounds: int, names: Sequence[str]) -> dict[str, Any]:
    """From a model to a function that has answered once: made anew, and from the cache."""
    out = {}
    before = os.environ.get("FALLINGCAT_CACHE")
    with tempfile.TemporaryDirectory() as folder:
        try:
            for name in names:
                function = SINGLE[name][0]
                new, known = [], []
                for i in range(max(1, rounds // 8)):
                    os.environ["FALLINGCAT_CACHE"] = f"{folder}/{name}{i}"
                    new.append(_first_answer(model, function))
                    known += [_first_answer(model, function) for _ in range(3)]
                out[name] = {"new": time_quartiles(new)._asdict(), "from_cache": time_quartiles(known)._asdict()}
        finally:
            os.environ.pop("FALLINGCAT_CACHE")
            if before is not None:
                os.environ["FALLINGCAT_CACHE"] = before
    return out


def _first_answer(model: fc.Model, function: Callable[..., Any]) -> float:
    rng = np.random.default_rng(0)
    q, v = model.flatten(model.random_state(rng))
    start = time.perf_counter()
    kernel = fc.compile(model, function)
    kernel(*[q, v, v][: len(kernel.signature)])
    return time.perf_counter() - start


def joints(sizes: Sequence[int], rounds: int) -> list[dict[str, Any]]:
    """Random trees of hinges."""
    rows = []
    for n in sizes:
        model = fc.robots.random_tree(np.random.default_rng(n), n, kinds=["revolute"])
        start = time.perf_counter()
        kernel = fc.compile(model, fc.inverse_dynamics)
        compile_s = time.perf_counter() - start
        many = random_arguments(kernel, 1024)
        calls = {"single": partial(kernel, *random_arguments(kernel)), "batch": partial(kernel, *many)}
        times = take_turns(calls, rounds)
        row = {"joints": n, "operations": sum(kernel.operations.values()), "compile_s": compile_s}
        rows.append(row | {"single": times["single"]._asdict(), "batch": [t / 1024 for t in times["batch"]]})
    return rows


def batch_sizes(model: fc.Model, sizes: Sequence[int], rounds: int) -> list[dict[str, Any]]:
    """Time for each state over the size of the batch, and the memory that the process takes at most."""
    kernel = fc.compile(model, fc.inverse_dynamics)
    rows = []
    for count in sizes:
        many = random_arguments(kernel, count)
        times = take_turns({"batch": partial(kernel, *many)}, max(3, rounds // 3))["batch"]
        rows.append({"batch": count, "state_s": [t / count for t in times], "peak_mib": _peak()})
    return rows


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0


def _dicts(times: dict[str, TimeQuartiles]) -> dict[str, dict[str, float]]:
    return {key: t._asdict() for key, t in times.items()}


# all ----------------------------------------------------------------------------------------------------------------


def measure(quick: bool, rounds: int) -> dict[str, Any]:
    result: dict[str, Any] = {"quick": quick, "rounds": rounds, "robots": {}}
    for name, (model, urdf) in robots(quick).items():
        counts = sizes_of(model)
        names = [key for key, count in counts.items() if count <= (SMALL if quick else LARGEST)]
        result["robots"][name] = {
            "joints": model.n,
            "operations": counts,
            "single": single_calls(model, urdf, rounds, names),
            "batch": batches(model, urdf, rounds),
            "to_callable": to_callable(model, rounds, names),
        }
        if "batch_sizes" not in result:
            sizes = [1, 64, 4096] if quick else [1, 8, 64, 512, 4096, 32_768, 262_144, 1_000_000]
            result["batch_sizes"] = {"robot": name, "rows": batch_sizes(model, sizes, rounds)}
    result["joints"] = joints([1, 10] if quick else [1, 2, 5, 10, 20, 50, 100, 200], rounds)
    packages = ("fallingcat", "numpy", "llvmlite", "pin", "mujoco")
    result["versions"] = {name: importlib.metadata.version(name) for name in packages}
    result["machine"] = {
        "python": platform.python_version(),
        "system": platform.platform(),
        "processor": native.cpu().name,
        "simd_bytes": native.cpu().width,
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
    }
    return result


def show(result: dict[str, Any]) -> None:
    console = Console(width=120)
    for name, robot in result["robots"].items():
        table = Table("function", "operations", title=f"{name}, {robot['joints']} joints: one call from Python, us")
        for head in ("ours", "quartiles", "Pinocchio", "MuJoCo", "ratio", "bar"):
            table.add_column(head, justify="right")
        for function, row in robot["single"].items():
            t = row["times"]
            mujoco = _us(t["mujoco"]["median"]) if "mujoco" in t else "-"
            cells = [_us(t["ours"]["median"]), _quartiles(t["ours"]), _us(t["pinocchio"]["median"]), mujoco]
            table.add_row(function, f"{row['operations']:,}", *cells, f"{row['ratio']:.1f}", f"{row['bar']:g}")
        for function in robot["operations"].keys() - robot["single"].keys():
            table.add_row(function, f"{robot['operations'][function]:,}", "too large for this run")
        console.print(table)
        table = Table("function", "way", "us", "quartiles", "times faster", title=f"{name}: each state of {BATCH:,}")
        for function, row in robot["batch"].items():
            for way, t in row["times"].items():
                table.add_row(function, way, _us(t["median"]), _quartiles(t), f"{row['ratios'][way]:.1f}")
        console.print(table)
        table = Table("function", "new, ms", "from cache, ms", title=f"{name}: from the model to the first answer")
        for function, row in robot["to_callable"].items():
            table.add_row(function, *(f"{1e3 * row[key]['median']:.1f}" for key in ("new", "from_cache")))
        console.print(table)
    table = Table(
        "joints", "operations", "compile, s", "single, us", "in a batch, us", title="inverse dynamics of trees"
    )
    for row in result["joints"]:
        cells = [f"{row['compile_s']:.2f}", _us(row["single"]["median"]), _us(row["batch"][0])]
        table.add_row(str(row["joints"]), f"{row['operations']:,}", *cells)
    console.print(table)
    title = f"inverse dynamics of {result['batch_sizes']['robot']} over the size of the batch"
    table = Table("batch", "us for each state", "most memory, MiB", title=title)
    for row in result["batch_sizes"]["rows"]:
        table.add_row(f"{row['batch']:,}", _us(row["state_s"][0]), f"{row['peak_mib']:,.0f}")
    console.print(table)


def _us(t: float) -> str:
    return f"{1e6 * t:.3f}" if t < 1e-5 else f"{1e6 * t:,.1f}"


def _quartiles(t: dict[str, float]) -> str:
    return f"{_us(t['low'])} - {_us(t['high'])}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one robot, few repeats, nothing is written")
    parser.add_argument("--rounds", type=int, default=None)
    parser.add_argument("--output", type=Path, default=None)
    options = parser.parse_args()
    result = measure(options.quick, options.rounds or (5 if options.quick else 41))
    output = options.output or (None if options.quick else RESULT)
    if output is not None:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(json.dumps(result, indent=2) + "\n")
    show(result)


if __name__ == "__main__":
    main()
