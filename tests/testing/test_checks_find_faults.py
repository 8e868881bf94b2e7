"""The checks of `fallingcat.testing` find faulty joints, laws, contacts and changes; those of the library pass."""

import subprocess
import sys
from dataclasses import dataclass, replace

import numpy as np
import pytest
from heun import Heun
from hunt_crossley import HuntCrossley
from integral_law import Integral
from reach_task import ReachTask
from rod_loop import Rod
from saddle_joint import Saddle

import fallingcat as fc
from fallingcat.arrays import concatenate
from fallingcat.contact import Contact
from fallingcat.control import JointDamper, JointSpring, Law
from fallingcat.errors import BrokenLawError
from fallingcat.studies.hoppers import EnergyController, PolarSpring, RadialDamper, RadialSpring
from fallingcat.testing import (
    Report,
    check_change,
    check_contact,
    check_integrator,
    check_joint,
    check_law,
    check_loop,
    check_task,
)

BALL, CAT = fc.robots.free_body(), fc.robots.two_cylinder_cat()
ABOVE = np.array([[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.05], [0.0, 0.0, 0.0, 1.0]])
THROWN = BALL.state(pose=ABOVE, twist=[0.3, 0.0, 0.0, 1.0, 2.0, 3.0])


def broken(check, *arguments, **options):
    """The names of the laws that do not hold."""
    with pytest.raises(BrokenLawError) as caught:
        check(*arguments, **options)
    return {found.name for found in caught.value.report.failures}


# what is true passes ----------------------------------------------------------------------------------------------


def test_laws_of_the_library_pass():
    hopper, spring = fc.robots.revolute_hopper(), RadialSpring(2200.0, 0.1411)
    for law in (spring, RadialDamper(20.0), EnergyController(10.0, 2.84, spring), PolarSpring(6.0)):
        report = check_law(law, hopper, touching=("foot",))
        assert ("gradient" in {check.name for check in report.checks}) == (law is spring)
    assert check_law(JointDamper(0.2), CAT).passed


@pytest.mark.parametrize(
    "contact",
    [
        fc.contact.CompliantFloor(("body",), (1e4, 1e4), (50.0, 50.0), 0.5),
        fc.contact.HardContacts(("body",), 0.5, 0.3),
    ],
    ids=lambda contact: type(contact).__name__,
)
def test_contacts_of_the_library_pass(contact):
    assert check_contact(contact, BALL, THROWN).passed


@pytest.mark.parametrize(
    "make", [fc.changes.mixed, fc.changes.inertial, fc.changes.centroidal, fc.changes.locked, fc.changes.momentum_map]
)
def test_changes_of_the_library_pass(make):
    assert check_change(make).passed


# joints -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class StillAxes(Saddle):
    def motion_subspace(self, q):
        return super().motion_subspace(q)

    def motion_subspace_derivative(self, q, rates):
        return np.zeros((6, 2))


@dataclass(frozen=True)
class WrongWay(Saddle):
    def motion_subspace(self, q):
        return -super().motion_subspace(q)

    def motion_subspace_derivative(self, q, rates):
        return -super().motion_subspace_derivative(q, rates)


@dataclass(frozen=True)
class Offset(Saddle):
    def transform(self, q):
        return super().transform(q) @ fc.lie.SE3().exp(np.array([0.0, 0.0, 0.1, 0.0, 0.0, 0.0]))


@dataclass(frozen=True)
class FixedAxes(Saddle):
    fixed_axes = True


@dataclass(frozen=True)
class Nowhere(Saddle):
    def transform(self, q):
        return np.nan * super().transform(q)


@dataclass(frozen=True)
class NumbersOnly(Saddle):
    def transform(self, q):
        return super().transform(np.asarray(q, dtype=complex if np.iscomplexobj(q) else float))


def test_lies_about_joints_are_found():
    assert {"subspace rate", "lagrange"} <= broken(check_joint, StillAxes)
    assert "subspace" in broken(check_joint, WrongWay)
    assert {"neutral", "subspace"} <= broken(check_joint, Offset)
    assert "fixed axes" in broken(check_joint, FixedAxes)
    assert {"subspace", "neutral", "other side", "turned twice"} <= broken(check_joint, Nowhere)


