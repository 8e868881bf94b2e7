"""Ground that is not flat: its heights, the places that balls touch, and runs over it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from kinds import as_casadi, as_float, as_jax, as_traced

import fallingcat as fc
from fallingcat.arrays import array, concatenate, cos, sqrt
from fallingcat.contact import CompliantFloor, HardContacts, HeightField, Terrain
from fallingcat.errors import BrokenLawError, ModelError
from fallingcat.lie import SE2
from fallingcat.testing import check_contact, check_terrain

RADIUS, MASS = 0.1, 2.0
BALL = fc.robots.free_body(body=fc.Body(MASS, (0.0, 0.0, 0.0), 0.4 * MASS * RADIUS**2 * np.eye(3)))
SPRINGS = {"stiffness": (1e5, 1e5), "damping": (500.0, 50.0), "friction": 0.5}


@dataclass(frozen=True)
class Waves(Terrain):
    amplitude: float
    number: float

    def height(self, x: Any, y: Any) -> Any:
        return self.amplitude * cos(self.number * x) * cos(self.number * y)


@dataclass(frozen=True)
class Slope(Terrain):
    """Along x, or along y."""

    rise: float
    sideways: bool = False

    def height(self, x: Any, y: Any) -> Any:
        return self.rise * (y if self.sideways else x)


@dataclass(frozen=True)
class Pipe(Terrain):
    """Along y, a part of a circle."""

    radius: float

    def height(self, x: Any, y: Any) -> Any:
        return self.radius - sqrt(self.radius**2 - x * x)


def at(*p: float) -> np.ndarray:
    H = np.eye(4)
    H[:3, 3] = p
    return H


def rough(seed: int = 0, shape: tuple[int, ...] = (6, 5), most: float = 0.02) -> HeightField:
    return HeightField(np.random.default_rng(seed).uniform(0.0, most, shape), (0.3, 0.25), (-0.6, -0.5))


def test_a_height_field_is_the_natural_spline_through_its_heights() -> None:
    interpolate = pytest.importorskip("scipy.interpolate")
    field = rough(most=1.0)
    x, y = (np.arange(n) * step + start for n, step, start in zip((6, 5), field.spacing, field.origin, strict=True))
    along = interpolate.make_interp_spline(x, np.array(field.heights), k=3, bc_type="natural")
    for a, b in np.random.default_rng(1).uniform((-0.6, -0.5), (0.9, 0.5), (20, 2)):
        both = [interpolate.make_interp_spline(y, along(a, n), k=3, bc_type="natural") for n in range(3)]
        expected = [both[0](b), both[1](b), both[0](b, 1), both[2](b), both[1](b, 1), both[0](b, 2)]
        np.testing.assert_allclose(np.array(field.slopes(a, b)), expected, rtol=1e-11, atol=1e-11)
    for i, j in np.ndindex(6, 5):
        assert field.height(x[i], y[j]) == pytest.approx(field.heights[i][j], abs=1e-15)


def test_a_profile_is_the_same_for_all_y_and_goes_on_beyond_its_edges() -> None:
    field = HeightField([0.0, 0.1, 0.3], spacing=0.5)
    assert field.height(0.7, -5.0) == field.height(0.7, 3.0)
    assert (field.height(-2.0, 0.0), field.height(7.0, 0.0)) == (pytest.approx(0.0, abs=1e-15), pytest.approx(0.3))
    assert HeightField([[0.2]], 1.0).height(3.0, 4.0) == pytest.approx(0.2)


@pytest.mark.parametrize("terrain", [rough(), Waves(0.05, 3.0), HeightField([0.0, 0.05, 0.02], 0.4)])
@pytest.mark.parametrize("radius", [0.0, 0.05])
def test_laws_of_reliefs_hold(terrain: Terrain, radius: float) -> None:
    assert check_terrain(terrain, 1.0, radius).passed


def test_a_ball_that_does_not_fit_is_reported() -> None:
    with pytest.raises(BrokenLawError, match="'distance'"):
        check_terrain(Waves(0.05, 3.0), 2.0, 2.0)  # hollows have a radius of 2.2 m, and flanks less
    floor = CompliantFloor(("body",), **SPRINGS, radius=0.2, terrain=rough(most=0.2))
    with pytest.raises(ModelError, match="touches hollows of radius"):
        fc.simulate(BALL, BALL.state(pose=at(0.0, 0.0, 1.0)), 0.1, contact=floor)


def test_the_nearest_place_is_the_nearest() -> None:
    """Against a fine search over the ground, for balls of any height; far above, the sign is right."""
    terrain, rng = Waves(0.05, 3.0), np.random.default_rng(3)
    ground = CompliantFloor(("body",), **SPRINGS, terrain=terrain).ground(BALL)
    x, y = np.meshgrid(*[np.linspace(-0.4, 0.4, 801)] * 2, indexing="ij")
    for _ in range(5):
        p = np.append(rng.uniform(-0.05, 0.05, 2), terrain.height(0.0, 0.0) + rng.uniform(0.1, 0.25))
        nearest = np.sqrt((x - p[0]) ** 2 + (y - p[1]) ** 2 + (terrain.height(x, y) - p[2]) ** 2).min()
        assert ground.site(p, 0.2).height == pytest.approx(nearest - 0.2, abs=2e-6)
    for z in (0.06, 1.0, 100.0):
        assert 0.0 < ground.site(np.array([0.3, 0.2, z]), 0.0).height <= z


@pytest.mark.parametrize("options", [{"integrator": "implicit", "dt": 1e-3}, {"integrator": "rkmk4", "dt": 2e-4}])
def test_a_slope_of_heights_is_the_slope_of_a_plane(options: dict) -> None:
    slope = 0.3
    up = np.array([np.sin(slope), 0.0, np.cos(slope)])
    heights = [[-np.tan(slope) * x] * 2 for x in np.linspace(-1.0, 1.0, 4)]
    flat = CompliantFloor(("body",), **SPRINGS, radius=RADIUS, normal=tuple(up))
    field = HeightField(heights, (2.0 / 3.0, 2.0), (-1.0, -1.0))
    grid = CompliantFloor(("body",), **SPRINGS, radius=RADIUS, terrain=field)
    start = BALL.state(pose=at(*((RADIUS + 0.01) * up)), twist=[0.1, 0.2, 0.0, 1.0, 0.0, 3.0])
    one, other = (fc.simulate(BALL, start, 0.2, contact=contact, **options) for contact in (flat, grid))
    np.testing.assert_allclose(other.poses, one.poses, atol=1e-10)
    np.testing.assert_allclose(other.contact_forces, one.contact_forces, atol=1e-6)
    np.testing.assert_allclose(other.contact_pushes, one.contact_forces @ up, atol=1e-6)
    assert [e.name for e in other.events] == [e.name for e in one.events]


def test_a_ball_in_a_pipe_swings_at_five_sevenths() -> None:
    big, angle = 1.0, 0.05
    floor = CompliantFloor(("body",), (1e6, 1e6), (1000.0, 100.0), radius=RADIUS, terrain=Pipe(big))
    reach = big - RADIUS
    start = at(reach * np.sin(angle), 0.0, big - reach * np.cos(angle) - MASS * 9.81 / 1e6)
    run = fc.simulate(BALL, BALL.state(pose=start), 2.0, contact=floor, integrator="rkmk4", dt=2e-4)
    x = run.poses[:, 0, 3]
    i = np.flatnonzero((x[:-1] < 0.0) != (x[1:] < 0.0))
    times = run.times[i] - x[i] * (run.times[i + 1] - run.times[i]) / (x[i + 1] - x[i])
    half = np.pi / np.sqrt(5.0 / 7.0 * 9.81 / reach) * (1.0 + angle**2 / 16.0)
    assert np.diff(times) == pytest.approx(half, rel=5e-5)


@pytest.mark.parametrize("radius", [0.0, RADIUS])
@pytest.mark.parametrize("terrain", [Waves(0.05, 3.0), rough()])
def test_springs_on_a_relief_give_back_what_they_took(radius: float, terrain: Terrain) -> None:
    floor = CompliantFloor(("body",), (1e4, 0.0), (0.0, 0.0), friction=None, radius=radius, terrain=terrain)
    start = BALL.state(pose=at(0.13, 0.21, radius + 0.2), twist=[0.4, -0.3, 0.0, 0.0, 0.0, 0.0])
    run = fc.simulate(BALL, start, 0.5, contact=floor, integrator="rkmk4", dt=2e-4)
    assert [event.name for event in run.events][:2] == ["touchdown body", "lift-off body"]
    energy = sum(run.energies())
    air = [i for i, touches in enumerate(run.touching) if not touches]
    assert np.ptp(energy[air]) < 2e-6 * np.ptp(run.energies()[0])
    assert run.touching[-1] == frozenset()


def test_laws_of_contacts_hold_on_a_relief() -> None:
    floor = CompliantFloor(("body",), (1e4, 1e4), (50.0, 50.0), friction=0.5, radius=RADIUS, terrain=Waves(0.03, 4.0))
    check_contact(floor, BALL, BALL.state(pose=at(0.1, 0.0, 0.16), twist=[0.3, 0.0, 0.0, 1.0, 2.0, 3.0]), 0.3)


def test_a_planar_robot_stands_on_a_profile_by_its_own_up() -> None:
    """Gravity pulls along -y: heights are over y = 0, along x."""
    wheel = fc.robots.free_body(SE2(), fc.Body(MASS, (0.0, 0.0, 0.0), 0.01 * np.eye(3)))
    field = HeightField([0.2, 0.2, 0.2], 1.0, (-1.0, 0.0))
    floor = CompliantFloor(("body",), **SPRINGS, radius=RADIUS, terrain=field)
    run = fc.simulate(wheel, wheel.state(pose=at(0.0, 0.35, 0.0)), 0.4, contact=floor, integrator="implicit", dt=1e-3)
    assert run.poses[-1, 1, 3] == pytest.approx(0.3 - MASS * 9.81 / 1e5, abs=1e-5)


def test_rollouts_on_a_relief_agree_with_runs() -> None:
    dog = fc.robots.quadruped()
    feet = tuple(f"{end}_{side}_foot" for end in ("front", "rear") for side in ("left", "right"))
    floor = CompliantFloor(
        feet, (2e4, 2e4), (200.0, 50.0), 0.7, radius=(0.02, 0.0, 0.0, 0.02), terrain=Waves(0.02, 4.0)
    )
    starts = [dog.state(pose=at(0.05 * i, 0.0, 0.5)) for i in range(3)]
    many = fc.rollout(dog, starts, 0.1, contact=floor)
    simulator = fc.simulation.BatchSimulator(dog, starts, contact=floor, dt=1e-3)
    simulator.step(100)
    for i, start in enumerate(starts):
        run = fc.simulate(dog, start, 0.1, contact=floor, integrator="implicit", dt=1e-3)
        np.testing.assert_allclose(many.poses[-1, i], run.poses[-1], atol=1e-10)
        np.testing.assert_allclose(simulator.state.pose[i], run.poses[-1], atol=1e-10)
    assert run.plot("contacts").blocks


@pytest.mark.parametrize("terrain", [None, Waves(0.05, 3.0), HeightField([0.0, 0.05, 0.02], 0.4)])
@pytest.mark.parametrize("radius", [0.0, RADIUS])
def test_forces_are_the_same_on_every_kind_of_number(terrain: Terrain | None, radius: float) -> None:
    floor = CompliantFloor(("body",), (1e4, 1e4), (50.0, 50.0), 0.5, radius=radius, terrain=terrain)
    start = BALL.random_state(np.random.default_rng(0))

    def asked(p: Any, twist: Any, memory: Any) -> Any:
        rows = [[*start.pose[i, :3].tolist(), p[i]] for i in range(3)]
        state = start._replace(pose=array([*rows, [0.0, 0.0, 0.0, 1.0]]), twist=twist)
        told = (BALL, (True,), state, memory, np.zeros(6))
        parts = [*floor.forces(*told).values(), floor.memory_rate(*told), floor.guards(*told)]
        return concatenate([*parts, floor.point_forces(*told)[0]])

    given = np.array([0.2, 0.3, -0.03]), start.twist, np.array([0.01, -0.02])
    expected = as_float(asked, *given)
    assert np.abs(expected).max() > 1.0
    for kind in (as_traced, as_casadi, as_jax):
        np.testing.assert_allclose(kind(asked, *given), expected, rtol=1e-10, atol=1e-10)


# hard contacts --------------------------------------------------------------------------------------------------------


def on(terrain: Terrain, x: float, y: float, radius: float) -> tuple[np.ndarray, np.ndarray]:
    """The pose of a ball that rests there, and the normal."""
    slopes = terrain.slopes(x, y)
    normal = np.array([-slopes.x, -slopes.y, 1.0]) / np.sqrt(1.0 + slopes.x**2 + slopes.y**2)
    return at(*(np.array([x, y, slopes.h]) + radius * normal)), normal


@pytest.mark.parametrize(("radius", "friction"), [(RADIUS, None), (RADIUS, 0.0), (0.0, 0.0)])
def test_what_rolls_or_glides_over_hard_hills_keeps_its_energy(radius: float, friction: float | None) -> None:
    terrain = Waves(0.05, 3.0)
    start, normal = on(terrain, 0.3, 0.2, radius)
    v = 0.5 * np.cross(normal, [0.0, 1.0, 0.0])
    w = np.cross(normal, v) / radius if radius else np.zeros(3)
    floor = HardContacts(("body",), friction, radius=radius, terrain=terrain)
    run = fc.simulate(BALL, BALL.state(pose=start, twist=[*v, *w]), 0.6, contact=floor)
    assert run.status == "finished"
    assert run.modes[-1] == ("stick" if friction is None else "slide",)
    assert np.ptp(sum(run.energies())) < 1e-8
    assert run.penetration.max() < 1e-8
    assert friction == 0.0 or run.slip.max() < 1e-7


def test_a_ball_in_a_hard_pipe_swings_at_five_sevenths() -> None:
    big, angle = 1.0, 0.05
    floor = HardContacts(("body",), radius=RADIUS, terrain=Pipe(big))
    start, _ = on(Pipe(big), np.sin(angle), 0.0, RADIUS)
    run = fc.simulate(BALL, BALL.state(pose=start), 2.0, contact=floor)
    x = run.poses[:, 0, 3]
    i = np.flatnonzero((x[:-1] < 0.0) != (x[1:] < 0.0))
    times = run.times[i] - x[i] * (run.times[i + 1] - run.times[i]) / (x[i + 1] - x[i])
    half = np.pi / np.sqrt(5.0 / 7.0 * 9.81 / (big - RADIUS)) * (1.0 + angle**2 / 16.0)
    assert np.diff(times) == pytest.approx(half, rel=2e-7)


def test_hard_heights_of_a_slope_are_the_hard_slope() -> None:
    """Bounces, slides and sticks at the same times."""
    slope = 0.3
    up = np.array([np.sin(slope), 0.0, np.cos(slope)])
    about = {"friction": 0.15, "restitution": 0.3, "radius": RADIUS}
    flat = HardContacts(("body",), **about, normal=tuple(up))
    grid = HardContacts(("body",), **about, terrain=Slope(-np.tan(slope)))
    start = BALL.state(pose=at(*((RADIUS + 0.02) * up)), twist=[0.5, 0.4, 0.0, 1.0, 0.0, 3.0])
    one, other = (fc.simulate(BALL, start, 0.4, contact=contact) for contact in (flat, grid))
    assert [e.name for e in other.events] == [e.name for e in one.events]
    assert len(one.events) > 2
    np.testing.assert_allclose([e.time for e in other.events], [e.time for e in one.events], atol=1e-8)
    np.testing.assert_allclose(other.poses[-1], one.poses[-1], atol=1e-7)
    np.testing.assert_allclose(other.contact_forces[-1], one.contact_forces[-1], atol=1e-5)


def test_laws_of_contacts_hold_for_hard_hills() -> None:
    floor = HardContacts(("body",), friction=0.3, radius=RADIUS, terrain=Waves(0.03, 4.0))
    check_contact(floor, BALL, BALL.state(pose=at(0.1, 0.0, 0.16), twist=[0.3, 0.0, 0.0, 1.0, 2.0, 3.0]), 0.3)


def test_a_planar_wheel_rolls_over_a_hard_profile() -> None:
    wheel = fc.robots.free_body(SE2(), fc.Body(MASS, (0.0, 0.0, 0.0), 0.01 * np.eye(3)))
    field = HeightField([0.0, 0.0, 0.03, 0.0, 0.0, 0.0], 0.5, (-1.0, 0.0))
    slopes = field.slopes(-0.4, 0.0)
    normal = np.array([-slopes.x, 1.0, 0.0]) / np.sqrt(1.0 + slopes.x**2)
    start = at(*(np.array([-0.4, slopes.h, 0.0]) + RADIUS * normal))
    v = 1.0 * np.array([normal[1], -normal[0]])
    floor = HardContacts(("body",), friction=0.9, radius=RADIUS, terrain=field)
    run = fc.simulate(wheel, wheel.state(pose=start, twist=[*v, -1.0 / RADIUS]), 0.6, contact=floor)
    assert run.modes[-1] == ("stick",)
    assert run.events == ()
    assert run.poses[-1, 0, 3] > 0.1
    assert np.ptp(sum(run.energies())) < 1e-8


def test_ground_that_tilts_out_of_the_plane_of_a_robot_is_refused() -> None:
    wheel = fc.robots.free_body(SE2(), fc.Body(MASS, (0.0, 0.0, 0.0), 0.01 * np.eye(3)))
    with pytest.raises(ModelError, match="the ground tilts 'body' out of the plane in which it moves"):
        HardContacts(("body",), terrain=Slope(0.2, sideways=True)).begin(wheel, wheel.state(pose=at(0.0, 1.0, 0.0)))


# wrong calls ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("heights", "spacing", "origin", "message"),
    [
        ("hills", 0.1, (0.0, 0.0), "heights are rows of finite numbers"),
        ([[0.0, 1.0], [2.0]], 0.1, (0.0, 0.0), "heights are rows of finite numbers"),
        ([], 0.1, (0.0, 0.0), "heights are rows of finite numbers, all of one length, not an empty list"),
        ([[0.0, 1.0], [0.0, np.nan]], 0.1, (0.0, 0.0), r"heights are rows of finite numbers.*not nan at \[1, 1\]"),
        (np.zeros((33, 32)), 0.1, (0.0, 0.0), "at most 1024 heights, not 1056"),
        ([0.0, 1.0], 0.0, (0.0, 0.0), "the spacing of heights"),
        ([0.0, 1.0], (1.0, 2.0, 3.0), (0.0, 0.0), "the spacing of heights"),
        ([0.0, 1.0], 1.0, (0.0,), "the origin of heights"),
        ([0.0, 1.0], 1.0, (0.0, np.inf), "the origin of heights"),
    ],
)
def test_fields_that_are_none_are_refused(heights: Any, spacing: Any, origin: Any, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        HeightField(heights, spacing, origin)


def test_floors_take_reliefs_only() -> None:
    with pytest.raises(ModelError, match="terrain is a Terrain, such as a HeightField, not 3"):
        CompliantFloor(("body",), **SPRINGS, terrain=3)
