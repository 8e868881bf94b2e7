"""Laws of one's own with the capabilities of the library's: they are asked for, not their classes."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.arrays import concatenate, sqrt
from fallingcat.control import Law
from fallingcat.control.laws.capabilities import DryFrictionLimit, Impedance, OwnState, Saturation
from fallingcat.simulation import Implicit
from fallingcat.simulation.integrators.joint_friction import creeps
from fallingcat.simulation.problem.problem import Problem

ARM = fc.robots.planar_arm()
START = ARM.state(joints=[0.3, -0.2, 0.1])


@dataclass(frozen=True)
class Brake(Law):
    """Dry friction of every joint, smooth below ``slow`` (rad/s) where no step holds it."""

    limit: float = 200.0
    slow: float = 0.05
    name: str = "brake"
    commanded = False

    def dry_friction(self, model):
        return np.full(model.n, self.limit)

    def fade_rates(self, model):
        return np.full(model.n, self.slow)

    def forces(self, model, t, state, touching):
        v = state.rates
        return concatenate([np.zeros(model.m), -self.limit * v / sqrt(v * v + self.slow * self.slow)])


@dataclass(frozen=True)
class Bumper(Law):
    """A spring that is softer where steps foresee it."""

    stiffness: float = 50.0
    foreseen: bool = False
    name: str = "bumper"
    ignores_contact = True

    def for_implicit_steps(self):
        return replace(self, foreseen=True)

    def forces(self, model, t, state, touching):
        k = self.stiffness * (0.5 if self.foreseen else 1.0)
        return concatenate([np.zeros(model.m), -k * state.joints])


def test_a_law_is_a_base_of_forces_and_four_capabilities():
    mixed_in = (Impedance, Saturation, DryFrictionLimit, OwnState)
    offered = {name for kind in mixed_in for name in vars(kind) if not name.startswith("_")}
    assert {"impedance", "saturated_forces", "dry_friction", "memory_rate"} <= offered
    assert not offered & vars(Law).keys()
    assert set(mixed_in) <= set(Law.__mro__)


def test_dry_friction_of_ones_own_holds_joints():
    assert creeps([Brake()], ARM)
    assert not creeps([Brake(slow=1e-3)], ARM)
    run = fc.simulate(ARM, START, 0.5, Brake())
    assert run.integrator == "implicit"
    np.testing.assert_allclose(run.joints[-1], START.joints, rtol=0.0, atol=1e-9)
    smooth = fc.simulate(ARM, START, 0.5, Brake(), integrator="rkmk4", dt=1e-3)
    assert np.abs(smooth.joints[-1] - START.joints).max() > 1e-3  # it creeps where no step holds it


def test_implicit_steps_take_the_law_that_they_foresee():
    suited = Implicit().suited(Problem(ARM, (Bumper(),)))
    assert suited.laws == (Bumper(foreseen=True),)


@pytest.mark.parametrize("kind", [Bumper, type("Asking", (Bumper,), {"ignores_contact": False})])
def test_beside_a_function_it_is_the_same_compiled_or_not(kind):
    run = fc.simulate(ARM, START, 0.1, [kind(), fc.control.JointDamper(1.0)], integrator="rkmk4", dt=1e-3)
    problem = replace(Problem(ARM, (kind(),)), controller=lambda t, state: -1.0 * state.rates)
    state = run.state(-1)
    forces = problem.applied((), 0.0, state)
    np.testing.assert_allclose(forces["bumper"], -50.0 * state.joints, rtol=1e-13)
    np.testing.assert_allclose(forces["controller"], -state.rates, rtol=1e-13)
