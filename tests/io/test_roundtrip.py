"""Saving and loading is the identity: to the last digit in TOML, to 1e-15 in URDF."""

import math
import warnings
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from random_robots import driven, following

import fallingcat as fc
from fallingcat.io.base_names import BASES
from fallingcat.lie import R1, SE2, SE3, SO2, Helical, Product
from fallingcat.lie.charts import EulerZYX
from fallingcat.model import Body, Fixed, Frame, Joint, Limits, Link, Model, Planar, Prismatic, Reversed, Revolute
from fallingcat.model.joints import KINDS

TOLERANCE = 1e-15
URDF_KINDS = ["revolute", "continuous", "prismatic", "planar", "free"]
names = st.text(st.characters(exclude_categories=("Cc", "Cs", "Zl", "Zp")), min_size=1, max_size=20).filter(str.strip)
awkward = st.sampled_from(
    ["<&>", "a\"b'c", "]]>", "<!--", "ä ö\u00df", "猫", "{x}", "\\u0041", "[red]x[/]", "#", "a=b", "${x}"]
)
seeds = st.integers(0, 2**32 - 1)


def numbers_of(kind):
    """The numbers of a kind of joint, or of a group; a reversed one holds another kind."""
    if isinstance(kind, Reversed):
        return numbers_of(kind.kind)
    return [float(x) for field in fields(kind) for x in np.ravel(getattr(kind, field.name))]


def difference(a, b):
    """The largest difference between two models in any number; everything that is no number has to be equal."""
    assert a.name == b.name
    assert type(a.base) is type(b.base)
    assert a.link_names == b.link_names
    assert [(f.name, f.link) for f in a.frames] == [(f.name, f.link) for f in b.frames]
    pairs = [(a.gravity, b.gravity), (numbers_of(a.base), numbers_of(b.base))]
    pairs += [(f.placement, g.placement) for f, g in zip(a.frames, b.frames, strict=True)]
    for x, y in zip(a.links, b.links, strict=True):
        pairs += [(x.body.mass, y.body.mass), (x.body.center, y.body.center), (x.body.inertia, y.body.inertia)]
    for x, y in zip(a.joints, b.joints, strict=True):
        assert (x.name, x.parent, x.child, x.kind.name) == (y.name, y.parent, y.child, y.kind.name)
        assert (x.limits, x.passive, x.mimic) == (y.limits, y.passive, y.mimic)
        pairs += [(x.placement, y.placement), (x.offset, y.offset), (x.armature, y.armature)]
        pairs += [(numbers_of(x.kind), numbers_of(y.kind))]
    flat = [(np.ravel(np.asarray(x, dtype=object)), np.ravel(np.asarray(y, dtype=object))) for x, y in pairs]
    return max(float(np.abs(_floats(x) - _floats(y)).max(initial=0.0)) for x, y in flat)


def _floats(values):
    return np.array([float(x) for value in values for x in np.ravel(value)])


def there_and_back(model, path, **options):
    fc.save(model, path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fc.FileWarning)  # unusual names, hinges without stops
        return fc.load(path, **{"fixed": "keep"} | options)


def random_model(seed, kinds, weld=0.15):
    rng = np.random.default_rng(seed)
    model = fc.robots.random_tree(rng, 6, kinds, fixed=weld)
    return following(model, rng) if rng.random() < 0.5 else model


def with_frames(model, rng, count=4):
    chosen = rng.integers(len(model.links), size=count)
    frames = [Frame(f"frame{i}", model.links[k].name, SE3().random(rng)) for i, k in enumerate(chosen)]
    return replace(model, frames=tuple(frames))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("robots")


# TOML ---------------------------------------------------------------------------------------------------------------


@given(seeds)
def test_toml_is_the_identity_on_random_robots(folder, seed):
    rng = np.random.default_rng(seed)
    model = with_frames(driven(random_model(seed, list(KINDS)), rng), rng)
    model = replace(model, gravity=rng.normal(size=3))
    assert difference(model, there_and_back(model, folder / "a.toml")) <= TOLERANCE


@given(seeds)
def test_toml_is_the_identity_on_rerooted_robots(folder, seed):
    model = driven(random_model(seed, list(KINDS)), np.random.default_rng(seed))
    model = model.reroot(model.links[seed % len(model.links)].name)
    assert difference(model, there_and_back(model, folder / "b.toml")) <= TOLERANCE


