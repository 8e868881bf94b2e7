"""JavaScript text of functions, run by Node."""

import json
import shutil
import subprocess

import numpy as np
import pytest

import fallingcat as fc

NODE = shutil.which("node")
ROBOT = fc.robots.quadruped()


def ran(made, *given):
    """Outputs of a function for flat arguments."""
    arrays = ", ".join(json.dumps(np.ravel(x).tolist()) for x in given)
    call = f"const out = new Float64Array({made.outputs}), w = new Float64Array({made.work});"
    call += f"{made.name}({arrays}, out, w); console.log(JSON.stringify([...out]));"
    found = subprocess.run([NODE, "-"], input=f"{made.source}\n{call}", capture_output=True, text=True, check=True)
    return np.array(json.loads(found.stdout))


@pytest.mark.skipif(NODE is None, reason="needs Node")
@pytest.mark.parametrize("function", [fc.forward_dynamics, fc.mass_matrix, fc.inverse_dynamics])
def test_a_function_is_that_of_the_library(function):
    made = fc.compile(ROBOT, function, target="javascript")
    rng = np.random.default_rng(0)
    state = ROBOT.random_state(rng)
    more = [rng.standard_normal(ROBOT.nv)] * (len(made.arguments) - 2)
    expected = np.ravel(function(ROBOT, state, *more))
    found = ran(made, *ROBOT.flatten(state), *more)
    np.testing.assert_allclose(found, expected, atol=1e-11 * np.abs(expected).max())


@pytest.mark.skipif(NODE is None, reason="needs Node")
def test_numbers_that_are_not_finite_and_branches():
    from fallingcat.arrays import less, where

    def either(model, state, x):
        return np.array([where(less(x[0], 0.0), np.inf, x[0]), where(less(x[1], 1.0), -1e-300, 5e300)])

    made = fc.compile(ROBOT, either, inputs={"x": 2}, target="javascript")
    flat = ROBOT.flatten(ROBOT.neutral())
    found = ran(made, *flat, [0.25, 0.5])
    assert found.tolist() == [0.25, -1e-300]


def test_nothing_of_the_robot_is_in_the_text_and_single_precision_is_refused():
    made = fc.compile(ROBOT, fc.mass_matrix, target="javascript")
    assert not any(joint.name in made.source for joint in ROBOT.joints)
    assert "</" not in made.source
    with pytest.raises(fc.ModelError, match="numbers of JavaScript are float64, not float32"):
        fc.compile(ROBOT, fc.mass_matrix, target="javascript", dtype="float32")
