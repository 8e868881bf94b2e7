"""Random robots, edits, states and calls with odd arguments: errors of ours or right answers, nothing else.

``FALLINGCAT_FUZZ_SECONDS=60 pytest -m slow tests/test_fuzz_calls.py`` runs for a minute.
"""

import inspect
import time

import numpy as np
import pytest
from fuzzing import SECONDS
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, rule, run_state_machine_as_test
from misuses import of_robots

import fallingcat as fc
from fallingcat.errors import FallingCatError
from fallingcat.lie import R3, SE2, SE3, SO3, Trivial

FUNCTIONS = {name: function for name, function, _ in of_robots()}
BASES = [SE3(), SE3(), SE2(), SO3(), R3(), Trivial()]
SEEDS = st.integers(0, 2**32 - 1)
FURTHER = {
    "acceleration": "vector", "forces": "vector", "tangent": "vector", "x": "shape", "y": "shape",
    "link": "link", "frame": "frame",
}  # fmt: skip
ODD = st.sampled_from(
    [None, "ghost", "", 3, -1, np.nan, np.inf, True, [], {}, (), 1j, b"x", object(), np.zeros(0), np.zeros((2, 2)),
     np.eye(4), np.eye(6), np.array("a"), np.array([None] * 3), np.full(7, np.nan), lambda: 0, float, "base", "world",
     np.ma.masked_array(np.zeros(6), mask=[1, 0, 0, 0, 0, 0]), np.full(6, 1e308), np.full(7, -1e300),
     "christoffel", 1e308, 1e-308, range(3), {"a": 1.0}, [[1.0], [1.0, 2.0]], np.float32(1.0), np.zeros(3, dtype=int),
     np.zeros((1,) * 64), np.broadcast_to(1.0, (10**12, 6))]
)  # fmt: skip


def assert_answer(result):
    """Numbers are numbers: whatever an accepted call gives holds no NaN."""
    for x in result if isinstance(result, tuple) else [result]:
        if isinstance(x, np.ndarray) and x.dtype.kind == "f":
            assert np.isfinite(x).all()