def test_what_cannot_be_traced_is_named_and_has_its_cause():
    with pytest.raises(BrokenLawError, match=r"joint kind 'saddle': the law 'traced' .* cannot be checked") as caught:
        check_joint(NumbersOnly)
    assert isinstance(caught.value.__cause__, TypeError)


def test_one_joint_may_be_checked():
    assert check_joint(Saddle(0.1), rounds=2).subject == "joint kind 'saddle'"


# integrators ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Boast(Heun):
    order = 3


@dataclass(frozen=True)
class LateClock(Heun):
    """Order 1 where forces depend on time."""

    def step(self, field, t, y, dt):
        return super().step(lambda _, x: field(t, x), t, y, dt)


@dataclass(frozen=True)
class Careless(Heun):
    """Its error is always said to be small."""

    def step(self, field, t, y, dt):
        after, error = super().step(field, t, y, dt)
        return after, 0.0 * error


def test_lies_about_integrators_are_found():
    assert {"order", "driven", "energy"} <= broken(check_integrator, Boast())
    assert "driven" in broken(check_integrator, LateClock())
    assert broken(check_integrator, Careless(1e-5)) == {"tolerance"}


def test_an_order_that_cannot_be_measured_is_unproved():
    with pytest.raises(BrokenLawError, match=r"the law 'order' .* is unproved: errors of .* are rounding"):
        check_integrator(fc.simulation.SciPy())


# laws -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SoftSpring(JointSpring):
    def energy(self, model, state):
        return 0.5 * super().energy(model, state)


@dataclass
class Loose(Law):
    name: str = "loose"

    def forces(self, model, t, state, touching):
        return np.zeros(model.nv)


@dataclass(frozen=True)
class Short(Law):
    name: str = "short"

    def forces(self, model, t, state, touching):
        return np.zeros(model.n)


@dataclass(frozen=True)
class Moody(Law):
    """Its forces depend on the kind of number that it is given."""

    name: str = "moody"

    def forces(self, model, t, state, touching):
        push = 0.1 if isinstance(t, float) else 0.2
        return concatenate([np.zeros(model.m), np.full(model.n, push)])


@dataclass(frozen=True)
class Drowsy(Integral):
    """It forgets half of what it learns between two looks."""

    name: str = "drowsy"

    def after(self, model, t, state, period):
        return self.memory + 0.5 * period * self.memory_rate(model, t, state)


@dataclass(frozen=True)
class Empty(Integral):
    """It begins with fewer numbers than it says."""

    name: str = "empty"

    def begin(self, model, state):
        return np.zeros(model.n - 1)


@dataclass(frozen=True)
class Numeric(Integral):
    """Its rate is not what machine code finds: it looks at a counter."""

    name: str = "numeric"

    def memory_rate(self, model, t, state):
        CALLS.append(None)
        return state.joints + 1e-3 * len(CALLS)


CALLS: list[None] = []


def test_lies_about_laws_with_a_state_are_found():
    assert check_law(Integral(2.0), CAT).passed
    assert broken(check_law, Drowsy(2.0), CAT) == {"after"}
    with pytest.raises(BrokenLawError, match="law 'empty': the law"):
        check_law(Empty(2.0), CAT)
    assert "compiled" in broken(check_law, Numeric(2.0), CAT)


def test_lies_about_laws_are_found():
    assert broken(check_law, SoftSpring(2.0), CAT) == {"gradient"}
    assert "compiled" in broken(check_law, Moody(), CAT)
    with pytest.raises(BrokenLawError, match=r"law 'loose': the law 'plain data' .* unhashable type"):
        check_law(Loose(), CAT)
    with pytest.raises(BrokenLawError, match=r"law 'short': the law"):
        check_law(Short(), CAT)


# contacts ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ghostly(HuntCrossley):
    """Pulls in the air."""

    def forces(self, model, mode, state, memory, applied):
        return {port: F + 1e-3 for port, F in super().forces(model, (True,), state, memory, applied).items()}


@dataclass(frozen=True)
class Unbooked(HuntCrossley):
    """Its work is in no line of the ledger."""

    def forces(self, model, mode, state, memory, applied):
        return {"ground": sum(super().forces(model, mode, state, memory, applied).values())}


