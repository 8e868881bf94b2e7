"""Patches of contact points: steps that leave out those high above the ground are those of all points."""

from dataclasses import replace

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.contact import HardContacts, patches
from fallingcat.geometry.contact_points import positions
from fallingcat.simulation import BatchSimulator, Implicit, build_problem
from fallingcat.simulation.integrators.implicit.integrator import stepped
from fallingcat.simulation.problem.law_parameters import split_parameters
from fallingcat.simulation.problem.vector_field import layout_of


def studded():
    """A quadruped with points all over its trunk and two of its links."""
    model, rng = fc.robots.quadruped(), np.random.default_rng(0)
    frames = [
        fc.model.Frame(f"{link}_{k}", link, fc.lie.SE3().exp([*0.1 * rng.normal(size=3), 0.0, 0.0, 0.0]))
        for link, count in ((0, 9), (2, 5), (6, 7))
        for k, link in enumerate([model.link_names[link]] * count)
    ]
    return replace(model, frames=(*model.frames, *frames)), tuple(frame.name for frame in frames)


@pytest.mark.parametrize(("region", "balls"), [(3, 9), (8, 4), (patches.REGION_POINTS, 3)])
def test_every_point_is_in_one_patch(region, balls, monkeypatch):
    monkeypatch.setattr(patches, "REGION_POINTS", region)
    model, points = studded()
    found = patches.patches_of(model, points, [0.0] * len(points))
    assert len(found) == balls
    assert sorted(i for on_link in found for part in on_link.patches for i in part) == [*range(len(points))]
    for on_link in found:
        for part in on_link.patches:
            assert 0 < len(part) <= patches.PATCH_POINTS * (1 if balls == 3 else 2)
            for i in part:
                frame = model.frame(points[i])
                assert model.link_index(frame.link) == on_link.link
                assert np.linalg.norm(frame.placement[:3, 3] - on_link.center) <= on_link.radius + 1e-12


def test_what_is_left_out_changes_nothing(monkeypatch):
    """Bodies that tumble over the ground on points and balls, beside the same with all of them in all steps."""
    model, rng = fc.robots.free_body(), np.random.default_rng(1)
    places = [fc.lie.SE3().exp([*0.1 * rng.normal(size=3), 0.0, 0.0, 0.0]) for _ in range(8)]
    frames = tuple(fc.model.Frame(f"point{k}", "body", place) for k, place in enumerate(places))
    model, points = replace(model, frames=frames), tuple(frame.name for frame in frames)
    floor = fc.contact.CompliantFloor(points, (2e4, 2e4), (100.0, 100.0), friction=0.7, radius=(0.0, 0.01) * 4)
    pose = np.stack([fc.lie.SO3().exp(w) for w in rng.normal(size=(6, 3))])
    pose[:, 2, 3] = 0.5
    many = fc.State(pose, np.zeros((6, 0)), rng.normal(size=(6, 6)), np.zeros((6, 0)))
    ends = []
    for clearance in (patches.CLEARANCE, 1e3):
        monkeypatch.setattr(patches, "CLEARANCE", clearance)
        alike = replace(floor, height=1e-16 * clearance)  # else the first code would be taken again
        bodies = BatchSimulator(model, many, (), alike, dt=2e-3, integrator=Implicit())
        bodies.step(250)
        ends.append(bodies.state)
    assert (ends[0].pose[:, 2, 3] < 0.4).all()
    for ours, all_points in zip(*ends, strict=True):
        np.testing.assert_allclose(ours, all_points, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("fall", "parts"), [(0.0, 0.0), (-2e4, 1.0)])
def test_a_step_that_brings_what_was_left_out_to_the_ground_is_taken_in_parts(fall, parts):
    model, points = fc.contact.corners(fc.robots.free_body(), "body", (0.2, 0.1))
    model = replace(model, gravity=np.array([0.0, 0.0, fall]))
    floor = fc.contact.CompliantFloor(points, (2e4, 2e4), (200.0, 200.0), friction=0.5)
    pose = np.eye(4)
    pose[2, 3] = 2.0 * patches.CLEARANCE
    start = model.state(pose=pose)
    problem = Implicit().suited(build_problem(model, fc.State.stack([start]), (), floor))
    _, memory = floor.begin(model, start)
    layout = layout_of(problem, len(memory))
    x = np.append(0.0, layout.pack(start, memory, np.zeros(layout.works)))
    laws, numbers = split_parameters(problem.laws, model)
    after = stepped(model, x, np.array([2e-3]), numbers, np.zeros(0), laws=laws, contact=floor, memory=8, sweeps=None)
    assert after[-1] == parts


def test_hard_steps_leave_out_what_does_not_touch(monkeypatch):
    """A sole that lands on its edge and comes to rest on it, beside the same with all points in all steps."""
    model, points = fc.contact.corners(fc.robots.free_body(), "body", (0.2, 0.1))
    start = model.state(pose=fc.lie.SE3().exp([0.0, 0.0, 0.12, 0.3, 0.4, 0.0]), twist=[0.3, 0.1, -0.5, 0.2, 0.1, 0.4])
    ends = []
    for clearance in (patches.CLEARANCE, 1e3):
        monkeypatch.setattr(patches, "CLEARANCE", clearance)
        floor = fc.contact.HardContacts(points, friction=0.6, height=1e-16 * clearance)  # else the same code
        body = BatchSimulator(model, [start], (), floor, dt=2e-3)
        body.step(200)
        ends.append(body.state)
    assert ends[0].pose[0, 2, 3] < 0.03
    for ours, all_points in zip(*ends, strict=True):
        np.testing.assert_allclose(ours, all_points, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("contact", [fc.contact.CompliantFloor, HardContacts])
def test_links_that_are_far_change_nothing(monkeypatch, contact):
    """Steps of quadrupeds beside and on the ground: by regions of links, by links, and patch by patch alone."""
    (model, points), rng, many = studded(), np.random.default_rng(2), []
    level = contact(points, friction=0.7)
    for height in np.linspace(0.0, 0.3, 8):
        state = model.random_state(rng)
        lowest = level.ground(model).site(np.zeros(3)).axes[0]
        pose = state.pose.copy()
        pose[:3, 3] += (height - min(positions(model, state, points) @ lowest)) * lowest
        many.append(state._replace(pose=pose))
    ends = []
    for links, region in ((1, 4), (1, 100), (100, 100)):
        monkeypatch.setattr(patches, "MIN_LINKS", links)
        monkeypatch.setattr(patches, "REGION_POINTS", region)
        alike = replace(level, height=-1e-18 * links * region)  # else the first code would be taken again
        robots = BatchSimulator(model, many, (), alike, dt=1e-3)
        robots.step(1)
        ends.append(robots.state)
    for ours, by_links, patch_by_patch in zip(*ends, strict=True):
        np.testing.assert_allclose(ours, patch_by_patch, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(by_links, patch_by_patch, rtol=1e-9, atol=1e-9)
