"""Law classes of the user's own: traced once, and again as soon as anything about them has changed."""

import sys
import types
from dataclasses import dataclass

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.compiler import compilation
from fallingcat.control import JointDamper, Law
from fallingcat.simulation.problem.fingerprint import Unrecognizable, fingerprint

CAT = fc.robots.two_cylinder_cat()
START = CAT.random_state(np.random.default_rng(3))
GAIN = 0.1


@dataclass(frozen=True)
class Frozen(Law):
    gain: float
    name: str = "mine"

    def forces(self, model, t, state, touching):
        return np.concatenate([np.zeros(model.m), -self.gain * state.rates])


@dataclass
class Mutable(Law):
    gain: float
    name: str = "mine"

    def forces(self, model, t, state, touching):
        return np.concatenate([np.zeros(model.m), -self.gain * state.rates])


class Plain(Law):
    name = "mine"

    def __init__(self, gain):
        self.gain = gain

    def forces(self, model, t, state, touching):
        return np.concatenate([np.zeros(model.m), -self.gain * state.rates])


class Rows(Plain):
    def __init__(self, gain):
        super().__init__(np.full(CAT.n, gain))


def helper(rates):
    return -GAIN * rates


@dataclass(frozen=True)
class FromOutside(Law):
    name: str = "mine"

    def forces(self, model, t, state, touching):
        return np.concatenate([np.zeros(model.m), helper(state.rates)])


@pytest.fixture
def traces(monkeypatch):
    """The functions that were traced, in their order."""
    seen, trace = [], compilation.trace

    def counted(recipe, **options):
        seen.append(recipe.function)
        return trace(recipe, **options)

    monkeypatch.setattr(compilation, "trace", counted)
    return seen


def run(law, **options):
    return fc.simulate(CAT, START, 0.02, law, **options)


def assert_damped(found, gain, **options):
    """The run is that of the library's own damper."""
    expected = run(JointDamper(gain, name="mine"), **options)
    np.testing.assert_allclose(found.rates, expected.rates, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(found.poses, expected.poses, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("integrator", [None, "rkmk4"])
@pytest.mark.parametrize("new", [Frozen, Mutable, Plain, Rows, lambda gain: FromOutside()])
def test_a_law_of_ones_own_is_traced_once(traces, new, integrator):
    first = run(new(GAIN), integrator=integrator, dt=1e-3)
    traces.clear()
    again = run(new(GAIN), integrator=integrator, dt=1e-3)
    assert traces == []
    np.testing.assert_array_equal(again.rates, first.rates)
    assert_damped(again, GAIN, integrator=integrator, dt=1e-3)


def test_other_numbers_are_other_laws():
    law = Mutable(GAIN)
    run(law)
    law.gain = 0.4
    assert_damped(run(law), 0.4)
    assert_damped(run(Mutable(GAIN)), GAIN)


def test_numbers_inside_an_array_count():
    law = Rows(GAIN)
    run(law)
    law.gain[:] = 0.4
    assert_damped(run(law), 0.4)


def test_a_class_defined_again_under_its_name_is_another():
    """As in a notebook whose cell is edited and run again."""
    cell = """
class Again(Law):
    name = "mine"
    def forces(self, model, t, state, touching):
        return np.concatenate([np.zeros(model.m), -{gain} * state.rates])
"""
    notebook = {"Law": Law, "np": np, "__name__": "__main__"}
    for gain in (0.1, 0.4, 0.1):
        exec(cell.format(gain=gain), notebook)
        assert_damped(run(notebook["Again"]()), gain)


def test_a_method_that_is_replaced_counts(monkeypatch):
    def stronger(self, model, t, state, touching):
        return fc.arrays.concatenate([np.zeros(model.m), -0.4 * state.rates])

    run(Plain(GAIN))
    monkeypatch.setattr(Plain, "forces", stronger)
    assert_damped(run(Plain(GAIN)), 0.4)


def test_a_number_of_the_class_counts(monkeypatch):
    class Own(Law):
        name, gain = "mine", GAIN
        forces = Plain.forces

    run(Own())
    monkeypatch.setattr(Own, "gain", 0.4)
    assert_damped(run(Own()), 0.4)


def test_names_that_methods_read_from_their_module_count(monkeypatch):
    run(FromOutside())
    monkeypatch.setattr(sys.modules[__name__], "GAIN", 0.4)
    assert_damped(run(FromOutside()), 0.4)
    monkeypatch.setattr(sys.modules[__name__], "helper", lambda rates: -0.7 * rates)
    assert_damped(run(FromOutside()), 0.7)


def test_names_in_another_module_count():
    settings = types.ModuleType("settings_of_a_user")
    settings.damping = GAIN

    class Configured(Law):
        name = "mine"

        def forces(self, model, t, state, touching):
            return np.concatenate([np.zeros(model.m), -settings.damping * state.rates])

    run(Configured())
    settings.damping = 0.4
    assert_damped(run(Configured()), 0.4)


def test_what_a_function_is_bound_to_counts():
    def made(gain):
        class Bound(Law):
            name = "mine"

            def forces(self, model, t, state, touching):
                return np.concatenate([np.zeros(model.m), -gain * state.rates])

        return Bound()

    assert_damped(run(made(0.1)), 0.1)
    assert_damped(run(made(0.4)), 0.4)


def test_a_law_that_cannot_be_compared_is_traced_each_time(traces):
    law = Plain(GAIN)
    law.log = (x for x in ())  # a generator: nobody can say what it holds
    with pytest.raises(Unrecognizable):
        fingerprint(law)
    for _ in range(2):
        traces.clear()
        assert_damped(run(law), GAIN)
        assert traces


def test_cycles_have_fingerprints():
    law = Plain(GAIN)
    law.me = law
    assert fingerprint(law) == fingerprint(law)
    assert hash(fingerprint(law)) == hash(fingerprint(law))
