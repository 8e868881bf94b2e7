"""Good files, broken at random: out comes an error of ours or a model that can exist, nothing else."""

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fallingcat.errors import FallingCatError
from fallingcat.io import read

CORPUS = Path(__file__).parents[1] / "corpus"
URDF = [
    (CORPUS / "urdf" / f"{name}.urdf").read_bytes() for name in ("all_joint_types", "footprint", "extensions", "mimic")
]
MJCF = [
    b"""<mujoco model="m"><compiler angle="radian"/>
<default><joint damping="1"/><default class="c"><geom density="500"/></default></default>
<worldbody>
 <body name="a" pos="0 0 1"><freejoint/>
  <inertial pos="0 0 0.1" mass="2" diaginertia=".1 .2 .2"/><geom type="sphere" size="0.1"/>
  <body name="b" pos="0 0.1 0" quat="1 0 0 0"><joint name="j" axis="0 1 0" range="-1 1"/>
   <geom class="c" type="capsule" fromto="0 0 0 0 0 0.3" size="0.05"/>
   <body name="d" euler="0 0 0.3"><joint type="ball" name="k"/><geom type="box" size="0.1 0.2 0.3" mass="1.5"/></body>
  </body>
 </body>
</worldbody></mujoco>"""
]
NUMBER = re.compile(rb"-?[0-9.]+(?:e-?[0-9]+)?")
ATTRIBUTE = re.compile(rb"([A-Za-z_]+)=(['\"])(.*?)\2")
ELEMENT = re.compile(rb"<(\w+)(?:[^<>]*/>|[^<>]*>[^<>]*</\1>)")  # one without children
TAG = re.compile(rb"</?\w+[^<>]*>")
ODD = [
    *(b"0 -0 -1 1e308 -1e308 1e400 1e-320 nan inf 1,5 0x1 1e 1_0 ++1 99999999999999999999".split()),
    b"",
    b" ",
    b"1 2",
    b"\xc2\xa0",
    b"${x}",
]
WORDS = [
    b"a",
    b"b",
    b"j",
    b"k",
    b"world",
    b"fixed",
    b"planar",
    b"ball",
    b"..",
    b"\xff",
    b"&#0;",
    b"&lt;",
    b"\0",
    b"<!--",
]


@st.composite
def broken(draw, files):
    """A good file after one to three accidents."""
    data = draw(st.sampled_from(files))
    for _ in range(draw(st.integers(1, 5))):
        data = draw(st.sampled_from(ACCIDENTS))(draw, data)
    return data


def place(draw, pattern, data):
    """Where something is in the file, or None."""
    found = list(pattern.finditer(data))
    return found[draw(st.integers(0, len(found) - 1))] if found else None


def flip_bytes(draw, data):
    out = bytearray(data)
    for _ in range(draw(st.integers(1, 4))):
        if out:
            out[draw(st.integers(0, len(out) - 1))] = draw(st.integers(0, 255))
    return bytes(out)


def cut(draw, data):
    i, j = sorted(draw(st.lists(st.integers(0, len(data)), min_size=2, max_size=2)))
    return data[:i] if draw(st.booleans()) else data[:i] + data[j:]


def replace_number(draw, data):
    hit = place(draw, NUMBER, data)
    new = draw(st.sampled_from(ODD) | st.floats(-10, 10).map(lambda x: repr(x).encode()))
    return data if hit is None else data[: hit.start()] + new + data[hit.end() :]


def replace_value(draw, data):
    hit = place(draw, ATTRIBUTE, data)
    return data if hit is None else data[: hit.start(3)] + draw(st.sampled_from(ODD + WORDS)) + data[hit.end(3) :]


def swap_attributes(draw, data):
    one, two = place(draw, ATTRIBUTE, data), place(draw, ATTRIBUTE, data)
    if one is None or two is None or one.start() >= two.start():
        return data
    group = draw(st.sampled_from([0, 1, 3]))  # the whole, the name, the value
    (i, j), (k, m) = one.span(group), two.span(group)
    return data[:i] + data[k:m] + data[j:k] + data[i:j] + data[m:]


def delete_element(draw, data):
    hit = place(draw, draw(st.sampled_from([ELEMENT, TAG, ATTRIBUTE])), data)
    return data if hit is None else data[: hit.start()] + data[hit.end() :]


def duplicate_element(draw, data):
    hit, there = place(draw, ELEMENT, data), place(draw, TAG, data)
    return data if hit is None or there is None else data[: there.end()] + hit[0] + data[there.end() :]


ACCIDENTS = [flip_bytes, cut, replace_number, replace_value, swap_attributes, delete_element, duplicate_element]


def check(data, path):
    path.write_bytes(data)
    model, messages = answer(path)
    for message in messages:
        assert message.startswith(str(path))
        assert message.isprintable()
    if model is not None:
        assert_it_can_exist(model)


def answer(path):
    try:
        return read(path)
    except FallingCatError as error:
        return None, [str(error)]


def assert_it_can_exist(model):
    assert np.isfinite(model.gravity).all()
    state = model.random_state(np.random.default_rng(0))
    for joint, q in zip(model.joints, model.q_slices, strict=True):
        H = joint.transform(state.joints[q])
        np.testing.assert_allclose(H[:3, :3] @ H[:3, :3].T, np.eye(3), rtol=0, atol=1e-6)
        assert np.isfinite(H).all()
    if model.m:
        assert model.mass > 0.0
        assert model.links[0].body.problems() == []
    for link in model.links[1:]:
        # a massless link may sit between several joints of one MJCF body
        assert link.body.problems() in ([], ["the mass is zero"])


@pytest.mark.parametrize(("files", "name"), [(URDF, "r.urdf"), (MJCF, "r.xml")], ids=["urdf", "mjcf"])
class TestBrokenFiles:
    def test_thousand(self, files, name, tmp_path_factory):
        self.try_many(files, tmp_path_factory.mktemp("fuzz") / name, 1000)

    @pytest.mark.slow
    def test_ten_thousand(self, files, name, tmp_path_factory):
        self.try_many(files, tmp_path_factory.mktemp("fuzz") / name, 10_000)

    @staticmethod
    def try_many(files, path, number):
        @settings(max_examples=number)
        @given(broken(files))
        def one(data):
            check(data, path)

        one()
