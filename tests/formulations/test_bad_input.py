"""Wrong answers are never silent: errors name the argument, and say what would be right."""

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.lie import R3, SO3, Trivial


@pytest.fixture
def cat():
    model = fc.robots.cat()
    return model, model.random_state(np.random.default_rng(0))


def test_unknown_names(cat):
    model, state = cat
    with pytest.raises(fc.ModelError, match=r"factorization is one of christoffel, .*, not 'lagrange'"):
        fc.equations(model, state, "lagrange")
    changes = (fc.changes.base_at, fc.changes.internal_external)
    for function in (
        *changes,
        fc.formulations.fixed_at,
        fc.formulations.internal_jacobian,
        fc.formulations.is_conserved,
    ):
        with pytest.raises(fc.ModelError, match="wing"):
            function(model, state, "wing")
    with pytest.raises(fc.ModelError, match="wing"):
        fc.changes.base_at(model, state, "tail", orientation="wing")
    with pytest.raises(fc.ModelError, match="representation is one of body, mixed, inertial, not 'polar'"):
        fc.changes.base_at(model, state, "tail", representation="polar")
    with pytest.raises(fc.ModelError, match="frame is one of centroidal, world, not 'base'"):
        fc.changes.momentum_map(model, state, "base")
    with pytest.raises(fc.ModelError, match="weight is one of inertia, moore_penrose, not 'none'"):
        fc.changes.internal_external(model, state, "tail", "none")


@pytest.mark.parametrize("name", ["Tx", "Ty"])
def test_singular_matrices(cat, name):
    model, state = cat
    size = model.m if name == "Tx" else model.n
    for matrix in (np.zeros((size, size)), np.ones((size, size))):
        with pytest.raises(fc.NumericsError, match=f"{name} is singular"):
            fc.changes.decoupling(model, state, **{name: matrix})


@pytest.mark.parametrize("name", ["Tx", "Ty", "Tx_dot", "Ty_dot"])
def test_wrong_shapes_and_values(cat, name):
    model, state = cat
    size = model.m if name.startswith("Tx") else model.n
    with pytest.raises(fc.ModelError, match=rf"{name} must have shape \({size}, {size}\), got \(2, 2\)"):
        fc.changes.decoupling(model, state, **{name: np.eye(2)})
    bad = np.eye(size)
    bad[0, 0] = np.nan
    with pytest.raises(fc.ModelError, match=f"{name} holds a number that is not finite"):
        fc.changes.decoupling(model, state, **{name: bad})


def test_wrong_vectors(cat):
    model, state = cat
    eom, rel, fixed = (
        fc.equations(model, state),
        fc.reduced_equations(model, state),
        fc.formulations.fixed_at(model, state, "rear"),
    )
    for call, what, size in (
        (eom.forward, "forces", 16),
        (eom.forces, "acceleration", 16),
        (rel.forward, "forces", 16),
        (fixed.forward, "torques", 10),
        (fixed.wrench, "torques", 10),
        (lambda x: fc.curvature(model, state, x, np.zeros(10)), "x", 10),
        (lambda y: fc.curvature(model, state, np.zeros(10), y), "y", 10),
    ):
        with pytest.raises(fc.ModelError, match=rf"{what} must have shape \({size},\), got \(3,\)"):
            call(np.zeros(3))
        with pytest.raises(fc.ModelError, match=f"{what} holds a number that is not finite"):
            call(np.full(size, np.inf))
    with pytest.raises(fc.ModelError, match="two shape directions, or none"):
        fc.curvature(model, state, np.zeros(10))
    with pytest.raises(fc.ModelError, match="joints must have shape"):
        fc.formulations.locked_angle(fc.robots.revolute_hopper(), [0.0, 0.0])


def test_a_change_of_another_robot(cat):
    model, state = cat
    other = fc.robots.two_cylinder_cat()
    with pytest.raises(fc.ModelError, match="'mixed' takes 8 velocities, not 16"):
        fc.equations(model, state).change(fc.changes.mixed(other, other.neutral()))


def test_a_fixed_base_has_no_connection():
    arm = fc.robots.random_tree(np.random.default_rng(0), 3, base=Trivial())
    state = arm.random_state(np.random.default_rng(1))
    changes = (fc.changes.centroidal, fc.changes.locked, fc.changes.momentum_map, fc.changes.decoupling)
    verbs = (fc.connection, fc.locked_velocity, fc.curvature, fc.formulations.integrability, fc.reduced_equations)
    for function in changes + verbs:
        with pytest.raises(fc.ModelError, match="the base of 'random' is fixed: there is no connection"):
            function(arm, state)
    assert fc.equations(arm, state).certify().passed  # what makes sense works


def test_too_few_joints():
    cat = fc.robots.two_cylinder_cat()
    with pytest.raises(fc.ModelError, match="6 components: 2 joint degrees of freedom are too few"):
        fc.changes.internal_external(cat, cat.neutral(), "rear")


def test_a_dynamic_singularity():
    arm = fc.robots.orbital_arm()
    with pytest.raises(fc.NumericsError, match="lost rank: a dynamic singularity"):
        fc.changes.internal_external(arm, arm.neutral(), arm.link_names[1])  # the first link has one joint behind it


def test_links_that_leave_the_base_group():
    for base in (SO3(), R3()):
        model = fc.robots.random_tree(np.random.default_rng(0), 2, kinds=["revolute"], base=base)
        state = model.random_state(np.random.default_rng(1))
        with pytest.raises(fc.ModelError, match="does not move in the base group"):
            fc.changes.base_at(model, state, "link2")
    turning = fc.robots.random_tree(np.random.default_rng(0), 2, kinds=["revolute"], base=SO3())
    with pytest.raises(fc.ModelError, match=r"needs a base that can slide with the center of mass, not SO\(3\)"):
        fc.changes.center_of_mass_base(turning, turning.random_state(np.random.default_rng(1)))


def test_a_state_that_is_not_finite(cat):
    model, state = cat
    state = state._replace(rates=np.full(10, np.nan))
    for function in (fc.equations, fc.reduced_equations, fc.changes.centroidal, fc.connection):
        with pytest.raises(fc.ModelError, match="rates holds a number that is not finite"):
            function(model, state)
