"""Kernels of Talos on a GPU: evaluations per second beside what memory and arithmetic allow, and errors beside NumPy.

python benchmarks/gpu.py --prepare reference.npz          # anywhere: states and what NumPy makes of them
python benchmarks/gpu.py --reference reference.npz        # on a machine with a GPU and CuPy
python benchmarks/gpu.py ... --grid FOLDER                # beside GRiD's grid.cuh for the same robot, on a fixed base
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import fallingcat as fc
from fallingcat.compiler import compile
from fallingcat.compiler.cuda.column_loops import RepeatedInstructions
from fallingcat.formulations.slice import curvature_slice

RESULT = Path(__file__).parent / "results" / "gpu.json"
FUNCTIONS: dict[str, tuple[Callable[..., Any], int]] = {
    "inverse_dynamics": (fc.inverse_dynamics, 1000),
    "forward_dynamics": (fc.forward_dynamics, 1000),
    "mass_matrix": (fc.mass_matrix, 1000),
    "coriolis_matrix": (fc.coriolis_matrix, 300),
    "curvature_slice": (curvature_slice, 1000),
    "reduced_equations": (fc.reduced_equations, 100),
    "inverse_dynamics_derivatives": (fc.inverse_dynamics_derivatives, 100),
    "forward_dynamics_derivatives": (fc.forward_dynamics_derivatives, 100),
}
"""Each with the number of states that are compared with NumPy."""
FURTHER = {
    "inverse_dynamics": ["acceleration"],
    "forward_dynamics": ["forces"],
    "curvature_slice": ["x", "y"],
    "inverse_dynamics_derivatives": ["acceleration"],
    "forward_dynamics_derivatives": ["forces"],
}
LARGE = ("reduced_equations", "inverse_dynamics_derivatives", "forward_dynamics_derivatives")
"""Thousands of results a state: half the batch, a quarter in float64."""


def flat(result: Any) -> np.ndarray:
    """All numbers of a result."""
    parts = [x for x in result if isinstance(x, np.ndarray)] if isinstance(result, tuple) else [result]
    return np.concatenate([np.ravel(x) for x in parts])


def prepare(model: fc.Model, file: str) -> None:
    """States, further arguments and the results of the NumPy path."""
    rng = np.random.default_rng(1)
    most = max(count for _, count in FUNCTIONS.values())
    states = [model.random_state(rng) for _ in range(most)]
    data = dict(zip(("q", "v"), map(np.array, zip(*(model.flatten(s) for s in states), strict=True)), strict=True))
    data["acceleration"] = rng.normal(size=(most, model.nv))
    data["forces"] = 10.0 * rng.normal(size=(most, model.nv))
    data |= {name: rng.normal(size=(most, model.n)) for name in ("x", "y")}
    for name, (function, count) in FUNCTIONS.items():
        further = [data[key] for key in FURTHER.get(name, [])]
        data[name] = np.array([flat(function(model, states[i], *(x[i] for x in further))) for i in range(count)])
    np.savez(file, **data)


def seconds(cupy: Any, launch: Callable[[], Any], repeats: int = 11, together: int = 8) -> float:
    """Median time of a launch, by device events; some together, so that the time that Python takes is hidden."""
    times = []
    for k in range(repeats + 3):
        start, stop = cupy.cuda.Event(), cupy.cuda.Event()
        start.record()
        for _ in range(together):
            launch()
        stop.record()
        stop.synchronize()
        if k >= 3:
            times.append(1e-3 * cupy.cuda.get_elapsed_time(start, stop) / together)
    return statistics.median(times)


def limits(cupy: Any) -> dict[str, float]:
    """Bytes per second of a copy (read and written), and instructions per second if every lane issued always."""
    source = cupy.random.default_rng(0).standard_normal(1 << 29, dtype=np.float32)
    target = cupy.empty_like(source)
    copy = 2 * source.nbytes / seconds(cupy, lambda: cupy.copyto(target, source))
    device = cupy.cuda.Device()
    clock = 1e3 * device.attributes["ClockRate"]
    lanes = 128 * device.attributes["MultiProcessorCount"]
    return {"copy": copy, "float32": lanes * clock, "float64": lanes / 2 * clock}


def measure(cupy: Any, model: fc.Model, name: str, dtype: str, batch: int, data: Any, most: dict[str, float]) -> Any:
    """One row of the table."""
    function, _ = FUNCTIONS[name]
    start = time.perf_counter()
    kernel = compile(model, function, target="cuda", dtype=dtype)
    stages = [stage for stage, _ in zip(kernel.stages.stages, kernel.texts, strict=True)]
    text_ready = time.perf_counter()
    compiled = kernel.kernels
    built = time.perf_counter()
    keys = [a.name for a in kernel.signature]
    expected = data[name]
    few = [cupy.ascontiguousarray(cupy.asarray(data[key][: len(expected)].T.astype(dtype))) for key in keys]
    error = np.abs(kernel.columns(*few).get().T - expected).max() / np.abs(expected).max()
    rng = cupy.random.default_rng(2)
    columns = [rng.standard_normal((a.size, batch), dtype=np.dtype(dtype)) for a in kernel.signature]
    columns[0][3:7] /= cupy.sqrt((columns[0][3:7] ** 2).sum(axis=0))
    rate = batch / seconds(cupy, lambda: kernel.columns(*columns))
    size = np.dtype(dtype).itemsize
    through = size * (sum(a.size for a in kernel.signature) + kernel.size)
    between = size * sum(handed(stage, len(kernel.signature)) for stage in stages)
    instructions = sum(len(stage.lines) * getattr(stage, "things", 1) for stage in stages)
    floors = {"memory": most["copy"] / through, "arithmetic": most[dtype] / instructions}
    bound = min(floors, key=lambda key: floors[key])
    return {
        "function": name,
        "dtype": dtype,
        "rate": rate,
        "bound": bound,
        "bound_rate": floors[bound],
        "share_of_bound": rate / floors[bound],
        "bytes_per_state": through,
        "workspace_bytes_per_state": between,
        "bytes_per_second": rate * (through + between),
        "instructions": instructions,
        "instructions_per_second": rate * instructions,
        "stages": len(compiled),
        "registers": [k.num_regs for k in compiled],
        "local_bytes": [k.local_size_bytes for k in compiled],
        "shared_bytes": [text.shared for text in kernel.texts],
        "text_seconds": text_ready - start,
        "nvrtc_seconds": built - text_ready,
        "error": float(error),
    }


def handed(stage: Any, workspace: int) -> int:
    """Values of the workspace that a stage reads and writes for one state."""
    if isinstance(stage, RepeatedInstructions):
        return stage.reads + sum(t.spilled for result in stage.results.values() for ts in result for t in ts)
    return sum(place[0] == workspace for place in stage.inputs.values()) + len(stage.stores)


def beside_grid(cupy: Any, folder: str, model: fc.Model, batch: int) -> dict[str, dict[str, float]]:
    """Evaluations per second in float32 of the same robot on a fixed base: GRiD's best launch, and ours."""
    with tempfile.TemporaryDirectory() as place:
        program = Path(place) / "grid"
        source = Path(__file__).parent / "grid.cu"
        command = ["nvcc", "-O3", "-std=c++17", "-arch=native", "-w", "-I", folder, str(source), "-o", str(program)]
        subprocess.run(command, check=True)
        said = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    found = {}
    for name, rate in (line.split() for line in said.splitlines()):
        start = time.perf_counter()
        kernel = compile(model, FUNCTIONS[name][0], target="cuda", dtype="float32")
        stages, took = len(kernel.kernels), time.perf_counter() - start
        rng = cupy.random.default_rng(2)
        columns = [rng.standard_normal((a.size, batch), dtype=np.float32) for a in kernel.signature]
        ours = batch / seconds(cupy, lambda kernel=kernel, columns=columns: kernel.columns(*columns))
        found[name] = {"grid": float(rate), "ours": ours, "stages": stages, "compile (s)": took}
        print(f"fixed base {name}: {ours:.3e}/s, GRiD {float(rate):.3e}/s, {ours / float(rate):.0f} times", flush=True)
    return found


