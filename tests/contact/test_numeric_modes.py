"""One kernel for all modes of a large robot, and steps that are shortened until they hold what they should."""

from dataclasses import dataclass

import numpy as np
import pytest
from residuals import agree

import fallingcat as fc
from fallingcat.contact import Contact, HardContacts, Jump
from fallingcat.contact.base import Touch
from fallingcat.contact.rigid import hard_contacts as hard

DOG = fc.robots.quadruped()
FEET = tuple(frame.name for frame in DOG.frames)
BALL = fc.robots.free_body()


@pytest.mark.parametrize("seed", range(6))
def test_the_kernel_for_all_modes_gives_what_is_worked_out_mode_by_mode(seed):
    rng = np.random.default_rng(seed)
    floor = HardContacts(FEET, friction=0.7, height=0.3, normal=(0.1, 0.2, 1.0))
    prepared = floor.prepared(DOG)
    mode = tuple(str(s) for s in rng.choice(["open", "stick", "slide"], size=4))
    state, applied, memory = DOG.random_state(rng), rng.normal(size=DOG.nv), rng.normal(size=32)
    one, other = (c.touch(DOG, mode, state, memory, applied) for c in (floor, prepared))
    for port in floor.ports:
        agree(port, other.forces[port], one.forces[port], 1e-12)
    agree("rate", other.memory_rate, one.memory_rate, 1e-12)
    agree("guards", other.guards[:-1], one.guards[:-1], 1e-12)
    agree("strain", other.strain, one.strain, 1e-12)


def test_runs_of_both_kinds_agree(monkeypatch):
    """A planar block lands on two corners, slides and comes to rest: as machine code for each mode, and around one."""
    block, points = fc.contact.corners(fc.robots.free_body(fc.lie.SE2()), "body", [(0.15, -0.1), (-0.15, -0.1)])
    H = np.eye(4)
    H[1, 3] = 0.15
    floor, runs = HardContacts(points, friction=0.5), []
    for small in (hard.MAX_COMPILED_SIZE, 0):
        monkeypatch.setattr(hard, "MAX_COMPILED_SIZE", small)
        runs.append(
            fc.simulate(
                block, block.state(pose=H, twist=[1.0, 0.0, 0.3]), 0.5, contact=floor, dt=5e-3, integrator="rkmk4"
            )
        )
    one, other = runs
    assert one.problem.compilable
    assert not other.problem.compilable
    assert [e.name for e in one.events] == [e.name for e in other.events]
    agree("times of events", [e.time for e in other.events], [e.time for e in one.events], 1e-10)
    agree("poses", other.poses[-1], one.poses[-1], 1e-10)
    agree("works", other.ledger.works[-1], one.ledger.works[-1], 1e-10)
    assert one.modes[-1] == ("stick", "stick")


def test_size_decides_what_is_compiled():
    assert HardContacts(("body",)).prepared(BALL) is None
    assert HardContacts(FEET).prepared(DOG) is not None
    assert fc.contact.CompliantFloor(FEET, (1e4, 1e4), (1e2, 1e2)).prepared(DOG) is None


@dataclass(frozen=True)
class Pushing(Contact):
    """A force on one link, and a strain of ``slope`` times the speed upwards."""

    force: float
    slope: float
    ports = ("push",)
    passive = True

    def begin(self, model, state):
        return ("on",), np.zeros(0)

    def touching(self, mode):
        return frozenset({"body"})

    def forces(self, model, mode, state, memory, applied):
        return {"push": np.array([0.0, 0.0, self.force, 0.0, 0.0, 0.0])}

    def guards(self, model, mode, state, memory, applied):
        return np.ones(1)

    def jump(self, model, mode, guard, state, memory, applied):
        return Jump("nothing", mode, state, memory)

    def touch(self, model, mode, state, memory, applied):
        usual = super().touch(model, mode, state, memory, applied)
        return Touch(*usual[:3], self.slope * state.twist[2])


