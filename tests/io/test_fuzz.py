"""Good files, broken at random: out comes an error of ours or a model that can exist, nothing else."""

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from fuzzing import broken_bytes, broken_toml, broken_xml, try_for, try_many
from hypothesis import strategies as st

import fallingcat as fc
from fallingcat.errors import FallingCatError
from fallingcat.io import read
from fallingcat.io.toml.writer import document
from fallingcat.model import joints
from fallingcat.studies import tables

ROOT = Path(__file__).parents[2]
CORPUS = ROOT / "tests" / "corpus"
STUDIES = ROOT / "src" / "fallingcat" / "studies" / "data"


def files(kind, *names):
    return [(CORPUS / kind / name).read_text(encoding="utf-8") for name in names]


URDF = files("urdf", "all_joint_types.urdf", "footprint.urdf", "extensions.urdf", "mimic.urdf")
MJCF = files("mjcf", "every_pose.xml", "every_shape.xml", "every_setting.xml", "defaults.xml", "frames.xml",
             "many_joints.xml", "equality_closed.xml")  # fmt: skip
TOML = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "examples" / "robots").glob("*.toml"))]
TOML += files("toml", "00_control_ok.toml", "47_axis_of_length_2.toml", "48_markup_names.toml")
TOML += [document(fc.robots.random_tree(np.random.default_rng(seed), 8, joints.KINDS), "r.toml") for seed in range(4)]
NAMESPACE = "http://www.ros.org/wiki/xacro"
ElementTree.register_namespace("xacro", NAMESPACE)
XACRO = [
    f"""<robot name='r' xmlns:xacro='{NAMESPACE}'>
<xacro:property name='m' value='1.5'/><xacro:arg name='n' default='2'/>
<xacro:property name='bones' value='${{["a", "b"]}}'/>
<xacro:macro name='body' params='name mass:=^|1 *more'><link name='${{name}}'><inertial><mass value='${{2 * mass}}'/>
<inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/></inertial>
<xacro:insert_block name='more'/></link></xacro:macro>
<xacro:body name='a' mass='${{m}}'><visual><geometry><box size='1 1 1'/></geometry></visual></xacro:body>
<xacro:if value='${{int("$(arg n)") == 2}}'><xacro:body name='b'><visual/></xacro:body></xacro:if>
<xacro:unless value='${{m > 1}}'><xacro:body name='c'><visual/></xacro:body></xacro:unless>
<joint name='j' type='continuous'><parent link='${{bones[0]}}'/><child link='b'/>
<axis xyz='0 0 ${{sin(pi / 2)}}'/></joint>
</robot>"""
]
STUDY = [path.read_text(encoding="utf-8") for path in sorted(STUDIES.glob("*.toml"))]


def encoded(texts):
    return [text.encode() for text in texts]


KINDS = {
    "r.urdf": broken_bytes(encoded(URDF)) | broken_xml([ElementTree.fromstring(text) for text in URDF]),
    "r.xml": broken_bytes(encoded(MJCF)) | broken_xml([ElementTree.fromstring(text) for text in MJCF]),
    "r.toml": broken_bytes(encoded(TOML)) | broken_toml(TOML),
    "r.xacro": broken_bytes(encoded(XACRO)) | broken_xml([ElementTree.fromstring(text) for text in XACRO]),
    "study.toml": broken_bytes(encoded(STUDY)) | broken_toml(STUDY),
}


def expansion(path):
    return "expand" if path.suffix == ".xacro" else "refuse"


def check(data, path):
    path.write_bytes(data)
    try:
        found, messages = (
            (tables.load(str(path)), []) if path.name == "study.toml" else read(path, xacro=expansion(path))
        )
    except FallingCatError as error:
        found, messages = None, [str(error)]
    for message in messages:
        assert message.startswith(str(path))
        assert message.isprintable()
    if isinstance(found, fc.Model):
        assert_it_can_exist(found, path.suffix)
    elif found is not None:
        assert_it_is_a_study(found)


def assert_it_is_a_study(study):
    p = study.parameters
    assert all(np.isfinite(x) for x in p.model_dump().values() if isinstance(x, float))
    assert study.table.title.isprintable()
    assert all((row.name + row.unit + row.measure).isprintable() for row in study.table.row)


def assert_it_can_exist(model, suffix):
    assert np.isfinite(model.gravity).all()
    assert all(c >= " " for name in (model.name, *model.link_names, *model.joint_names) for c in name)
    state = model.random_state(np.random.default_rng(0))
    for joint, q in zip(model.joints, model.q_slices, strict=True):
        H = joint.transform(state.joints[q])
        assert np.isfinite(H).all()
        np.testing.assert_allclose(H[:3, :3] @ H[:3, :3].T, np.eye(3), rtol=0, atol=1e-6)
    if model.kinematic:  # the dynamics say what is missing
        with pytest.raises(FallingCatError, match="is a kinematic model"):
            fc.mass_matrix(model, state)
        return
    for link in model.links if model.m else model.links[1:]:
        if suffix == ".toml":  # bodies may be points, rods and plates
            assert link.body.principal_inertia[0] >= -1e-6 * link.body.principal_inertia[2]
        elif suffix == ".xml":  # a massless link may sit between several joints of one body
            between = link.body.mass == 0.0 and link.name != model.link_names[0]
            assert between or link.body.problems() == []
    if model.kinematic:
        assert suffix == ".urdf"
        assert all(np.isfinite(H).all() for H in fc.forward_kinematics(model, state).values())
        return
    M = fc.mass_matrix(model, state)
    assert np.isfinite(M).all()
    size = np.sqrt(np.where(np.diag(M) > 0.0, np.diag(M), 1.0))
    assert model.nv == 0 or np.linalg.eigvalsh(M / np.outer(size, size))[0] > -1e-6
    np.testing.assert_allclose(M, M.T, rtol=0, atol=1e-12 * max(np.abs(M).max(initial=0.0), 1e-300))


@pytest.mark.parametrize("name", KINDS)
def test_many_broken_files(name, tmp_path):
    try_many(KINDS[name], lambda data: check(data, tmp_path / name), 30 if name == "r.xacro" else 200)


@pytest.mark.slow
@pytest.mark.parametrize("names", [sorted(KINDS), ["r.xacro"]], ids=["all", "xacro"])
def test_broken_files_for_a_while(names, tmp_path):
    pairs = st.sampled_from(names).flatmap(lambda name: st.tuples(st.just(name), KINDS[name]))
    assert try_for(pairs, lambda pair: check(pair[1], tmp_path / pair[0])) > 0
