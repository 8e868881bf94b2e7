"""Machine code gives the numbers of the library: to the last digits, for every function, robot and batch."""

import inspect
import math

import mpmath
import numpy as np
import pytest
from kernel_reference import relative_error
from random_robots import BASES

import fallingcat as fc
from fallingcat.arrays import arctan2, cos, exp, log, sin, sqrt, where
from fallingcat.compiler import aligned
from fallingcat.compiler.ir.trace import Recipe, trace
from fallingcat.lie import SE2, SE3

ROBOTS = {"cat": fc.robots.cat, "humanoid": fc.robots.humanoid, "quadruped": fc.robots.quadruped}


def arguments_of(kernel, rng, count=None):
    """Random arguments, all of one batch."""
    model, wanted = kernel.model, {a.name: a.size for a in kernel.signature}
    rows = []
    for _ in range(count or 1):
        q, v = model.flatten(model.random_state(rng))
        known = {"q": q, "v": v}
        rows.append([known.get(name, rng.normal(size=size)) for name, size in wanted.items()])
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    return columns if count else [column[0] for column in columns]


def state_of(model, kernel, arguments):
    given = dict(zip((a.name for a in kernel.signature), arguments, strict=True))
    return model.unflatten(given.pop("q"), given.pop("v", None)), list(given.values())


def leaves(x):
    if isinstance(x, dict):
        return [leaf for key in x for leaf in leaves(x[key])]
    if isinstance(x, (tuple, list)):
        return [leaf for item in x for leaf in leaves(item)]
    if hasattr(x, "__dataclass_fields__") and not isinstance(x, fc.Model):
        return [leaf for name in x.__dataclass_fields__ for leaf in leaves(getattr(x, name))]
    return [np.asarray(x, dtype=float)] if isinstance(x, (np.ndarray, float, np.floating)) else []


def assert_same(ours, theirs, tolerance):
    pairs = list(zip(leaves(ours), leaves(theirs), strict=True))
    assert pairs
    for a, b in pairs:
        assert a.shape == b.shape
        scale = max(1.0, np.abs(b).max(initial=0.0))
        np.testing.assert_allclose(a, b, atol=tolerance * scale, rtol=0.0)


# accuracy -----------------------------------------------------------------------------------------------------------

# float64: the bars of the project.  float32: what was measured on random states, rounded up.
ACCURACY = [
    (fc.inverse_dynamics, 1e-14, 1e-6),
    (fc.mass_matrix, 1e-14, 1e-6),
    (fc.forward_dynamics, 1e-12, 1e-3),
    (fc.coriolis_matrix, 1e-14, 2e-6),
    (fc.dynamics.centroidal_momentum_matrix_derivative, 1e-14, 2e-6),
]


@pytest.mark.parametrize("robot", [pytest.param(r, marks=pytest.mark.slow if r == "humanoid" else ()) for r in ROBOTS])
@pytest.mark.parametrize(("function", "double", "single"), ACCURACY, ids=lambda x: getattr(x, "__name__", None))
def test_against_forty_digits(robot, function, double, single):
    model = ROBOTS[robot]()
    rng = np.random.default_rng(7)
    exactly = trace(Recipe(model, function))
    for dtype, bar in (("float64", double), ("float32", single)):
        kernel = fc.compile(model, function, dtype=dtype)
        for _ in range(3):
            arguments = [x.astype(dtype) for x in arguments_of(kernel, rng)]
            result = kernel(*arguments)
            assert result.dtype == dtype
            assert relative_error(exactly, [x.astype(float) for x in arguments], result) < bar


def one_joint():
    tree = fc.robots.random_tree(np.random.default_rng(0), 1, kinds=["revolute"], base=fc.lie.Trivial())
    assert tree.nq == 1
    return tree


def ulps(x, exact):
    """The error of a double in units of its last place, less what no reduction in double-double can know."""
    return max(abs(mpmath.mpf(float(x)) - exact) - mpmath.mpf("1e-27"), 0) / math.ulp(float(exact))


def test_sine_and_cosine_to_two_units_in_the_last_place():
    rng = np.random.default_rng(3)
    multiples = np.rint(rng.uniform(-6e4, 6e4, 500)) * (math.pi / 2.0)
    near = np.concatenate([multiples, np.nextafter(multiples, np.inf), multiples * (1.0 + 1e-12)])
    x = np.concatenate(
        [rng.uniform(-1e5, 1e5, 1500), rng.uniform(-4.0, 4.0, 1500), near, 10.0 ** rng.uniform(-300, 0, 200), [0.0]]
    )
    x = x[np.abs(x) <= 1e5]
    kernel = fc.compile(one_joint(), lambda model, state: np.array([sin(state.joints[0]), cos(state.joints[0])]))
    result = kernel(x[:, None])
    with mpmath.workdps(60):
        worst = max(
            max(ulps(s, mpmath.sin(mpmath.mpf(a))), ulps(c, mpmath.cos(mpmath.mpf(a))))
            for a, (s, c) in zip(x.tolist(), result.tolist(), strict=True)
        )
    assert worst < 2.0


