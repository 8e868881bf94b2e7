"""Wrong answers are never silent: errors name the argument or the joint, and say what would be right."""

import tracemalloc
from contextlib import suppress
from dataclasses import replace
from inspect import signature

import numpy as np
import pytest
from misuses import of_robots
from odd_arguments import is_finite

import fallingcat as fc
from fallingcat.dynamics.checks import MAX_ARGUMENT
from fallingcat.lie import SE3, Trivial
from fallingcat.model import Fixed, Prismatic, Revolute, Spherical, Universal

BODY = fc.Body(1.0, np.array([0.1, 0.0, 0.0]), np.diag([0.1, 0.1, 0.1]))
Z = (0.0, 0.0, 1.0)


@pytest.fixture
def cat():
    model = fc.robots.cat()
    return model, model.neutral()


def chain(*parts, base=None):
    """A robot of links in a row: `(kind, body)` for every joint."""
    links = [fc.Link("base", BODY)] + [fc.Link(f"link{i + 1}", body) for i, (_, body) in enumerate(parts)]
    joints = [
        fc.Joint(f"joint{i + 1}", kind, links[i].name, links[i + 1].name, placement())
        for i, (kind, _) in enumerate(parts)
    ]
    return fc.Model("chain", base or SE3(), tuple(links), tuple(joints))


def placement():
    H = np.eye(4)
    H[0, 3] = 0.3
    return H


# shapes and values --------------------------------------------------------------------------------------------

VECTORS = {
    "acceleration": lambda model, state, x: fc.inverse_dynamics(model, state, x),
    "forces": lambda model, state, x: fc.forward_dynamics(model, state, x),
    "tangent": lambda model, state, x: fc.dynamics.displace(model, state, x),
    "acceleration of a link": lambda model, state, x: fc.dynamics.link_acceleration(
        model, state, x, model.link_names[0]
    ),
    "acceleration to derive": lambda model, state, x: fc.inverse_dynamics_derivatives(model, state, x),
    "forces to derive": lambda model, state, x: fc.forward_dynamics_derivatives(model, state, x),
    "acceleration of the momentum": lambda model, state, x: fc.dynamics.centroidal_dynamics_derivatives(
        model, state, x
    ),
    "acceleration of the center": lambda model, state, x: fc.dynamics.center_of_mass_derivatives(model, state, x),
    "forces to linearize": lambda model, state, x: fc.linearize(model, state, x),
    "forces on constraints": lambda model, state, x: fc.dynamics.constrained_forward_dynamics(
        model, state, x, np.ones((1, model.nv)), np.zeros(1)
    ),
}
every_vector = pytest.mark.parametrize("what", VECTORS)


@every_vector
@pytest.mark.parametrize("shape", ["short", "long", "matrix", "scalar"])
def test_wrong_shape(cat, what, shape):
    model, state = cat
    nv = model.nv
    x = {"short": np.zeros(nv - 1), "long": np.zeros(nv + 1), "matrix": np.zeros((nv, 1)), "scalar": np.float64(0.0)}
    with pytest.raises(fc.ModelError, match=rf"{what.split()[0]} must have shape \({nv},\), got"):
        VECTORS[what](model, state, x[shape])


@every_vector
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_not_finite(cat, what, value):
    model, state = cat
    x = np.zeros(model.nv)
    x[3] = value
    with pytest.raises(fc.ModelError, match=f"{what.split()[0]} holds a number that is not finite, at index 3"):
        VECTORS[what](model, state, x)


def test_lists_are_vectors(cat):
    model, state = cat
    assert (fc.inverse_dynamics(model, state, [0.0] * model.nv) == fc.bias_forces(model, state)).all()


def test_text_is_no_vector(cat):
    model, state = cat
    with pytest.raises(fc.ModelError, match="acceleration"):
        fc.inverse_dynamics(model, state, ["one"] * model.nv)
    with pytest.raises(fc.ModelError, match="forces"):
        fc.forward_dynamics(model, state, None)


