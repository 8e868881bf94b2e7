"""Copies of predictive controllers and solvers have arrays of their own."""

import copy
import pickle

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.arrays import concatenate
from fallingcat.optimal import MPC, BatchSolver, Problem

ARM = fc.robots.planar_arm()
HOW = {"copy": copy.copy, "deepcopy": copy.deepcopy, "pickle": lambda x: pickle.loads(pickle.dumps(x))}


def reach(model, state, forces, data):
    return concatenate([10.0 * (state.joints - data), state.rates, 0.1 * forces])


PROBLEM = Problem(fc.simulation.step_derivatives(ARM, dt=0.02), ARM.neutral(), 10, reach, reach, data=[0.5, -0.3, 0.2])


def planned(mpc, joints, goal):
    """Forces of two ticks."""
    state = ARM.state(joints=joints)
    return np.concatenate([mpc.tick(state, goal), mpc.tick(state)])


@pytest.mark.parametrize("how", HOW)
def test_copies_of_a_predictive_controller_plan_by_themselves(how):
    """A deep copy gave forces of the original's arrays, without a word; a pickle a raw AttributeError."""
    here, there = ([0.1, 0.2, 0.3], [0.4, 0.0, 0.1]), ([-0.2, 0.1, 0.0], [-0.3, 0.2, 0.5])
    one, expected = MPC(PROBLEM), MPC(PROBLEM)
    for each in (one, expected):
        planned(each, *here)
    two = HOW[how](one)
    of_two, of_one = planned(two, *there), planned(one, *here)
    np.testing.assert_array_equal(of_two, planned(expected, *there))
    alone = MPC(PROBLEM)
    planned(alone, *here)
    np.testing.assert_array_equal(of_one, planned(alone, *here))
    assert not np.array_equal(of_one, of_two)


@pytest.mark.parametrize("how", HOW)
def test_copies_of_a_batch_solver_solve_by_themselves(how):
    starts = ARM.state(joints=np.linspace(-0.2, 0.3, 6).reshape(2, 3))
    other = ARM.state(joints=np.linspace(0.4, 0.1, 6).reshape(2, 3))
    solver = BatchSolver(PROBLEM, iterations=20)
    first = solver.solve(starts)
    again = HOW[how](solver)
    np.testing.assert_array_equal(again.solve(other).forces, BatchSolver(PROBLEM, iterations=20).solve(other).forces)
    np.testing.assert_array_equal(solver.solve(starts).forces, first.forces)
