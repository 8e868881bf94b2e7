"""The public names, as `public_names.txt` lists them: to change one is a decision, never a side effect.

`python tests/test_public_names.py` writes the list anew.
"""

import importlib
import inspect
import re
import warnings
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

import fallingcat as fc
from fallingcat._deprecated import RENAMED

FORMER_PACKAGES = ("falling", "gaits", "kernels", "live", "views")
LIST = Path(__file__).with_name("public_names.txt")
ROOMS = ["", ".lie.charts", *(f".{name}" for name in fc.__all__ if inspect.ismodule(getattr(fc, name)))]


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


def test_the_top_level_is_small():
    """Some 60 functions and classes; `dir` shows them and the packages, and no module that was imported on the way."""
    names = [name for name in fc.__all__ if not inspect.ismodule(getattr(fc, name))]
    assert len(names) <= 60
    assert set(dir(fc)) == {*fc.__all__, "__version__"}
    page = Path(__file__).parents[1] / "docs" / "reference" / "api.md"
    assert f"{len(names)} functions and classes" in page.read_text(encoding="utf-8")


def present(target):
    """The object that `dynamics.displace` names."""
    thing = fc
    for part in target.split("."):
        thing = getattr(thing, part)
    return thing


@pytest.mark.parametrize("module", RENAMED)
def test_former_names_work_and_give_the_present_one(module):
    home = importlib.import_module(module)
    for old, new in RENAMED[module].items():
        if old in FORMER_PACKAGES:
            continue  # modules of their own, see below
        with pytest.warns(DeprecationWarning, match=rf"{module}\.{old} is now fallingcat\.{re.escape(new)};") as seen:
            assert getattr(home, old) is present(new)
        assert [Path(x.filename).name for x in seen] == [Path(__file__).name]  # the line of the user, not ours


def test_messages_and_pages_have_present_names():
    """Of former names, those that are no common words."""
    words = {name for names in RENAMED.values() for name in names if name[0].isupper() and not name.isupper()}
    words &= {"Cycles", "Fleet", "FloatingInverse", "Paced", "Prioritised", "Puppet", "Reproduced", "Sole", "Unproved"}
    assert len(words) == 9
    root = Path(__file__).parents[1]
    files = [*(root / "src").rglob("*.py"), *(root / "docs").rglob("*.md"), root / "README.md"]
    texts = {path: path.read_text(encoding="utf-8") for path in files if path.name != "_deprecated.py"}
    found = [(path.name, word) for path, text in texts.items() for word in words if re.search(rf"\b{word}\b", text)]
    assert not found


@pytest.mark.parametrize("name", FORMER_PACKAGES)
def test_former_packages_give_what_the_present_ones_have(name):
    old = importlib.import_module(f"fallingcat.{name}")
    new = present(RENAMED["fallingcat"][name])
    for each in new.__all__:
        with pytest.warns(DeprecationWarning, match=f"fallingcat.{name}.{each} is now"):
            assert getattr(old, each) is getattr(new, each)


def test_a_law_may_still_define_a_former_method():
    with pytest.warns(DeprecationWarning, match="Own.grip is now Own.dry_friction"):

        class Own(fc.control.Law):
            name = "own"

            def forces(self, model, t, state, touching):
                return np.zeros(model.nv)

            def grip(self, model):
                return np.ones(model.n)

    assert Own().dry_friction(fc.robots.cat()).all()


def test_exchange_has_its_former_methods():
    cat = fc.robots.cat()
    with pytest.warns(DeprecationWarning, match=r"Exchange\.there is now Exchange\.to;"):
        q, v = fc.exchange.mujoco(cat).there(*cat.flatten(cat.neutral()))
    with pytest.warns(DeprecationWarning, match=r"Exchange\.back is now Exchange\.from_;"):
        fc.exchange.mujoco(cat).back(q, v)


def test_a_trajectory_has_its_former_attribute():
    ball = fc.robots.cat()
    run = fc.simulate(ball, ball.neutral(), 0.01)
    with pytest.warns(DeprecationWarning, match=r"Trajectory\.system is now Trajectory\.problem;"):
        assert run.system is run.problem


def test_contacts_take_their_former_argument():
    with pytest.warns(DeprecationWarning, match=r"argument relief of CompliantFloor is now terrain;"):
        floor = fc.contact.CompliantFloor(("foot",), relief=None)
    assert floor.terrain is None


def test_former_attributes_and_fields():
    body, x = fc.lie.SE3(), np.full(6, 0.1)
    with pytest.warns(DeprecationWarning, match=r"SE3\.seen_ahead is now SE3\.logarithm_rate;"):
        assert (body.seen_ahead(x, x) == body.logarithm_rate(x, x)).all()
    arm = fc.robots.planar_arm()
    links, joints = arm.links, arm.joints
    with pytest.warns(DeprecationWarning, match="argument apart of Model is now contact_exclusions;"):
        shy = fc.Model("shy", arm.base, links, joints, apart=[(links[0].name, links[2].name)])
    with pytest.warns(DeprecationWarning, match=r"Model\.apart is now Model\.contact_exclusions;"):
        assert shy.apart == shy.contact_exclusions == ((links[0].name, links[2].name),)
    with pytest.warns(DeprecationWarning, match=r"SelfPairs\.apart is now SelfPairs\.excluded;"):
        assert fc.contact.pushing_pairs(shy).apart == 1


