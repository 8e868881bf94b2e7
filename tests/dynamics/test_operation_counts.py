"""How many scalar operations the recursive algorithms take when they are traced, and that the trace is right."""

from dataclasses import replace

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.arrays import Graph

# Upper bounds for the 30-joint humanoid: a change that makes the traced code longer has to say so here.
BOUNDS = {
    "inverse_dynamics": 2_500,
    "mass_matrix": 2_900,
    "forward_dynamics": 8_500,
    "coriolis_matrix": 14_500,
    "inverse_dynamics_derivatives": 29_000,
}
FUNCTIONS = {
    "inverse_dynamics": fc.inverse_dynamics,
    "mass_matrix": lambda model, state, x: fc.mass_matrix(model, state),
    "forward_dynamics": fc.forward_dynamics,
    "coriolis_matrix": lambda model, state, x: fc.coriolis_matrix(model, state),
    "inverse_dynamics_derivatives": lambda model, state, x: np.concatenate(
        fc.inverse_dynamics_derivatives(model, state, x)[:2]
    ),
}


def trace(model, function):
    """The graph and the outputs of ``function`` on a rotation matrix and vectors of inputs."""
    graph = Graph()
    pose = np.eye(4, dtype=object)
    pose[:3, :] = graph.inputs("H", 12).reshape(3, 4)
    nq = model.nq - model.base.nq
    state = fc.State(pose, graph.inputs("q", nq), graph.inputs("t", model.m), graph.inputs("r", model.n))
    return graph, function(model, state, graph.inputs("x", model.nv))


def values(model, state, x):
    """The numbers of the inputs of :func:`trace`."""
    parts = {"H": state.pose[:3].ravel(), "q": state.joints, "t": state.twist, "r": state.rates, "x": x}
    return {f"{name}{i}": float(v) for name, part in parts.items() for i, v in enumerate(part)}


@pytest.mark.parametrize("name", BOUNDS)
def test_counts_of_the_humanoid(name):
    model = fc.robots.humanoid()
    graph, out = trace(model, FUNCTIONS[name])
    assert sum(graph.count([out]).values()) <= BOUNDS[name]


@pytest.mark.parametrize("name", BOUNDS)
def test_no_rotors_cost_nothing_and_thirty_cost_little(name):
    model = fc.robots.humanoid()
    counts = []
    for armature in (None, 0.0, 0.1):
        joints = [joint if armature is None else replace(joint, armature=armature) for joint in model.joints]
        graph, out = trace(replace(model, joints=tuple(joints)), FUNCTIONS[name])
        counts.append(sum(graph.count([out]).values()))
    assert counts[0] == counts[1]
    assert counts[2] - counts[0] <= 5 * model.n  # in forward dynamics an inertia at the tips no longer cancels


@pytest.mark.parametrize("robot", [fc.robots.humanoid, fc.robots.cat, fc.robots.revolute_hopper, fc.robots.orbital_arm])
@pytest.mark.parametrize("name", BOUNDS)
def test_the_trace_gives_the_same_numbers(name, robot):
    model, rng = robot(), np.random.default_rng(0)
    state, x = model.random_state(rng), rng.normal(size=model.nv)
    graph, out = trace(model, FUNCTIONS[name])
    expected = FUNCTIONS[name](model, state, x)
    found = np.array(graph.evaluate([out], values(model, state, x))).reshape(expected.shape)
    condition = np.linalg.cond(fc.mass_matrix(model, state)) if name == "forward_dynamics" else 1.0
    tolerance = max(1e-12, 1e-15 * condition) * np.abs(expected).max()
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=tolerance)


def chain(length):
    """``length`` rods on a free base, hinged about x and y in turn."""
    body = fc.Body(1.0, [0.0, 0.0, 0.5], np.diag([0.1, 0.1, 0.01]))
    up = np.eye(4)
    up[2, 3] = 1.0
    axes = [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0)]
    links = tuple(fc.Link(f"rod{i}", body) for i in range(length + 1))
    hinges = [fc.joints.Revolute(axes[i % 2]) for i in range(length)]
    joints = tuple(fc.Joint(f"hinge{i}", kind, f"rod{i}", f"rod{i + 1}", up) for i, kind in enumerate(hinges))
    return fc.Model("chain", fc.lie.SE3(), links, joints)


@pytest.mark.parametrize("name", ["inverse_dynamics", "forward_dynamics"])
def test_counts_grow_linearly_with_the_length_of_a_chain(name):
    traces = [trace(chain(length), FUNCTIONS[name]) for length in (4, 8, 12)]
    short, middle, long = (sum(graph.count([out]).values()) for graph, out in traces)
    assert long - middle == middle - short
