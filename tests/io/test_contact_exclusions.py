"""Links that a file keeps from touching each other: as MuJoCo has it, and through edits and files."""

from __future__ import annotations

import warnings
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from typer.testing import CliRunner

import fallingcat as fc
from fallingcat.cli import app
from fallingcat.contact import pushing_pairs
from fallingcat.errors import FileError, ModelError

BITS = {"a": (1, 1), "b": (1, 0), "c": (0, 1), "d": (2, 2), "e": (2, 1), "f": (0, 0), "g": (1, 1)}
GEOM = "<geom type='sphere' size='.1' mass='1' contype='{}' conaffinity='{}'/>"
BODIES = "".join(f"<body name='{name}'><freejoint/>{GEOM.format(*bits)}</body>" for name, bits in BITS.items())
FILE = f"""<mujoco><worldbody>{BODIES}</worldbody>
<contact><exclude body1='g' body2='a'/><exclude body1='f' body2='a'/></contact></mujoco>"""


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "balls.xml"
    path.write_text(FILE)
    return fc.load(path, root="world")


def test_as_mujoco_has_it(model):
    """Balls in one place: which two of them touch, MuJoCo says itself."""
    mujoco = pytest.importorskip("mujoco")
    peer = mujoco.MjModel.from_xml_string(FILE)
    data = mujoco.MjData(peer)
    data.qpos[::7] = 0.01 * np.arange(peer.nbody - 1)
    mujoco.mj_forward(peer, data)
    touch = {frozenset(peer.body(peer.geom(g).bodyid[0]).name for g in contact.geom) for contact in data.contact}
    expected = {frozenset(pair) for pair in combinations("abcdeg", 2)} - touch
    assert {frozenset(pair) for pair in model.contact_exclusions} == expected
    assert ("a", "g") in model.contact_exclusions


def test_they_do_not_push(model):
    far = [replace(joint, placement=_along(float(i))) for i, joint in enumerate(model.joints)]
    model = replace(model, joints=tuple(far))
    found = pushing_pairs(model)
    pushing = {frozenset(pair) for pair in found.links(model)}
    assert pushing == {frozenset(pair) for pair in combinations("abcdeg", 2)} - {
        frozenset(p) for p in model.contact_exclusions
    }
    assert found.excluded == len(model.contact_exclusions) == 15 - len(pushing)
    assert pushing_pairs(model, [("a", "g")]).links(model) == (("a", "g"),)  # what is named pushes


def test_files_and_merges_keep_them(model, tmp_path):
    """TOML has the word; a welded link is apart from another when all of it that has a shape is."""
    fc.save(model, tmp_path / "balls.toml")
    assert fc.load(tmp_path / "balls.toml").contact_exclusions == model.contact_exclusions
    ball = model.links[1].collisions
    links = [fc.Link(name, fc.Body(1.0, (0, 0, 0), np.eye(3)), collisions=ball) for name in "abcd"]
    hinge, weld = fc.joints.Revolute((0.0, 0.0, 1.0)), fc.joints.Fixed()
    joints = [fc.Joint(f"to_{b}", weld if b == "c" else hinge, a, b) for a, b in ("ab", "bc", "cd")]
    chain = fc.Model("chain", fc.lie.SE3(), links, joints, contact_exclusions=[["a", "d"], ["b", "d"]])
    assert chain.merge_fixed().contact_exclusions == (("a", "d"),)
    assert replace(chain, contact_exclusions=(("b", "d"), ("d", "c"))).merge_fixed().contact_exclusions == (("b", "d"),)


def test_inspect_says_who_pushes(tmp_path):
    fc.save(fc.robots.quadruped(), tmp_path / "dog.toml")
    said = CliRunner().invoke(app, ["inspect", str(tmp_path / "dog.toml")], env={"COLUMNS": "200"}).output
    assert "52 pairs push each other with fc.control.SelfContact() (not: 14 out of reach)" in said


def test_names_that_are_none(model, tmp_path):
    for wrong, words in (
        (3, "contact_exclusions are pairs of names of links, not 3"),
        ([("a", "x")], "there is no link 'x'"),
    ):
        with pytest.raises(ModelError, match=words):
            replace(model, contact_exclusions=wrong)
    (tmp_path / "bad.toml").write_text(
        'base = "free"\ncontact_exclusions = [["a", "x"]]\n[[link]]\nname = "a"\nmass = 1.0\n'
    )
    with pytest.raises(FileError, match="contact_exclusions: the link 'x' does not exist"):
        fc.load(tmp_path / "bad.toml")


def _along(x: float) -> np.ndarray:
    H = np.eye(4)
    H[0, 3] = x
    return H


def test_more_links_than_pairs_can_be_kept_of(tmp_path):
    """Past 1,000 bodies exclusions are not read, which is said; bodies that all touch need none."""
    link = "<body name='b{0}' pos='0 0 .1'><joint axis='0 1 0'/><geom type='sphere' size='.01' {1}/>"
    for bits, said in (("", False), ("conaffinity='0'", True)):
        chain = "".join(link.format(i, bits) for i in range(1002)) + "</body>" * 1002
        (tmp_path / "chain.xml").write_text(f"<mujoco><worldbody>{chain}</worldbody></mujoco>")
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            assert fc.load(tmp_path / "chain.xml").contact_exclusions == ()
        assert any("more than 1,000 bodies" in str(one.message) for one in told) == said
