"""What a URDF means, number by number; the bad ones are in test_corpus.py."""

import warnings

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.dynamics import mass_matrix
from fallingcat.errors import FallingCatError, FileError
from fallingcat.io import FileWarning, load, read
from fallingcat.io.base_names import PLAIN_BASES
from fallingcat.io.diagnostics import Reader
from fallingcat.io.numbers import parse_number
from fallingcat.lie import SE2, SE3, Trivial
from fallingcat.model import Continuous, Fixed, Free, Planar, Prismatic, Revolute

INERTIAL = (
    "<inertial><origin xyz='0.1 0.2 0.3' rpy='{rpy}'/><mass value='{mass}'/>"
    "<inertia ixx='1' iyy='2' izz='2.5' ixy='0.1' ixz='0.2' iyz='0.3'/></inertial>"
)


def link(name, mass=2.0, rpy="0 0 0"):
    return f"<link name='{name}'>{INERTIAL.format(mass=mass, rpy=rpy) if mass else ''}</link>"


def joint(name, parent, child, kind="continuous", inside="<axis xyz='0 0 1'/>", origin="<origin xyz='1 2 3'/>"):
    return (
        f"<joint name='{name}' type='{kind}'><parent link='{parent}'/><child link='{child}'/>{origin}{inside}</joint>"
    )


@pytest.fixture
def written(tmp_path):
    def write(*parts, name="robot.urdf"):
        path = tmp_path / name
        path.write_text("<robot name='r'>\n" + "\n".join(parts) + "\n</robot>\n", encoding="utf-8")
        return path

    return write


def rotation(rpy):
    """Roll, pitch, yaw by the book: three elementary rotations, multiplied."""
    (sr, sp, sy), (cr, cp, cy) = np.sin(rpy), np.cos(rpy)
    Rx = np.array([[1, 0, 0], [0, cr, -sr], [0, sr, cr]])
    Ry = np.array([[cp, 0, sp], [0, 1, 0], [-sp, 0, cp]])
    Rz = np.array([[cy, -sy, 0], [sy, cy, 0], [0, 0, 1]])
    return Rz @ Ry @ Rx


# links ------------------------------------------------------------------------------------------------------------


def test_inertia_is_turned_into_the_axes_of_the_link(written):
    body = load(written(link("a", rpy="0.3 -0.4 0.5"))).links[0].body
    R = rotation([0.3, -0.4, 0.5])
    inertia = np.array([[1, 0.1, 0.2], [0.1, 2, 0.3], [0.2, 0.3, 2.5]])
    np.testing.assert_allclose(body.inertia, R @ inertia @ R.T, rtol=0, atol=1e-15)
    np.testing.assert_array_equal(body.center, [0.1, 0.2, 0.3])
    assert body.mass == 2.0


def test_quarter_turns_give_exact_zeros(written):
    model = load(written(link("a"), link("b"), joint("j", "a", "b", origin="<origin rpy='1.5707963267948966 0 0'/>")))
    np.testing.assert_array_equal(model.joints[0].placement[:3, :3], [[1, 0, 0], [0, 0, -1], [0, 1, 0]])


def test_welded_bodies_are_one_body(written):
    path = written(link("a"), link("b", 3.0), joint("j", "a", "b", "fixed", "", "<origin xyz='1 2 3' rpy='0 0 0.7'/>"))
    merged, kept = load(path), load(path, fixed="keep")
    assert (len(merged.links), len(kept.links)) == (1, 2)
    assert isinstance(kept.joints[0].kind, Fixed)
    H = kept.joints[0].transform(np.zeros(0))
    # spatial inertias of one frame add up
    adjoint = SE3().Ad(SE3().inverse(H))
    total = kept.links[0].body.spatial_inertia + adjoint.T @ kept.links[1].body.spatial_inertia @ adjoint
    np.testing.assert_allclose(merged.links[0].body.spatial_inertia, total, rtol=0, atol=1e-13)
    np.testing.assert_array_equal(merged.frame("b").placement, H)


def test_massless_links_on_fixed_joints_are_frames(written):
    path = written(
        link("a"),
        link("camera", 0),
        link("lens", 0),
        joint("k", "a", "camera", "fixed", ""),
        joint("l", "camera", "lens", "fixed", ""),
    )
    model = load(path)
    assert model.link_names == ("a",)
    np.testing.assert_array_equal(model.frame("lens").placement[:3, 3], [2, 4, 6])


