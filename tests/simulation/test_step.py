"""The step that users call is the step that runs take, for every target; in flight it keeps momentum."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass, replace

import numpy as np
import pytest
from random_robots import Robot, build
from support.emulated_gpu import emulated

import fallingcat as fc
from fallingcat.arrays import concatenate, sin
from fallingcat.control import JointDamper, Law, PositionServo
from fallingcat.lie import SE2, SE3, SO3, Trivial
from fallingcat.model import Passive
from fallingcat.simulation import MomentumRungeKutta, Problem, step, step_derivatives

CAT, DOG, DT = fc.robots.two_cylinder_cat(), fc.robots.quadruped(), 2e-3
SIT, FEET = np.tile([0.0, 0.6, -1.2], 4), tuple(frame.name for frame in DOG.frames)
GROUNDS = {
    "implicit": fc.contact.CompliantFloor(FEET, (3e4, 3e4), (300.0, 300.0), friction=0.8),
    "moreau": fc.contact.HardContacts(FEET, friction=0.8),
}
TORQUES = 0.05 * np.random.default_rng(5).normal(size=(40, 2))


def tumbling() -> fc.State:
    return CAT.state(joints=[0.2, -0.3], twist=[0.3, -0.2, 1.5, 2.0, 1.0, -0.5], rates=[1.0, -0.5])


def standing() -> fc.State:
    pose = np.eye(4)
    pose[2, 3] = 0.332
    return DOG.state(pose=pose, joints=SIT, twist=[0.3, 0.1, 0.0, 0.2, 0.1, 0.3])


def flight_errors(model: fc.Model, start: fc.State, end: fc.State, t: float) -> tuple[float, float, float]:
    """By how much center of mass, its velocity and spin are off their parabola and constant."""
    h, after = fc.momentum(model, start, "centroidal"), fc.momentum(model, end, "centroidal")
    wanted = fc.center_of_mass(model, start) + h[:3] / model.mass * t + 0.5 * t * t * model.gravity
    speed = after[:3] / model.mass - h[:3] / model.mass - t * model.gravity
    off = fc.center_of_mass(model, end) - wanted
    return tuple(float(np.abs(x).max()) for x in (off, speed, after[3:] - h[3:]))


# the same step ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ground", GROUNDS)
def test_on_the_ground_it_is_that_of_runs_to_the_last_bit(ground):
    sim, one = fc.Simulator(DOG, GROUNDS[ground], dt=DT, state=standing()), step(DOG, None, GROUNDS[ground], dt=DT)
    run = fc.simulate(DOG, standing(), 50 * DT, lambda t, s: np.ones(12), GROUNDS[ground], integrator=ground, dt=DT)
    assert one.arguments == ("q", "v", "memory", "forces")
    state, memory = standing(), one.begin(standing())
    q, v = DOG.flatten(state)
    flat = (q, v, memory)
    for k in range(1, 51):
        state, memory = one(state, memory, np.ones(12))
        flat = one(*flat, np.ones(12))
        sim.step(np.ones(12))
        for found, expected, kept in zip(state, sim.state, run.state(k), strict=True):
            np.testing.assert_array_equal(found, expected)
            np.testing.assert_array_equal(found, kept)
    np.testing.assert_array_equal(memory[: run.memory.shape[1]], run.memory[-1])
    np.testing.assert_allclose(flat[2], memory, atol=1e-10)
    for found, expected in zip(DOG.unflatten(*flat[:2]), state, strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-11)


def test_in_flight_it_is_that_of_runs():
    """To the last bit from each state; parabola and spin that runs carry along are measured anew at each step."""
    sim, one, state = fc.Simulator(CAT, dt=DT), step(CAT, dt=DT), tumbling()
    run = fc.simulate(CAT, state, len(TORQUES) * DT, lambda t, s: TORQUES[0], dt=DT, integrator=MomentumRungeKutta())
    first = one(state, TORQUES[0])
    for found, expected in zip(first, run.state(1), strict=True):
        np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-15)
    for torques in TORQUES:
        sim.reset(state)
        sim.step(torques)
        state = one(state, torques)
        for found, expected in zip(state, sim.state, strict=True):
            np.testing.assert_array_equal(found, expected)
    sim.reset(tumbling())
    for torques in TORQUES:
        sim.step(torques)
    for found, expected in zip(state, sim.state, strict=True):
        np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-12)


# the same for every target ------------------------------------------------------------------------------------


def some_steps(about: dict, target: str, given: tuple, count: int = 3) -> list[np.ndarray]:
    """``q, v`` (and memory) after some steps."""
    one = step(target=target, dt=DT, **about)
    assert one.arguments == ("q", "v", *(("memory",) if len(given) == 4 else ()), "forces")
    *x, forces = given
    for _ in range(count):
        x = one(*x, forces)
    return [np.asarray(part, dtype=float).ravel() for part in x]


@pytest.mark.parametrize("target", ["cpu", "casadi", "jax"])
@pytest.mark.parametrize(
    ("base", "method"),
    [
        (SE3(), "momentum"),
        (SE2(), None),
        pytest.param(SE3(), "implicit", marks=pytest.mark.slow),
        pytest.param(SO3(), "rkmk4", marks=pytest.mark.slow),
        pytest.param(Trivial(), None, marks=pytest.mark.slow),
    ],
)
def test_random_robots_step_alike_everywhere(base, method, target):
    import jax

    model, state = build(Robot(base, 3, 7))
    hinges = tuple(replace(j, kind=fc.joints.Revolute((0.6, 0.0, 0.8)), armature=0.0) for j in model.joints)
    model = replace(model, joints=hinges, actuators=()) if method == "momentum" else model
    state = model.random_state(np.random.default_rng(3))
    about = {"problem": model, "laws": JointDamper(0.01), "integrator": method, "passive": False}
    plain = step(target="numpy", dt=DT, **about)
    memory = (plain.begin(state),) if "memory" in plain.arguments else ()  # implicit steps carry their acceleration
    given = (*model.flatten(state), *memory, 0.1 * np.ones(model.n))
    with jax.enable_x64(True):
        found = some_steps(about, target, given)
    for x, expected in zip(found, some_steps(about, "numpy", given), strict=True):
        np.testing.assert_allclose(x, expected, rtol=0.0, atol=1e-12 * max(1.0, np.abs(expected).max()))


@pytest.mark.parametrize("target", ["cpu", "casadi", "jax"])
def test_contacts_step_alike_everywhere(target):
    """Until forces are those of the contact law, as often as it takes."""
    import jax

    body = fc.robots.free_body()
    floor = fc.contact.CompliantFloor((body.links[0].name,), (1e4, 1e4), (50.0, 50.0), friction=0.5)
    pose = np.eye(4)
    pose[2, 3] = 1e-3
    state = body.state(pose=pose, twist=[0.5, 0.1, -0.8, 0.3, 0.2, 0.1])
    about = {"problem": body, "contact": floor}
    memory = step(body, None, floor, dt=DT).begin(state)

    def steps(target):
        one = step(target=target, dt=DT, **about)
        assert one.integrator.name == "implicit"
        x = (*body.flatten(state), memory)
        for _ in range(8):
            x = one(*x)
        return [np.asarray(part, dtype=float).ravel() for part in x]

    with jax.enable_x64(True):
        found = steps(target)
    for x, expected in zip(found, steps("numpy"), strict=True):
        np.testing.assert_allclose(x, expected, rtol=0.0, atol=1e-12)
    assert np.abs(found[2] - memory).max() > 1e-4


def rubbing() -> fc.Model:
    """The cat with dry friction in its joints."""
    return replace(CAT, joints=tuple(replace(joint, passive=Passive(friction=0.02)) for joint in CAT.joints[:2]))


BALL = fc.robots.free_body()
ABOVE = BALL.base.exp(np.array([0.0, 0.0, 1e-3, 0.0, 0.0, 0.0]))
LANDING = BALL.state(pose=ABOVE, twist=[0.3, 0.1, -0.4, 0.1, 0.2, 0.3])
REPEATING = {
    "midpoint": (CAT, None, fc.simulation.MomentumMidpoint(), tumbling()),
    "dry friction": (rubbing(), None, None, tumbling()),
    "moreau": (BALL, fc.contact.HardContacts(("body",), friction=0.5), "moreau", LANDING),
}


@pytest.mark.parametrize("name", ["midpoint", "moreau", pytest.param("dry friction", marks=pytest.mark.slow)])
def test_what_repeats_itself_is_written_out_for_casadi(name):
    """They were refused: rounds until forces or velocities have converged, or a joint has come to rest."""
    import casadi

    model, contact, method, state = REPEATING[name]
    about = {"integrator": method, "dt": 0.01, "driven": False}
    one, reference = (step(model, None, contact, target=target, **about) for target in ("casadi", "cpu"))
    first = (*model.flatten(state), *([one.begin(state)] if contact else []))
    x = y = first
    for _ in range(12):
        x, y = one(*x), reference(*y)
    for ours, expected in zip(x, y, strict=True):
        np.testing.assert_allclose(np.asarray(ours, dtype=float).ravel(), expected, rtol=0.0, atol=1e-11)
        assert np.isfinite(expected).all()
    v = casadi.SX.sym("v", model.nv)
    slope = casadi.Function("slope", [v], [casadi.jacobian(one.function(*first[:1], v, *first[2:])[1], v)])(first[1])
    ends = [reference(first[0], first[1] + s * 1e-6 * np.ones(model.nv), *first[2:])[1] for s in (1.0, -1.0)]
    np.testing.assert_allclose(np.asarray(slope, dtype=float).sum(axis=1), (ends[0] - ends[1]) / 2e-6, atol=1e-6)


CC = shutil.which("gcc") or shutil.which("cc")


@pytest.mark.skipif(CC is None or sys.platform == "win32", reason="needs a C compiler")
@pytest.mark.parametrize(
    "name", [None, *(pytest.param(name, marks=pytest.mark.slow) for name in ("midpoint", "moreau"))]
)
def test_in_c(tmp_path, name):
    """Its own test compares with plain NumPy."""
    model, contact, method, _ = REPEATING[name] if name else (CAT, None, None, None)
    source = step(model, None, contact, dt=DT, integrator=method, target="c").function
    _, code, main = source.write(tmp_path)
    subprocess.run([CC, "-std=c99", "-Wall", "-Werror", code, main, "-lm", "-o", tmp_path / "run"], check=True)
    assert subprocess.run([tmp_path / "run"], capture_output=True, check=False).returncode == 0
    assert source.name == "fc_simulation_step"


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None or sys.platform == "win32", reason="needs a C++ compiler")
def test_on_a_gpu(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "cupy", emulated(tmp_path))
    q, v = CAT.flatten(tumbling())
    given = [np.tile(x, (3, 1)) for x in (q, v, TORQUES[0])]
    found, expected = (step(CAT, dt=DT, target=target)(*given) for target in ("cuda", "cpu"))
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_allclose(np.asarray(x), y, rtol=0.0, atol=1e-13)


# flights ------------------------------------------------------------------------------------------------------


def semi_implicit(model, q, v, forces):
    """What documentation gave for a step before: momentum of a twist in body axes is not kept."""
    v = v + DT * fc.forward_dynamics(model, model.unflatten(q, v), concatenate([np.zeros(model.m), forces]))
    return model.integrate(q, DT * v), v


@pytest.mark.parametrize("target", ["casadi", "jax"])
def test_whatever_torques_do_a_flight_keeps_its_momentum(target):
    q, v = CAT.flatten(tumbling())
    if target == "casadi":
        rolled = step(CAT, dt=DT, target="casadi").function.mapaccum("flight", len(TORQUES), 2, {})
        states = [np.array(part)[:, -1] for part in rolled(q, v, TORQUES.T)]
    else:
        states = scanned(step(CAT, dt=DT, target="jax"), (q, v), TORQUES)
    end = CAT.unflatten(*states)
    place, speed, spin = flight_errors(CAT, tumbling(), end, len(TORQUES) * DT)
    assert max(place, 0.1 * speed, spin) < 1e-14
    assert np.abs(end.joints - tumbling().joints).max() > 0.01


def scanned(one, start, torques):
    import jax

    with jax.enable_x64(True):
        scan = jax.jit(lambda u: jax.lax.scan(lambda x, u: (one(*x, u), None), start, u)[0])
        return [np.asarray(x) for x in scan(torques)]


def test_the_step_that_documentation_gave_before_does_not():
    q, v = CAT.flatten(tumbling())
    for torques in TORQUES:
        q, v = semi_implicit(CAT, q, v, torques)
    place, speed, _ = flight_errors(CAT, tumbling(), CAT.unflatten(q, v), len(TORQUES) * DT)
    assert min(100.0 * place, speed) > 1e-3


def test_an_optimiser_cannot_jump_in_free_flight():
    """Whatever it does with torques of 0.5 N m, the center of mass ends at the top of its parabola."""
    import casadi

    count, dt = 10, 0.02
    one = step(CAT, dt=dt, target="casadi").function
    place = fc.compile(CAT, fc.center_of_mass, target="casadi")
    ends = []
    for f in (one, _old(dt)):
        problem = casadi.Opti()
        U = problem.variable(CAT.n, count)
        q, v = map(casadi.DM, CAT.flatten(tumbling()))
        for k in range(count):
            q, v = f(q, v, U[:, k])
        problem.subject_to(problem.bounded(-0.5, casadi.vec(U), 0.5))
        problem.minimize(-place(q=q)["out"][2])
        problem.set_initial(U, 0.01)
        quiet = {"print_level": 0, "sb": "yes", "max_iter": 15, "hessian_approximation": "limited-memory"}
        problem.solver("ipopt", {"print_time": False, "error_on_fail": False}, quiet)
        problem.solve_limited()
        ends.append(float(problem.debug.value(place(q=q)["out"][2])))
    t = count * dt
    h = fc.momentum(CAT, tumbling(), "centroidal")
    top = (fc.center_of_mass(CAT, tumbling()) + h[:3] / CAT.mass * t + 0.5 * t * t * CAT.gravity)[2]
    assert abs(ends[0] - top) < 1e-12
    assert abs(ends[1] - top) > 1e-3


def _old(dt):
    def old(model, q, v, forces):
        v = v + dt * fc.forward_dynamics(model, model.unflatten(q, v), concatenate([np.zeros(model.m), forces]))
        return model.integrate(q, dt * v), v

    return fc.compile(CAT, old, target="casadi", inputs={"q": CAT.nq, "v": CAT.nv, "forces": CAT.n})


def test_quaternions_and_angles_do_not_jump():
    """Through whole turns, where ``w >= 0`` and angles within half a turn would."""
    one, (q, v) = step(CAT, dt=0.02), CAT.flatten(CAT.state(twist=[0.0, 0.0, 0.0, 9.0, 0.5, 0.0]))
    signs = set()
    for _ in range(60):
        after, v = one(q, v, np.zeros(2))
        assert np.abs(after - q)[3:].max() < 0.2
        assert abs(np.linalg.norm(after[3:7]) - 1.0) < 1e-14
        signs.add(after[6] < 0.0)
        q = after
    assert signs == {True, False}
    planar = fc.robots.planar_arm(SE2())
    one, (q, v) = step(planar, dt=0.02, passive=False), planar.flatten(planar.state(twist=[0.0, 0.0, 9.0]))
    for _ in range(60):
        after, v = one(q, v, np.zeros(planar.n))
        assert abs(after[2] - q[2]) < 0.5
        q = after
    assert q[2] > 2.0 * np.pi


# gradients ----------------------------------------------------------------------------------------------------


def gradient_matches(one, start, torques):
    """``jax.grad`` through a scan of steps, along a random direction, and central differences."""
    import jax

    weights = np.random.default_rng(8).normal(size=sum(len(x) for x in start))

    def end(u):
        x, _ = jax.lax.scan(lambda x, u: (one(*x, u), None), start, u)
        return jax.numpy.concatenate(x) @ weights

    with jax.enable_x64(True):
        value, slope = jax.jit(end), np.asarray(jax.jit(jax.grad(end))(torques))
        along, h = np.random.default_rng(9).normal(size=torques.shape), 1e-5
        differences = float(value(torques + h * along) - value(torques - h * along)) / (2.0 * h)
    assert abs(float((slope * along).sum()) - differences) < 1e-7 * max(1.0, abs(differences))
    assert abs(differences) > 1e-3


def test_gradients_through_a_flight():
    gradient_matches(step(CAT, dt=DT, target="jax"), CAT.flatten(tumbling()), TORQUES[:10])


def test_gradients_through_contact():
    hopper = fc.robots.revolute_hopper()
    floor = fc.contact.CompliantFloor(("foot",), (1e4, 1e4), (1e3, 1e3))
    state = hopper.state(pose=hopper.base.element(np.array([2.7676, 0.2574, -2.5243])), joints=[1.7802])
    one = step(hopper, None, floor, dt=DT, target="jax", passive=False)
    gradient_matches(one, (*hopper.flatten(state), one.begin(state)), np.full((20, 1), 0.1))


def box_on(contact: str, **start) -> tuple:
    box, corners = fc.contact.corners(BALL, "body", [(x, y, -0.05) for x in (0.1, -0.1) for y in (0.1, -0.1)])
    soft = fc.contact.CompliantFloor(corners, (2e4, 2e4), (100.0, 100.0), friction=0.4)
    floor = soft if contact == "implicit" else fc.contact.HardContacts(corners, friction=0.4)
    return box, floor, box.state(position=[0.0, 0.0, 0.05 - 2e-4 * (contact == "implicit")], **start)


@pytest.mark.slow
@pytest.mark.parametrize(
    "twist", [(0.5, 0.2, 0.0, 0.0, 0.0, 0.3), (2e-3, 1e-3, 0.0, 0.0, 0.0, 0.0)], ids=["slides", "sticks"]
)
@pytest.mark.parametrize("contact", ["implicit", "moreau"])
def test_derivatives_of_contact_forces_are_those_of_differences(contact, twist):
    """Newton's method on the friction cone, and the rounds of hard contacts: away from switches to 1e-6."""
    import jax

    model, floor, state = box_on(contact, twist=twist)
    about = {"integrator": contact, "dt": 4e-3, "driven": False}
    one = step(model, None, floor, target="jax", **about)
    reference = step_derivatives(model, None, floor, **about).step  # solved as far as derivatives are
    x = (*model.flatten(state), one.begin(state))
    for _ in range(3):  # forces of a first step are not yet those of later ones
        x = reference(*x)
    q, v, memory = (np.asarray(part) for part in x)
    with jax.enable_x64(True):
        slope = jax.jacobian(lambda v: jax.numpy.concatenate(one(q, v, memory)[:2]))(v)
    h = 1e-5 if contact == "moreau" else 1e-6  # whose forces converge to 1e-13
    ends = [[np.concatenate(reference(q, v + s * h * e, memory)[:2]) for e in np.eye(model.nv)] for s in (1.0, -1.0)]
    rests = contact == "moreau" and twist[0] < 0.1  # redundant forces: their derivatives converge after their values
    close = 1e-5 if rests else 1e-6
    np.testing.assert_allclose(slope, (np.array(ends[0]) - ends[1]).T / (2.0 * h), rtol=0.0, atol=close)