RISING = BALL.state(twist=[0.0, 0.0, 1.0, 0.0, 0.0, 0.0])


def test_a_contact_that_gives_energy_though_it_cannot_is_told():
    push = Pushing(200.0, 0.0)
    run = fc.simulate(BALL, RISING, 0.1, contact=push, dt=0.01)
    assert run.status.startswith("finished, but contacts gave ")


def test_a_step_that_does_not_hold_its_points_is_shortened_until_it_stops_by_name():
    """Gravity takes the speed, and so the strain, below 1 only after longer than a step can be."""
    run = fc.simulate(BALL, RISING, 0.1, contact=Pushing(0.0, 2.0), dt=0.01)
    assert run.status == "stopped after 0 s: no step, however small, holds body on the ground"


def test_in_a_rollout_it_ends_and_the_others_go_on():
    rest = BALL.neutral()
    many = fc.rollout(BALL, [RISING, rest, RISING], 0.1, contact=Pushing(0.0, 2.0), dt=0.01)
    words = "2 of 3 simulations stopped, the first after 0 s: no step, however small, holds body on the ground"
    assert many.status == f"finished, but {words}"
    assert many.finite.tolist() == [False, True, False]
    alone = fc.rollout(BALL, [rest], 0.1, contact=Pushing(0.0, 2.0), dt=0.01)
    np.testing.assert_array_equal(many.poses[:, 1], alone.poses[:, 0])


class Breaking(Pushing):
    """Below 1 cm under the origin there is no way to go on."""

    def guards(self, model, mode, state, memory, applied):
        return np.reshape(state.pose[2, 3] + 0.01, 1)

    def jump(self, model, mode, guard, state, memory, applied):
        raise fc.NumericsError("no forces were found")


def test_a_robot_whose_jump_is_not_found_ends_and_the_others_go_on():
    many = fc.rollout(BALL, [RISING, BALL.neutral()], 0.1, contact=Breaking(0.0, 0.0), dt=0.01)
    assert many.status == "finished, but 1 of 2 simulations stopped, the first after 0.0451524 s: no forces were found"
    assert many.finite.tolist() == [True, False]
    assert fc.simulate(BALL, BALL.neutral(), 0.1, contact=Breaking(0.0, 0.0), dt=0.01).status.endswith(
        "no forces were found"
    )


def test_a_step_is_shortened_only_where_it_must_be():
    """The strain passes 1 at a speed that is reached in half a step: half steps end below it, whole ones above."""
    slow = BALL.state(twist=[0.0, 0.0, 0.05, 0.0, 0.0, 0.0])
    up = Pushing(2.0 * 9.81 * 2.0, 1.0 / 0.1)  # 9.81 m/s^2 upwards
    run = fc.simulate(BALL, slow, 0.01, contact=up, dt=0.01)
    assert run.times[1] == pytest.approx(0.005)
    assert run.status.startswith("stopped after 0.005")


def test_forces_that_grow_within_a_step_create_no_energy():
    """It slides into a jam: at 2 ms the step did not see the force, energy grew by 6.6 %, and the run was finished."""
    rng = np.random.default_rng(3)
    joints = 0.3 * rng.normal(size=DOG.n)
    H = fc.lie.SE3().exp(np.concatenate([np.zeros(3), 0.3 * rng.normal(size=3)]))
    H[2, 3] = 0.1 - min(fc.link_pose(DOG, DOG.state(pose=H, joints=joints), p)[2, 3] for p in FEET)
    twist = np.concatenate([rng.normal(size=3), 2.0 * rng.normal(size=3)])
    start = DOG.state(pose=H, joints=joints, twist=twist, rates=rng.normal(size=DOG.n))
    run = fc.simulate(
        DOG, start, 0.42, contact=HardContacts(FEET, friction=1.0), dt=2e-3, passive=False, integrator="rkmk4"
    )
    energy = sum(run.energies())
    assert run.status == "finished"
    assert (energy - np.minimum.accumulate(energy)).max() < 1e-3 * np.ptp(energy)
