"""Kernels of joints, laws, contacts and changes of velocity that are not the library's, beside plain NumPy."""

import shutil
import subprocess
import sys
from dataclasses import replace
from functools import lru_cache

import casadi
import jax
import numpy as np
import pytest
from flying_mass import flying_mass
from hunt_crossley import HuntCrossley
from own_parts import KINDS, Magnet, Rolling, robot
from support.emulated_gpu import emulated

import fallingcat as fc
from fallingcat.arrays import concatenate
from fallingcat.compiler import compile
from fallingcat.compiler.ir import trace as trace_module
from fallingcat.compiler.ir.regroup import regroup_moments
from fallingcat.compiler.ir.trace import Recipe, trace
from fallingcat.errors import BrokenLawError
from fallingcat.testing import check_joint, check_law

from .codegen.test_targets import needs_cc, numbers, run_c

FLOOR = HuntCrossley(("link0", "link1"), 1e3, 0.3, 0.5)
ENERGY = [
    fc.inverse_dynamics,
    fc.forward_dynamics,
    fc.mass_matrix,
    fc.mass_matrix_derivative,
    fc.bias_forces,
    fc.gravity_forces,
    fc.coriolis_matrix,
]
"""What follows from energies, in which moments are moved from link to link."""
LINKS = [fc.forward_dynamics_derivatives, fc.reduced_equations, fc.centroidal_momentum_matrix, fc.kinetic_energy]


def own(model, state):
    """Forces of a law and of a contact in one of its modes, and equations under a change of velocity."""
    law = Magnet().forces(model, 0.3, state, frozenset())
    floor = sum(FLOOR.forces(model, (True, False), state, np.zeros(0), law).values())
    eom = fc.equations(model, state).change(flying_mass(model, state))
    return concatenate([law, floor, eom.M.reshape(-1), eom.C.reshape(-1), eom.g])


@lru_cache
def model():
    return robot((Rolling(),))


def arguments(robot, function, seed=5):
    rng = np.random.default_rng(seed)
    q, v = robot.flatten(robot.random_state(rng))
    more = function in (fc.inverse_dynamics, fc.forward_dynamics, fc.forward_dynamics_derivatives)
    return [q, v, *([rng.normal(size=robot.nv)] if more else [])]


def by_numpy(robot, function, given):
    """The function itself on plain numbers: neither traced nor compiled."""
    return numbers(function(robot, robot.unflatten(*given[:2]), *given[2:]))


def agree(found, expected):
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-11 * max(1.0, np.abs(expected).max()))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_joints_that_a_user_wrote_obey_the_laws_of_joints(kind):
    """The compiled dynamics of ``rolling`` were 0.6 off, and ``mixed`` had no rate of its axes in NumPy either."""
    if kind.name in ("turned", "declared"):
        with pytest.raises(BrokenLawError, match="neutral"):
            check_joint(kind, rounds=3)
    else:
        assert check_joint(kind, rounds=3).passed
    assert kind.fixed_axes == (kind.name in ("eccentric", "declared"))


def test_a_law_that_a_user_wrote_obeys_the_laws_of_laws():
    assert check_law(Magnet(), model()).passed


@pytest.mark.parametrize("function", [*ENERGY, *LINKS, own], ids=lambda f: f.__name__)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_machine_code_gives_what_numpy_gives(kind, function):
    one = robot((kind,))
    given = arguments(one, function)
    agree(numbers(compile(one, function)(*given)), by_numpy(one, function, given))


@pytest.mark.parametrize("function", [fc.forward_dynamics, own], ids=lambda f: f.__name__)
@pytest.mark.parametrize("target", ["cpu", "jax", "casadi"])
def test_every_target_gives_what_numpy_gives(target, function):
    given = arguments(model(), function)
    with jax.enable_x64(True):
        made = compile(model(), function, target=target)
        found = made(*given)
    found = np.ravel(found.full()) if isinstance(found, casadi.DM) else numbers(found)
    agree(found, by_numpy(model(), function, given))


@needs_cc
@pytest.mark.parametrize("function", [fc.forward_dynamics, own], ids=lambda f: f.__name__)
def test_the_c_text_gives_what_numpy_gives(function, tmp_path):
    source = compile(model(), function, target="c")
    for row, given in zip(run_c(source, tmp_path), source.inputs, strict=True):
        agree(row, by_numpy(model(), function, given))


@needs_cc
def test_the_test_main_in_c_compares_with_plain_numpy(tmp_path, monkeypatch):
    """It compared with the trace that the code was made of, and passed whatever tracing had done to the robot."""

    def heavier(model):
        links = [replace(link, body=replace(link.body, mass=1.5 * link.body.mass)) for link in model.links]
        return replace(model, links=tuple(links))

    monkeypatch.setattr(trace_module, "regroup_moments", heavier)
    with pytest.raises(subprocess.CalledProcessError, match="non-zero exit status 1"):
        run_c(compile(fc.robots.cat(), fc.forward_dynamics, target="c"), tmp_path)


@pytest.mark.skipif(shutil.which("g++") is None or sys.platform == "win32", reason="needs a C++ compiler")
@pytest.mark.parametrize("function", [fc.forward_dynamics, own], ids=lambda f: f.__name__)
def test_the_cuda_text_gives_what_numpy_gives(function, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "cupy", emulated(tmp_path))
    given = arguments(model(), function)
    found = compile(model(), function, target="cuda")(*(np.stack([x, x]) for x in given))
    agree(numbers(found)[: len(numbers(found)) // 2], by_numpy(model(), function, given))


COUNTS = {
    (fc.robots.humanoid, fc.forward_dynamics): 7284,
    (fc.robots.cat, fc.inverse_dynamics): 973,
    (fc.robots.quadruped, fc.mass_matrix): 572,
    (fc.robots.prismatic_hopper, fc.coriolis_matrix): 24,
    (fc.robots.orbital_arm, fc.bias_forces): 580,
}
"""Operations when moments were moved by the group of a joint: hinges and sliders are still simplified."""


@pytest.mark.parametrize(("make", "function"), COUNTS, ids=lambda f: f.__name__)
def test_hinges_and_sliders_are_simplified_as_before(make, function):
    assert sum(trace(Recipe(make(), function)).face.operations.values()) == COUNTS[make, function]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_moments_stay_behind_joints_that_move_in_their_own_way(kind):
    one = robot((kind,))
    base, own, hinge = (link.body.mass for link in regroup_moments(one).links)
    masses = [link.body.mass for link in one.links]
    assert (base, own, hinge) == (masses[0], masses[1] + masses[2], 0.0)