class Calls(RuleBasedStateMachine):
    models, states = Bundle("models"), Bundle("states")

    def tried(self, call):
        """The result, or None where the library refuses."""
        try:
            return call()
        except FallingCatError as error:
            said = str(error)
        assert said.isprintable()
        return None

    @initialize(target=models, seed=SEEDS, n=st.integers(0, 6), base=st.sampled_from(BASES))
    def begin(self, seed, n, base):
        return fc.robots.random_tree(np.random.default_rng(seed), n, base=base, planar=isinstance(base, SE2))

    # models ---------------------------------------------------------------------------------------------------

    @rule(target=models, model=models, seed=SEEDS)
    def reroot(self, model, seed):
        link = model.link_names[seed % len(model.links)]
        found = self.tried(lambda: model.reroot(link))
        if found is not None:
            assert found.link_names[0] == link
            assert found.mass == pytest.approx(model.mass, rel=1e-12)
        return found or model

    @rule(target=models, model=models, seed=SEEDS)
    def lock(self, model, seed):
        if not model.joint_names:
            return model
        return model.lock([model.joint_names[seed % len(model.joint_names)]])

    @rule(target=models, model=models, odd=ODD, which=st.sampled_from(["reroot", "lock", "frame", "replace_body"]))
    def wrong_edit(self, model, odd, which):
        further = (fc.Body(),) if which == "replace_body" else ()
        found = self.tried(lambda: getattr(model, which)(odd, *further))
        return found if isinstance(found, fc.Model) else model

    @rule(target=models, model=models)
    def merged(self, model):
        found = model.merge_fixed()
        assert found.n == model.n
        assert found.mass == pytest.approx(model.mass, rel=1e-12)
        return found

    @rule(target=models, model=models, seed=SEEDS, mass=st.sampled_from([0.0, 1e-12, 1.0, 1e12]))
    def reweighed(self, model, seed, mass):
        body = fc.Body(mass, [0.1, 0.0, 0.0], mass * np.eye(3))
        return model.replace_body(model.link_names[seed % len(model.links)], body)

    # states ---------------------------------------------------------------------------------------------------

    @rule(target=states, model=models, seed=SEEDS)
    def state(self, model, seed):
        return model.random_state(np.random.default_rng(seed))

    @rule(target=states, state=states, field=st.sampled_from(fc.State._fields), odd=ODD)
    def damaged(self, state, field, odd):
        return state._replace(**{field: odd})

    @rule(target=states, model=models, fields=st.dictionaries(st.sampled_from(fc.State._fields), ODD))
    def made(self, model, fields):
        return self.tried(lambda: model.state(**fields)) or model.neutral()

    @rule(model=models, state=states)
    def flat(self, model, state):
        found = self.tried(lambda: model.unflatten(*model.flatten(state)))
        if found is not None:
            np.testing.assert_allclose(found.joints, np.asarray(state.joints, dtype=float), rtol=0, atol=1e-5)

    # calls ----------------------------------------------------------------------------------------------------

    @rule(model=models, state=states, name=st.sampled_from(sorted(FUNCTIONS)), seed=SEEDS)
    def call(self, model, state, name, seed):
        """A call whose further arguments are right; the state may be of another robot, or none."""
        kinds = {
            "vector": np.zeros(model.nv), "shape": np.zeros(model.n), "frame": "world",
            "link": model.link_names[seed % len(model.links)],
        }  # fmt: skip
        self._call(name, model, state, [kinds.get(FURTHER.get(key, ""), "body") for key in _required(name)])

    @rule(
        model=models, state=states, name=st.sampled_from(sorted(FUNCTIONS)), odd=st.lists(ODD, min_size=5, max_size=5)
    )
    def wrong_call(self, model, state, name, odd):
        self._call(name, model, state, odd[: len(_required(name))])

    @rule(odd=ODD, other=ODD, name=st.sampled_from(sorted(FUNCTIONS)), more=st.lists(ODD, min_size=5, max_size=5))
    def nonsense(self, odd, other, name, more):
        self._call(name, odd, other, more[: len(_required(name))])

    def _call(self, name, model, state, further):
        with np.errstate(all="ignore"):
            assert_answer(self.tried(lambda: FUNCTIONS[name](model, state, *further)))

    # right answers --------------------------------------------------------------------------------------------

    @rule(model=models, seed=SEEDS)
    def laws(self, model, seed):
        rng = np.random.default_rng(seed)
        state, a = model.random_state(rng), rng.normal(size=model.nv)
        if model.kinematic:  # it has no masses, and says so
            assert self.tried(lambda: fc.mass_matrix(model, state)) is None
            return
        M = fc.mass_matrix(model, state)
        scale = max(np.abs(M).max(initial=0.0), 1e-300)
        assert np.abs(M - M.T).max(initial=0.0) <= 1e-12 * scale
        v = state.velocity
        assert fc.kinetic_energy(model, state) == pytest.approx(0.5 * v @ M @ v, rel=1e-9, abs=1e-9 * scale)
        bias = fc.bias_forces(model, state)
        forces = fc.inverse_dynamics(model, state, a)
        size = scale * (1.0 + np.abs(a).max(initial=0.0)) + np.abs(bias).max(initial=0.0)
        np.testing.assert_allclose(forces, M @ a + bias, rtol=0, atol=1e-9 * size)
        C = fc.coriolis_matrix(model, state)
        np.testing.assert_allclose(C @ v + fc.gravity_forces(model, state), bias, rtol=0, atol=1e-9 * size)


def _required(name):
    parameters = list(inspect.signature(FUNCTIONS[name]).parameters.values())[2:]
    return [p.name for p in parameters if p.default is p.empty]


def test_calls_at_random():
    run_state_machine_as_test(Calls, settings=settings(max_examples=15, stateful_step_count=25))


@pytest.mark.slow
def test_calls_at_random_for_a_while():
    end, once = time.monotonic() + SECONDS, settings(
        max_examples=200, stateful_step_count=50, derandomize=False, database=None
    )  # fmt: skip
    while time.monotonic() < end:
        run_state_machine_as_test(Calls, settings=once)