def test_single_precision_sine_and_cosine():
    x = np.random.default_rng(4).uniform(-100.0, 100.0, (5000, 1)).astype("float32")
    kernel = fc.compile(
        one_joint(), lambda model, state: np.array([sin(state.joints[0]), cos(state.joints[0])]), dtype="float32"
    )
    exact = np.concatenate([np.sin(x.astype(float)), np.cos(x.astype(float))], axis=1)
    assert np.abs(kernel(x) - exact).max() < 1.5e-7


def test_the_other_functions_of_numbers():
    def f(model, state):
        x = state.joints[0]
        return np.array(
            [exp(x), log(x * x + 0.5), sqrt(x * x), arctan2(x, 0.3), where(x < 0.5, x, -x), x**3, x**-2, x < 0.5],
            dtype=object,
        )

    kernel = fc.compile(one_joint(), f)
    x = np.array([0.3, -0.8, 0.5, 1.7, -2.2])[:, None]
    expected = [
        [np.exp(a), np.log(a * a + 0.5), abs(a), np.arctan2(a, 0.3), a if a < 0.5 else -a, a**3, a**-2, a < 0.5]
        for a in x[:, 0]
    ]
    np.testing.assert_allclose(kernel(x), np.array(expected, dtype=float), rtol=1e-15)
    np.testing.assert_array_equal([kernel(a) for a in x], kernel(x))


