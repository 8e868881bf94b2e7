"""Whether a release would work: build it, check it, and install it in clean environments, with each extra.

    python tools/check_release.py               # all; minutes, and as much disk as the extras take
    python tools/check_release.py jax casadi    # these extras only; `-` for none

Nothing is uploaded, and the working tree stays as it is.  Exit code 1 if something fails.
"""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
import tempfile
import tomllib
import venv
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
CORE = """
import numpy as np, fallingcat as fc
heavy = {"scipy", "jax", "casadi", "sympy", "xarray", "pandas"} & set(__import__("sys").modules)
assert not heavy, heavy
cat = fc.robots.cat()
states = cat.random_state(np.random.default_rng(0), 4)
assert np.isfinite(fc.compile(cat, fc.mass_matrix)(states)).all()
run = fc.simulate(cat, states.at(0), 0.01)
"""
SMOKES = {
    "jax": "fc.compile(cat, fc.kinetic_energy, target='jax')(states)",
    "gym": "fc.simulation.VectorEnvironment",
    "learn": "import onnx, torch; fc.learning.Learner",
    "casadi": "fc.compile(cat, fc.kinetic_energy, target='casadi')",
    "coal": "import coal",
    "symbolic": "fc.symbolic.derive(fc.robots.revolute_hopper())['M']",
    "scipy": "fc.simulate(cat, states.at(0), 0.01, integrator='scipy')",
    "data": "run.to_xarray()",
    "sweep": "import joblib, xarray, zarr",
    "cluster": "import distributed, zarr",
    "xacro": "import xacro",
    "view": "import viser",
    "video": "import playwright.sync_api",
    "robots": "fc.load('upkie_description')",
    "docs": "import furo, myst_parser, sphinx",
}
"""For each extra, what must work with it."""
UNTRIED = {"gpu": "needs a GPU", "test": "README's test command installs it", "all": "the extras one by one"}


def main() -> int:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = set(project["optional-dependencies"])
    assert extras == SMOKES.keys() | UNTRIED.keys(), "an extra has no smoke test"
    wanted = [name for name in sys.argv[1:] if name != "-"] if sys.argv[1:] else sorted(SMOKES)
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for what, passed in checks(Path(folder), wanted):
            print(f"{'ok    ' if passed else 'FAILED'}  {what}", flush=True)
            failed += not passed
    for name, why in UNTRIED.items():
        print(f"untried  {name}: {why}")
    return failed > 0


def checks(folder: Path, extras: list[str]) -> Iterator[tuple[str, bool]]:
    """What was tried, and whether it passed."""
    yield "versions agree", versions() == {__version__()}
    tools = environment(folder / "tools")
    yield "tools", run(tools, "-m", "pip", "install", "--quiet", "build", "twine")
    yield "build", run(tools, "-m", "build", "--outdir", folder / "dist", ROOT)
    made = sorted((folder / "dist").iterdir())
    yield "twine check", len(made) == 2 and run(tools, "-m", "twine", "check", "--strict", *made)
    for path in made:
        yield f"install {path.name}", works(folder, path, "", CORE)
    wheel = next(path for path in made if path.suffix == ".whl")
    for extra in extras:
        yield f"install with [{extra}]", works(folder, wheel, f"[{extra}]", CORE + SMOKES[extra])


def __version__() -> str:
    """That of the package."""
    return str(runpy.run_path(str(ROOT / "src" / "fallingcat" / "_version.py"))["__version__"])


def versions() -> set[str]:
    """Versions in CITATION.cff and of the newest release in CHANGELOG.md, where there is one."""
    cited = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)
    released = re.search(r"^## v?(\d+\.\d+\.\d+\S*)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    return {found[1].strip() for found in (cited, released) if found}


def works(folder: Path, path: Path, extra: str, code: str) -> bool:
    """Whether this installs into an environment of its own, and the code runs there, away from the sources."""
    with tempfile.TemporaryDirectory(dir=folder) as room:
        python = environment(Path(room) / "venv")
        installed = run(python, "-m", "pip", "install", "--quiet", f"fallingcat{extra} @ {path.as_uri()}")
        command = python.with_name("fallingcat" + python.suffix)
        return installed and run(python, "-I", "-c", code, cwd=room) and run(command, "--version", cwd=room)


def environment(folder: Path) -> Path:
    """The Python of a new virtual environment."""
    venv.create(folder, with_pip=True)
    return executable(folder)


def executable(folder: Path) -> Path:
    """The Python of a virtual environment; commands lie beside it."""
    return folder / "Scripts" / "python.exe" if os.name == "nt" else folder / "bin" / "python"


def run(*command: str | Path, cwd: str | None = None) -> bool:
    """Whether a command succeeds; what it says is shown if not."""
    done = subprocess.run([str(x) for x in command], cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        print("\n".join([*done.stdout.splitlines()[-5:], *done.stderr.splitlines()[-15:]]), file=sys.stderr)
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
