"""Derivatives of steps are those of complex numbers that run through the step itself, for every method and target."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from random_robots import Robot, build
from support.complex_steps import ComplexStep
from support.emulated_gpu import emulated

import fallingcat as fc
from fallingcat.control import JointDamper, JointSpring, PositionServo
from fallingcat.errors import BrokenLawError
from fallingcat.geometry.contact_points import position
from fallingcat.lie import SE3
from fallingcat.model import Limits, Passive
from fallingcat.simulation import MomentumMidpoint, MomentumRungeKutta, step_derivatives

DT, TOLERANCE = 2e-3, 1e-9
HOPPER, CAT, DOG, BALL = (
    fc.robots.revolute_hopper(),
    fc.robots.two_cylinder_cat(),
    fc.robots.quadruped(),
    fc.robots.free_body(),
)
FEET, SIT = tuple(frame.name for frame in DOG.frames), np.tile([0.0, 0.6, -1.2], 4)


def soft(points, friction=0.3):
    return fc.contact.CompliantFloor(points, (1e4, 1e4), (100.0, 100.0), friction=friction)


def hopping(height: float = 1e-3) -> fc.State:
    state = HOPPER.state(joints=[0.3], twist=[0.5, -0.6, 0.3], rates=[0.5])
    pose = np.eye(4)
    pose[1, 3] = height - position(HOPPER, state, "foot")[1]
    return state._replace(pose=pose)


def sliding() -> fc.State:
    pose = np.eye(4)
    pose[2, 3] = 1e-3
    return BALL.state(pose=pose, twist=[0.5, 0.1, -0.8, 0.3, 0.2, 0.1])


def standing(height: float = 0.332) -> fc.State:
    pose = np.eye(4)
    pose[2, 3] = height
    rates = 0.3 * np.random.default_rng(0).normal(size=12)
    return DOG.state(pose=pose, joints=SIT, twist=[0.3, 0.1, -0.2, 0.2, 0.1, 0.3], rates=rates)


def agree(found, expected, tolerance=TOLERANCE):
    """In units of each row: velocities of stiff steps change by thousands per metre."""
    rows = np.maximum(1.0, np.abs(expected).max(axis=1, initial=0.0))[:, None]
    np.testing.assert_allclose(found / rows, expected / rows, rtol=0.0, atol=tolerance)


def check_along_a_run(derivatives, state, given, monkeypatch, steps=3, tolerance=TOLERANCE):
    """At the start, and after some steps."""
    one, x = ComplexStep(derivatives.step, monkeypatch), derivatives.model.flatten(state)
    x = (*x, derivatives.begin(state)) if "memory" in derivatives.arguments else x
    for _ in range(steps):
        agree(np.hstack(derivatives.function(*x, *given)), one.jacobian(*x, *given), tolerance)
        x = tuple(derivatives.step.function(*x, *given))


# values -------------------------------------------------------------------------------------------------------

MASS = f"{CAT.link_names[0]}.mass"
IN_FLIGHT = {
    "implicit": (JointDamper(0.02), "implicit", "joint dampers.damping", 0.02),
    "midpoint": (JointDamper(0.02), MomentumMidpoint(), "joint dampers.damping", 0.02),
    "momentum": (None, MomentumRungeKutta(), MASS, CAT.links[0].body.mass),
    "rkmk4": (JointSpring(0.3), "rkmk4", "joint springs.stiffness", 0.3),
}


@pytest.mark.parametrize("model", [HOPPER, pytest.param(CAT, marks=pytest.mark.slow)], ids=["planar", "free"])
@pytest.mark.parametrize("case", IN_FLIGHT)
def test_in_flight(case, model, monkeypatch):
    """By gains, or by the mass of a link."""
    law, method, name, own = IN_FLIGHT[case]
    if name == MASS:
        name, own = f"{model.link_names[0]}.mass", model.links[0].body.mass
    rng = np.random.default_rng(1)
    state = model.state(
        pose=model.random_state(rng).pose, joints=rng.normal(size=model.n), twist=rng.normal(size=model.m)
    )
    state = state._replace(rates=rng.normal(size=model.n))
    derivatives = step_derivatives(model, law, integrator=method, dt=1e-2, inputs=[name], passive=False)
    check_along_a_run(derivatives, state, (0.1 * np.ones(model.n), np.array([own])), monkeypatch, 1)


@pytest.mark.parametrize("ground", [soft(("foot",)), fc.contact.HardContacts(("foot",), friction=0.3)])
def test_a_leg_lands_and_slides(ground, monkeypatch):
    """A planar robot, from the air through touchdown into sliding; by friction and mass of the foot too."""
    derivatives = step_derivatives(HOPPER, JointDamper(0.02), ground, dt=DT, inputs=["friction", "shank.mass"])
    given = np.array([0.1]), np.array([0.3, HOPPER.links[1].body.mass])
    check_along_a_run(derivatives, hopping(), given, monkeypatch, 4)


@pytest.mark.parametrize("joint", range(2))
def test_drives_at_their_speed_limits(joint, monkeypatch):
    """One loses part of its force within the step and then all of it; the other keeps its own, or is beyond."""
    limits = [Limits(velocity=(0.5, 0.05)[i == joint], effort=2.0) for i in range(2)]
    cat = replace(CAT, joints=tuple(replace(each, limits=own) for each, own in zip(CAT.joints, limits, strict=True)))
    about = {"integrator": "implicit", "dt": DT, "inputs": ["joint dampers.damping"]}
    derivatives = step_derivatives(cat, JointDamper(0.01), **about)
    state = cat.state(twist=[0.1, 0.2, -0.3, 0.5, -0.2, 0.1], rates=np.array([0.049, 0.6])[[joint, 1 - joint]])
    given = np.array([0.02, -0.03])[[joint, 1 - joint]], np.array([0.01])
    check_along_a_run(derivatives, state, given, monkeypatch, 3)


@pytest.mark.slow
def test_drives_of_feet_at_their_speed_limits(monkeypatch):
    """Some keep their force, some lose part of it within the step, some are beyond."""
    limits = [Limits(velocity=top, effort=20.0) for top in np.tile([1.0, 0.2, 0.05], 4)]
    pairs = zip(DOG.joints, limits, strict=True)
    dog = replace(DOG, joints=tuple(replace(joint, limits=own) for joint, own in pairs))
    derivatives = step_derivatives(dog, JointDamper(0.1), soft(FEET), dt=DT)
    check_along_a_run(derivatives, standing(0.333), (np.tile([2.0, -3.0, 4.0], 4),), monkeypatch, 2)


def test_stiffness_and_damping_of_a_floor(monkeypatch):
    ground = soft((BALL.links[0].name,))
    derivatives = step_derivatives(BALL, None, ground, dt=DT, inputs=["stiffness", "damping"])
    check_along_a_run(derivatives, sliding(), (np.array([1e4, 1e4, 100.0, 100.0]),), monkeypatch, 3)


@pytest.mark.slow
@pytest.mark.parametrize("ground", [soft(FEET, 0.8), fc.contact.HardContacts(FEET, friction=0.2)])
def test_a_quadruped_on_the_ground(ground, monkeypatch):
    law = PositionServo(60.0, 2.0, tuple(SIT))
    derivatives = step_derivatives(DOG, law, ground, dt=DT, inputs=["friction", "trunk.mass", "kd"])
    own = np.concatenate([[ground.friction, 10.0], 2.0 * np.ones(12)])
    check_along_a_run(derivatives, standing(0.333), (np.ones(12), own), monkeypatch, 2)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("method", ["implicit", "rkmk4"])
def test_random_robots(method, seed, monkeypatch):
    model, state = build(Robot(SE3(), 5, seed))
    if not all(joint.kind.fixed_axes and not joint.mimic for joint in model.joints):
        pytest.skip("joints whose steps have no derivatives")
    derivatives = step_derivatives(model, JointDamper(0.01), integrator=method, dt=1e-3, passive=False)
    check_along_a_run(derivatives, state, (0.1 * np.ones(model.n),), monkeypatch, 1)


@pytest.mark.slow
def test_balls_on_terrain(monkeypatch):
    """Points whose axes turn with the ground, and which remember how far they have slipped."""
    hills = fc.contact.HeightField(0.02 * np.sin(np.arange(21.0))[:, None] * np.ones(21), (0.1, 0.1), (-1.0, -1.0))
    ground = fc.contact.CompliantFloor(FEET, (1e4, 1e4), (100.0, 100.0), friction=0.5, radius=0.02, terrain=hills)
    derivatives = step_derivatives(DOG, None, ground, dt=DT)
    check_along_a_run(derivatives, standing(0.345), (np.ones(12),), monkeypatch, 2)


@pytest.mark.slow
def test_joints_that_dry_friction_holds(monkeypatch):
    """Some joints of a leg are held, others slide."""
    dry = replace(DOG, joints=tuple(replace(joint, passive=Passive(friction=0.3)) for joint in DOG.joints))
    derivatives = step_derivatives(dry, None, soft(FEET), dt=DT)
    check_along_a_run(derivatives, standing(0.333), (0.4 * np.ones(12),), monkeypatch, 3)


# hard cases ---------------------------------------------------------------------------------------------------


MANY = [pytest.mark.slow]
CASES = [
    pytest.param(case, id=case.name, marks=MANY if "redundant" in case.name and "sticking" not in case.name else [])
    for case in fc.testing.hard_steps()
]


@pytest.mark.parametrize("case", CASES)
def test_hard_cases(case):
    derivatives = step_derivatives(case.model, None, case.contact, dt=case.dt, passive=False, memory=False)
    given = (*case.model.flatten(case.state), derivatives.begin(case.state), *([case.forces] if case.model.n else []))
    assert fc.testing.check_step_derivatives(derivatives, *given, smooth=case.smooth).passed


def test_wrong_derivatives_are_found(monkeypatch):
    derivatives = step_derivatives(HOPPER, integrator="rkmk4", dt=1e-2, passive=False)
    exact = derivatives.function
    monkeypatch.setitem(derivatives.__dict__, "function", lambda *x: [1.001 * part for part in exact(*x)])
    with pytest.raises(BrokenLawError, match="they are the slopes of the step"):
        fc.testing.check_step_derivatives(derivatives, *HOPPER.flatten(hopping()), np.zeros(1))


# targets ------------------------------------------------------------------------------------------------------

GROUNDS = {
    "implicit": soft((BALL.links[0].name,)),
    "moreau": fc.contact.HardContacts((BALL.links[0].name,), friction=0.2),
}


def on_ground(method, target, **about):
    derivatives = step_derivatives(BALL, None, GROUNDS[method], dt=DT, target=target, **about)
    return derivatives, (*BALL.flatten(sliding()), derivatives.begin(sliding()))


@pytest.mark.parametrize("method", GROUNDS)
@pytest.mark.parametrize("target", ["numpy", "casadi", "jax"])
def test_targets_agree(method, target):
    import jax

    reference, x = on_ground(method, "cpu")
    x = tuple(reference.step(*reference.step(*x)))
    with jax.enable_x64(True):
        found = on_ground(method, target)[0](*x)
    for part, expected in zip(found, reference(*x), strict=True):
        np.testing.assert_allclose(
            np.asarray(part), expected, rtol=0.0, atol=1e-9 * max(1.0, np.abs(expected).max(initial=0.0))
        )


@pytest.mark.slow
@pytest.mark.parametrize("method", GROUNDS)
def test_on_an_emulated_gpu(method, tmp_path, monkeypatch):
    reference, x = on_ground(method, "cpu")
    expected = reference(*x)
    monkeypatch.setitem(sys.modules, "cupy", emulated(tmp_path))
    found = on_ground(method, "cuda")[0].function(*(np.tile(part, (3, 1)) for part in x))
    for part, one in zip(found, expected, strict=True):
        np.testing.assert_allclose(
            np.asarray(part)[1], one, rtol=0.0, atol=1e-9 * max(1.0, np.abs(one).max(initial=0.0))
        )


@pytest.mark.slow
@pytest.mark.parametrize("method", GROUNDS)
def test_c_passes_its_own_test(method, tmp_path):
    if shutil.which("gcc") is None:
        pytest.skip("no C compiler")
    on_ground(method, "c")[0].function.write(tmp_path)
    sources = [str(path) for path in tmp_path.glob("*.c")]
    subprocess.run(["gcc", "-O1", *sources, "-lm", "-o", str(tmp_path / "run")], check=True)
    subprocess.run([str(tmp_path / "run")], check=True)


@pytest.mark.parametrize("method", ["implicit", pytest.param("moreau", marks=pytest.mark.slow)])
def test_jax_differentiates_the_step_through_its_solution(method):
    """Forward, backward, batched and through a scan; sticking points as exactly as others."""
    import jax
    import jax.numpy as jnp

    with jax.enable_x64(True):
        exact, x = on_ground(method, "cpu")
        one = fc.simulation.step(BALL, None, GROUNDS[method], dt=DT, target="jax")

        def velocities(v):
            return one(x[0], v, x[2])[1]

        forward, backward = jax.jacfwd(velocities)(x[1]), jax.jacrev(velocities)(x[1])
        np.testing.assert_allclose(forward, exact(*x)[0][6:12, 6:12], rtol=0.0, atol=1e-12)
        np.testing.assert_allclose(backward, forward, rtol=0.0, atol=1e-13)
        many = jax.vmap(jax.jacfwd(velocities))(jnp.stack([x[1], x[1]]))
        np.testing.assert_allclose(many[1], forward, rtol=0.0, atol=1e-13)

        def run(v):
            (q, *_), _ = jax.lax.scan(
                lambda carry, _: (one(*carry), None), (jnp.asarray(x[0]), v, jnp.asarray(x[2])), None, 20
            )
            return q @ q

        def plain(v):
            y = (x[0], v, x[2])
            for _ in range(20):
                y = exact.step(*y)
            return y[0] @ y[0]

        slope = jax.jit(jax.grad(run))(jnp.asarray(x[1]))
    expected = [(plain(x[1] + 1e-6 * d) - plain(x[1] - 1e-6 * d)) / 2e-6 for d in np.eye(6)]
    np.testing.assert_allclose(slope, expected, rtol=0.0, atol=2e-4 * np.abs(expected).max())  # steps end at 0.1 %


# what is said -------------------------------------------------------------------------------------------------


def test_what_it_is():
    derivatives = step_derivatives(HOPPER, None, soft(("foot",)), dt=DT, inputs=["friction"])
    assert derivatives.arguments == derivatives.step.arguments == ("q", "v", "memory", "forces", "friction")
    A, B, P = derivatives(hopping(), derivatives.begin(hopping()), [0.1], 0.3)
    size = derivatives.rows["memory"].stop
    assert (A.shape, B.shape, P.shape) == ((size, size), (size, 1), (size, 1))
    short = step_derivatives(HOPPER, None, soft(("foot",)), dt=DT, memory=False)
    A, B = short(hopping(), short.begin(hopping()), [0.1])
    assert (A.shape, B.shape, [*short.rows]) == ((8, 8), (8, 1), ["configuration", "velocity"])
    assert "StepDerivatives(q, v, memory, forces)" in repr(short)


def test_what_is_refused():
    with pytest.raises(fc.ModelError, match=r"an input of a step is one of friction, stiffness, .*, not 'weight'"):
        step_derivatives(HOPPER, None, soft(("foot",)), inputs=["friction", "weight"])
    with pytest.raises(fc.ModelError, match="take no parameters of robot or floor as inputs"):
        step_derivatives(CAT, integrator=MomentumMidpoint(), inputs=[MASS])
    with pytest.raises(fc.ModelError, match="derivatives of steps are those of 'implicit'"):
        step_derivatives(HOPPER, integrator="semi_implicit")(*HOPPER.flatten(hopping()), np.zeros(1))
