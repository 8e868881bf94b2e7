"""What a file may cost: every hostile file is read or refused within limits that a reader sets, not the machine."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hostile_files import BODY, FILES, massless_roots, mjcf, toml, urdf

from fallingcat.errors import FileError
from fallingcat.io import limits, read
from fallingcat.studies.tables import load

PROCESSOR, BYTES = 20, 2**30  # s of the processor, four times what is promised: the machine may be busy
CHILD = f"""
import resource, sys
resource.setrlimit(resource.RLIMIT_CPU, ({PROCESSOR}, {PROCESSOR}))
resource.setrlimit(resource.RLIMIT_AS, ({BYTES}, {BYTES}))
from fallingcat.errors import FallingCatError
from fallingcat.io import read
from fallingcat.studies import load
try:
    load(sys.argv[2]) if sys.argv[1] == "study" else read(sys.argv[2])
except FallingCatError as error:
    print(str(error)[-200:])
"""


def within_limits(path, kind="robot"):
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", CHILD, kind, str(path)], capture_output=True, env=environment)
    assert done.returncode == 0, (done.returncode, done.stderr[-500:])
    return done.stdout.decode()


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_time_and_memory_are_bounded(name, tmp_path):
    path = tmp_path / name
    path.write_text(FILES[name](), encoding="utf-8")
    assert path.stat().st_size <= limits.MAX_BYTES
    within_limits(path)


def answer(path, text):
    path.write_text(text, encoding="utf-8")
    try:
        return read(path)
    except FileError as error:
        return None, [str(error)]


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("r.xml", mjcf("<joint/>" * 7), "a body has 6 joints at most"),
        ("r.xml", mjcf("<geom size='.1'/>" * 20_001), "at most 20,000 geoms, sites and frames"),
        ("r.xml", mjcf("<body><joint/><joint axis='1 0 0'/></body>" * 5_001), "at most 10,000 links"),
        ("r.urdf", urdf("<joint/>" * 10_001), "at most 10,000 joints, not 10,001"),
        ("r.urdf", urdf("<x/>" * 200_000), "at most 200,000 elements"),
        ("r.toml", toml("[[frame]]\nname='f'\nlink='a'\n" * 20_001), "at most 20000 items"),
        ("r.toml", toml("a.b.c.d.e = 1"), "a key with many dots"),
        ("r.toml", toml(f"center = [0.{'1' * 400}, 0, 0]"), "a number has at most 128 characters, not 402"),
        ("r.toml", toml(f"center = [{'1' * 400}, 0, 0]"), "an integer has 64 bits"),
        ("r.toml", "name = 'a\\u001b[31m'\n".replace("'", '"') + toml(""), "the robot's name holds a control char"),
        ("r.toml", 'name = "a\\nmass: 5 kg"\n' + toml(""), "the robot's name holds a control character"),
        ("r.toml", "name = ' '\n" + toml(""), "a robot needs a name that is not empty"),
        ("r.toml", toml("").replace("mass = 1", "mass = 1e-310"), r"a mass is zero or at least 1e-30 kg, not 1e-310"),
        ("r.urdf", urdf("").replace("value='1'", "value='1e-310'"), r"a mass is zero or at least 1e-30 kg"),
        ("r.urdf", urdf("").replace("'a'", "'a&#10;b'"), "the link's name holds a control character"),
        ("r.urdf", urdf("").replace("'r'", "'r&#10;mass'"), "the robot's name holds a control character"),
        ("r.xml", mjcf("<freejoint/>").replace("'a'", "'a&#9;b'"), "the body's name holds a control character"),
    ],
)
def test_refused_by_name(name, text, words, tmp_path):
    model, messages = answer(tmp_path / name, text)
    assert model is None
    assert re.search(words, messages[0])
    assert messages[0].isprintable()


HELIX = "[[link]]\nname='b'\nmass=1\ninertia=[1,1,1]\n[[joint]]\nname='j'\ntype='helical'\nparent='a'\nchild='b'\n"


@pytest.mark.parametrize("pitch", ["1e308", "1e-320", "-1e10"])
def test_a_pitch_has_a_sane_size(pitch, tmp_path):
    _, messages = answer(tmp_path / "r.toml", toml(f"{HELIX}pitch = {pitch}\n"))
    assert "a pitch lies between 1e-09 and 1e+09 m/rad" in messages[0]
    assert "[[joint]] 'j'" in messages[0]


def test_an_axis_has_a_sane_length(tmp_path):
    _, messages = answer(tmp_path / "r.toml", toml(f"{HELIX}pitch = 0.1\naxis = [1e-200, 0, 0]\n"))
    assert "an axis is a vector of length 1, and its length is 1e-200" in messages[0]


def test_mass_ratios_are_reported_of_toml_too(tmp_path):
    text = toml(HELIX.replace("mass=1\n", "mass=1e14\n") + "pitch = 0.1\n")
    _, messages = answer(tmp_path / "r.toml", text)
    told = "'b' is 1e+14 times as heavy as 'a': forward dynamics will lose its digits"
    assert messages == [f"{tmp_path}/r.toml:6: [[link]] 'b': {told}"]


def test_warnings_end_somewhere(tmp_path):
    strays = "".join(f"<stray{i}/>\n" for i in range(1500))
    model, messages = answer(tmp_path / "r.urdf", urdf("").replace("</link>", f"{strays}</link>"))
    assert model is not None
    assert len(messages) == limits.MAX_WARNINGS + 1
    assert messages[-1].endswith("there are more than 1,000 warnings: the others are left out")


def test_massless_roots_keep_their_places(tmp_path):
    joint = "<joint name='j{0}' type='fixed'><parent link='l{0}'/><child link='l{1}'/><origin xyz='{2}' rpy='{3}'/>"
    joints = "".join(joint.format(i, i + 1, f"{i} 0.5 -0.25", f"0.{i} 0.2 0.3") + "</joint>" for i in range(3))
    text = "<robot name='r'>" + "".join(f"<link name='l{i}'/>" for i in range(3)) + f"<link name='l3'>{BODY}</link>"
    free, _ = answer(tmp_path / "r.urdf", f"{text}{joints}</robot>")
    fixed = read(tmp_path / "r.urdf", base="fixed", fixed="keep")[0]
    assert (free.link_names, [frame.name for frame in free.frames]) == (("l0",), ["l1", "l2", "l3"])
    H = np.eye(4)
    for frame, joint in zip(free.frames, fixed.joints, strict=True):
        H = H @ joint.placement
        np.testing.assert_allclose(frame.placement, H, rtol=0, atol=1e-14)
    assert massless_roots(2).count("<link name") == 3


# studies ------------------------------------------------------------------------------------------------------------

STUDY = "title = 'a'\nrobot = 'revolute_hopper'\n"


def test_a_study_is_a_plain_file(tmp_path):
    os.mkfifo(tmp_path / "pipe.toml")
    (tmp_path / "zero.toml").symlink_to("/dev/zero")
    for name in ("pipe.toml", "zero.toml"):
        assert "this is not a plain file" in within_limits(tmp_path / name, "study")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (STUDY + ".".join("a" * 400_000) + " = 1", "a key with many dots"),
        (STUDY + "[parameters]\nduration = 1." + "1" * 400, "a number has at most 128 characters"),
        (STUDY + "[parameters]\nduration = 1" + "1" * 400, "an integer has 64 bits"),
        (STUDY.replace("'a'", '"a\\nours 5 J"'), "a name is one line without control characters"),
        (STUDY + "[[row]]\nname = \"\\u001b[2J\"\nmeasure = 'x'", "a name is one line without control characters"),
        (STUDY + "".join(f"a{i} = 1\n" for i in range(1000)), "and 981 more"),
        (STUDY + "a = " + "[" * 5000, "nested too deeply|times"),
        ("\ufeff\0", "this is not TOML"),
        ("x" * 1_000_001, "more than 1,000,000 bytes"),
        ("", "the file is empty"),
    ],
)
def test_studies_are_not_trusted(text, words, tmp_path):
    path = tmp_path / "s.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FileError, match=words) as error:
        load(str(path))
    assert str(error.value).isprintable()
    assert len(str(error.value)) < 10_000


def test_studies_that_cannot_be_read(tmp_path):
    for path, words in ((tmp_path, "there is no study"), (tmp_path / "none.toml", "there is no such file")):
        with pytest.raises(Exception, match=words):
            load(str(path))
    folder = Path(tmp_path / "folder.toml")
    folder.mkdir()
    with pytest.raises(FileError, match="this is not a plain file"):
        load(str(folder))