@pytest.mark.parametrize(
    ("field", "shape"), [("pose", (3, 3)), ("joints", (1,)), ("twist", (5,)), ("rates", (9,)), ("twist", (6, 1))]
)
def test_states_have_shapes(cat, field, shape):
    with pytest.raises(fc.ModelError, match=f"{field} must have shape"):
        cat[0].state(**{field: np.zeros(shape)})


@pytest.mark.parametrize("field", ["pose", "joints", "twist", "rates"])
def test_states_are_finite(cat, field):
    model, state = cat
    x = np.array(getattr(state, field))
    x.flat[0] = np.nan
    with pytest.raises(fc.ModelError, match=field):
        model.state(**{field: x})


@pytest.mark.parametrize("pose", [2.0 * np.eye(4), np.diag([1.0, 1.0, -1.0, 1.0]), np.ones((4, 4)), np.zeros((4, 4))])
def test_poses_are_rigid(cat, pose):
    with pytest.raises(fc.ModelError, match=r"pose is no element of the base group SE\(3\)"):
        cat[0].state(pose=pose)


def test_frames_are_rigid(cat):
    with pytest.raises(fc.ModelError, match="not a rigid transformation"):
        cat[0].frame(cat[0].link_names[0], 2.0 * np.eye(4), "tool")


# a state that belongs to another robot -------------------------------------------------------------------------

STATE_FUNCTIONS = [
    fc.mass_matrix,
    fc.bias_forces,
    fc.gravity_forces,
    fc.coriolis_matrix,
    fc.mass_matrix_derivative,
    fc.kinetic_energy,
    fc.potential_energy,
    fc.momentum,
    fc.dynamics.locked_inertia,
    fc.dynamics.average_velocity,
    fc.center_of_mass,
    fc.center_of_mass_jacobian,
    fc.forward_kinematics,
]


@pytest.mark.parametrize("function", STATE_FUNCTIONS, ids=lambda f: f.__name__)
def test_state_of_another_robot(cat, function):
    """More joints or fewer: never a number."""
    model, state = cat
    for joints in (state.joints[:-1], np.append(state.joints, 0.0)):
        with pytest.raises(fc.ModelError, match="joints must have shape"):
            function(model, state._replace(joints=joints))


@pytest.mark.parametrize("function", STATE_FUNCTIONS, ids=lambda f: f.__name__)
def test_state_with_nan(cat, function):
    model, state = cat
    with pytest.raises(fc.ModelError, match="joints holds a number that is not finite"):
        function(model, state._replace(joints=np.full_like(state.joints, np.nan)))


# names --------------------------------------------------------------------------------------------------------


def test_unknown_link(cat):
    model, state = cat
    name = model.link_names[-1]
    for call in (
        lambda: fc.jacobian(model, state, name + "x"),
        lambda: fc.link_pose(model, state, name + "x"),
        lambda: fc.link_twist(model, state, name + "x"),
        lambda: fc.inverse_dynamics(model, state, np.zeros(model.nv), {name + "x": np.zeros(6)}),
        lambda: fc.forward_dynamics(model, state, np.zeros(model.nv), {name + "x": np.zeros(6)}),
        lambda: fc.dynamics.reroot_state(model, state, name + "x"),
    ):
        with pytest.raises(fc.ModelError, match=f"there is no link( or frame)? '{name}x'; do you mean '{name}'"):
            call()