@given(seeds)
def test_toml_is_exact_to_the_bit_but_for_axes(folder, seed):
    """Numbers of any size survive; axes are brought to length 1 again, which may move their last bit."""
    rng = np.random.default_rng(seed)
    scale = 10.0 ** rng.uniform(-30.0, 8.0)
    body = Body(scale, scale * rng.normal(size=3), scale * np.diag(rng.uniform(1.0, 1.5, size=3)))
    H = SE3().random(rng)
    joint = Joint("joint", Planar(), "a", "b", H, SE3().inverse(H), Limits(-scale, scale, scale, scale))
    model = Model("scaled", SE3(), (Link("a", body), Link("b", body)), (joint,), gravity=scale * rng.normal(size=3))
    assert difference(model, there_and_back(model, folder / "c.toml")) == 0.0


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("around", [False, True])
def test_every_kind_of_joint_and_its_reverse(tmp_path, name, around):
    rng = np.random.default_rng(3)
    kind = KINDS[name].sample(rng)
    body = Body(1.0, rng.normal(size=3), np.diag([1.0, 1.1, 1.2]))
    joint = Joint("joint", Reversed(kind) if around else kind, "a", "b", SE3().random(rng), SE3().random(rng))
    model = Model("two", SE3(), (Link("a", body), Link("b", body)), (joint,))
    again = there_and_back(model, tmp_path / "a.toml")
    assert difference(model, again) <= TOLERANCE
    q = kind.group.random_coordinates(rng)
    np.testing.assert_allclose(again.joints[0].transform(q), joint.transform(q), rtol=0, atol=1e-14)


@pytest.mark.parametrize("name", BASES)
def test_every_base(tmp_path, name):
    numbers = {"helical": {"axis": (0.0, 0.6, 0.8), "pitch": 0.1}, "revolute": {"axis": (0.6, 0.0, 0.8)}}
    base = BASES[name](**numbers.get(name, {}))
    model = Model("brick", base, (Link("brick", Body(1.0, np.zeros(3), np.eye(3))),))
    again = there_and_back(model, tmp_path / "a.toml")
    assert again.base == base
    assert difference(model, again) == 0.0


def test_a_product_is_no_base_of_a_file(tmp_path):
    model = Model("x", Product((SO2(), R1())), (Link("a", Body(1.0)),))
    with pytest.raises(fc.ModelError, match="base group"):
        fc.save(model, tmp_path / "a.toml")


@pytest.mark.parametrize(
    "robot",
    [
        "prismatic_hopper",
        "revolute_hopper",
        "planar_arm",
        "orbital_arm",
        "quadruped",
        "humanoid",
        "cat",
        "two_cylinder_cat",
    ],
)
def test_sample_robots_survive_toml(tmp_path, robot):
    model = getattr(fc.robots, robot)()
    assert difference(model, there_and_back(model, tmp_path / "a.toml")) <= TOLERANCE


# URDF ---------------------------------------------------------------------------------------------------------------


@given(seeds)
def test_urdf_is_the_identity_on_random_robots(folder, seed):
    model = random_model(seed, URDF_KINDS)
    once = there_and_back(model, folder / "a.urdf")
    assert difference(model, once) <= 2 * TOLERANCE  # made in code: its rotations may be off by as much themselves
    assert difference(once, there_and_back(once, folder / "b.urdf")) <= TOLERANCE


@given(seeds)
def test_urdf_with_merged_links_is_the_identity(folder, seed):
    model = with_frames(random_model(seed, URDF_KINDS, weld=0.4), np.random.default_rng(seed))
    once = there_and_back(model, folder / "c.urdf", fixed="merge")
    twice = there_and_back(once, folder / "d.urdf", fixed="merge")
    assert difference(once, twice) <= TOLERANCE  # frames included, in their order


@given(st.sampled_from([-1.0, 1.0]), st.floats(0.0, 1e-3), seeds)
def test_urdf_rotations_near_gimbal_lock(folder, sign, distance, seed):
    rng = np.random.default_rng(seed)
    roll, yaw = rng.uniform(-math.pi, math.pi, size=2)
    R = EulerZYX().to_matrix(np.array([yaw, sign * (math.pi / 2 - distance), roll]))
    H = np.eye(4)
    H[:3, :3] = R
    body = Body(1.0, np.zeros(3), np.eye(3))
    model = Model("two", SE3(), (Link("a", body), Link("b", body)), (Joint("j", Revolute(), "a", "b", H),))
    once = there_and_back(model, folder / "e.urdf")
    assert difference(model, once) <= TOLERANCE
    assert difference(once, there_and_back(once, folder / "f.urdf")) <= TOLERANCE


@given(st.tuples(*[st.floats(-1.0, 1.0)] * 3).filter(lambda a: math.hypot(*a) > 0.1))
@example((1e-7, 1e-9, -1.0))
@example((-1e-5, 2e-6, -1.0))
@example((1e-160, 1e-160, -1.0))
@example((0.0, 0.0, -1.0))
def test_urdf_planes_of_any_normal(folder, axis):
    text = " ".join(map(repr, axis))
    inertial = "<inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/></inertial>"
    place = f"<origin xyz='1 2 3' rpy='.1 .2 .3'/><axis xyz='{text}'/>"
    joint = f"<joint name='j' type='planar'><parent link='a'/><child link='b'/>{place}</joint>"
    (folder / "plane.urdf").write_text(
        f"<robot name='r'><link name='a'>{inertial}</link><link name='b'>{inertial}</link>{joint}</robot>"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fc.FileWarning)  # the axis is not of length 1
        once = fc.load(folder / "plane.urdf")
    R = EulerZYX().to_matrix(np.array([0.3, 0.2, 0.1])).T @ once.joints[0].placement[:3, :3]
    assert np.abs(R.T @ R - np.eye(3)).max() < 1e-14
    assert np.abs(R[:, 2] - np.array(axis) / math.hypot(*axis)).max() < 1e-14
    assert difference(once, there_and_back(once, folder / "plane2.urdf")) <= TOLERANCE


