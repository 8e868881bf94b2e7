"""[Mishra] Table I, derived for every robot at once; the page in the docs is what the script writes."""

import importlib.util
from pathlib import Path

import pytest
import sympy

import fallingcat as fc
from fallingcat.lie import R3, SE2, SE3, SO3, Schoenflies
from fallingcat.symbolic.reduced import Reduction, expand_entries

from .robots import planar

DOCS = Path(__file__).parents[2] / "docs"
WRONG = {
    "forces, (13) as printed",
    "commutativity, whole matrix of Lemma 4",
    "commutativity, whole matrix of Theorem 1",
    "skew symmetry, Lemma 4",
    "skew symmetry, C of Lemma 1",
    "the same, Prop. 4 as printed",
    "the same, (34) as printed",
}


def script():
    spec = importlib.util.spec_from_file_location("make_mishra_table", DOCS / "make_mishra_table.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def plane():
    """What is left, computed once."""
    left = Reduction(SE2()).left_over()

    class Known:
        def left_over(self):
            return left

    return Known()


def failing(left):
    return {name for name, x in left.items() if any(x)}


def test_theorem_1_and_lemma_4_have_the_forces_of_the_lagrangian():
    r = Reduction(SE2())
    assert not any(expand_entries((r.D_q - r.D_mu) * r.xi - r.force))
    assert not any(expand_entries(r.geometric() * r.xi - r.force))
    assert any(expand_entries(r.geometric(1) * r.xi - r.force))  # (13) as printed
    assert r.D_mu == -r.D_mu.T


@pytest.mark.slow
def test_what_holds_and_what_does_not(plane):
    assert failing(plane.left_over()) == WRONG


@pytest.mark.slow
def test_the_page_is_what_the_script_writes(plane):
    module = script()
    assert module.PAGE.read_text(encoding="utf-8") == module.page(plane)


@pytest.mark.slow
@pytest.mark.parametrize("group", [SO3(), Schoenflies(), SE3()], ids=str)
def test_the_same_on_other_groups(group):
    assert failing(Reduction(group).left_over()) == WRONG


@pytest.mark.slow
def test_a_base_that_does_not_turn():
    """All brackets vanish: a body alone commutes and is skew, and no frame turns its momentum."""
    turning = {"skew symmetry, C of Lemma 1", "the same, Prop. 4 as printed"}
    assert failing(Reduction(R3()).left_over()) == WRONG - turning


def test_fundamental_matrices_of_a_robot_are_derivatives_of_its_locked_inertia():
    d = fc.symbolic.derive(planar(2))
    y = sympy.symbols("y_1:4", real=True)
    assert d.normal(d["P"] - d.dot(d["Mb"])) == sympy.zeros(3)
    slopes = [sympy.diff(d["Mb"], q) * sympy.Matrix(y) for q in d.q[d.model.base.nq :]]
    found = d.of(fc.formulations.locked_inertia_slope, y)
    assert d.normal(found - sympy.Matrix.hstack(*slopes)) == sympy.zeros(3, 2)