def test_unknown_choices(cat):
    model, state = cat
    link, zero = model.link_names[0], np.zeros(model.nv)
    with pytest.raises(fc.ModelError, match=r"factorization is one of christoffel, .*, not 'coriolis'"):
        fc.coriolis_matrix(model, state, "coriolis")
    with pytest.raises(fc.ModelError, match="representation is one of body, mixed, inertial, not 'world'"):
        fc.jacobian(model, state, link, "world")
    for f in (
        fc.momentum,
        fc.momentum_matrix,
        fc.dynamics.momentum_matrix_derivative,
        fc.dynamics.locked_inertia,
        fc.dynamics.average_velocity,
    ):
        with pytest.raises(fc.ModelError, match="frame is one of base, mixed, world, centroidal, not 'body'"):
            f(model, state, "body")
    with pytest.raises(fc.ModelError, match="representation is one of body, mixed, inertial, not 'base'"):
        fc.inverse_dynamics(model, state, zero, {link: np.zeros(6)}, "base")


def test_wrenches_have_six_numbers(cat):
    model, state = cat
    link = model.link_names[0]
    with pytest.raises(fc.ModelError, match=rf"wrench on '{link}' must have shape \(6,\), got \(3,\)"):
        fc.forward_dynamics(model, state, np.zeros(model.nv), {link: np.zeros(3)})
    with pytest.raises(fc.ModelError, match=f"wrench on '{link}' holds a number that is not finite"):
        fc.forward_dynamics(model, state, np.zeros(model.nv), {link: np.full(6, np.nan)})


def test_points_have_three_numbers(cat):
    model, state = cat
    with pytest.raises(fc.ModelError, match=r"point must have shape \(3,\)"):
        fc.jacobian(model, state, model.link_names[0], point=np.zeros(2))


# singular mass matrices ----------------------------------------------------------------------------------------

NOTHING = fc.Body()
MASSLESS = {
    "hinge": (chain((Revolute(Z), BODY), (Revolute(Z), NOTHING)), "joint2"),
    "slider": (chain((Revolute(Z), BODY), (Prismatic(Z), NOTHING)), "joint2"),
    "ball": (chain((Revolute(Z), BODY), (Spherical(), NOTHING)), "joint2"),
    "cardan": (chain((Universal(), NOTHING)), "joint1"),
    "ball with a point mass": (chain((Spherical(), fc.Body(1.0, [0.2, 0.0, 0.0]))), "joint1"),
    "hinge through a point mass": (
        chain((Revolute(Z), BODY), (Revolute((1.0, 0.0, 0.0)), fc.Body(1.0, [0.2, 0.0, 0.0]))),
        "joint2",
    ),
    "two in a row": (chain((Revolute(Z), BODY), (Revolute(Z), NOTHING), (Prismatic(Z), NOTHING)), "joint3"),
    "fixed base": (chain((Revolute(Z), BODY), (Revolute(Z), NOTHING), base=Trivial()), "joint2"),
    "weld at the end": (chain((Revolute(Z), NOTHING), (Fixed(), NOTHING)), "joint1"),
    "two hinges on one axis": (
        fc.Model(
            "aligned",
            Trivial(),
            (fc.Link("base", BODY), fc.Link("a"), fc.Link("b", BODY)),
            (fc.Joint("joint1", Revolute(Z), "base", "a"), fc.Joint("joint2", Revolute(Z), "a", "b")),
        ),
        "joint1",
    ),
}


@pytest.mark.parametrize("case", [case for case in MASSLESS if "point mass" in case])
def test_point_masses_on_the_axis_name_the_joint(case):
    model, joint = MASSLESS[case]
    state = model.random_state(np.random.default_rng(0))
    assert not model.kinematic
    for f in (fc.forward_dynamics, fc.forward_dynamics_derivatives, fc.linearize):
        with pytest.raises(fc.NumericsError, match="the mass matrix is singular") as caught:
            f(model, state, np.zeros(model.nv))
        assert caught.value.joint == joint


NEED_MASS = (
    fc.mass_matrix, fc.bias_forces, fc.gravity_forces, fc.kinetic_energy, fc.potential_energy, fc.momentum,
    fc.coriolis_matrix, fc.mass_matrix_derivative, fc.center_of_mass, fc.center_of_mass_jacobian,
    fc.centroidal_momentum_matrix, fc.equations, fc.connection, fc.curvature, fc.reduced_equations, fc.locked_velocity,
)  # fmt: skip


