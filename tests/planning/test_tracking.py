"""The tracker's forces give the joints what the motion wants, whatever the base does."""

from dataclasses import replace

import numpy as np
import pytest
from oracles import lagrange
from random_robots import BASES
from residuals import agree

import fallingcat as fc
from fallingcat.planning import Fourier, Gait, tracker


@pytest.mark.parametrize("base", [base for base in BASES if base.dim], ids=str)
@pytest.mark.parametrize("joints", [1, 4])
def test_the_tracker_asks_for_the_wanted_acceleration_at_any_attitude(base, joints):
    """By the articulated-body algorithm and by Lagrange: its forces alone give the joints what the motion wants."""
    rng = np.random.default_rng([base.dim, joints])
    model = fc.robots.random_tree(rng, joints, ("revolute", "prismatic"), base=base)
    model = replace(model, gravity=rng.normal(scale=6.0, size=3))
    gait = Gait(Fourier(np.zeros(joints), *(0.4 * rng.normal(size=(2, 2, joints)))), 1.3)
    state, t = model.random_state(rng), 0.37
    tau = tracker(model, gait, frequency=7.0, damping=0.6)(t, state)
    q, rates, accelerations = (x[0] for x in gait(t))
    wanted = accelerations + 2.0 * 0.6 * 7.0 * (rates - state.rates) + 49.0 * (q - state.joints)
    forces = np.concatenate([np.zeros(model.m), tau])
    a = fc.forward_dynamics(model, state, forces)
    agree("tracker: joints accelerate as wanted", a[model.m :], wanted, 1e-11)
    agree("tracker: Lagrange's forces", lagrange.inverse_dynamics(model, state, a), forces, 1e-11, np.abs(tau).max())