def test_a_massless_root_stays_the_base_frame(written):
    path = written(
        link("map", 0),
        link("footprint", 0),
        link("trunk"),
        joint("m", "map", "footprint", "fixed", "", "<origin xyz='0 0 1'/>"),
        joint("f", "footprint", "trunk", "fixed", "", "<origin xyz='1 0 0' rpy='0 0 1.5707963267948966'/>"),
    )
    model, kept = load(path), load(path, fixed="keep")
    assert model.link_names == ("map",)
    np.testing.assert_array_equal(model.frame("footprint").placement[:3, 3], [0, 0, 1])
    np.testing.assert_array_equal(model.frame("trunk").placement[:3, 3], [1, 0, 1])
    assert kept.link_names == ("map", "footprint", "trunk")
    state = model.random_state(np.random.default_rng(0))
    np.testing.assert_allclose(mass_matrix(kept, state), mass_matrix(model, state), rtol=1e-14, atol=1e-14)


def test_a_welded_base_stays_where_the_root_is(written):
    path = written(link("world", 0), link("arm"), joint("w", "world", "arm", "fixed", ""))
    model = load(path, base="fixed", fixed="keep")
    assert isinstance(model.base, Trivial)
    assert model.link_names == ("world", "arm")
    np.testing.assert_array_equal(model.joints[0].placement[:3, 3], [1, 2, 3])
    assert load(path, base="planar").link_names == ("world",)  # the plane is the root's


def test_a_massless_root_needs_a_fixed_base(written):
    path = written(link("rail", 0), link("cart"), joint("j", "rail", "cart"))
    free, messages = read(path)
    assert free.kinematic
    assert free.idle_links == ("rail",)
    assert len(messages) == 1
    assert 'base="fixed"' in messages[0]
    with pytest.raises(fc.ModelError, match=r"kinematic model.*of 'rail'.*base=.fixed"):
        fc.mass_matrix(free, free.neutral())
    held = load(path, base="fixed")
    assert not held.kinematic
    assert fc.mass_matrix(held, held.neutral()).shape == (1, 1)


def test_a_massless_root_on_a_floating_joint_is_the_world(written):
    path = written(link("world", 0), link("a"), link("b"), joint("f", "world", "a", "floating"), joint("j", "a", "b"))
    for model, messages in (read(path), read(path, base="free")):
        assert messages == []
        assert (str(model.base), model.link_names, model.n) == ("SE(3)", ("a", "b"), 1)
        assert not model.kinematic
    held, _ = read(path, base="fixed")
    assert (held.link_names, held.n) == (("world", "a", "b"), 7)


def test_robots_without_inertials_are_kinematic(written):
    path = written(*(f"<link name='{name}'/>" for name in "abc"), joint("j", "a", "b"), joint("k", "b", "c"))
    model, messages = read(path, base="fixed")
    assert model.idle_links == ("b", "c")
    assert len(messages) == 1
    assert "(and 1 more: line " in messages[0]
    state = model.state(joints=[0.3, -0.4])
    assert fc.jacobian(model, state, "c").shape == (6, 2)
    with pytest.raises(fc.ModelError, match=r"kinematic model.*'b', 'c'.*massless=.weld"):
        fc.gravity_forces(model, state)
    with pytest.raises(FileError, match="no joint is left that moves"):
        load(path, base="fixed", massless="weld")


def test_joints_that_move_no_mass_can_be_welded(written):
    limit = "<limit lower='0.2' upper='1' effort='1' velocity='1'/>"
    path = written(link("a"), link("b"), link("c", 0), joint("j", "a", "b"), joint("k", "b", "c", "revolute", limit))
    kept, _ = read(path)
    assert kept.idle_links == ("c",)
    model, messages = read(path, massless="weld")
    assert not model.kinematic
    assert model.joint_names == ("j",)
    assert len(messages) == 1
    np.testing.assert_allclose(model.frame("c").placement, kept.joints[1].transform(np.array([0.2])))
    assert np.linalg.eigvalsh(fc.mass_matrix(model, model.neutral()))[0] > 0.0
    with pytest.raises(fc.FallingCatError, match='massless is "keep" or "weld"'):
        load(path, massless="drop")


def test_inertia_of_what_never_moves_is_not_questioned(written):
    flat = "<inertial><mass value='1'/><inertia ixx='0' iyy='0' izz='0' ixy='0' ixz='0' iyz='0'/></inertial>"
    path = written(f"<link name='a'>{flat}</link>", link("b"), joint("j", "a", "b"))
    assert any("without extent" in message for message in read(path)[1])
    assert read(path, base="fixed")[1] == []
    assert load(path, base="fixed").mass == 3.0


def with_moments(name, *moments, mass=1.0, at=(0.3, 0.1, 0.2)):
    """A link with these principal moments, along its axes."""
    xx, yy, zz = moments
    return (
        f"<link name='{name}'><inertial><origin xyz='{at[0]} {at[1]} {at[2]}'/><mass value='{mass}'/>"
        f"<inertia ixx='{xx}' iyy='{yy}' izz='{zz}' ixy='0' ixz='0' iyz='0'/></inertial></link>"
    )