@dataclass(frozen=True)
class Doubtful(HuntCrossley):
    """A guard that is no number."""

    def guards(self, model, mode, state, memory, applied):
        return concatenate([super().guards(model, mode, state, memory, applied), np.array([np.nan])])


@dataclass(frozen=True)
class Soft(Contact):
    """Modes and forces of a floor alone: stiff, and does not say so."""

    floor: HuntCrossley
    ports = HuntCrossley.ports
    needs_applied_forces = False
    stiff = False

    @property
    def points(self):
        return self.floor.points

    def begin(self, model, state):
        return self.floor.begin(model, state)

    def touching(self, mode):
        return self.floor.touching(mode)

    def forces(self, model, mode, state, memory, applied):
        return self.floor.forces(model, mode, state, memory, applied)

    def guards(self, model, mode, state, memory, applied):
        return self.floor.guards(model, mode, state, memory, applied)

    def jump(self, model, mode, guard, state, memory, applied):
        return self.floor.jump(model, mode, guard, state, memory, applied)


@dataclass(frozen=True)
class Stiff(Soft):
    """The same, and says so."""

    stiff = True


@dataclass(frozen=True)
class Sunken(HuntCrossley):
    """Starts in the ground and says that it does not touch."""

    def begin(self, model, state):
        return (False,), np.zeros(0)


@dataclass(frozen=True)
class Weak(HuntCrossley):
    """Its implicit steps feel another force."""

    def support(self, point, ahead, seen):
        found = super().support(point, ahead, seen)
        return found._replace(force=0.8 * found.force, gain=0.8 * found.gain)


def test_lies_about_contacts_are_found():
    floor = {"points": ("body",), "stiffness": 1e5, "damping": 0.3, "friction": 0.5}
    assert "forces" in broken(check_contact, Ghostly(**floor), BALL, THROWN)
    assert "energy balance" in broken(check_contact, Soft(HuntCrossley(**floor)), BALL, THROWN)
    assert check_contact(Stiff(HuntCrossley(**floor)), BALL, THROWN).passed
    assert broken(check_contact, Weak(**floor), BALL, THROWN) == {"implicit steps"}
    assert "forces" in broken(check_contact, Unbooked(**floor), BALL, THROWN)
    assert {"begin", "compiled"} <= broken(check_contact, Doubtful(**floor), BALL, THROWN)
    below = THROWN._replace(pose=THROWN.pose - np.outer([0.0, 0.0, 0.051, 0.0], [0.0, 0.0, 0.0, 1.0]))  # 1 mm
    assert "begin" in broken(check_contact, Sunken(**floor), BALL, below)


def test_a_contact_that_nothing_touches_is_unproved():
    high = THROWN._replace(pose=np.linalg.matrix_power(ABOVE, 100))
    with pytest.raises(BrokenLawError, match=r"the law 'touches' .* is unproved: nothing touched"):
        check_contact(HuntCrossley(("body",), 1e5, 0.3), BALL, high)


# loops and tasks --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Stiffened(Rod):
    """Its rows leave out a part of how the rod turns."""

    def rows(self, motion):
        rows = super().rows(motion)
        return rows._replace(bias=0.9 * rows.bias)


@dataclass(frozen=True, eq=False)
class Stretched(Rod):
    """Its error grows faster than its rows say."""

    def rows(self, motion):
        rows = super().rows(motion)
        return rows._replace(error=1.5 * rows.error)


@dataclass(frozen=True, eq=False)
class Outside(Rod):
    """Held by the world, and says that it is an inner one."""

    internal = True


@dataclass(frozen=True, eq=False, kw_only=True)
class Slack(ReachTask):
    """It does not see how the line turns."""

    def motion(self, model, state):
        return super().motion(model, state)._replace(bias=np.zeros(1))


@dataclass(frozen=True, eq=False, kw_only=True)
class Nearer(ReachTask):
    """It says that it is nearer than it is."""

    def value(self, model, state):
        return super().value(model, state) - 1e-3