@pytest.mark.parametrize("robot", ["orbital_arm", "quadruped", "humanoid", "cat"])
def test_sample_robots_survive_urdf(tmp_path, robot):
    model = replace(getattr(fc.robots, robot)(), base=SE3(), gravity=np.array([0.0, 0.0, -9.81]))
    once = there_and_back(model, tmp_path / "a.urdf", fixed="merge")
    twice = there_and_back(once, tmp_path / "b.urdf", fixed="merge")
    assert difference(once, twice) <= TOLERANCE
    assert abs(once.mass - model.mass) < 1e-12


# names --------------------------------------------------------------------------------------------------------------


@given(st.lists(names | awkward, min_size=4, max_size=4, unique=True), st.sampled_from(["toml", "urdf"]))
def test_names_survive_whatever_they_hold(folder, words, suffix):
    robot, first, second, frame = words
    body = Body(1.0, np.zeros(3), np.eye(3))
    joint = Joint(first, Revolute(), first, second)
    model = Model(robot, SE3(), (Link(first, body), Link(second, body)), (joint,), frames=(Frame(frame, second),))
    again = there_and_back(model, folder / f"names.{suffix}", fixed="merge")
    assert difference(model, again) == 0.0


# the examples -------------------------------------------------------------------------------------------------------

EXAMPLES = Path(__file__).parents[2] / "examples" / "robots"


def test_the_cat_of_the_examples_is_the_cat_of_the_library():
    """Written by ``fc.save(fc.robots.cat(), "examples/robots/cat.urdf")``; a file lists frames depth first."""
    file, code = fc.load(EXAMPLES / "cat.urdf"), fc.robots.cat()
    order = [frame.name for frame in file.frames]
    code = replace(code, frames=tuple(sorted(code.frames, key=lambda frame: order.index(frame.name))))
    assert difference(file, code) == 0.0


def test_the_hopper_of_the_examples_is_the_hopper_of_the_library():
    file, code = fc.load(EXAMPLES / "hopper.toml"), fc.robots.revolute_hopper()
    assert type(file.base) is SE2
    assert difference(file, code) <= TOLERANCE


def test_the_gantry_of_the_examples_has_unusual_joints(tmp_path):
    model = fc.load(EXAMPLES / "gantry.toml")
    assert [joint.kind.name for joint in model.joints] == [
        "schoenflies",
        "helical",
        "cylindrical",
        "universal",
        "spherical",
        "translational",
    ]
    assert difference(model, there_and_back(model, tmp_path / "a.toml")) <= TOLERANCE


def test_helpers_see_a_difference():
    """The comparison itself is no rubber stamp."""
    model = fc.robots.cat()
    joint = model.joints[0]
    for changed in (
        replace(joint, placement=joint.placement + 1e-9 * np.eye(4, k=3)),
        replace(joint, offset=joint.offset + 1e-9 * np.eye(4, k=3)),
        replace(joint, kind=Revolute((0.0, 1e-9, 1.0))),
    ):
        assert difference(model, replace(model, joints=(changed, *model.joints[1:]))) > 1e-10
    for changed in (
        replace(joint, kind=Prismatic(joint.kind.axis)),
        replace(joint, limits=Limits()),
        replace(joint, kind=Fixed()),
    ):
        with pytest.raises(AssertionError):
            difference(model, replace(model, joints=(changed, *model.joints[1:])))
    assert difference(replace(model, base=Helical(pitch=0.1)), replace(model, base=Helical(pitch=0.2))) > 0.01


def test_a_saved_urdf_without_limits_is_one_that_other_readers_take(tmp_path):
    """Their reader wants <limit effort velocity> for every hinge and slider."""
    pin = pytest.importorskip("pinocchio")
    chain = fc.robots.random_tree(np.random.default_rng(0), 4, kinds=["revolute", "prismatic"])
    bare = replace(chain, joints=tuple(replace(joint, limits=fc.model.Limits()) for joint in chain.joints))
    for robot in (chain, bare):
        fc.save(robot, tmp_path / "robot.urdf")
        assert pin.buildModelFromUrdf(str(tmp_path / "robot.urdf"), pin.JointModelFreeFlyer()).nv == robot.nv
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert [joint.limits for joint in fc.load(tmp_path / "robot.urdf").joints] == [
                j.limits for j in robot.joints
            ]