def test_gradients_through_runs_are_refused_by_name():
    import jax

    way = r"scan fc\.simulation\.step\(model, dt=\.\.\., target='jax'\) with jax\.lax\.scan instead"
    ways = (
        lambda k: fc.simulate(CAT, CAT.state(joints=k * jax.numpy.ones(2)), 0.01),
        lambda k: fc.simulate(CAT, CAT.neutral(), 0.01, fc.control.JointSpring(k)),
        lambda k: fc.simulate(CAT, CAT.neutral(), 0.01, lambda t, s: k * jax.numpy.ones(2)),
        lambda k: fc.simulate(CAT, CAT.neutral(), k),
        lambda k: fc.rollout(CAT, [CAT.state(joints=k * jax.numpy.ones(2))], 0.01),
    )
    for run in ways:
        with pytest.raises(fc.ModelError, match=way):
            jax.grad(lambda k, run=run: run(k).joints[-1].sum())(0.1)


# laws, inputs, batches ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Wave(Law):
    name: str = "wave"

    def forces(self, model, t, state, touching):
        return concatenate([np.zeros(model.m), 0.2 * sin(30.0 * t) * np.ones(model.n)])


def test_laws_of_time_take_a_time():
    one, run = step(CAT, Wave(), dt=DT, driven=False), fc.simulate(CAT, tumbling(), 20 * DT, Wave(), dt=DT)
    assert one.arguments == ("q", "v", "t")
    q, v = CAT.flatten(tumbling())
    state = tumbling()
    for k in range(20):
        q, v = one(q, v, k * DT)
        state = one(state, t=k * DT)
    np.testing.assert_allclose(q[7:], run.joints[-1], atol=1e-13)
    np.testing.assert_allclose(state.joints, run.joints[-1], atol=1e-13)