def test_a_task_may_still_define_a_former_method():
    arm = fc.robots.planar_arm()
    with pytest.warns(DeprecationWarning, match="Own.here is now Own.value"):

        @dataclass(frozen=True, eq=False)
        class Own(fc.control.Task):
            goal: object = None

            def goal_shape(self, model):
                return (1,)

            def size(self, model):
                return 1

            def motion(self, model, state):
                raise NotImplementedError

            def here(self, model, state):
                return state.joints[:1]

    assert Own().value(arm, arm.neutral()) == [0.0]
    with pytest.warns(DeprecationWarning, match=r"JointsTask\.here is now JointsTask\.value"):
        assert (fc.control.JointsTask().here(arm, arm.neutral()) == 0.0).all()


def test_robot_files_may_use_the_former_key(tmp_path):
    arm = fc.robots.planar_arm()
    names = arm.link_names
    fc.save(replace(arm, contact_exclusions=((names[0], names[2]),)), tmp_path / "arm.toml")
    text = (tmp_path / "arm.toml").read_text("utf-8")
    (tmp_path / "arm.toml").write_text(text.replace("contact_exclusions", "apart"), "utf-8")
    with pytest.warns(DeprecationWarning, match="apart of a robot file is now contact_exclusions;"):
        assert fc.load(tmp_path / "arm.toml").contact_exclusions == ((names[0], names[2]),)


def test_a_study_kind_may_still_be_of_the_former_form():
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")

        class Old(fc.studies.StudyKind):
            name, parameters, measures, aside, also = "old", fc.studies.Parameters, {}, frozenset({"n"}), ("a",)

            def run(self, parameters, tell):
                tell("done", 1.0)
                return 1.0

    assert sorted(str(x.message).split(";")[0] for x in seen) == [
        "Old.also is now Old.further_measures",
        "Old.aside is now Old.resolution",
        "argument tell of Old.run is now progress",
    ]
    assert (Old().resolution, Old().further_measures) == ({"n"}, ("a",))
    assert Old().run_many([Old.parameters()]) == [1.0]
    kind = fc.studies.kind_of("orbital-gait")
    with pytest.warns(DeprecationWarning, match=r"\.aside is now .*\.resolution;"):
        assert kind.aside == kind.resolution
    with pytest.warns(DeprecationWarning, match="argument tell of run is now progress"), pytest.raises(TypeError):
        kind.run(None, tell=None)


def tables():
    """Sort (`Results`, `Interfaces`) -> package -> names, as the page "Python API" has them."""
    found, sort = {}, ""
    for line in (Path(__file__).parents[1] / "docs" / "reference" / "api.md").read_text("utf-8").splitlines():
        if line.startswith("#"):
            sort = line.lstrip("# ")
        elif sort in ("Results", "Interfaces") and line.startswith("| `"):
            packages, names = (re.findall(r"`(\w+)`", cell) for cell in line.strip("|").split("|"))
            for package in packages:
                found.setdefault(sort, {}).setdefault(package, set()).update(names)
    return found


def records():
    """Packages and public records there that some public function or method returns and nobody derives from."""
    homes = [name for name in fc.__all__ if inspect.ismodule(getattr(fc, name))]
    things = [(home, name, getattr(getattr(fc, home), name)) for home in homes for name in getattr(fc, home).__all__]
    texts = []
    for _, _, thing in things:
        inner = vars(thing).values() if inspect.isclass(thing) else (thing,)
        functions = [getattr(f, "fget", None) or getattr(f, "__func__", f) for f in inner]
        texts += [str(f.__annotations__.get("return", "")) for f in functions if inspect.isfunction(f)]
    returned = set(re.findall(r"\w+", " ".join(texts)))
    return {(home, name) for home, name, thing in things if hasattr(thing, "_fields") and name in returned}


def test_results_and_interfaces_are_on_the_page_of_the_tiers():
    page = tables()
    for packages in page.values():
        for package, names in packages.items():
            known = set(getattr(fc, package).__all__) | (set(fc.geometry.__all__) if package == "contact" else set())
            assert names <= known | (set(fc.contact.__all__) if package == "geometry" else set()), package
    listed = {(home, name) for packages in page.values() for home, names in packages.items() for name in names}
    assert records() - listed == {("model", "State")}  # which programs make


def test_dir_shows_public_names_alone():
    assert set(dir(fc)) == {*fc.__all__, "__version__"}
    with pytest.raises(AttributeError, match=r"has no attribute 'theta'$"):
        fc.theta  # noqa: B018


if __name__ == "__main__":
    LIST.write_text(text(), encoding="utf-8")