# the same bits ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("function", [fc.inverse_dynamics, fc.forward_dynamics, fc.mass_matrix])
def test_the_same_bits_whatever_the_batch(function, dtype):
    kernel = fc.compile(fc.robots.cat(), function, dtype=dtype)
    many = [x.astype(dtype) for x in arguments_of(kernel, np.random.default_rng(5), 67)]
    expected = np.array([kernel(*one) for one in zip(*many, strict=True)])
    for count in (1, 2, 7, 8, 9, 16, 67):
        for threads in (1, 2, 3):
            got = kernel(*(x[:count] for x in many), threads=threads)
            np.testing.assert_array_equal(got, expected[:count])
    lanes = kernel.lanes
    blocks = []
    for x in many:
        block = aligned((67 // lanes, x.shape[1], lanes), dtype)
        block[:] = x[: 67 // lanes * lanes].reshape(-1, lanes, x.shape[1]).swapaxes(1, 2)
        blocks.append(block)
    for threads in (1, 2):
        out = kernel.blocks(*blocks, threads=threads).swapaxes(1, 2).reshape(67 // lanes * lanes, *expected.shape[1:])
        np.testing.assert_array_equal(out, expected[: 67 // lanes * lanes])


# every function -----------------------------------------------------------------------------------------------------

TIP = "link6"


def spring_energy(state):
    """Of a spring between the base and the world, and one in the first joint (J)."""
    return 3.0 * state.pose[:3, 3] @ state.pose[:3, 3] + state.joints[0] * state.joints[0]


EVERY = {
    "analytical_jacobian": {"link": TIP},
    "average_velocity": {},
    "bias_forces": {},
    "center_of_mass": {},
    "center_of_mass_bias": {},
    "center_of_mass_derivatives": {},
    "center_of_mass_jacobian": {},
    "centroidal_dynamics_derivatives": {},
    "centroidal_momentum_matrix": {},
    "centroidal_momentum_matrix_derivative": {},
    "connection": {},
    "connection_derivative": {},
    "connection_exterior": {},
    "coriolis_matrix": {},
    "curvature": {},
    "displace": {},
    "end_effector_parameters": {"link": TIP},
    "energy_regressors": {},
    "equations": {},
    "fixed_at": {"link": TIP},
    "floating_base_map": {},
    "forward_dynamics": {},
    "forward_dynamics_derivatives": {},
    "forward_kinematics": {},
    "gravity_forces": {},
    "hamiltonian": {},
    "internal_jacobian": {"link": TIP},
    "inverse_dynamics": {},
    "inverse_dynamics_derivatives": {},
    "inverse_dynamics_regressor": {},
    "jacobian": {"link": TIP},
    "jacobian_derivative": {"link": TIP},
    "kinematic_hessian": {"link": TIP},
    "kinetic_energy": {},
    "linearize": {},
    "link_acceleration": {"link": TIP},
    "link_pose": {"link": TIP},
    "link_twist": {"link": TIP},
    "locked_inertia": {},
    "locked_inertia_rate": {},
    "locked_inertia_slope": {},
    "locked_velocity": {},
    "mass_matrix": {},
    "mass_matrix_derivative": {},
    "momentum": {},
    "momentum_matrix": {},
    "momentum_matrix_derivative": {},
    "momentum_regressor": {},
    "potential_energy": {},
    "potential_forces": {"potential": spring_energy},
    "principal_axes": {},
    "reduced_derivatives": {},
    "reduced_equations": {},
    "relative_jacobian": {"link": TIP},
    "reroot_state": {"link": TIP},
    # changes of velocity
    "base_at": {"link": TIP},
    "body": {},
    "center_of_mass_base": {},
    "centroidal": {},
    "decoupling": {},
    "inertial": {},
    "internal_external": {"link": TIP},
    "locked": {},
    "mixed": {},
    "momentum_map": {},
    "world_linear": {},
}
PUBLIC = {name: getattr(room, name) for room in (fc.dynamics, fc.formulations, fc.changes) for name in room.__all__}


@pytest.fixture(scope="module")
def tree():
    kinds = ["revolute", "prismatic", "revolute"]
    return fc.robots.random_tree(np.random.default_rng(11), 6, kinds, branching=0.0)


@pytest.mark.parametrize("name", EVERY)
def test_every_function(name, tree):
    function, options = PUBLIC[name], EVERY[name]
    kernel = fc.compile(tree, function, **options)
    rng = np.random.default_rng(12)
    one = arguments_of(kernel, rng)
    state, further = state_of(tree, kernel, one)
    expected = function(tree, state, *further, **options)
    assert_same(kernel(*one), expected, 1e-10)
    batch = kernel(*(np.stack([x] * 3) for x in one))
    assert type(batch) is type(expected) or np.ndim(expected) == 0
    for got, wanted in zip(leaves(batch), leaves(expected), strict=True):
        assert got.shape == (3, *wanted.shape)


def test_the_list_is_complete():
    def of_a_state(f):
        return inspect.isfunction(f) and list(inspect.signature(f).parameters)[:2] == ["model", "state"]

    public = {name for name, thing in PUBLIC.items() if of_a_state(thing)}
    of_numbers_only = {
        "certify_reduced",
        "integrability",
        "is_conserved",
        "mass_condition",
    }  # they decide something
    of_any_size = {"constrained_forward_dynamics", "joint_regressor"}  # matrices, terms: parts of a user's function
    assert set(EVERY) == public - of_numbers_only - of_any_size


@pytest.mark.parametrize("factorization", fc.dynamics.FACTORIZATIONS)
def test_every_coriolis_matrix(factorization, tree):
    kernel = fc.compile(tree, fc.coriolis_matrix, factorization=factorization)
    one = arguments_of(kernel, np.random.default_rng(1))
    state, _ = state_of(tree, kernel, one)
    assert_same(kernel(*one), fc.coriolis_matrix(tree, state, factorization), 1e-11)


def sliders(seed=3):
    """Sliders on a base that slides: nothing depends on velocities, as far as gravity and inertia go."""
    return fc.robots.random_tree(np.random.default_rng(seed), 3, ["prismatic"], base=fc.lie.R3())


@pytest.mark.parametrize("function", [fc.forward_dynamics, fc.inverse_dynamics])
def test_a_velocity_that_does_not_matter_may_be_given(function):
    """The same call works on every robot: `k(q, v, x)`."""
    model = sliders()
    rng = np.random.default_rng(0)
    kernel, x, states = (
        fc.compile(model, function),
        rng.normal(size=(4, model.nv)),
        [model.random_state(rng) for _ in "ab"],
    )
    assert "v" not in [argument.name for argument in kernel.signature]
    for state in states:
        q, v = model.flatten(state)
        assert_same(kernel(q, v, x[0]), function(model, state, x[0]), 1e-12)
        assert_same(kernel(q, x[0]), function(model, state, x[0]), 1e-12)
        assert_same(kernel(np.stack([q] * 4), np.stack([v] * 4), x)[2], function(model, state, x[2]), 1e-12)
    with pytest.raises(fc.ModelError, match="takes 2 arguments"):
        kernel(q, v, x[0], x[0])


def test_a_composition_of_the_user(tree):
    def task(model, state, forces, gain):
        J = fc.jacobian(model, state, TIP)
        free = fc.forward_dynamics(model, state, forces)
        return {"force": J @ free, "power": [gain @ (J @ state.velocity), free], "name": "task"}

    kernel = fc.compile(tree, task, inputs={"forces": tree.nv, "gain": 6})
    one = arguments_of(kernel, np.random.default_rng(2))
    state, further = state_of(tree, kernel, one)
    got = kernel(*one)
    assert got["name"] == "task"
    assert_same(got, task(tree, state, *further), 1e-11)


# every robot --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("base", BASES, ids=str)
def test_every_base_and_joint(base):
    rng = np.random.default_rng(8)
    kinds = [kind.name for kind in fc.robots.random_tree.__globals__["MOVING"]]
    for kind in kinds if isinstance(base, fc.lie.SE3) else kinds[:3]:
        model = fc.robots.random_tree(rng, 2, kinds=[kind], base=base)
        for function in (fc.inverse_dynamics, fc.forward_dynamics):
            kernel = fc.compile(model, function)
            one = arguments_of(kernel, rng)
            state, further = state_of(model, kernel, one)
            assert_same(kernel(*one), function(model, state, *further), 1e-9)


@pytest.mark.parametrize("joints", [0, 1, 2, 7, 20, 60])
def test_robots_of_every_size(joints):
    rng = np.random.default_rng(joints)
    model = fc.robots.random_tree(rng, joints)
    kernel = fc.compile(model, fc.inverse_dynamics)
    many = arguments_of(kernel, rng, 3)
    got = kernel(*many)
    for one, tau in zip(zip(*many, strict=True), got, strict=True):
        state, further = state_of(model, kernel, one)
        assert_same(tau, fc.inverse_dynamics(model, state, *further), 1e-11)


def test_a_large_workspace_is_not_on_the_stack():
    n = 40
    model = fc.robots.random_tree(np.random.default_rng(0), n, kinds=["prismatic"], branching=0.0)
    kernel = fc.compile(model, lambda model, state: np.outer(state.joints, state.joints * 2.0))
    q, _ = model.flatten(model.random_state(np.random.default_rng(0)))
    got = kernel(np.stack([q] * 5), threads=3)
    np.testing.assert_allclose(got[3], 2.0 * np.outer(q[7:], q[7:]), rtol=1e-15)


@pytest.mark.parametrize("base", [SE3(), SE2()], ids=str)
def test_derivatives_of_joints_whose_axes_turn(base):
    """Universal joints, and ball joints seen from their other side after re-rooting."""
    model = fc.robots.random_tree(np.random.default_rng(3), 3, kinds=["universal", "revolute", "spherical"], base=base)
    model = model.reroot(model.link_names[-1]) if base == SE3() else model
    assert not all(joint.kind.fixed_axes for joint in model.joints)
    state, forces = model.random_state(np.random.default_rng(0)), np.random.default_rng(1).normal(size=model.nv)
    kernel = fc.compile(model, fc.forward_dynamics_derivatives)
    expected = fc.forward_dynamics_derivatives(model, state, forces)
    for ours, exact in zip(kernel(*model.flatten(state), forces), expected, strict=True):
        np.testing.assert_allclose(ours, exact, rtol=1e-12, atol=1e-12 * np.abs(exact).max())


@pytest.mark.parametrize(("dtype", "quadrants", "tolerance"), [("float64", 2.0**51, 3e-16), ("float32", 2.0**22, 1e-6)])
def test_sines_of_any_number_are_right_or_nan(dtype, quadrants, tolerance):
    """Angles that have no place on the circle any more have no sine: it was 1e253 at 1e31, of wrong sign at 4e15."""
    model = fc.robots.two_cylinder_cat()
    kernel = fc.compile(model, lambda model, state: np.stack([sin(state.joints), cos(state.joints)]), dtype=dtype)
    farthest, rng = quadrants * np.pi / 2.0, np.random.default_rng(0)
    powers = 10.0 ** np.arange(0, 308 if dtype == "float64" else 38)
    angles = np.concatenate([powers, *(farthest * rng.uniform(0.5 * far, far, 300) for far in (1.0, 2.0, 4.0, 16.0))])
    angles = np.concatenate([angles, -angles]).astype(dtype)
    q = np.zeros((len(angles), model.nq))
    q[:, 6], q[:, -1] = 1.0, angles
    expected = np.stack([np.sin(angles, dtype=float), np.cos(angles, dtype=float)], axis=1)
    for found in (kernel(q)[..., -1], np.stack([kernel(x)[:, -1] for x in q])):
        assert np.isnan(found[np.abs(angles) > 1.001 * farthest]).all()
        near = np.abs(angles) < 0.999 * farthest
        np.testing.assert_allclose(found[near], expected[near], atol=tolerance)