@pytest.mark.parametrize("case", [case for case in MASSLESS if "point mass" not in case])
def test_kinematic_models_have_poses_and_say_what_is_missing(case):
    model, joint = MASSLESS[case]
    link = model.joints[model.joint_index(joint)].child
    assert model.kinematic
    assert link in model.idle_links
    state, zero = model.random_state(np.random.default_rng(0)), np.zeros(model.nv)
    assert fc.jacobian(model, state, link).shape == (6, model.nv)
    assert set(fc.forward_kinematics(model, state)) == set(model.link_names)
    fc.compile(model, fc.jacobian, link=link)
    message = f"'{model.name}' is a kinematic model.*'{link}'"
    for f in NEED_MASS if model.m else NEED_MASS[:-4]:  # the last four are about a base that moves
        with pytest.raises(fc.ModelError, match=message):
            f(model, state)
    for f in (fc.forward_dynamics, fc.inverse_dynamics, fc.forward_dynamics_derivatives, fc.linearize):
        with pytest.raises(fc.ModelError, match=message):
            f(model, state, zero)
    for f in (fc.mass_matrix, fc.forward_dynamics):
        with pytest.raises(fc.ModelError, match=message):
            fc.compile(model, f)
    with pytest.raises(fc.ModelError, match=message):
        fc.simulate(model, state, 0.01)


def test_a_rotor_resists_a_massless_link():
    model = chain((Revolute(Z), BODY), (Revolute(Z), NOTHING))
    geared = replace(model, joints=(model.joints[0], replace(model.joints[1], armature=0.1)))
    assert model.kinematic
    assert not geared.kinematic
    assert np.linalg.eigvalsh(fc.mass_matrix(geared, geared.neutral()))[0] > 0.0


def test_massless_links_between_are_fine():
    """A massless link that carries mass is no problem: the reader makes them for joints in a row."""
    model = chain((Revolute(Z), NOTHING), (Revolute((0.0, 1.0, 0.0)), NOTHING), (Prismatic((1.0, 0.0, 0.0)), BODY))
    rng = np.random.default_rng(0)
    state, a = model.random_state(rng), rng.normal(size=model.nv)
    found = fc.forward_dynamics(model, state, fc.inverse_dynamics(model, state, a))
    np.testing.assert_allclose(found, a, rtol=1e-10, atol=1e-10)


def test_massless_base_names_the_base():
    model = fc.Model("ghost", SE3(), (fc.Link("base"),))
    with pytest.raises(fc.ModelError, match=r"'ghost' is a kinematic model.*of 'base' \(.*base=\"fixed\""):
        fc.forward_dynamics(model, model.neutral(), np.zeros(6))
    point = fc.Model("point", SE3(), (fc.Link("base", fc.Body(1.0, [0.3, 0.0, 0.0])),))
    with pytest.raises(fc.NumericsError, match=r"base of 'point' moves nothing.*singular"):
        fc.forward_dynamics(point, point.neutral(), np.zeros(6))
    slider = fc.Model("slider", fc.lie.R1(), (fc.Link("base"),))
    with pytest.raises(fc.ModelError, match=r"'slider' is a kinematic model.*of 'base'"):
        fc.forward_dynamics(slider, slider.neutral(), np.zeros(1))


def test_robot_without_mass_has_no_center():
    model = fc.Model("ghost", Trivial(), (fc.Link("base"),))
    assert not model.kinematic
    for f in (fc.center_of_mass, fc.center_of_mass_jacobian, fc.dynamics.center_of_mass_bias):
        with pytest.raises(fc.ModelError, match="'ghost' has no mass"):
            f(model, model.neutral())


