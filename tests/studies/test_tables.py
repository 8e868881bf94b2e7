"""Studies as files: what is refused, and how it is said."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fallingcat.errors import FallingCatError, FileError, ModelError
from fallingcat.studies import load, names, parse, run
from fallingcat.studies.hoppers import HopperParameters
from fallingcat.studies.verdicts import printed_number, rounds_to, verdict_of

OWN = """
title = "A drop"
robot = "revolute_hopper"
[parameters]
duration = 0.3
g = 9.81
x = 0.0
y = 0.3
theta = -2.5174
q1 = 1.7802
K_r = 2200.0
r_des = "initial"
[[row]]
name = "touches"
measure = "touches"
published = "1"
"""


def test_the_studies_are_there():
    wanted = {f"prismatic-{k}" for k in (1, 2, 3)} | {f"revolute-{k}" for k in range(1, 7)}
    wanted |= {"acrobot-swing-up", "backflip", "box-jump", "cart-pole-swing-up", "pushed-trot", "standing-up"}
    wanted |= {"humanoid-walk", "trot", "trot-predictive"}
    wanted |= {"circling-arm", "eth-dynamics", "eth-kinematics", "pushed-dog", "reaching-low", "stepping-in-place"} | {
        "from-equations",
        "least-time-cat",
        "mishra-equations",
        "traversaro-identities",
        "orbital-control",
        "orbital-gait",
        "orbital-turn",
        "prismatic-allocated",
        "revolute-allocated",
        "revolute-basin",
        "revolute-commanded",
        "revolute-back",
        "revolute-locked",
        "revolute-locked-gait",
        "revolute-scan",
        "righting-dog",
        "righting-dog-moon",
        "righting-robot",
        "astronaut-turn",
        "planar-turn-bound",
    }
    assert set(names()) == wanted


@pytest.mark.parametrize("name", names())
def test_every_file_is_sound(name):
    study = load(name)
    rows = study.table.row
    assert study.table.title
    assert study.changed == ()
    assert len({row.name for row in rows}) == len(rows)
    for row in rows:
        assert callable(study.kind.measure(row.measure))
        assert row.published is None or row.band is not None or row.incomparable  # what is published is judged


def test_an_own_file_runs(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(OWN, encoding="utf-8")
    result = run(str(path))
    assert result.study.name == "mine"
    assert result.row("touches").verdict == "agrees"
    other = run(str(path), y=0.31)
    assert f"fallingcat study run {path} --set y=0.31" in other.page().html()  # not its name: there is no such study
    assert other.study.changed == ("y",)
    assert other.row("touches").verdict == "not comparable"


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("published = 1.0", "row.0.published: is written as printed, in quotes: its digits"),
        ("published = 'once'", "row.0: published: words need 'within'"),
        ("published = 'once'\nwhere = 'p. 1'\nwithin = [1.0, 1.0]", "within: needs 'because', the rule"),
        ("published = 'once'\nwithin = [1.0, 1.0]\nbecause = 'so'", "published: words need 'where', the sentence"),
        ("within = [1.0, 1.0]\nbecause = 'so'", "within: is for words"),
        ("published = '1'\nwithin = [0.0, 2.0]\nbecause = 'so'", "within: is for words; a printed number agrees"),
        ("published = 'x'\nwhere = 'y'\nwithin = [2.0, 1.0]\nbecause = 'so'", "within: the smaller number first"),
        ("published = 'x'\nwhere = 'y'\nwithin = [nan, 1.0]\nbecause = 'so'", "within: the smaller number first"),
        ("published = '1'\nwithin = [1.0]\nbecause = 'so'", "within"),
        ("published = '1'\ntolerance = 0.5", "tolerance: is for what is not published"),
    ],
)
def test_a_row_is_judged_by_its_source(said, words):
    with pytest.raises(FileError) as caught:
        parse(OWN.replace('published = "1"', said), "mine", "mine.toml")
    assert words in str(caught.value)


@given(st.decimals(-1000, 1000, places=3), st.integers(0, 3))
def test_a_printed_number_agrees_with_what_rounds_to_it(exact, places):
    printed = f"{exact:.{places}f}"
    low, high = rounds_to(printed)
    assert low <= float(exact) <= high
    assert high - low == pytest.approx(10.0**-places)
    assert verdict_of(float(printed) + 0.51 * 10.0**-places, True, True, (low, high)) == "differs"
    assert printed_number(printed) == float(printed)


def test_a_number_that_is_none_agrees_with_nothing():
    assert verdict_of(None, True, True, (-math.inf, math.inf)) == "differs"


def test_all_errors_at_once():
    text = OWN.replace("g = 9.81", "g = -1.0").replace("x = 0.0", "x = inf").replace("K_r", "K_x")
    with pytest.raises(FileError) as caught:
        parse(text, "mine", "mine.toml")
    said = str(caught.value)
    assert said.startswith("mine.toml: ")
    for words in (
        "g: should be greater than or equal to 0",
        "x: should be a finite number",
        "no parameter 'K_x'",
        "K_r",
    ):
        assert words in said
    assert "\n" not in said


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"K_e": 8.0}, "do you mean 'K_E'?"),
        ({"K_E": "much"}, "K_E: should be a number, not 'much'"),
        ({"K_E": math.nan}, "finite"),
        ({"K_E": -1.0}, "greater than or equal to 0"),
        ({"K_E": True}, "K_E"),
        ({"duration": 0.0}, "duration"),
        ({"duration": 1e9}, "duration"),
        ({"r_des": 0.0}, "r_des"),
        ({"r_des": "final"}, "r_des: should be 'initial'"),
        ({"controller": "IV"}, "'I', 'II', 'III' or 'allocated'"),
        ({"points": 9}, "no parameter 'points'"),
    ],
)
def test_parameters_that_are_refused(changes, words):
    with pytest.raises(FallingCatError, match="study 'revolute-6': ") as caught:
        run("revolute-6", **changes)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_scan_goes_upwards():
    with pytest.raises(FallingCatError, match="q1_first lies below q1_last"):
        load("revolute-scan").with_parameters({"q1_first": 2.0, "q1_last": 1.0})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "the file is empty"),
        ("#", "'title' is missing"),
        ("title = ", "not TOML"),
        (OWN.replace('"touches"\npub', '"toches"\npub'), "bad.toml: row.0.measure: there is no measure 'toches'"),
        (
            OWN.replace("robot =", 'kind = "hoper"\nrobot ='),
            "kind: there is no kind of study 'hoper'; do you mean 'hopper'",
        ),
        (OWN.replace('robot = "revolute_hopper"', ""), "bad.toml: 'robot' is missing"),
        ('title = "a"\nkind = "orbital-gait"\nrobot = "cat"\n[parameters]\nradius = 0.1', "no parameter 'robot'"),
        (OWN.replace("published", "publshed"), "no key 'publshed'"),
        (OWN.replace("revolute_hopper", "cat"), "'revolute_hopper', not 'cat'"),
    ],
)
def test_files_that_are_refused(tmp_path, text, words):
    path = tmp_path / "bad.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FallingCatError) as caught:
        run(str(path))
    assert words in str(caught.value)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(FileError, match="there is no such file"):
        load(str(tmp_path / "none.toml"))
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"\xff\xfe")
    with pytest.raises(FileError, match="UTF-8"):
        load(str(binary))
    with pytest.raises(ModelError, match="do you mean 'revolute-6'"):
        load("revolute6")


@given(
    st.dictionaries(
        st.text(max_size=8), st.one_of(st.floats(), st.text(max_size=5), st.booleans(), st.none()), max_size=4
    )
)
def test_whatever_is_set_is_taken_or_refused_in_one_line(changes):
    said, taken = "", None
    try:
        taken = load("revolute-6").with_parameters(changes)
    except FallingCatError as error:
        said = str(error)
    assert "\n" not in said
    assert (taken is None) == bool(said)
    if taken is not None:
        assert isinstance(taken.parameters, HopperParameters)
        assert set(changes) <= set(HopperParameters.model_fields)
