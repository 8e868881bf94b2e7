"""Compilers and interpreters that run what derivations write: each gives back the numbers of ``robot(q, v, a)``."""

import ctypes
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

FILES = {"c": "robot.c", "matlab": "robot.m", "julia": "robot.jl", "python": "robot.py", "latex": "robot.tex"}
PROGRAMS = {"c": "gcc", "matlab": "octave-cli", "julia": "julia", "latex": "pdflatex"}


def tool(format):
    """A parameter of tests: skipped where the program is not installed."""
    program = PROGRAMS.get(format)
    missing = program is not None and shutil.which(program) is None
    return pytest.param(format, marks=pytest.mark.skipif(missing, reason=f"{program} is not installed"))


def run(folder, format, text, given, sizes=()):
    """Write, compile and run a text; its results one after the other, row by row (of a document: its log)."""
    (folder / FILES[format]).write_text(text, encoding="utf-8")
    return {"c": _c, "matlab": _octave, "julia": _julia, "python": _python, "latex": _latex}[format](
        folder, given, sizes
    )


def _called(*command, folder):
    quiet = {"HOME": str(folder / "home"), "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
    done = subprocess.run(command, cwd=folder, env=quiet, capture_output=True, timeout=120, check=False)
    out = done.stdout.decode("utf-8", "replace")
    assert done.returncode == 0, (out[-2000:], done.stderr.decode("utf-8", "replace")[-2000:])
    return out


def _numbers(out):
    return np.array([float(line) for line in out.split()])


def _c(folder, given, sizes):
    flags = ["-std=c99", "-trigraphs", "-Wall", "-Wextra", "-Werror", "-pedantic", "-shared", "-fPIC"]
    _called("gcc", *flags, "robot.c", "-o", "robot.so", "-lm", folder=folder)
    library = ctypes.CDLL(str(folder / "robot.so"))
    pointer = lambda x: x.ctypes.data_as(ctypes.c_void_p)  # noqa: E731
    found, given = [np.zeros(size) for size in sizes], [np.ascontiguousarray(x, dtype=float) for x in given]
    parameters = ctypes.cast(library.robot_parameters, ctypes.c_void_p)
    library.robot(*map(pointer, given), parameters, *map(pointer, found))
    return np.concatenate(found)


def _octave(folder, given, sizes):
    outs = [f"y{i}" for i in range(len(sizes))]
    lines = [f"[{', '.join(outs)}] = robot({', '.join(map(_listed, given))});"]
    lines += [f'printf("%.17g\\n", {out}.\');' for out in outs]
    (folder / "main_script.m").write_text("\n".join(lines))
    return _numbers(_called("octave-cli", "--norc", "--no-history", "--quiet", "main_script.m", folder=folder))


def _julia(folder, given, sizes):
    call = f"robot({', '.join(map(_listed, given))})"
    several = call if len(sizes) > 1 else f"({call},)"
    loop = f"for x in {several}, y in permutedims(x)\n    println(y)\nend\n"
    (folder / "main.jl").write_text(f'include("robot.jl")\n{loop}')
    return _numbers(_called("julia", "--startup-file=no", "--compile=min", "-O0", "main.jl", folder=folder))


def _python(folder, given, sizes):
    call = f"robot({', '.join(map(_listed, given))})"
    (folder / "main.py").write_text(f"from robot import robot\nfor x in {call}:\n    print(*x.ravel().tolist())\n")
    return _numbers(_called(sys.executable, "-B", "main.py", folder=folder))


def _latex(folder, given, sizes):
    """All doors are open: a command that reached TeX would run."""
    return _called(
        "pdflatex", "-shell-escape", "-interaction=nonstopmode", "-halt-on-error", "robot.tex", folder=folder
    )


def _listed(x):
    return f"[{', '.join(repr(float(each)) for each in x)}]"