def test_small_robots_are_not_singular():
    """A robot of a milligram and a millimetre has a mass matrix of 1e-12 and is as regular as any other."""
    tiny = fc.Body(1e-6, np.array([1e-3, 0.0, 0.0]), 1e-13 * np.eye(3))
    model = fc.Model(
        "mite",
        Trivial(),
        (fc.Link("base"), fc.Link("a", tiny), fc.Link("b", tiny)),
        (fc.Joint("joint1", Revolute(Z), "base", "a"), fc.Joint("joint2", Revolute(Z), "a", "b")),
    )
    state = model.random_state(np.random.default_rng(0))
    a = np.array([1.0, -2.0])
    found = fc.forward_dynamics(model, state, fc.inverse_dynamics(model, state, a))
    np.testing.assert_allclose(found, a, rtol=1e-9)


# constraints --------------------------------------------------------------------------------------------------


def test_dependent_constraints(cat):
    model, state = cat
    rng = np.random.default_rng(0)
    J, zero = rng.normal(size=(3, model.nv)), np.zeros(model.nv)
    twice = np.concatenate([J, J[:1] + 2.0 * J[1:2]])
    with pytest.raises(fc.NumericsError, match=r"the 4 constraint rows depend on each other \(rank 3\)"):
        fc.dynamics.constrained_forward_dynamics(model, state, zero, twice, np.zeros(4))
    J[1] = 0.0
    with pytest.raises(fc.NumericsError, match="row 1 of the constraint Jacobian is zero"):
        fc.dynamics.constrained_forward_dynamics(model, state, zero, J, np.zeros(3))


def test_too_many_constraints(cat):
    model, state = cat
    J = np.random.default_rng(0).normal(size=(model.nv + 1, model.nv))
    with pytest.raises(fc.NumericsError, match="depend on each other"):
        fc.dynamics.constrained_forward_dynamics(model, state, np.zeros(model.nv), J, np.zeros(model.nv + 1))


def test_constraint_shapes(cat):
    model, state = cat
    zero, nv = np.zeros(model.nv), model.nv
    with pytest.raises(fc.ModelError, match=rf"jacobian must have shape \(k, {nv}\), got \(2, 3\)"):
        fc.dynamics.constrained_forward_dynamics(model, state, zero, np.ones((2, 3)), np.zeros(2))
    with pytest.raises(fc.ModelError, match=r"bias must have shape \(2,\), got \(3,\)"):
        fc.dynamics.constrained_forward_dynamics(model, state, zero, np.eye(nv)[:2], np.zeros(3))
    J = np.eye(nv)[:2]
    J[0, 0] = np.nan
    with pytest.raises(fc.ModelError, match="jacobian holds a number that is not finite"):
        fc.dynamics.constrained_forward_dynamics(model, state, zero, J, np.zeros(2))
    free = fc.dynamics.constrained_forward_dynamics(model, state, zero, np.zeros((0, nv)), np.zeros(0))
    np.testing.assert_allclose(free.acceleration, fc.forward_dynamics(model, state, zero), atol=1e-10)


def test_constrained_massless_tip_is_an_error():
    model, _ = MASSLESS["hinge through a point mass"]
    with pytest.raises(fc.NumericsError, match="singular"):
        fc.dynamics.constrained_forward_dynamics(
            model, model.neutral(), np.zeros(model.nv), np.eye(model.nv)[:1], np.zeros(1)
        )


# numbers that are too large ------------------------------------------------------------------------------------

HEAVY = fc.robots.random_tree(np.random.default_rng(1), 6)
for name in HEAVY.link_names:
    HEAVY = HEAVY.replace_body(name, fc.Body(1e12, [0.1, 0.0, 0.0], 1e12 * np.eye(3)))
LARGE = {"acceleration", "forces", "tangent", "x", "y"}
FUNCTIONS = [(name, f) for name, f, _ in of_robots() if name != "mass_condition"]  # which is infinite where singular


