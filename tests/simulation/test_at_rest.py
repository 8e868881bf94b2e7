"""A robot that stands on hard ground at rest, exactly: no energy is there beside which rounding would be small."""

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.contact import HardContacts, corners


@pytest.mark.parametrize("integrator", ["rkmk4", "moreau"])
def test_what_stands_on_a_hard_slope_stands(integrator):
    plate, points = corners(fc.robots.free_body(), "body", (0.3, 0.2))
    model = fc.Model(plate.name, plate.base, plate.links, gravity=(1.0, 0.0, -9.81), frames=plate.frames)
    slope = HardContacts(points, friction=0.6, normal=(0.0, 0.0, 1.0))
    run = fc.simulate(model, model.neutral(), 0.05, contact=slope, integrator=integrator)
    assert run.status == "finished"
    assert abs(run.poses - np.eye(4)).max() < 1e-12
    np.testing.assert_allclose(run.contact_forces[-1].sum(axis=0), [-model.mass, 0.0, 9.81 * model.mass], atol=1e-9)