def exchange(cupy: Any, model: fc.Model) -> dict[str, Any]:
    """Whether arrays of JAX and Torch come and go without a copy: the kernel sees their own addresses."""
    kernel = compile(model, fc.inverse_dynamics, target="cuda", dtype="float32")
    rng = cupy.random.default_rng(5)
    ours = [rng.standard_normal((a.size, 4096), dtype=np.float32) for a in kernel.signature]
    expected = kernel.columns(*ours)
    found = {}
    for library in ("torch", "jax"):
        try:
            module = __import__(library)
        except ImportError:
            continue
        take = module.from_dlpack if library == "torch" else module.dlpack.from_dlpack
        theirs = [take(x) for x in ours]
        result = kernel.columns(*theirs)
        same = [cupy.from_dlpack(x).data.ptr == y.data.ptr for x, y in zip(theirs, ours, strict=True)]
        equal = bool((cupy.from_dlpack(result) == expected).all())
        found[library] = {"no_copy": all(same), "equal": equal, "type": type(result).__module__.partition(".")[0]}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--robot", help="a robot file; Talos (reduced) of example-robot-data if not given")
    parser.add_argument("--prepare")
    parser.add_argument("--reference")
    parser.add_argument("--grid", help="a folder with the grid.cuh that GRiD generated for the robot")
    parser.add_argument("--batch", type=int, default=1 << 20)
    parser.add_argument("--output", default=str(RESULT))
    parser.add_argument("--only", nargs="*", default=[f"{f}:{d}" for f in FUNCTIONS for d in ("float32", "float64")])
    options = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = fc.load(options.robot or talos())
    if options.prepare:
        prepare(model, options.prepare)
        return
    import cupy

    data = np.load(options.reference)
    most = limits(cupy)
    name = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    print(f"{name}: copy {most['copy'] / 1e12:.2f} TB/s, float32 {most['float32'] / 1e12:.1f}e12 instructions/s")
    rows: list[Any] = []
    result = {
        "device": name,
        "cupy": cupy.__version__,
        "python": platform.python_version(),
        "robot": {"joints": model.n, "base": "free", "name": model.name},
        "batch": options.batch,
        "limits": most,
        "exchange": exchange(cupy, model),
        "rows": rows,
    }
    print(result["exchange"])
    for function, dtype in (item.split(":") for item in options.only):
        batch = options.batch >> (1 + (dtype == "float64") if function in LARGE else 0)
        rows.append(row := measure(cupy, model, function, dtype, batch, data, most))
        cupy.get_default_memory_pool().free_all_blocks()
        print(
            f"{function:18s} {dtype} {row['rate']:.3e}/s  {row['share_of_bound']:.0%} of {row['bound']}"
            f"  {row['bytes_per_second'] / 1e12:.2f} TB/s  {row['instructions_per_second'] / 1e12:.1f}e12 i/s"
            f"  regs {row['registers']} local {row['local_bytes']} shared {row['shared_bytes']}"
            f"  error {row['error']:.1e}  nvrtc {row['nvrtc_seconds']:.1f} s",
            flush=True,
        )
        Path(options.output).write_text(json.dumps(result, indent=1) + "\n")
    if options.grid:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fixed = fc.load(options.robot or talos(), base="fixed")
        result["fixed base, beside GRiD"] = beside_grid(cupy, options.grid, fixed, options.batch >> 1)
        Path(options.output).write_text(json.dumps(result, indent=1) + "\n")


def talos() -> Path:
    """The robot file of the installed package."""
    import importlib.metadata

    files = importlib.metadata.files("example-robot-data") or []
    return next(Path(str(f.locate())).resolve() for f in files if f.name == "talos_reduced.urdf")


if __name__ == "__main__":
    main()
