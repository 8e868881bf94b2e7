"""Shapes in signatures (`-> Matrix_6_nv`) are those of what functions take and return."""

import contextlib
import doctest
import importlib
import inspect
import pkgutil
import sys
from collections.abc import Callable

import numpy as np
import pytest
from random_robots import BASES
from robot_laws import law
from stated_shapes import SHAPES, faults, lengths_of, parsed, stated
from test_docstrings import function_of, members, public

import fallingcat as fc
from fallingcat.lie import Group

PACKAGES = sorted(public())


def functions(thing):
    """``{argument or "return": annotation}`` by function, of a public function or of the methods of a class."""
    each = [thing] if not inspect.isclass(thing) else [function_of(member) for _, member, _ in members(thing)]
    for function in map(inspect.unwrap, each):
        said = {k: parsed(a) for k, a in getattr(function, "__annotations__", {}).items() if stated(a)}
        if said and hasattr(function, "__code__"):
            yield function, said


def arguments(function: Callable, model, state, rng):
    """Random arguments of a function of model and state, None where it takes something else."""
    made = {"model": model, "state": state}
    for name, parameter in list(inspect.signature(function).parameters.items())[2:]:
        if parameter.default is not inspect.Parameter.empty:
            continue
        if name in ("link", "place"):
            made[name] = model.link_names[rng.integers(len(model.link_names))]
        elif (lengths := SHAPES.get(parameter.annotation)) and set(lengths) <= {"nv", "n", "m"}:
            made[name] = rng.normal(size=[getattr(model, each) for each in lengths])
        else:
            return None
    return made


def functions_of_model_and_state():
    """``{name: (function, annotations)}`` of functions that return arrays of stated shapes."""
    things = [t for package in ("dynamics", "formulations") for t in public()[package].values() if inspect.isroutine(t)]
    mine = [t for t in things if list(inspect.signature(t).parameters)[:2] == ["model", "state"]]
    return {t.__name__: (t, said) for t in mine for _, said in functions(t) if "return" in said}


def test_functions_of_the_contract_state_their_shapes():
    assert functions_of_model_and_state().keys() >= {
        *("jacobian", "inverse_dynamics", "forward_dynamics", "mass_matrix", "bias_forces", "gravity_forces"),
        *("coriolis_matrix", "mass_matrix_derivative", "momentum", "centroidal_momentum_matrix", "connection"),
        *("curvature", "center_of_mass_jacobian", "locked_inertia", "kinematic_hessian"),
    }


@law(largest=8)
def test_results_on_random_robots_have_the_shapes_of_signatures(recipe, model, state, rng):
    tried = set()
    for label, (function, said) in functions_of_model_and_state().items():
        given = arguments(function, model, state, rng)
        if given is None:
            continue
        with contextlib.suppress(fc.ModelError):  # such as a robot without a moving base, which has no connection
            result = function(**given)
            tried.add(label)
            assert not list(faults(said["return"], result, lengths_of(given))), label
    assert len(tried) >= 20


@pytest.mark.parametrize("group", BASES, ids=repr)
def test_results_of_groups_have_the_shapes_of_signatures(group: Group):
    rng = np.random.default_rng(5)
    known = {"m": group.dim, "nq": group.nq}
    made = {"Vector_m": rng.normal(size=group.dim), "Pose": group.random(rng), "Matrix_m_m": np.eye(group.dim)}
    made["Vector_nq"] = group.coordinates(made["Pose"])
    for function, said in functions(type(group)):
        names = list(inspect.signature(function).parameters)[1:]
        kinds = [function.__annotations__[name] for name in names]
        if "return" in said and set(kinds) <= made.keys():
            result = getattr(group, function.__name__)
            result = result(*(made[kind] for kind in kinds)) if callable(result) else result
            assert not list(faults(said["return"], result, dict(known))), function.__qualname__


def test_a_wrong_shape_is_found():
    model = fc.robots.cat()
    known, nv = lengths_of({"model": model}), model.nv
    J = fc.jacobian(model, model.neutral(), model.link_names[-1])

    def wrong(annotation, value):
        return list(faults(parsed(annotation), value, dict(known)))

    assert known == {"nv": nv, "n": model.n, "m": model.m, "nq": model.nq}
    assert not wrong("Matrix_6_nv", J)
    assert wrong("Matrix_6_nv", J.T)
    assert wrong("tuple[Vector_nv, Vector_nv]", (np.zeros(nv), np.zeros(nv + 1)))
    assert wrong("Vector_nv | None", np.zeros(nv + 1))
    assert not wrong("Vector_nv | None", None)
    assert wrong("Mapping[str, Vector_3]", {"foot": np.zeros(2)})
    assert wrong("Vectors_nv", np.zeros((4, nv + 1)))
    assert wrong("Matrix_k_3", np.zeros((4, 2)))
    assert not wrong("Vectors_nv", np.zeros((4, nv)))


@contextlib.contextmanager
def watched(table, found):
    """Compare every call and result of the functions in a table with their signatures."""

    def look(frame, event, value):
        if event not in ("call", "return") or (said := table.get(frame.f_code)) is None:
            return
        if event == "call":
            given = {k: frame.f_locals[k] for k in said if k != "return"}
        else:
            given = {"return": value} if "return" in said and value is not None else {}
        known = lengths_of(frame.f_locals)
        for name, each in given.items():
            wrong = list(faults(said[name], each, known))
            found.update(f"{frame.f_code.co_qualname}: {name}: {text}" for text in wrong)

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        yield
    finally:
        sys.setprofile(before)


def modules(package):
    module = importlib.import_module(f"fallingcat.{package}")
    yield module
    for info in pkgutil.walk_packages(getattr(module, "__path__", ()), f"{module.__name__}."):
        yield importlib.import_module(info.name)


@pytest.mark.slow
@pytest.mark.parametrize("package", PACKAGES)
def test_examples_take_and_return_what_signatures_state(package):
    """All examples of a package: every public function with shapes in its signature is watched while they run."""
    if package == "fallingcat":
        pytest.skip("no package")
    table = {f.__code__: said for things in public().values() for t in things.values() for f, said in functions(t)}
    finder, runner, found = doctest.DocTestFinder(), doctest.DocTestRunner(optionflags=12), set()
    for module in modules(package):
        for test in finder.find(module):
            with watched(table, found):
                runner.run(test, out=lambda text: None, clear_globs=True)
    assert not found, "\n".join(sorted(found))
