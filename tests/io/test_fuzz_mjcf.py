"""Good MJCF files with wrong but well-formed content: out comes an error of ours or a model that can exist."""

import copy
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fallingcat.errors import FallingCatError
from fallingcat.io import read

CORPUS = Path(__file__).parents[1] / "corpus" / "mjcf"
FILES = [
    ElementTree.fromstring((CORPUS / f"{name}.xml").read_text(encoding="utf-8"))
    for name in ("every_pose", "every_shape", "every_setting", "defaults", "frames", "many_joints", "equality_closed")
]
ELEMENTS = [element for root in FILES for element in root.iter()]
ATTRIBUTES = sorted({(name, text) for element in ELEMENTS for name, text in element.attrib.items()})
ODD = ["0", "-1", "1e9", "1e30", "1e308", "1e-200", "1e-320", "nan", "inf", "1,5", "0x1", "45"]
NUMBERS = st.sampled_from(ODD) | st.floats(-2, 2).map(repr)
TEXTS = (
    st.lists(NUMBERS, min_size=0, max_size=6).map(" ".join)
    | st.sampled_from(
        ["true", "false", "auto", "free", "ball", "slide", "hinge", "mesh", "box", "plane", "main", "leg"]
    )
    | st.sampled_from(["world", "a", "b", "base", "../x", "ghost", "radian", "xyz", "ZZZ", "", " "])
)
TAGS = st.sampled_from(
    sorted({element.tag for element in ELEMENTS} | {"include", "replicate", "attach", "texture", "x"})
)


@st.composite
def broken(draw):
    """A good file after one to four accidents that keep it well-formed."""
    root = copy.deepcopy(draw(st.sampled_from(FILES)))
    for _ in range(draw(st.integers(1, 4))):
        everything = list(root.iter())
        element = everything[draw(st.integers(0, len(everything) - 1))]
        accident = draw(
            st.sampled_from([set_attribute, lose_attribute, borrow_attribute, lose, double, insert, rename])
        )
        accident(draw, root, element)
    return ElementTree.tostring(root)


def set_attribute(draw, root, element):
    if element.attrib:
        element.set(draw(st.sampled_from(sorted(element.attrib))), draw(TEXTS))


def lose_attribute(draw, root, element):
    if element.attrib:
        del element.attrib[draw(st.sampled_from(sorted(element.attrib)))]


def borrow_attribute(draw, root, element):
    element.set(*draw(st.sampled_from(ATTRIBUTES)))


def lose(draw, root, element):
    if len(element):
        element.remove(element[draw(st.integers(0, len(element) - 1))])


def double(draw, root, element):
    if len(element):
        element.append(copy.deepcopy(element[draw(st.integers(0, len(element) - 1))]))


def insert(draw, root, element):
    new = copy.deepcopy(draw(st.sampled_from(ELEMENTS)))
    if len(list(new.iter())) < 50:
        element.insert(draw(st.integers(0, len(element))), new)


def rename(draw, root, element):
    element.tag = draw(TAGS)


def check(data, path):
    path.write_bytes(data)
    model, messages = answer(path)
    assert all(message.startswith(str(path)) and message.isprintable() for message in messages)
    if model is not None:
        assert_it_can_exist(model)


def answer(path):
    try:
        return read(path)
    except FallingCatError as error:
        return None, [str(error)]


def assert_it_can_exist(model):
    state = model.random_state(np.random.default_rng(0))
    for joint, q in zip(model.joints, model.q_slices, strict=True):
        H = joint.transform(state.joints[q])
        assert np.isfinite(H).all()
        np.testing.assert_allclose(H[:3, :3] @ H[:3, :3].T, np.eye(3), rtol=0, atol=1e-9)
    carried = model.links if model.m else model.links[1:]
    for link in carried:
        between = "/" in link.name and link.body.mass == 0.0  # massless, between several joints of one body
        assert between or link.body.problems() == []


def try_many(path, number):
    @settings(max_examples=number)
    @given(broken())
    def one(data):
        check(data, path)

    one()


def test_hundreds_of_broken_files(tmp_path):
    try_many(tmp_path / "r.xml", 300)


@pytest.mark.slow
def test_thousands_of_broken_files(tmp_path):
    try_many(tmp_path / "r.xml", 3000)
