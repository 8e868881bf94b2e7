"""What a prompt and a notebook show of public objects: short texts, small tables, pages in frames."""

import dataclasses
import html
import inspect
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from test_constructors import RIGHT
from test_public_names import ROOMS, room

import fallingcat as fc
from fallingcat.records import LONGEST_REPR, html_table, short_repr, short_text

SMALL = {"float", "int", "bool", "str", "float | None", "str | None", "int | None", "Path", "Verdict", "bool | None"}
LARGE = [
    np.full((60, 50), np.pi),
    "word " * 500,
    [np.pi] * 3000,
    {f"joint{i}": np.pi for i in range(3000)},
    b"x" * 5000,
]


def public_classes():
    rooms = [room(name) for name in ROOMS]
    named = [getattr(each, name) for each in rooms for name in each.__all__]
    return sorted({x for x in named if inspect.isclass(x)}, key=lambda x: (x.__module__, x.__name__))


def fields_of(kind):
    if dataclasses.is_dataclass(kind):
        return {each.name: str(each.type) for each in dataclasses.fields(kind) if each.repr}
    given = getattr(kind, "_fields", ())
    return {name: re.sub(r"ForwardRef\('(.*)'.*\)", r"\1", str(kind.__annotations__[name])) for name in given}


RECORDS = [kind for kind in public_classes() if not inspect.isabstract(kind) and fields_of(kind)]


def filled(kind, value):
    """An instance whose fields, but numbers and words, are this value."""
    fields = {name: (0.0 if of in SMALL else value) for name, of in fields_of(kind).items()}
    if hasattr(kind, "_fields"):
        return kind(*fields.values())
    made = object.__new__(kind)
    for name, x in fields.items():
        object.__setattr__(made, name, x)
    return made


@pytest.mark.parametrize("kind", [k for k in RECORDS if k.__repr__ is short_repr], ids=lambda k: k.__name__)
def test_a_record_of_large_fields_has_a_short_text(kind):
    for value in LARGE:
        text = repr(filled(kind, value))
        assert text.startswith(f"{kind.__name__}(")
        assert text.endswith(")")
        assert len(text) <= LONGEST_REPR
        assert "\n" not in text


@pytest.mark.parametrize(("kind", "arguments"), RIGHT, ids=lambda x: getattr(x, "__name__", ""))
def test_public_constructors_have_short_texts(kind, arguments):
    assert len(repr(kind(**arguments))) <= LONGEST_REPR


def robots():
    return [fc.robots.cat(), fc.robots.quadruped(), fc.robots.humanoid(), fc.robots.orbital_arm()]


def results():
    """Results of computations, by what they are."""
    dog, rng = fc.robots.quadruped(), np.random.default_rng(0)
    state = dog.state(joints=np.tile([0.0, 0.7, -1.4], 4))
    feet = [frame.name for frame in dog.frames]
    floor = fc.contact.CompliantFloor(tuple(feet), stiffness=(2e4, 2e4), damping=(200.0, 200.0), friction=0.8)
    run = fc.simulate(dog, dog.standing(floor, state.joints), 0.01, contact=floor)
    reach = fc.control.PositionTask("front_left_foot", [0.2, 0.1, -0.2])
    up = fc.control.CenterOfMassTask(acceleration=[0.0, 0.0, 1.0])
    cat = fc.robots.two_cylinder_cat()
    a = rng.normal(size=(4, dog.nv))
    Y = np.concatenate([fc.dynamics.inverse_dynamics_regressor(dog, dog.random_state(rng), x) for x in a])
    return {
        "state": dog.random_state(rng),
        "states": dog.random_state(rng, 500),
        "humanoid's state": fc.robots.humanoid().random_state(rng),
        "run": run,
        "plots": run.plot(),
        "animation": run.animate(),
        "inverse kinematics": fc.control.inverse_kinematics(dog, [reach], state),
        "velocities": fc.control.velocities(dog, state, [[reach]]),
        "torques": fc.control.torques(dog, state, [[up]], contacts=feet),
        "reorientation": fc.planning.reorient(cat, [0.3, 0.0, 0.0]),
        "identification": fc.identify(dog, Y, Y @ fc.dynamics.inertial_parameters(dog)),
        "certificate": fc.equations(dog, state).certify(),
        "equations": fc.equations(dog, state),
        "reduced": fc.reduced_equations(dog, state),
        "kernel": fc.compile(cat, fc.mass_matrix),
        "simulator": fc.Simulator(dog, floor, state=run.state(0)),
        "batch simulator": fc.simulation.BatchSimulator(dog, [state] * 3, dt=2e-3),
        "whole-body loop": fc.control.WholeBody(dog, [[up]], feet).compile(),
        "prepared inverse kinematics": fc.control.InverseKinematics(dog, [reach]),
        "C source": fc.compile(dog, fc.inverse_dynamics, target="c"),
        "CUDA kernel": fc.compile(cat, fc.mass_matrix, target="cuda"),
        "JAX function": fc.compile(cat, fc.mass_matrix, target="jax"),
    }


