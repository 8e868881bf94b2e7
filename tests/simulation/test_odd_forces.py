"""What a caller or a controller gives as forces is real numbers, or an error of the library."""

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.errors import FallingCatError

CAT = fc.robots.two_cylinder_cat()
LOOP: list = []
LOOP.append(LOOP)
ODD = {
    "masked": np.ma.masked_array([1.0, 2.0], mask=[True, False]),
    "complex": np.array([1.0, 2.0j]),
    "texts": np.array(["1", "2"]),
    "dates": np.zeros(2, "datetime64[s]"),
    "records": np.zeros(2, dtype=[("a", float)]),
    "ragged": [[0.0], [0.0, 1.0]],
    "a generator": (x for x in (0.0, 1.0)),
    "a mapping": {0: 0.0},
    "a text": "abc",
    "large": [10**400, 0],
    "a loop": LOOP,
    "nothing": [None, None],
    "NaN": [0.0, np.nan],
}


@pytest.fixture(scope="module")
def simulators():
    batch = fc.BatchSimulator(CAT, [CAT.neutral()] * 2, driven=True, dt=1e-3)
    return fc.Simulator(CAT, dt=1e-3), batch


@pytest.mark.parametrize("name", ODD)
def test_odd_forces_are_refused(simulators, name):
    """Masked and complex numbers, texts and dates were taken as numbers; lists of other kinds gave raw errors."""
    single, batch = simulators
    with pytest.raises(FallingCatError, match="forces"):
        single.step(ODD[name])
    rows = np.stack([ODD[name]] * 2) if type(ODD[name]) is np.ndarray else ODD[name]
    rows = np.ma.stack([rows] * 2) if name == "masked" else rows
    with pytest.raises(FallingCatError, match="forces"):
        batch.step(1, forces=rows)
    with pytest.raises(FallingCatError, match="controller"):
        fc.simulate(CAT, CAT.neutral(), 2e-3, lambda t, state: ODD[name], progress=False)


def test_real_numbers_of_every_kind_are_taken(simulators):
    single, _ = simulators
    for given in ([1, 2], (1.0, 2.0), np.array([1, 2], ">i2"), np.array([1.0, 2.0], np.float32), np.array([True, 2])):
        single.reset()
        single.step(given)
        rates = single.state.rates.copy()
        single.reset()
        single.step(np.array([float(x) for x in given]))
        np.testing.assert_array_equal(single.state.rates, rates)


def test_states_of_too_many_axes_are_refused():
    with pytest.raises(FallingCatError, match="different numbers of states"):
        CAT.state(joints=np.zeros((1,) * 62 + (2,)))
