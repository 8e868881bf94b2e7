"""Steps that are shortened until they hold what they should, and named where none does."""

from dataclasses import dataclass

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.contact import Contact, HardContacts, Jump
from fallingcat.contact.base import Touch

DOG = fc.robots.quadruped()
FEET = tuple(frame.name for frame in DOG.frames)
BALL = fc.robots.free_body()


def test_events_of_many_points_are_refused_by_name():
    floor = HardContacts(FEET)
    for integrator in ("rkmk4", "rosenbrock", "scipy"):
        with pytest.raises(fc.ModelError, match=r"at most 40; 'quadruped' has 72: take 'moreau'"):
            fc.simulate(DOG, DOG.state(position=[0.0, 0.0, 1.0]), 0.01, contact=floor, integrator=integrator)
    stops = HardContacts(stops=fc.contact.joint_stops(DOG))
    assert fc.simulate(DOG, DOG.neutral(), 0.01, contact=stops).integrator == "moreau"


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


def test_a_contact_that_gives_energy_though_it_cannot_is_reported():
    push = Pushing(200.0, 0.0)
    run = fc.simulate(BALL, RISING, 0.1, contact=push, dt=0.01)
    assert run.status.startswith("finished, but contacts gave ")


def test_what_stops_take_as_they_are_hit_is_not_given_by_feet():
    """Limp legs reach their stops on the ground: friction was said to have given 1.7 J of the 41 J that they had."""
    dog = fc.robots.quadruped()
    ground = fc.contact.HardContacts(tuple(frame.name for frame in dog.frames), friction=1.0)
    start = dog.standing(ground, [0.0, 0.6, -1.2] * 4)
    start.pose[2, 3] += 0.05
    run = fc.simulate(dog, start, 0.6, contact=ground, dt=1e-3)
    works = np.diff((run.ledger.base + run.ledger.joints), axis=0)
    stops, feet = works[:, run.ledger.ports.index("joint stops")], works[:, -3:].sum(axis=1)
    assert stops.min() < -1.0
    assert (feet + np.minimum(stops, 0.0)).max() < 0.01
    assert "contacts gave" not in run.status


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