def calls_with(function, size):
    """Calls in each of which one argument, or one field of the state, has numbers of this size."""
    state = HEAVY.random_state(np.random.default_rng(0))
    needed = [p.name for p in list(signature(function).parameters.values())[2:] if p.default is p.empty]
    plain = {"link": HEAVY.link_names[1], "frame": "world"}
    lengths = {name: HEAVY.n if name in ("x", "y") else HEAVY.nv for name in LARGE}
    given = {name: np.zeros(lengths[name]) if name in LARGE else plain.get(name, "body") for name in needed}
    for field in ("joints", "twist", "rates"):
        yield lambda field=field: function(
            HEAVY, state._replace(**{field: 0.0 * state._asdict()[field] + size}), **given
        )
    for name in LARGE & set(given):
        yield lambda name=name: function(HEAVY, state, **{**given, name: np.full(lengths[name], size)})


@pytest.mark.parametrize(("name", "function"), FUNCTIONS, ids=[name for name, _ in FUNCTIONS])
def test_results_do_not_overflow(name, function):
    """An acceleration of 1e308 had derivatives that are infinite, without a word, and so had most functions."""
    with np.errstate(all="ignore"):
        for call in calls_with(function, MAX_ARGUMENT):
            with suppress(fc.FallingCatError):
                assert is_finite(call())
        for size in (1e61, -1e160, 1e308):
            for call in calls_with(function, size):
                with pytest.raises(fc.FallingCatError):
                    call()


def test_a_number_that_is_too_large_is_named():
    a = np.zeros(HEAVY.nv)
    a[2] = 1e308
    with pytest.raises(
        fc.ModelError, match=r"^acceleration holds 1e\+308, at index 2: results overflow beyond 1e\+60$"
    ):
        fc.dynamics.centroidal_dynamics_derivatives(HEAVY, HEAVY.neutral(), a)
    fc.dynamics.checks.check_finite(np.ones(3, dtype=np.float32), "numbers of single precision")


# numbers without a value ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "function", [fc.dynamics.average_velocity, fc.mass_matrix, fc.forward_kinematics, fc.bias_forces]
)
def test_a_quaternion_of_length_zero_is_refused(function):
    """As it stands in a state of a robot with the same joints in another order; the answer was NaN."""
    model = fc.robots.random_tree(np.random.default_rng(0), 2, kinds=["spherical"], branching=0.0)
    state = model.neutral()
    with pytest.raises(fc.ModelError, match="joint 'joint2': the quaternion xyzw has length 0"):
        function(model, state._replace(joints=np.append(state.joints[:4], np.zeros(4))))


@pytest.mark.parametrize(
    "function",
    [
        fc.inverse_dynamics_derivatives,
        fc.dynamics.centroidal_dynamics_derivatives,
        fc.dynamics.center_of_mass_derivatives,
    ],
)
def test_derivatives_with_axes_that_turn_refuse_a_state_without_a_pose(function):
    model = fc.robots.random_tree(np.random.default_rng(0), 2, kinds=["universal"])
    with pytest.raises(fc.ModelError, match="pose must have shape"):
        function(model, model.neutral()._replace(pose=None), np.zeros(model.nv))


@pytest.mark.parametrize("call", [
    lambda m, endless: fc.inverse_dynamics(m, m.neutral(), endless),
    lambda m, endless: m.state(joints=endless),
    lambda m, endless: m.unflatten(endless),
    lambda m, endless: fc.simulate(m, m.neutral(), 0.01, lambda t, state: endless),
])  # fmt: skip
def test_ranges_without_end_are_refused_before_their_numbers_are_made(call):
    """8 MB of numbers, or 8 GB of a longer one, which ended processes."""
    cat = fc.robots.cat()
    tracemalloc.start()
    with pytest.raises(fc.FallingCatError, match="1000000"):
        call(cat, range(1_000_000))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 5e6
    np.testing.assert_array_equal(cat.state(joints=range(10)).joints, np.arange(10.0))
