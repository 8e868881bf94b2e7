"""Equations of motion go to other processes: what a certificate cannot prove there any more is unproved."""

import copy
import pickle

import numpy as np

import fallingcat as fc

CAT = fc.robots.two_cylinder_cat()


def test_pickled_equations_are_the_same_and_claim_nothing_that_is_not_proved():
    state = CAT.random_state(np.random.default_rng(0))
    eom = fc.equations(CAT, state).change(fc.changes.centroidal(CAT, state))
    assert copy.deepcopy(eom).certify().passed
    other = pickle.loads(pickle.dumps(eom))
    np.testing.assert_array_equal(other.M, eom.M)
    found = other.certify()
    assert not found.passed
    assert {check.verdict for check in found.checks if check.claimed} == {"holds", "unproved"}
