"""Batches of optimal control problems: beside the single solver, on the CPU and on an emulated GPU."""

import dataclasses
import functools
import shutil
import sys

import numpy as np
import pytest
from support.emulated_gpu import emulated

import fallingcat as fc
from fallingcat.arrays import concatenate
from fallingcat.errors import ModelError
from fallingcat.optimal import (
    BatchSolver,
    ContactPhases,
    Phase,
    Problem,
    Status,
    cuda_recursion,
    lanes,
    solve,
    solve_batch,
)
from fallingcat.optimal.lanes import CpuLanes, CpuRecursions, CudaRecursions
from fallingcat.optimal.lockstep import Motions
from fallingcat.optimal.riccati import Implied

ARM, DOG = fc.robots.planar_arm(), fc.robots.quadruped()
FEET = tuple(frame.name for frame in DOG.frames)
GOALS = np.random.default_rng(0).uniform(-0.4, 0.4, size=(11, 3))
needs_compiler = pytest.mark.skipif(shutil.which("g++") is None or sys.platform == "win32", reason="needs a compiler")


def reach(model, state, forces, data):
    return concatenate([10.0 * (state.joints - data[:3]), state.rates, 0.1 * forces])


def slow_elbow(model, state, forces, data):
    return concatenate([state.rates[1:2] - 2.0, -2.0 - state.rates[1:2]])


def at_the_goal(model, state, forces, data):
    return state.joints[:1] - data[:1]


@functools.cache
def reaching():
    """An arm that reaches within the limits of its drives."""
    step = fc.simulation.step_derivatives(ARM, dt=0.02)
    return Problem(step, ARM.neutral(), 15, reach, reach, data=np.zeros(3), force_limits=(-2.0, 2.0))


@functools.cache
def constrained():
    about = {"inequality": slow_elbow, "final_equality": at_the_goal, "force_limits": (-30, 30)}
    return dataclasses.replace(reaching(), **about)


def stay(model, state, forces, data):
    away = [20.0 * (state.pose[:3, 3] - data), state.joints, 0.3 * state.twist, 0.1 * state.rates]
    return concatenate([*away, 0.03 * forces])


@functools.cache
def hanging():
    """A cat that hangs from one point, whose force lies within a cone."""
    cat = fc.robots.two_cylinder_cat()
    cat = dataclasses.replace(cat, frames=(fc.model.Frame("paw", cat.links[-1].name),), gravity=(0.0, 0.0, -9.81))
    phases = ContactPhases(cat, [Phase(5, ("paw",))], 0.02, friction=0.5, damping=20.0)
    return Problem(phases, cat.neutral(), None, stay, stay, data=np.zeros(3))


@functools.cache
def standing():
    """A quadruped on four feet, within friction cones."""
    pose, joints = np.eye(4), np.tile([0.0, 0.6, -1.2], 4)
    pose[2, 3] = 0.3
    phases = ContactPhases(DOG, [Phase(5, FEET)], 0.02, friction=0.5, damping=20.0)
    return Problem(phases, DOG.state(pose=pose, joints=joints), None, stay, stay, data=pose[:3, 3])


def assert_same(batch, i, one, tolerance=0.0):
    """Result ``i`` of a batch is that of the single solver."""
    other = batch.at(i)
    assert (other.status, other.iterations) == (one.status, one.iterations)
    for name in ("forces", "gains", "memory", "cost", "contact_forces", "times"):
        np.testing.assert_allclose(getattr(other, name), getattr(one, name), rtol=0.0, atol=tolerance, err_msg=name)
    for mine, yours in zip(other.states, one.states, strict=True):
        np.testing.assert_allclose(mine, yours, rtol=0.0, atol=tolerance)
    np.testing.assert_allclose(other.kkt, one.kkt, rtol=0.0, atol=max(tolerance, 1e-15))


@pytest.mark.parametrize(
    ("problem", "threads", "narrower"),
    [(reaching, 1, ()), (reaching, 2, ()), (reaching, 1, (4, 2)), (constrained, 1, ()), (constrained, 1, (6, 5, 1))],
)
def test_each_is_solved_as_alone(problem, threads, narrower, monkeypatch):
    """Bit for bit; more problems than lanes, each with a goal of its own; the last ones may move to fewer lanes."""
    monkeypatch.setattr(CpuLanes, "narrower", tuple(map(CpuLanes, narrower)))
    found = solve_batch(problem(), data=GOALS, threads=threads)
    assert found.converged.all()
    assert str(found) == f"{len(GOALS)} converged"
    for i in (0, 4, 10):
        assert_same(found, i, solve(dataclasses.replace(problem(), data=GOALS[i])))
    assert all(check.passed for check in found.at(7).certify())


