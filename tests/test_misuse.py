"""What a wrong call says: an error of the library, in one line, with the words that help, never one of Python's."""

import warnings

import pytest
from misuses import ROWS

import fallingcat as fc
from fallingcat.errors import FallingCatError


@pytest.mark.parametrize(("call", "words", "kind"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_a_wrong_call_says_what_is_wrong(call, words, kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings(action="error"), pytest.raises(kind, match=words) as caught:
        call()
    assert isinstance(caught.value, FallingCatError)
    assert str(caught.value).isprintable()


def test_there_are_many_and_every_function_of_a_robot_is_among_them():
    assert len(ROWS) >= 250
    assert len({row[0].partition(",")[0] for row in ROWS} & {*fc.dynamics.__all__, *fc.formulations.__all__}) > 40