@pytest.mark.parametrize("moments", [(-1e-22, 0.0, 0.0), (1e-20, 0.0, 0.0), (1e-3, 1e-3, 2e-3 + 1e-14)])
def test_rounding_of_inertias_cannot_matter(written, moments):
    """No joint feels more than 1e-9 of what the inertia misses: one line, and the numbers of the file."""
    path = written(link("a"), with_moments("b", *moments), joint("j", "a", "b"))
    model, messages = read(path)
    np.testing.assert_allclose(np.diag(model.links[1].body.inertia), moments, rtol=0, atol=1e-30)
    assert len(messages) == (0 if moments[0] == 1e-3 else 1)


def test_inertias_that_a_joint_feels_are_refused(written):
    path = written(link("a"), with_moments("b", 1e-3, 1e-3, 2.1e-3), joint("j", "a", "b"))
    with pytest.raises(FileError, match=r"triangle inequality.*physics=.warn"):
        load(path)
    thin = written(link("a"), with_moments("b", 1e-9, 1e-9, -1e-9, at=(0, 0, 1e-5)), joint("j", "a", "b"))
    with pytest.raises(FileError, match=r"not all positive.*physics=.warn"):
        load(thin)


def test_a_part_that_cannot_be_alone_is_fine_in_a_whole_that_can(written):
    dummy = with_moments("imu", 1e-6, 1e-6, 1e-3, mass=1e-3)
    path = written(link("a"), link("b"), dummy, joint("j", "a", "b"), joint("w", "b", "imu", "fixed", inside=""))
    for fixed in ("merge", "keep"):
        (message,) = read(path, fixed=fixed)[1]
        assert "together with what is fixed to it" in message
    alone = written(link("a"), dummy, joint("j", "a", "imu"))
    with pytest.raises(FileError, match="triangle inequality"):
        load(alone)


# joints -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("revolute", Revolute), ("continuous", Continuous), ("prismatic", Prismatic), ("floating", Free)],
)
def test_kinds_of_joints(written, kind, expected):
    limit = "<limit lower='-1' upper='2' effort='3' velocity='4'/>"
    path = written(link("a"), link("b"), joint("j", "a", "b", kind, f"<axis xyz='0 0.6 0.8'/>{limit}"))
    j = load(path).joints[0]
    assert type(j.kind) is expected
    np.testing.assert_array_equal(j.placement[:3, 3], [1, 2, 3])
    if kind != "floating":
        assert j.kind.axis == (0.0, 0.6, 0.8)
        assert (j.limits.velocity, j.limits.effort) == (4.0, 3.0)
    if kind in ("revolute", "prismatic"):
        assert (j.limits.lower, j.limits.upper) == (-1.0, 2.0)
    else:
        assert (j.limits.lower, j.limits.upper) == (-np.inf, np.inf)


@pytest.mark.parametrize("normal", [(0, 0, 1), (0, 0, -1), (1, 0, 0), (0.36, 0.48, 0.8), (0, 0.6, -0.8)])
def test_a_planar_joint_moves_in_the_plane_of_its_axis(written, normal):
    axis = f"<axis xyz='{normal[0]} {normal[1]} {normal[2]}'/>"
    j = load(written(link("a"), link("b"), joint("j", "a", "b", "planar", axis))).joints[0]
    assert isinstance(j.kind, Planar)
    home = j.transform(np.zeros(3))
    np.testing.assert_allclose(home[:3, :3], np.eye(3), rtol=0, atol=1e-15)  # the offset takes the turn back
    np.testing.assert_allclose(home[:3, 3], [1, 2, 3], rtol=0, atol=1e-15)
    H = j.transform(np.array([0.4, -0.7, 1.1]))
    n = np.array(normal, dtype=float)
    np.testing.assert_allclose(H[:3, :3] @ n, n, rtol=0, atol=1e-15)
    assert abs(n @ (H[:3, 3] - [1, 2, 3])) < 1e-15


def test_the_axis_is_x_where_nothing_is_said(written):
    assert load(written(link("a"), link("b"), joint("j", "a", "b", inside=""))).joints[0].kind.axis == (1.0, 0.0, 0.0)


def test_joints_come_depth_first_in_the_order_of_the_file(written):
    order = [("z", "a", "b"), ("y", "a", "c"), ("x", "b", "d"), ("w", "c", "e")]
    model = load(written(*(link(name) for name in "edcba"), *(joint(*j) for j in order)))
    assert model.joint_names == ("z", "x", "y", "w")
    assert model.link_names == ("a", "b", "d", "c", "e")