@pytest.mark.parametrize("problem", [hanging, pytest.param(standing, marks=pytest.mark.slow)])
def test_friction_cones_starts_and_guesses(problem, monkeypatch):
    """Other starts and goals; guesses that are no motions."""
    problem, rng, count = problem(), np.random.default_rng(1), 3
    model, start = problem.model, problem.start
    poses = np.repeat(start.pose[None], count, axis=0)
    poses[:, :3, 3] += 0.01 * rng.normal(size=(count, 3))
    twists = 0.1 * rng.normal(size=(count, 6))
    starts = model.state(pose=poses, joints=np.tile(start.joints, (count, 1)), twist=twists)
    goals = start.pose[:3, 3] + 0.03 * rng.normal(size=(count, 3))
    still = fc.State(*(np.repeat(part[:, None], 6, axis=1) for part in starts))
    monkeypatch.setattr(CpuLanes, "narrower", (CpuLanes(2), CpuLanes(1)))
    for states in (None, still):
        found = solve_batch(problem, starts, states=states, data=goals, iterations=60)
        for i in range(count):
            own = dataclasses.replace(problem, start=starts.at(i), data=goals[i])
            guess = None if states is None else fc.State(*(part[i] for part in states))
            assert_same(found, i, solve(own, states=guess, iterations=60))
        assert found.converged.any()


@pytest.mark.slow
def test_steps_with_memory_are_carried():
    """Steps on compliant and on hard ground, from guesses of forces and of states."""
    rng = np.random.default_rng(2)
    floors = fc.contact.CompliantFloor(FEET, friction=0.6), fc.contact.HardContacts(FEET, friction=0.6)
    joints = np.tile([0.0, 0.6, -1.2], 4)
    start = DOG.standing(floors[1], joints)

    for floor in floors:
        step = fc.simulation.step_derivatives(DOG, None, floor, dt=0.01)
        problem = Problem(step, start, 4, stay, stay, data=start.pose[:3, 3])
        goals = start.pose[:3, 3] + 0.02 * rng.normal(size=(9, 3))
        for states in (None, fc.State(*(np.broadcast_to(part, (9, 5, *part.shape)).copy() for part in start))):
            found = solve_batch(problem, states=states, data=goals, iterations=12)
            for i in (0, 8):
                guess = None if states is None else fc.State(*(part[i] for part in states))
                assert_same(found, i, solve(dataclasses.replace(problem, data=goals[i]), states=guess, iterations=12))


def test_a_solver_is_used_again():
    """Its lanes forget what was in them."""
    solver = BatchSolver(reaching(), gains=False)
    first = solver.solve(data=GOALS)
    solver.solve(data=GOALS[:3])
    again = solver.solve(data=GOALS)
    np.testing.assert_array_equal(first.forces, again.forces)
    assert first.gains.shape[1] == 0
    warm = solver.solve(forces=first.forces, data=GOALS)
    assert warm.converged.all()
    assert warm.iterations.max() <= 3


def test_what_is_not_finite_or_out_of_iterations_does_not_disturb_the_others():
    def burst(model, state, forces, data):
        return concatenate([10.0 * (state.joints - data[:3]), state.rates, 0.1 * forces / data[3]])

    data = np.concatenate([GOALS, np.ones((len(GOALS), 1))], axis=1)
    data[4, 3] = 0.0
    problem = dataclasses.replace(reaching(), cost=burst, final_cost=burst, data=np.ones(4))
    found = solve_batch(problem, data=data)
    assert found.statuses[4] is Status.NOT_FINITE
    assert found.converged.sum() == len(GOALS) - 1
    assert_same(found, 5, solve(dataclasses.replace(problem, data=data[5])))
    few = solve_batch(reaching(), data=GOALS, iterations=2)
    assert set(few.statuses) == {Status.MAX_ITERATIONS}
    assert_same(few, 1, solve(dataclasses.replace(reaching(), data=GOALS[1]), iterations=2))


