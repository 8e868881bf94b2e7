"""COLLADA files: positions in the scene, units and colors; Pinocchio's reader agrees."""

import numpy as np
import pytest

from fallingcat.errors import FileError
from fallingcat.io.diagnostics import Reader
from fallingcat.io.meshes.collada import read_collada

POINTS = "0 0 0 1 0 0 1 1 0 0 1 0 0 0 1"
PARTS = {
    "triangles": "<triangles material='m' count='2'>{inputs}<p>0 9 1 9 2 9 0 9 2 9 3 9</p></triangles>",
    "polylist": "<polylist material='m' count='2'>{inputs}<vcount>4 3</vcount>"
    "<p>0 9 1 9 2 9 3 9 0 9 1 9 4 9</p></polylist>",
    "polygons": "<polygons material='m' count='2'>{inputs}<p>0 9 1 9 2 9 3 9</p><p>0 9 1 9 4 9</p></polygons>",
}
AXES = "".join(f"<param name='{axis}' type='float'/>" for axis in "XYZ")
FACES = {"triangles": 2, "polylist": 3, "polygons": 3}


def document(part="triangles", node="", unit="1", points=POINTS, up="Z_UP"):
    inputs = "<input semantic='VERTEX' source='#v' offset='0'/><input semantic='NORMAL' source='#n' offset='1'/>"
    return f"""<?xml version="1.0" encoding="utf-8"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><created>2020-01-01T00:00:00Z</created><modified>2020-01-01T00:00:00Z</modified>
<unit meter="{unit}" name="u"/><up_axis>{up}</up_axis></asset>
<library_effects><effect id="e"><profile_COMMON><technique sid="t"><phong><diffuse><color>0.1 0.2 0.3 1</color>
</diffuse></phong></technique></profile_COMMON></effect></library_effects>
<library_materials><material id="red"><instance_effect url="#e"/></material></library_materials>
<library_geometries><geometry id="g"><mesh>
<source id="p"><float_array id="pa" count="15">{points}</float_array><technique_common>
<accessor source="#pa" count="5" stride="3">{AXES}</accessor>
</technique_common></source>
<source id="n"><float_array id="na" count="30">{"0 0 1 " * 10}</float_array><technique_common>
<accessor source="#na" count="10" stride="3">{AXES}</accessor>
</technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
{PARTS[part].format(inputs=inputs)}
</mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="s"><node id="top">{node}<node id="inner"><scale>2 2 2</scale>
<instance_geometry url="#g"><bind_material><technique_common><instance_material symbol="m" target="#red"/>
</technique_common></bind_material></instance_geometry></node></node></visual_scene></library_visual_scenes>
<scene><instance_visual_scene url="#s"/></scene></COLLADA>""".encode()


NODES = {
    "plain": ("", np.eye(4)),
    "moved": ("<translate>1 2 3</translate><rotate>0 0 1 90</rotate>", None),
    "matrix": ("<matrix>0 -1 0 1 1 0 0 2 0 0 1 3 0 0 0 1</matrix>", None),
}
MOVED = np.array([[0.0, -1.0, 0.0, 1.0], [1.0, 0.0, 0.0, 2.0], [0.0, 0.0, 1.0, 3.0], [0.0, 0.0, 0.0, 1.0]])


@pytest.mark.parametrize("part", list(PARTS))
@pytest.mark.parametrize("name", list(NODES))
def test_positions_units_and_colors(part, name):
    node, H = NODES[name]
    H = MOVED if H is None else H
    ((mesh, color),) = read_collada(document(part, node, unit="0.01"), Reader("a.dae"))
    expected = 0.01 * (2.0 * np.array(POINTS.split(), dtype=float).reshape(-1, 3) @ H[:3, :3].T + H[:3, 3])
    np.testing.assert_allclose(mesh.vertices, expected, atol=1e-15)
    assert len(mesh.faces) == FACES[part]
    assert color == (0.1, 0.2, 0.3, 1.0)


@pytest.mark.parametrize("part", list(PARTS))
@pytest.mark.parametrize("up", ["Z_UP", "Y_UP"])
def test_pinocchio_reads_the_same(tmp_path, part, up):
    pin = pytest.importorskip("pinocchio")
    (tmp_path / "a.dae").write_bytes(document(part, NODES["moved"][0], up=up))
    inertial = "<inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/></inertial>"
    visual = f"<visual><geometry><mesh filename='{tmp_path}/a.dae'/></geometry></visual>"
    (tmp_path / "r.urdf").write_text(f"<robot name='r'><link name='a'>{inertial}{visual}</link></robot>")
    file = str(tmp_path / "r.urdf")
    model = pin.buildModelFromUrdf(file)
    (theirs,) = pin.buildGeomFromUrdf(model, file, pin.GeometryType.VISUAL).geometryObjects
    theirs.geometry.computeLocalAABB()
    box = theirs.geometry.aabb_local
    ((mesh, _),) = read_collada(document(part, NODES["moved"][0], up=up), Reader("a.dae"))
    used = mesh.vertices[np.unique(mesh.faces)]
    np.testing.assert_allclose(used.min(axis=0), box.min_, atol=1e-5)
    np.testing.assert_allclose(used.max(axis=0), box.max_, atol=1e-5)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"<COLLADA>", "this is not XML"),
        (b"<!DOCTYPE x [<!ENTITY a 'b'>]><COLLADA/>", "no DOCTYPE"),
        (document().decode().encode("utf-16"), "UTF-8"),
        (document(points="0 0 0 1"), "not whole"),
        (document(points="0 0 0 1 0 nothing"), "not whole"),
        (document(points="0 0 0"), "not whole"),
        (document(node="<instance_node url='#top'/>"), "nodes"),
        (document(node="<matrix>1 2</matrix>"), "not whole"),
    ],
)
def test_what_is_broken_is_said(data, words):
    with pytest.raises(FileError) as caught:
        read_collada(data, Reader("a.dae"))
    assert words in str(caught.value)
