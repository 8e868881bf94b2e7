"""Steps of bodies that touch, as C, on JAX and CasADi numbers, and as CUDA code: the same as plain NumPy."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from support.emulated_gpu import emulated
from support.meshes import stone
from support.object_scenes import at, table

from fallingcat.contact import BodyContacts, CompliantBodies, body_pairs
from fallingcat.geometry.hulls import hull_of
from fallingcat.model import combine, rigid_object
from fallingcat.model.shapes import Sphere
from fallingcat.simulation import step

pytestmark = pytest.mark.slow
CC = shutil.which("gcc") or shutil.which("cc")
KINDS = ["rigid", "compliant", "meshes"]


def scene(kind: str) -> tuple[dict, tuple]:
    """Two balls on a table, one of which hits the other; or two meshes."""
    if kind == "meshes":
        return meshes()
    balls = {name: rigid_object(Sphere(0.05), mass=0.5) for name in ("a", "b")}
    model = combine({"table": table(), **balls})
    pairs = body_pairs(model)
    touch = BodyContacts(pairs) if kind == "rigid" else CompliantBodies(pairs, stiffness=1e4, damping=30.0)
    places = [*at(0.0, 0.0, 0.05), *at(0.1005 * np.cos(0.1), 0.1005 * np.sin(0.1), 0.05)]
    start = model.state(joints=places, rates=[1.0, 0.0, 0.0, 0.0, 5.0, 3.0, *np.zeros(6)])
    return begun(model, touch, start)


def begun(model, touch, start) -> tuple[dict, tuple]:
    about = {"problem": model, "contact": touch, "dt": 1e-3, "driven": False, "state": start}
    return about, (*model.flatten(start), step(**about).begin(start))


def meshes() -> tuple[dict, tuple]:
    """A tetrahedron that hits another with its tip."""
    tip = hull_of(np.array([[0.0, 0.0, -0.05], [0.05, 0.0, 0.05], [-0.05, 0.05, 0.05], [-0.05, -0.05, 0.05]]))
    with tempfile.TemporaryDirectory() as folder:
        model = combine({name: stone(Path(folder), f"{name}.obj", tip) for name in ("a", "b")})
        touch = CompliantBodies(body_pairs(model), stiffness=1e4, damping=30.0)
    start = model.state(joints=[*at(0.0, 0.0, 0.0), *at(0.0, 0.0, 0.102)], rates=[*np.zeros(8), -1.0, 1.0, 2.0, 3.0])
    return begun(model, touch, start)


def after(about: dict, target: str, x: tuple, count: int = 5) -> np.ndarray:
    one = step(target=target, **about)
    for _ in range(count):
        x = one(*x)
    return np.concatenate([np.asarray(part, dtype=float).ravel() for part in x])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("target", ["cpu", "casadi", "jax"])
def test_bodies_step_alike_everywhere(kind, target):
    import jax

    about, x = scene(kind)
    with jax.enable_x64(True):
        found = after(about, target, x)
    expected = after(about, "numpy", x)
    assert np.abs(expected[: len(x[0])] - x[0]).max() > 1e-3
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-9 * max(1.0, np.abs(expected).max()))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.skipif(CC is None or sys.platform == "win32", reason="needs a C compiler")
def test_bodies_in_c(kind, tmp_path):
    """Its own test compares with plain NumPy."""
    source = step(target="c", **scene(kind)[0]).function
    _, code, main = source.write(tmp_path)
    subprocess.run([CC, "-std=c99", "-Wall", "-Werror", code, main, "-lm", "-o", tmp_path / "run"], check=True)
    assert subprocess.run([tmp_path / "run"], capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.skipif(shutil.which("g++") is None or sys.platform == "win32", reason="needs a C++ compiler")
def test_bodies_as_cuda_code(kind, monkeypatch, tmp_path):
    """Kernels of a GPU, run by an emulation of it on the CPU."""
    monkeypatch.setitem(sys.modules, "cupy", emulated(tmp_path))
    about, x = scene(kind)
    many = tuple(np.tile(part, (3, 1)) for part in x)
    found, expected = (step(target=target, **about)(*many) for target in ("cuda", "cpu"))
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(np.asarray(a), b, rtol=0.0, atol=1e-9 * max(1.0, np.abs(b).max()))