def test_lies_about_loops_are_found():
    arm, ends = (
        fc.robots.planar_arm(),
        {"first": "end_effector", "second": None, "length": 3.0, "place": (0.5, 0.0, 1.0)},
    )
    assert check_loop(Rod("rod", **ends), arm).passed
    assert "bias" in broken(check_loop, Stiffened("rod", **ends), arm)
    assert "jacobian" in broken(check_loop, Stretched("rod", **ends), arm)
    dog = fc.robots.quadruped()
    near = [dog.neutral()]
    assert "inner forces" in broken(check_loop, Outside("rod", dog.frames[0].name, None, 0.3), dog, near)
    with pytest.raises(BrokenLawError, match="loop 'rod': the law 'names'"):
        check_loop(Rod("rod", "nowhere", None, 1.0), arm)


def test_lies_about_tasks_are_found():
    dog = fc.robots.quadruped()
    feet = {"link": dog.frames[0].name, "other": dog.frames[3].name}
    assert check_task(ReachTask(**feet), dog).passed
    assert broken(check_task, Slack(**feet), dog) == {"bias"}
    assert "goal" in broken(check_task, Nearer(**feet), dog)


# changes ----------------------------------------------------------------------------------------------------------


def test_lies_about_changes_are_found():
    def frozen(model, state):
        change = fc.changes.mixed(model, state)
        return replace(change, T_dot=0.0 * change.T_dot)

    def oblique(model, state):
        change = fc.changes.mixed(model, state)
        return replace(change, inverse=2.0 * change.inverse)

    assert {"rate", "change rate"} <= broken(check_change, frozen)
    assert {"inverse", "change"} <= broken(check_change, oblique)
    claims = lambda model, state: replace(fc.changes.mixed(model, state), claims=["mass decoupling"])  # noqa: E731
    assert broken(check_change, claims) == {"mass decoupling"}


# reports ----------------------------------------------------------------------------------------------------------


def test_a_report_without_laws_has_not_passed():
    empty = Report("nothing", ())
    assert not empty.passed
    with pytest.raises(BrokenLawError, match="nothing: no law could be checked"):
        empty.settled()


def test_the_error_is_an_assertion_and_names_law_residual_and_tolerance():
    with pytest.raises(AssertionError, match=r"'saddle': the law 'subspace rate' .* is broken: residual .*, allowed"):
        check_joint(StillAxes)


def test_the_library_alone_is_enough():
    others = ("pytest", "hypothesis", "scipy", "jax", "casadi", "sympy")
    lines = ["import sys", *(f"sys.modules[{name!r}] = None" for name in others)]
    lines += ["import fallingcat as fc", "fc.testing.check_joint(fc.joints.Universal, rounds=1)"]
    lines += ["fc.testing.check_law(fc.control.JointDamper(1.0), fc.robots.planar_arm())"]
    subprocess.run([sys.executable, "-c", "\n".join(lines)], check=True)


@pytest.mark.parametrize(
    ("check", "words"),
    [
        (lambda: check_joint(3), "kind must be a class of joints that is not abstract, or one joint, got 3"),
        (lambda: check_joint(fc.joints.JointKind), "kind must be a class of joints that is not abstract"),
        (lambda: check_joint(Heun), "kind must be a class of joints that is not abstract"),
        (lambda: check_integrator("rkmk4"), "integrator must be an Integrator, got 'rkmk4'"),
        (lambda: check_integrator(Heun), "integrator must be an Integrator, got"),
        (lambda: check_law(None, CAT), "law must be a Law, got None"),
        (lambda: check_contact("floor", BALL, THROWN), "contact must be a Contact, got 'floor'"),
        (lambda: check_change(1.0), "make must be a function of model and state that returns a change, got 1.0"),
    ],
)
def test_what_is_none_of_its_kind_is_refused(check, words):
    with pytest.raises(fc.ModelError, match=words):
        check()


def test_a_floor_without_points_and_a_change_without_robots_are_unproved():
    with pytest.raises(BrokenLawError, match=r"'touches' .* unproved"):
        check_contact(HuntCrossley((), 1e5, 0.3), BALL, THROWN)
    with pytest.raises(BrokenLawError, match="unproved: there are no cases to check"):
        check_change(fc.changes.mixed, [])


@pytest.mark.slow
def test_a_stiff_law_needs_smaller_steps():
    with pytest.raises(BrokenLawError, match=r"'energy balance' .* unproved: the run ended early"):
        check_law(JointSpring(1e6), CAT)
    assert check_law(JointSpring(1e6), CAT, dt=1e-6).passed