# options ----------------------------------------------------------------------------------------------------------


def test_base_and_gravity(written):
    path = written(link("a"))
    assert isinstance(load(path).base, SE3)
    assert isinstance(load(path, base="planar").base, SE2)
    assert load(path, base=SE2()).m == 3
    assert [load(path, base=name).m for name in PLAIN_BASES] == [6, 3, 3, 4, 3, 0]
    np.testing.assert_array_equal(load(path).gravity, [0, 0, -9.81])
    np.testing.assert_array_equal(load(path, gravity=(0, -1.62, 0)).gravity, [0, -1.62, 0])


@pytest.mark.parametrize(
    "wrong", [{"base": "loose"}, {"base": 6}, {"fixed": "drop"}, {"physics": "magic"}, {"gravity": (0, np.nan, 0)}]
)
def test_wrong_options_are_the_callers_mistake(written, wrong):
    with pytest.raises(FallingCatError) as caught:
        load(written(link("a")), **wrong)
    assert not isinstance(caught.value, FileError)


def test_physics_warn_reads_what_strict_refuses(written):
    flat = "<inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='2.1' ixy='0' ixz='0' iyz='0'/></inertial>"
    path = written(f"<link name='a'>{flat}</link>")
    with pytest.raises(FileError, match='physics="warn"') as caught:
        load(path)
    assert (caught.value.line, caught.value.element) == (2, "<link name='a'>")
    with pytest.warns(FileWarning, match="triangle inequality.*by 5 %"):
        model = load(path, physics="warn")
    assert model.links[0].body.inertia[2, 2] == 2.1


def test_massless_links_between_joints(written):
    """Two axes that differ leave the mass matrix positive; on one axis the link between turns freely."""
    cross = "<axis xyz='1 0 0'/><limit lower='-1' upper='1' effort='1' velocity='1'/>"
    path = written(link("a"), link("b", 0), link("c"), joint("j", "a", "b"), joint("k", "b", "c", inside=cross))
    model, messages = read(path)
    assert not model.kinematic
    assert len(messages) == 1
    assert "between joints" in messages[0]
    assert np.linalg.eigvalsh(fc.mass_matrix(model, model.random_state(np.random.default_rng(0))))[0] > 0.0
    path = written(link("a"), link("b", 0), link("c"), joint("j", "a", "b"), joint("k", "b", "c", origin=""))
    assert read(path)[0].idle_links == ("b",)


# messages ---------------------------------------------------------------------------------------------------------


def test_an_error_names_file_line_element_and_rule(written):
    path = written(link("a"), link("b"), joint("j", "a", "b", inside="<axis xyz='0 0 0'/>"))
    with pytest.raises(FileError) as caught:
        load(path)
    error = caught.value
    assert (error.file, error.line, error.element) == (str(path), 4, "<joint name='j'> <axis>")
    assert str(error).startswith(f"{path}:4: <joint name='j'> <axis>: the axis of a joint is a vector of length 1")


def test_each_warning_is_given_once(written):
    path = written(link("a"), link("b"), joint("j", "a", "b", inside="<axis xyz='0 0 3'/>"))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        load(path)
    assert [w.category for w in caught] == [FileWarning]
    assert caught[0].filename == __file__  # points at the caller, not into the library
    reader = Reader("r.urdf")
    reader.warn(None, "twice")
    reader.warn(None, "twice")
    assert reader.warnings == ["r.urdf: twice"]


@pytest.mark.parametrize("text", ["1", "-1", "+1.", ".5", "1e3", "1.5E-3", "00.10", "-0"])
def test_numbers(text):
    assert parse_number(text) == float(text)


@pytest.mark.parametrize(
    "text", ["", ".", "e3", "1e", "--1", "1 ", "1f", "1_0", "0x1", "nan", "inf", "1e999", "½", "1\n"]
)
def test_no_numbers(text):
    assert parse_number(text) is None


def test_numbers_do_not_depend_on_the_locale(written):
    import locale

    before = locale.setlocale(locale.LC_NUMERIC)
    for name in ("de_DE.UTF-8", "fr_FR.UTF-8", "C"):
        try:
            locale.setlocale(locale.LC_NUMERIC, name)
        except locale.Error:
            continue
        assert load(written(link("a", 1.5))).mass == 1.5
    locale.setlocale(locale.LC_NUMERIC, before)


def test_a_long_chain_is_no_recursion(written):
    n = 2000
    parts = [link(f"l{i}") for i in range(n)] + [joint(f"j{i}", f"l{i}", f"l{i + 1}") for i in range(n - 1)]
    assert load(written(*parts)).n == n - 1