@pytest.fixture(scope="module")
def shown():
    return results()


class Page(HTMLParser):
    """Counts what opens and closes."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags = [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_results_have_short_texts(shown):
    long = {name: len(repr(x)) for name, x in shown.items() if len(repr(x)) > LONGEST_REPR}
    assert long == {}


def test_results_have_texts_of_their_own(shown):
    assert [name for name, x in shown.items() if " object at 0x" in repr(x)] == []


def test_public_classes_have_texts_of_their_own():
    parts = {"AdmissibleImpulses", "HybridModes", "LinearizedForces"}  # of contacts, which are records
    plain = [k.__name__ for k in public_classes() if k.__repr__ is object.__repr__ and not inspect.isabstract(k)]
    assert set(plain) == parts


def test_robots_and_their_parts_have_short_texts():
    for robot in robots():
        parts = [*robot.links, *robot.joints, *robot.frames, *robot.loops, *robot.actuators, robot.base]
        parts += [joint.kind for joint in robot.joints] + [link.body for link in robot.links]
        assert max(len(repr(x)) for x in (robot, *parts)) <= LONGEST_REPR


TABLES = ["state", "states", "run", "inverse kinematics", "velocities", "torques", "reorientation"]


@pytest.mark.parametrize("name", [*TABLES, "identification", "certificate"])
def test_results_are_tables_in_notebooks(shown, name):
    text = shown[name]._repr_html_()
    page = Page(text)
    assert page.open == []
    assert {tag for tag, _ in page.tags} <= {"table", "caption", "thead", "tbody", "tr", "th", "td"}
    assert len(text) < 10_000


@pytest.mark.parametrize("name", ["plots", "animation"])
def test_pages_are_frames_that_cannot_reach_the_notebook(shown, name):
    ((tag, attributes),) = Page(shown[name]._repr_html_()).tags
    assert tag == "iframe"
    assert attributes["srcdoc"] == shown[name].html()
    assert "allow-same-origin" not in attributes["sandbox"]


def test_names_of_files_are_escaped():
    link = fc.Link("<script>alert(1)</script>", fc.Body(1.0, np.zeros(3), np.eye(3)))
    model = fc.Model("<b>" + "x" * 5000, fc.lie.SE3(), (link,))
    assert len(repr(model)) <= LONGEST_REPR
    assert "<b>" not in model._repr_html_()
    assert html.escape("<b>") in model._repr_html_()
    assert "<script>" not in html_table("<script>", [("<script>", "<script>")], ("<script>", "x"))


def test_a_table_counts_rows_that_it_leaves_out():
    assert "... 30 more" in html_table("", [(str(i), "") for i in range(50)])


def test_a_state_says_position_and_angles():
    cat = fc.robots.cat()
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = fc.lie.charts.EulerZYX().to_matrix([0.3, 0.2, 0.1]), [1.0, 2.0, 3.0]
    assert repr(cat.state(pose=pose)).startswith("State(position=[1, 2, 3], rpy=[0.1, 0.2, 0.3], joints=[0, ")
    assert "pose=<array of shape (4, 4)>" in repr(fc.State(np.full((4, 4), np.nan), *cat.neutral()[1:]))


def test_short_texts_of_values():
    assert short_text(np.arange(30)) == "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, ... 18 more]"
    assert short_text({"a": np.zeros((2, 2)), "b": None}) == "{'a': <array of shape (2, 2)>, 'b': None}"
    assert short_text(1.5) == "1.5"


def test_records_with_texts_of_their_own_are_bounded_by_their_types():
    fixed = re.compile(
        r"tuple\[float(, float)+\]|JointKind|ActuatorKind|Callable\[.*\]|frozenset\[str\]|float \| str \| None"
    )
    own = {"Model", "Page", "Policy", "State", "Trajectory", "Rollout"}  # see test_results_have_short_texts
    parts = {
        "Frame",
        "Pin",
        "Weld",
        "Rolling",
        "EnergyController",
        "EventLocator",
        "Row",
        "Shape",
        "BodyPair",
    }  # of arrays or records of one size
    for kind in RECORDS:
        if kind.__repr__ is not short_repr and kind.__name__ not in own | parts:
            large = [name for name, of in fields_of(kind).items() if of not in SMALL and not fixed.fullmatch(of)]
            assert large == [], kind
