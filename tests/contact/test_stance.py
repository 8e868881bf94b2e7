"""The stance foot as the base: the same motion, and the joint equations of a fixed base."""

import numpy as np
import pytest
from residuals import agree

import fallingcat as fc
from fallingcat.geometry.contact_points import position

WALKER, SOLE = fc.contact.corners(fc.robots.humanoid(), "left_sole", (0.24, 0.1))


def balancing(seed):
    """The humanoid at random, with its left foot at rest."""
    rng = np.random.default_rng(seed)
    state = WALKER.state(joints=0.3 * rng.normal(size=WALKER.n), rates=rng.normal(size=WALKER.n))
    foot = WALKER.frame("left_sole").link
    J = fc.jacobian(WALKER, state, foot)
    return state._replace(twist=-np.linalg.solve(J[:, :6], J[:, 6:] @ state.rates)), rng.normal(
        scale=20.0, size=WALKER.n
    )


@pytest.mark.parametrize("seed", range(3))
def test_the_foot_as_base_is_the_same_motion(seed):
    state, _ = balancing(seed)
    model, moved = fc.contact.stance_base(WALKER, state, "left_sole")
    assert model.link_names[0] == WALKER.frame("left_sole").link
    assert np.abs(moved.twist).max() < 1e-12
    agree("energy", fc.kinetic_energy(model, moved), fc.kinetic_energy(WALKER, state))
    agree("momentum", fc.momentum(model, moved, "world"), fc.momentum(WALKER, state, "world"), 1e-11)
    for place in ("head", "right_sole", *SOLE):
        if place in {*WALKER.link_names, *(f.name for f in WALKER.frames)}:
            agree("places", fc.link_pose(model, moved, place), fc.link_pose(WALKER, state, place))


@pytest.mark.parametrize("seed", range(3))
def test_joint_space_equations_at_the_foot_are_the_constrained_dynamics(seed):
    """[Traversaro] Lemma 5 against (3.62) with the four corners of the sole: accelerations and wrench."""
    state, torques = balancing(seed)
    held = fc.formulations.fixed_at(WALKER, state, "left_sole")
    applied = np.concatenate([np.zeros(6), torques])
    F = fc.contact.contact_forces(WALKER, state, applied, SOLE)
    wrenches = {place: np.concatenate([f, np.zeros(3)]) for place, f in zip(SOLE, F, strict=True)}
    a = fc.forward_dynamics(WALKER, state, applied, wrenches, "mixed")
    agree("joint accelerations (46)", a[6:], held.forward(torques), 1e-9)
    H = fc.link_pose(WALKER, state, "left_sole")
    arms = [position(WALKER, state, place) - H[:3, 3] for place in SOLE]
    moment = sum(np.cross(r, f) for r, f in zip(arms, F, strict=True))
    wrench = np.concatenate([H[:3, :3].T @ F.sum(axis=0), H[:3, :3].T @ moment])
    agree("wrench (48)", wrench, held.wrench(torques), 1e-9)
    model, moved = fc.contact.stance_base(WALKER, state, "left_sole")
    order = [6 + model.joint_names.index(name) for name in WALKER.joint_names]
    agree("mass matrix of the rerooted robot", fc.mass_matrix(model, moved)[np.ix_(order, order)], held.M, 1e-11)


def test_the_center_of_pressure_has_no_moment_along_the_ground():
    state, _ = balancing(0)
    F = np.abs(np.random.default_rng(1).normal(size=(4, 3)))
    center = fc.contact.center_of_pressure(WALKER, state, F, SOLE)
    arms = np.array([position(WALKER, state, place) for place in SOLE]) - center
    up = F * np.array([0.0, 0.0, 1.0])
    agree("moment", np.cross(arms, up).sum(axis=0)[:2], np.zeros(2), 1e-12)


def test_outlines():
    model, points = fc.contact.corners(fc.robots.humanoid(), "left_sole", [(0.1, 0.0), (-0.1, 0.05), (-0.1, -0.05)])
    assert points == ("left_sole_1", "left_sole_2", "left_sole_3")
    H = np.linalg.inv(fc.link_pose(model, model.neutral(), "left_sole")) @ fc.link_pose(
        model, model.neutral(), points[1]
    )
    agree("corner", H[:3, 3], [-0.1, 0.05, 0.0])
    with pytest.raises(fc.ModelError, match="outline of a foot"):
        fc.contact.corners(model, "left_sole", [1.0, 2.0, 3.0])
