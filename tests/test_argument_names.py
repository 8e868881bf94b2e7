"""One word for one thing: the argument names of everything public, as `argument_names.txt` lists them.

`python tests/test_argument_names.py` writes the list anew; `python tests/test_argument_names.py NAME` says where a name
is used, and what it means there.
"""

import inspect
import re
import sys
import warnings
from collections import defaultdict
from pathlib import Path

import pytest

import fallingcat as fc
from fallingcat._deprecated import ARGUMENTS

LIST = Path(__file__).with_name("argument_names.txt")
ROOMS = ["", ".lie.charts", *(f".{name}" for name in fc.__all__ if inspect.ismodule(getattr(fc, name)))]

VOCABULARY = {
    "link": "a link or frame of the robot: its name, or a Frame",
    "frame": "axes and origin in which a quantity is expressed: 'base', 'mixed', 'world', 'centroidal'",
    "laws": "force laws, one or several; where functions of time and state are accepted, such a function too",
    "integrator": "an integrator, or its name",
    "limits": "limits above all tasks, or those of a joint",
    "joint_limits": "True: joints stay within the limits of the model",
    "rates": "joint rates (n)",
    "velocity": "the whole quasi-velocity [twist; rates] (nv), or that of one point (3)",
    "threads": "threads within one call",
    "workers": "processes, or workers of a cluster",
    "duration": "time (s) that is simulated",
    "dt": "step size (s)",
}
"""Meaning of the words that had synonyms."""

SYNONYMS = {
    "controller": {  # a function alone
        "fallingcat.control.SampledController",
        "fallingcat.estimation.EstimatedFeedback",
        "fallingcat.simulation.Problem",
    },
    "method": {"fallingcat.simulation.SciPy", "fallingcat.optimal.solve"},  # the name that SciPy has for it; a solver
    "place": {"fallingcat.model"},  # a key of robot files, for links, frames and the world
    "limited": set(),
    "asked": {"fallingcat.control.DriveLimits"},  # forces that laws command, before limits
    "seconds": {"fallingcat.learning", "fallingcat.studies"},  # wall time; of evaluations the time of each run
    "relief": set(),
    "wanted": set(),
    "processes": set(),
    "fleet": set(),
}
"""Words for what has another name, and the few callables, or packages, where they are right."""


def room(name):
    """`fallingcat.lie.charts` for `.lie.charts`, as `fc.lie.charts` finds it."""
    thing = fc
    for part in name.split(".")[1:]:
        thing = getattr(thing, part)
    return thing


def public_callables():
    """Name and object of every public function, class and method, each once."""
    seen = set()
    for place in ROOMS:
        for name in sorted(room(place).__all__):
            thing = getattr(room(place), name)
            if not callable(thing) or id(thing) in seen:
                continue
            seen.add(id(thing))
            yield f"fallingcat{place}.{name}", thing
            for key, method in vars(thing).items() if inspect.isclass(thing) else ():
                function = getattr(method, "__func__", method)
                if not key.startswith("_") and inspect.isfunction(function):
                    yield f"fallingcat{place}.{name}.{key}", function


def meanings(doc):
    """Argument -> its text in the docstring."""
    section = re.search(r"^Args:\n((?:    .*\n?|\n)+)", inspect.cleandoc(doc or ""), re.MULTILINE)
    entries = re.findall(r"^    \*{0,2}(\w+): (.*(?:\n        .*)*)", section[1] if section else "", re.MULTILINE)
    return {name: re.sub(r"\s+", " ", text) for name, text in entries}


def arguments():
    """Argument name -> public callable -> its text there."""
    found = defaultdict(dict)
    for name, thing in public_callables():
        try:
            parameters = inspect.signature(thing).parameters
        except (TypeError, ValueError):  # of Kernel, whose kernels have signatures of their own, and of builtins
            continue
        texts = meanings(thing.__doc__)
        for parameter in parameters:
            if parameter not in ("self", "cls"):
                found[parameter][name] = texts.get(parameter, "")
    return found


def listed():
    """Every name, and what the vocabulary says of it."""
    rows = [f"{name}: {VOCABULARY[name]}" if name in VOCABULARY else name for name in sorted(arguments())]
    return "\n".join(rows) + "\n"


def test_argument_names_are_those_of_the_list():
    """A new name is a decision: is there a word for it already?"""
    assert listed() == LIST.read_text(encoding="utf-8")


def test_no_synonyms():
    found = arguments()
    for word, right in SYNONYMS.items():
        wrong = [name for name in found.get(word, ()) if not any(name.startswith(one) for one in right)]
        assert not wrong, f"{word} has another name in this library: {', '.join(wrong)}"


def test_every_word_of_the_vocabulary_is_used():
    assert set(VOCABULARY) <= set(arguments())


def test_former_arguments_have_a_present_name():
    """Each is one of the callable, and the former one is not."""
    assert len(list(arguments())) > 500  # every package is imported
    assert len(ARGUMENTS) > 25
    for thing, names in ARGUMENTS:
        present = inspect.signature(thing).parameters
        assert set(names.values()) <= set(present), thing
        assert not set(names) & set(present), thing


def test_former_arguments_work_with_a_warning():
    with pytest.warns(DeprecationWarning, match="argument place of PositionTask is now link") as seen:
        task = fc.control.PositionTask(place="hand")
    assert [Path(x.filename).name for x in seen] == [Path(__file__).name]
    with pytest.warns(DeprecationWarning, match=r"PositionTask.place is now PositionTask.link"):
        assert task.place == "hand" == task.link
    with (
        pytest.warns(DeprecationWarning, match="is now link"),
        pytest.raises(TypeError, match="both link and its former name place"),
    ):
        fc.control.PositionTask(place="hand", link="foot")
    cat = fc.robots.two_cylinder_cat()
    with pytest.warns(DeprecationWarning, match="argument controller of simulate is now laws"):
        old = fc.simulate(cat, cat.neutral(), 0.01, controller=fc.control.JointDamper(0.1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        new = fc.simulate(cat, cat.neutral(), 0.01, laws=fc.control.JointDamper(0.1))
    assert (old.rates == new.rates).all()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        for where, text in arguments().get(sys.argv[1], {}).items():
            sys.stdout.write(f"{where}: {text or '(no text)'}\n")
    else:
        LIST.write_text(listed(), encoding="utf-8")