def test_an_interrupted_batch_has_the_motions_so_far(monkeypatch):
    plain, calls = Motions.expanded, []

    def expanded(self):
        calls.append(0)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return plain(self)

    monkeypatch.setattr(Motions, "expanded", expanded)
    found = solve_batch(reaching(), data=GOALS)
    assert set(found.statuses) == {Status.INTERRUPTED}
    begun = found.iterations > 0
    assert np.isfinite(found.forces[begun]).all()
    assert begun.any()


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({}, "give starts or data"),
        ({"data": np.zeros((2, 4))}, "data must be finite, of shape problems x 16 x 3"),
        ({"data": np.full((2, 3), np.nan)}, "data must be finite"),
        ({"data": np.zeros((2, 3)), "forces": np.zeros((3, 15, 3))}, r"one number of problems, got \[2, 3\]"),
        ({"starts": ARM.neutral()}, "starts must be finite states with the batch axes problems"),
        ({"data": np.zeros((2, 3)), "target": "tpu"}, "target"),
        ({"data": np.zeros((2, 3)), "threads": 0}, "threads must be a whole number"),
    ],
)
def test_wrong_arguments_are_one_line(given, text):
    with pytest.raises(ModelError, match=text) as caught:
        solve_batch(reaching(), **given)
    assert "\n" not in str(caught.value)


# the GPU, emulated --------------------------------------------------------------------------------------------


@pytest.fixture
def gpu(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "cupy", emulated(tmp_path))
    monkeypatch.setattr(cuda_recursion, "THREADS", 1)  # which the emulation runs one after the other


@needs_compiler
@pytest.mark.parametrize(
    ("size", "n", "width", "implied"),
    [(5, 3, 0.3, (0, 0)), (6, 4, np.inf, (0, 0)), (6, 4, 0.3, (3, 2)), (14, 5, 1.0, (7, 4)), (4, 1, 0.3, (2, 0))],
)
def test_the_recursion_of_the_gpu_is_that_of_the_cpu(gpu, size, n, width, implied):
    """Odd and even sizes, gaps, bounds, one Hessian that is not positive definite, one lane left alone."""
    rng, count, steps, implied = np.random.default_rng(size), 4, 3, Implied(*implied)
    here, there = CpuRecursions(count, steps, size, n, size, implied), CudaRecursions(count, steps, size, n, implied)
    for mine, yours in zip(here.arrays, there.arrays, strict=True):
        mine[...] = rng.normal(size=mine.shape)
        yours[...] = mine
    J = rng.normal(size=(count, steps + 1, 2 * size, size + n))
    hessians = np.swapaxes(J, -1, -2) @ J
    hessians[2, 1] -= 1e3 * np.eye(size + n)
    for recursions in (here, there):
        recursions.arrays.hessians[...] = hessians
        recursions.arrays.low[...], recursions.arrays.high[...] = -width, width
    which = np.array([True, True, True, False])
    found = [recursions.run(which, np.full(count, 1e-3)) for recursions in (here, there)]
    assert found[0][0].tolist() == found[1][0].tolist() == [True, True, False, False]
    np.testing.assert_allclose(found[1][1][:2], found[0][1][:2], rtol=1e-10, atol=1e-12)
    for name in ("k", "K", "adjoint"):
        mine, yours = (getattr(recursions.arrays, name)[:2] for recursions in (here, there))
        np.testing.assert_allclose(yours, mine, rtol=0.0, atol=1e-11 * max(1.0, np.abs(mine).max()))
    untouched = there.arrays.k[3]
    np.testing.assert_array_equal(untouched, here.arrays.k[3])


@pytest.mark.slow
@needs_compiler
@pytest.mark.parametrize("problem", [reaching, constrained])
def test_a_batch_on_the_gpu_has_the_optima_of_the_cpu(gpu, problem, monkeypatch):
    """The last problems move to fewer lanes, and at last to the CPU."""
    monkeypatch.setattr(lanes, "LAST_LANES", (1,))
    here, there = (solve_batch(problem(), data=GOALS[:5], target=target) for target in ("cpu", "cuda"))
    assert here.statuses == there.statuses
    assert here.iterations.tolist() == there.iterations.tolist()
    for name in ("forces", "gains", "cost"):
        mine, yours = getattr(here, name), getattr(there, name)
        np.testing.assert_allclose(yours, mine, rtol=0.0, atol=1e-9 * max(1.0, np.abs(mine).max()))
