"""The public names, as `public_names.txt` lists them: to change one is a decision, never a side effect.

`python tests/test_public_names.py` writes the list anew.
"""

import importlib
import inspect
from pathlib import Path

import pytest

import fallingcat as fc

LIST = Path(__file__).with_name("public_names.txt")
ROOMS = ["", ".kernels", ".lie.charts", *(f".{name}" for name in fc.__all__ if inspect.ismodule(getattr(fc, name)))]


def room(name):
    """`fallingcat.lie.charts` for `.lie.charts`, as `fc.lie.charts` finds it."""
    thing = fc
    for part in name.split(".")[1:]:
        thing = getattr(thing, part)
    return thing


def text():
    """Every room with its names, sorted."""
    return "\n".join("\n    ".join([f"fallingcat{name}", *sorted(room(name).__all__)]) + "\n" for name in sorted(ROOMS))


def test_the_names_are_those_of_the_list():
    assert text() == LIST.read_text(encoding="utf-8")


def test_every_name_is_there_and_once():
    for name in ROOMS:
        names = room(name).__all__
        assert len(names) == len(set(names))
        assert all(getattr(room(name), each) is not None for each in names)


@pytest.mark.parametrize("name", ["changes", "single_body"])
def test_a_name_that_moved_says_where_it_is(name):
    home = importlib.import_module(f"fallingcat.{name}")
    assert home is getattr(fc, name)
    for each in home.__all__:
        with pytest.raises(AttributeError, match=rf"no attribute '{each}': it is fallingcat\.{name}\.{each}$"):
            getattr(fc, each)


def test_a_name_that_changed_says_how_it_is_called():
    with pytest.raises(AttributeError, match=r"no attribute 'theta_bc': it is fallingcat\.locked_angle$"):
        fc.theta_bc  # noqa: B018
    with pytest.raises(AttributeError, match=r"has no attribute 'theta'$"):
        fc.theta  # noqa: B018


if __name__ == "__main__":
    LIST.write_text(text(), encoding="utf-8")
