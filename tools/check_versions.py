"""Whether the declared minimum versions of the dependencies, and the newest ones, work.

    python tools/check_versions.py                          # both, with every Python from 3.11 on that is installed
    python tools/check_versions.py newest python3.14        # these only; .ci/run does that

Each time in an environment of its own, without extras: import, machine code, a run, and the command line.  Exit code 1
if something fails.  A Python that is not there, or makes no environments, is named as untried.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from check_release import CORE, ROOT, executable, run

PYTHONS = ("python3.11", "python3.12", "python3.13", "python3.14")
COMMANDS = (
    ["--version"],
    ["--help"],
    ["inspect", "--help"],
    ["inspect", "arm.toml", "--json"],
    ["certify", "arm.toml"],
    ["sweep", "--help"],
)
"""Of the command line: what an old one of its libraries breaks first."""


def main() -> int:
    words = sys.argv[1:]
    versions = [word for word in words if word in ("minimum", "newest")] or ["minimum", "newest"]
    pythons = [word for word in words if word not in versions] or list(PYTHONS)
    failed = 0
    for python in pythons:
        found = usable(python)
        for which in versions:
            works = found and smoke(python, which)
            said = "ok     " if works else "FAILED " if found else "untried"
            print(f"{said}  {python}, {which} versions", flush=True)
            failed += found and not works
    return failed > 0


def usable(python: str) -> bool:
    """Whether this Python is there and makes environments: pyenv has commands for versions that are switched off."""
    if shutil.which(python) is None:
        return False
    return subprocess.run([python, "-c", "import ensurepip, venv"], capture_output=True, check=False).returncode == 0


def wanted(which: str) -> list[str]:
    """The requirements of the library, at their minimum or as they are; pip takes those of its Python."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    requirement = re.compile(r"[\w-]+>=[\d.]+(; python_version [<>=]+ '[\d.]+')?")
    assert all(requirement.fullmatch(each) for each in project["dependencies"]), "each has a minimum"
    return [each.replace(">=", "==", 1) if which == "minimum" else each for each in project["dependencies"]]


def smoke(python: str, which: str) -> bool:
    """Whether the library works with this Python and these versions."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([python, "-m", "venv", f"{folder}/venv"], check=True)
        own = executable(Path(folder) / "venv")
        code = CORE + "fc.save(fc.robots.planar_arm(), 'arm.toml')\n"
        return (
            run(own, "-m", "pip", "install", "--quiet", "--only-binary", ":all:", *wanted(which))
            and run(own, "-m", "pip", "install", "--quiet", ROOT)
            and run(own, "-I", "-c", code, cwd=folder)
            and all(run(own.with_name("fallingcat" + own.suffix), *command, cwd=folder) for command in COMMANDS)
        )


if __name__ == "__main__":
    sys.exit(main())
