"""Gradients of runs are the slopes of their cost, by start, forces and parameters."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.simulation import gradient, step_derivatives

HOPPER = fc.robots.revolute_hopper()
NAMES = ("friction", "joint dampers.damping")
POINT = {"friction": 0.35, "joint dampers.damping": 0.06}


def hopping(contact, steps_per_second=500):
    laws = [fc.control.JointSpring(3.0), fc.control.JointDamper(0.05)]
    return step_derivatives(HOPPER, laws, contact, dt=1.0 / steps_per_second, inputs=NAMES)


def start() -> fc.State:
    pose = np.eye(4)
    pose[:2, 3] = 0.0, 0.15
    return HOPPER.state(pose=pose, joints=[-0.4], twist=[0.4, -0.5, 0.0])


def travelled(model, state, forces, data):
    return state.pose[:2, 3] @ state.pose[:2, 3] + 0.1 * (state.joints @ state.joints) + forces @ forces


GROUNDS = {
    "soft": fc.contact.CompliantFloor(("foot",), (2e4, 2e4), (60.0, 60.0), friction=0.5),
    "hard": fc.contact.HardContacts(("foot",), friction=0.5),
}


@pytest.mark.parametrize(("ground", "steps"), [("soft", 1000), ("hard", 200)])
def test_a_thousand_steps_with_contact(ground, steps):
    """Landing, sliding, sticking: against differences, in both modes.

    On hard ground the hopper tips over, and what differences are of it differs from one to the other.
    """
    derivatives = hopping(GROUNDS[ground])
    back = gradient(derivatives, start(), travelled, steps=steps, inputs=POINT)
    ahead = gradient(derivatives, start(), travelled, steps=steps, inputs=POINT, mode="forward")
    assert back.cost == pytest.approx(ahead.cost, rel=1e-13)
    np.testing.assert_allclose(back.start, ahead.start, rtol=0.0, atol=1e-9 * np.abs(ahead.start).max())
    for name, x in POINT.items():
        h = 3e-6 * x
        costs = [
            gradient(derivatives, start(), travelled, steps=steps, inputs=POINT | {name: x + s * h}).cost
            for s in (-2, -1, 1, 2)
        ]
        slope = (costs[0] - 8.0 * costs[1] + 8.0 * costs[2] - costs[3]) / (12.0 * h)
        assert back.inputs[name][0] == pytest.approx(slope, rel=1e-6)
        assert ahead.inputs[name][0] == pytest.approx(back.inputs[name][0], rel=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("hard", [False, True])
def test_a_quadruped_lands_and_stands(hard):
    """A thousand steps on four feet, by friction and by the damping of twelve servos."""
    dog, sit = fc.robots.quadruped(), np.tile([0.0, 0.6, -1.2], 4)
    feet, pose = tuple(frame.name for frame in dog.frames), np.eye(4)
    pose[2, 3] = 0.34
    soft = fc.contact.CompliantFloor(feet, (3e4, 3e4), (300.0, 300.0), friction=0.4)
    ground, servo = (
        fc.contact.HardContacts(feet, friction=0.4) if hard else soft,
        fc.control.PositionServo(60.0, 2.0, sit),
    )
    derivatives = step_derivatives(dog, servo, ground, dt=2e-3, inputs=["friction", "kd"])
    state = dog.state(pose=pose, joints=sit, twist=[0.5, 0.2, 0.0, 0.0, 0.0, 0.3])

    def run(friction=0.4, damping=2.0):
        def cost(model, state, forces, data):
            return state.pose[:2, 3] @ state.pose[:2, 3] + 0.1 * (state.rates @ state.rates)

        inputs = {"friction": friction, "kd": np.full(12, damping)}
        return gradient(derivatives, state, cost, steps=1000, inputs=inputs)

    found, h = run(), 1e-6
    by_friction = (run(0.4 + h).cost - run(0.4 - h).cost) / (2.0 * h)
    by_damping = (run(damping=2.0 + h).cost - run(damping=2.0 - h).cost) / (2.0 * h)
    assert found.inputs["friction"][0] == pytest.approx(by_friction, rel=1e-6)
    assert found.inputs["kd"].sum() == pytest.approx(by_damping, rel=1e-6)


def test_by_forces_and_start():
    derivatives, rng = hopping(GROUNDS["soft"]), np.random.default_rng(0)
    forces = 0.1 * rng.normal(size=(60, 1))
    found = gradient(derivatives, start(), travelled, forces=forces, inputs=POINT)
    assert found.forces.shape == (60, 1)
    assert found.states.joints.shape == (61, 1)

    def cost(change=0.0, moved=None):
        state = start() if moved is None else HOPPER.configuration.displace(start(), moved)
        return gradient(derivatives, state, travelled, forces=forces + change, inputs=POINT).cost

    for k in (0, 45, 59):
        d = 1e-6 * np.eye(60)[k][:, None]
        assert found.forces[k, 0] == pytest.approx((cost(d) - cost(-d)) / 2e-6, rel=1e-6, abs=1e-9)
    d = 1e-6 * np.array([0.3, -0.2, 0.5, 0.7])
    # memory at the start follows from the place: a robot in the air has touched nothing yet
    assert found.start[:4] @ (d / 1e-6) == pytest.approx((cost(0.0, d) - cost(0.0, -d)) / 2e-6, rel=1e-5)


def test_what_is_refused():
    derivatives = hopping(GROUNDS["soft"])
    with pytest.raises(fc.ModelError, match=r"inputs are the values of friction, joint dampers\.damping"):
        gradient(derivatives, start(), travelled, steps=3)
    with pytest.raises(fc.ModelError, match=r"forces must be finite numbers of shape \(3, 1\)"):
        gradient(derivatives, start(), travelled, steps=3, forces=np.zeros((2, 1)), inputs=POINT)
    with pytest.raises(fc.ModelError, match="mode is 'adjoint' or 'forward'"):
        gradient(derivatives, start(), travelled, steps=3, inputs=POINT, mode="reverse")
    with pytest.raises(fc.ModelError, match="step_derivatives"):
        gradient(derivatives.step, start(), travelled, steps=3)
    with pytest.raises(fc.NumericsError, match="the cost or its derivatives are not finite"):
        gradient(
            derivatives,
            start(),
            lambda model, state, forces, data: 1.0 / (state.joints[0] + 0.4),
            steps=3,
            inputs=POINT,
        )


def test_jax_names_it():
    import jax

    with pytest.raises(fc.ModelError, match=r"take fc\.simulation\.gradient"):
        jax.grad(lambda x: fc.simulate(HOPPER, HOPPER.state(joints=x), 0.1).joints[-1].sum())(np.zeros(1))


@pytest.mark.slow
def test_the_example_finds_friction_and_damping():
    path = Path(__file__).parents[2] / "examples" / "contact" / "fit_a_landing.py"
    spec = importlib.util.spec_from_file_location("fit_a_landing", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name, number in module.main().items():
        assert number == pytest.approx(module.TRUE[name], rel=1e-6)
