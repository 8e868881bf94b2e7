"""How long `import fallingcat` takes: fresh interpreters, medians, beside a bare interpreter and `import numpy`."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import report
from rich.console import Console
from rich.table import Table

STATEMENTS = {"bare interpreter": "pass", "import numpy": "import numpy", "import fallingcat": "import fallingcat"}
OPTIONAL = ["casadi", "defusedxml", "jax", "llvmlite", "matplotlib", "pydantic", "rich", "scipy", "sympy", "typer"]
RESULT = Path(__file__).parent / "results" / "import_time.json"


def seconds(statement: str) -> tuple[float, float]:
    """Wall and CPU time of one fresh interpreter that runs `statement`, from start to exit, in s."""
    before, start = os.times(), time.perf_counter()
    subprocess.run([sys.executable, "-c", statement], check=True)
    wall, after = time.perf_counter() - start, os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return wall, used


def modules_loaded() -> list[str]:
    """Everything that `import fallingcat` leaves in `sys.modules`: the time means little without it."""
    script = "import fallingcat, sys; print(*sys.modules)"
    return subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout.split()


def summary(times: list[float]) -> dict[str, float]:
    low, median, high = statistics.quantiles(times, n=4, method="inclusive")
    return {"median_s": median, "quartile_low_s": low, "quartile_high_s": high, "min_s": min(times)}


def measure(repeats: int) -> dict[str, Any]:
    for statement in STATEMENTS.values():
        seconds(statement)  # compile the .pyc files, fill the file cache
    rounds = [{name: seconds(statement) for name, statement in STATEMENTS.items()} for _ in range(repeats)]
    times = {name: summary([r[name][0] for r in rounds]) for name in STATEMENTS}
    for name, t in times.items():
        t["cpu_median_s"] = statistics.median(r[name][1] for r in rounds)
    whole, bare, numpy = (times[n]["median_s"] for n in ("import fallingcat", "bare interpreter", "import numpy"))
    modules = modules_loaded()
    return {
        "repeats": repeats,
        "times": times,
        "fallingcat_without_interpreter_s": whole - bare,
        "fallingcat_without_numpy_s": whole - numpy if "numpy" in modules else None,
        "fallingcat_modules_loaded": [m for m in modules if m.partition(".")[0] == "fallingcat"],
        "optional_modules_loaded": [m for m in OPTIONAL if m in modules],
        "versions": {name: importlib.metadata.version(name) for name in ("fallingcat", "numpy")},
        "machine": {
            "python": platform.python_version(),
            "system": platform.platform(),
            "cores": os.cpu_count(),
            "load": os.getloadavg()[0],  # other work in the last minute, in cores; times mean little above 1.5
        },
    }


def show(result: dict[str, Any]) -> None:
    table = Table("fresh interpreter", "median", "quartiles", "CPU", title=f"{result['repeats']} repeats, ms")
    for name, t in result["times"].items():
        quartiles = f"{1e3 * t['quartile_low_s']:.0f} - {1e3 * t['quartile_high_s']:.0f}"
        table.add_row(name, f"{1e3 * t['median_s']:.0f}", quartiles, f"{1e3 * t['cpu_median_s']:.0f}")
    console = Console()
    console.print(table)
    beyond_numpy = result["fallingcat_without_numpy_s"]
    console.print(f"fallingcat beyond the interpreter: {1e3 * result['fallingcat_without_interpreter_s']:.0f} ms")
    console.print(f"beyond numpy: {'numpy is not loaded' if beyond_numpy is None else f'{1e3 * beyond_numpy:.0f} ms'}")
    console.print(f"modules of fallingcat loaded: {len(result['fallingcat_modules_loaded'])}")
    console.print(f"optional modules loaded: {', '.join(result['optional_modules_loaded']) or 'none'}")


if __name__ == "__main__":
    report.main(__doc__, RESULT, 30, measure, show)