@pytest.mark.parametrize("target", ["cpu", "numpy", "casadi"])
def test_inputs_of_laws_are_arguments(target):
    servo, targets = PositionServo(0.2, 0.02), np.array([0.3, -0.1])
    one = step(CAT, servo, dt=DT, target=target, inputs=("targets", "kp"))
    assert one.arguments == ("q", "v", "forces", "targets", "kp")
    sim = fc.Simulator(CAT, laws=servo, dt=DT, state=tumbling())
    sim.step(TORQUES[0], targets=targets, kp=np.array([0.1, 0.3]))
    found = one(*CAT.flatten(tumbling()), TORQUES[0], kp=[0.1, 0.3], targets=targets)
    np.testing.assert_allclose(np.array(found[0]).ravel()[7:], sim.state.joints, atol=1e-14)
    if target != "casadi":
        state = one(tumbling(), TORQUES[0], targets, [0.1, 0.3])
        np.testing.assert_allclose(state.rates, sim.state.rates, atol=1e-13)


def test_many_robots_at_once():
    one = step(DOG, None, GROUNDS["implicit"], dt=DT)
    many, memory = fc.State.stack([standing()] * 3), np.tile(one.begin(standing()), (3, 1))
    torques = np.outer([0.0, 1.0, 2.0], np.ones(12))
    states, kept = one(many, memory, torques)
    q = one(*DOG.flatten(many), memory, torques)[0]
    for i in range(3):
        alone, memory_alone = one(standing(), memory[i], torques[i])
        np.testing.assert_allclose(states.joints[i], alone.joints, atol=1e-14)
        np.testing.assert_allclose(kept[i], memory_alone, atol=1e-12)
        np.testing.assert_allclose(q[i, 7:], alone.joints, atol=1e-13)


