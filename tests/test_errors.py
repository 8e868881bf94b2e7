import copy
import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fallingcat.errors import ExtraMissingError, FallingCatError, FileError, ModelError, NumericsError

EXAMPLES = {
    "plain": (FallingCatError("broken"), "broken"),
    "no message": (FallingCatError(), ""),
    "model": (ModelError("two roots: 'a', 'b'"), "two roots: 'a', 'b'"),
    "file": (FileError("not a robot", file="a.urdf"), "a.urdf: not a robot"),
    "file, path": (FileError("empty", file=Path("robots") / "a.urdf", line=1), f"{Path('robots') / 'a.urdf'}:1: empty"),
    "file, all": (
        FileError("mass > 0", file="a.urdf", line=12, element="<link name='a'>", hint="is -1"),
        "a.urdf:12: <link name='a'>: mass > 0 (is -1)",
    ),
    "file, line 0": (FileError("empty", file="a.urdf", line=0), "a.urdf:0: empty"),
    "numerics": (NumericsError("singular"), "singular"),
    "numerics, at the start": (NumericsError("NaN", time=0.0, value=0.0), "t = 0 s: NaN (value: 0.0)"),
    "numerics, all": (
        NumericsError("NaN", time=1.5, joint="knee", value=np.array([[1.0, np.nan], [0.0, 1.0]])),
        "t = 1.5 s: joint 'knee': NaN (value: [[ 1. nan] [ 0. 1.]])",
    ),
    "extra": (ExtraMissingError("jax"), "this needs jax: pip install '.[jax]' in a clone of fallingcat"),
    "extra, all": (
        ExtraMissingError("viz", package="viser", purpose="the viewer"),
        "the viewer needs viser: pip install '.[viz]' in a clone of fallingcat",
    ),
}


@pytest.fixture(params=EXAMPLES.values(), ids=EXAMPLES.keys())
def example(request):
    return request.param


def test_says_it_in_one_line(example):
    error, expected = example
    assert str(error) == expected


def test_is_caught_as_the_family(example):
    error, _ = example
    with pytest.raises(FallingCatError):
        raise error


@pytest.mark.parametrize("travel", [copy.copy, lambda e: pickle.loads(pickle.dumps(e))], ids=["copy", "pickle"])
def test_travels_between_processes_unchanged(example, travel):
    error, expected = example
    arrived = travel(error)
    assert type(arrived) is type(error)
    assert str(arrived) == expected
    np.testing.assert_equal(vars(arrived), vars(error))


def test_a_missing_extra_is_an_import_error_that_names_the_module():
    with pytest.raises(ImportError) as caught:
        raise ExtraMissingError("viz", package="viser")
    assert caught.value.name == "viser"


@given(st.text(), st.text(), st.text(), st.text())
def test_no_name_in_a_file_can_break_the_line(rule, file, element, hint):
    for error in (
        FileError(rule, file=file, element=element, hint=hint),
        NumericsError(rule, joint=element, value=hint),
        ModelError(rule),
        ExtraMissingError(rule, package=file, purpose=hint),
    ):
        assert str(error).isprintable()


def test_a_huge_name_is_cut_short_in_the_line_and_kept_in_the_attribute():
    error = FileError("name too long", file="a.urdf", element="x" * 10**6)
    assert len(str(error)) < 250
    assert len(error.element) == 10**6
