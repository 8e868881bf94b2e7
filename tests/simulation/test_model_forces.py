"""Tendons, force elements and actuators of sites in every driver and target, all at once."""

import numpy as np
import pytest

import fallingcat as fc
from tests.io.test_mjcf_forces import FREE, ROUND, SUM, robot
from tests.support.mujoco_beside import loaded

ROPES = (
    "<spatial name='t' stiffness='40' damping='1' range='.1 .9' frictionloss='.5'>{}</spatial>"
    "<fixed name='u' {}</fixed>"
)
DRIVES = "<actuator><motor tendon='t'/><motor site='s2' gear='1 2 3 .1 .2 .3'/></actuator>"
LAWS = (fc.control.Actuators((0.3, 0.4)),)
DT = 1e-3


@pytest.fixture(scope="module")
def flying(tmp_path_factory):
    """A robot in air with everything, and a state."""
    ropes = ROPES.format(ROUND.format(" sidesite='sd'"), f"stiffness='3'>{SUM}")
    air = "<option density='1.2' viscosity='.1'/>"
    world = FREE.replace('name="b"', 'name="b" gravcomp=".5"')
    text = robot(world, f"<tendon>{ropes}</tendon>{DRIVES}", air)
    model = loaded(tmp_path_factory.mktemp("robot"), text)[0]
    state = model.random_state(np.random.default_rng(0))
    return model, model.state(pose=state.pose, joints=0.3 * state.joints, twist=state.twist, rates=state.rates)


def numbers(x):
    """A vector, of CasADi's numbers too."""
    return np.ravel(x.full() if hasattr(x, "full") else x)


@pytest.mark.parametrize("target", ["cpu", "casadi"])
def test_targets_take_the_same_step(flying, target):
    model, state = flying
    options = {"dt": DT, "driven": False, "integrator": "rkmk4"}
    steps = [fc.simulation.step(model, LAWS, target=each, **options) for each in ("numpy", target)]
    q, v = model.flatten(state)
    plain, other = (np.concatenate([numbers(x) for x in step(q, v)[:2]]) for step in steps)
    np.testing.assert_allclose(other, plain, rtol=1e-13, atol=1e-13)


def test_batches_and_methods_agree(flying):
    model, state = flying
    alone = fc.simulate(model, state, 0.05, LAWS, dt=DT, integrator="rkmk4")
    twice = fc.rollout(model, fc.State(*(np.stack([x, x]) for x in state)), 0.05, LAWS, dt=DT, integrator="rkmk4")
    np.testing.assert_array_equal(twice.joints[-1], [alone.joints[-1]] * 2)
    other = fc.simulate(model, state, 0.05, LAWS, dt=DT, integrator="implicit")
    np.testing.assert_allclose(other.joints[-1], alone.joints[-1], atol=1e-5)


def test_the_ledger_has_a_line_for_each(flying):
    model, state = flying
    run = fc.simulate(model, state, 0.05, LAWS)
    names = {"tendon springs", "tendon damping", "tendon friction", "tendon limits", "gravity compensation", "fluid"}
    assert names <= {*run.ledger.ports}
    assert run.energy_residual < 1e-7