def test_a_system_is_a_problem():
    problem = Problem(CAT, (JointDamper(0.01),))
    for x, y in zip(step(problem, dt=DT)(tumbling(), TORQUES[0]), step(CAT, JointDamper(0.01), dt=DT, passive=False)(
        tumbling(), TORQUES[0]), strict=True):  # fmt: skip
        np.testing.assert_array_equal(x, y)
    with pytest.raises(fc.ModelError, match="a Problem has laws and a contact: give them there"):
        step(problem, JointDamper(0.1))


def test_what_is_refused():
    with pytest.raises(fc.ModelError, match="target"):
        step(CAT, target="fortran")
    with pytest.raises(fc.ModelError, match="the integrator of a step is 'implicit', 'moreau', or without contact"):
        step(CAT, integrator="rosenbrock")
    with pytest.raises(fc.ModelError, match="a step of 'two_cylinder_cat' takes q, v, forces, each once"):
        step(CAT)(*CAT.flatten(tumbling()))
    with pytest.raises(fc.ModelError, match="a step of 'two_cylinder_cat' takes state, forces, each once"):
        step(CAT)(tumbling(), TORQUES[0], q=1.0)
    with pytest.raises(fc.ModelError, match=r"forces must have shape \(2,\), got an array of shape \(3,\)"):
        step(CAT)(tumbling(), np.zeros(3))
    with pytest.raises(fc.ModelError, match=r"q must have shape \(9,\), got an array of shape \(4,\)"):
        step(CAT, target="numpy")(np.zeros(4), np.zeros(8), np.zeros(2))
    with pytest.raises(fc.ModelError, match="takes q, v and no State"):
        step(CAT, target="casadi")(tumbling(), np.zeros(2))
    with pytest.raises(fc.ModelError, match="a step takes force laws, and forces as an argument"):
        step(CAT, lambda t, s: np.zeros(2))
    with pytest.raises(fc.ModelError, match="no law takes 'targets' as an input"):
        step(CAT, inputs=["targets"])
