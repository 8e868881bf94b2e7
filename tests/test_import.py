"""What `import fallingcat` brings along, and who may import whom."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
LOADED_ON_DEMAND = {
    "casadi",
    "defusedxml",
    "jax",
    "llvmlite",
    "pydantic",
    "rich",
    "scipy",
    "sympy",
    "typer",
}


def modules_after(statement: str) -> set[str]:
    """Top-level names in `sys.modules` of a fresh interpreter after `statement`."""
    script = f"{statement}\nimport json, sys\nprint(json.dumps(sorted({{m.partition('.')[0] for m in sys.modules}})))"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(json.loads(run.stdout))


def test_import_loads_nothing_that_is_needed_only_later():
    loaded = modules_after("import fallingcat")
    assert "fallingcat" in loaded
    assert not loaded & LOADED_ON_DEMAND


def test_a_run_needs_no_pages_and_no_sockets():
    script = "import fallingcat, sys; fallingcat.simulate; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert "fallingcat.simulation.simulate" in loaded
    assert not {"fallingcat.visualization", "urllib.request", "ssl"} & set(loaded)


def test_layers_import_downwards_only():
    lint = Path(sys.executable).with_name("lint-imports")
    run = subprocess.run([lint, "--no-cache"], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
