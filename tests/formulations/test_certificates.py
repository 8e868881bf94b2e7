"""Certificates: everything that is true passes, and every lie is found by the check that bears its name."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from formulation_changes import changes
from hypothesis import given, settings
from random_robots import TILTED, Robot, build, rng_of, robots
from residuals import WORST, agree

import fallingcat as fc
from fallingcat.formulations.links import over_links
from fallingcat.lie import Helical, Trivial

PASSIVE = {"christoffel", "passive", "coadjoint"}


def record(certificate):
    for check in certificate.checks:
        if check.claimed:
            law = f"certificate: {check.name}"
            WORST[law] = max(WORST.get(law, 0.0), check.residual)


@settings(max_examples=6)
@given(recipe=robots(largest=6))
def test_every_change_of_every_factorization_passes(recipe):
    everything_passes(recipe)


def test_a_robot_whose_coriolis_matrix_vanishes_passes():
    """Rounding alone is no torsion."""
    everything_passes(Robot(Helical(TILTED, pitch=-0.4), 2, 1061))


@pytest.mark.slow
@settings(max_examples=200, derandomize=False)
@given(recipe=robots(largest=30))
def test_every_change_of_every_factorization_passes_at_length(recipe):
    everything_passes(recipe)


def everything_passes(recipe):
    model, state = build(recipe)
    for name, change in changes(model, state, rng_of(recipe)).items():
        for factorization in fc.dynamics.FACTORIZATIONS:
            certificate = fc.equations(model, state, factorization).change(change).certify()
            assert certificate.passed, f"{name}\n{certificate}"
            record(certificate)


@settings(max_examples=50)
@given(recipe=robots(largest=16))
def test_reduced_equations_pass(recipe):
    model, state = build(recipe)
    if not isinstance(model.base, Trivial):
        certificate = fc.formulations.certify_reduced(model, state)
        assert certificate.passed, str(certificate)
        record(certificate)


# what is not claimed does not hold --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def arm():
    """A robot without symmetry, so that nothing holds by chance."""
    model = fc.robots.random_tree(np.random.default_rng(5), 6, kinds=["revolute", "prismatic"])
    return model, model.random_state(np.random.default_rng(6))


CLAIMS = {  # THEORY's table: passive, torsion-free, decouples under (3.80)
    "newton_euler": (False, False, True),
    "hamel": (False, False, True),
    "passive": (True, False, False),
    "coadjoint": (True, False, False),
    "christoffel": (True, True, False),
}


@pytest.mark.parametrize("factorization", CLAIMS)
def test_the_table_of_factorizations(arm, factorization):
    """Yes means rounding, no means no: above one percent."""
    model, state = arm
    eom = fc.equations(model, state, factorization)
    body, locked = eom.certify(), eom.change(fc.changes.locked(model, state)).certify()
    found = (body["passivity"], body["torsion"], locked["force decoupling"])
    assert tuple(check.claimed for check in found) == CLAIMS[factorization]
    for check in found:
        assert check.residual < 1e-13 if check.claimed else check.residual > 1e-2


@pytest.mark.parametrize("factorization", fc.dynamics.FACTORIZATIONS)
def test_lemma_4_3_of_traversaro_holds_for_christoffel_only(arm, factorization):
    """(44), printed for every passive C: a counter-example.  What all passive ones do share is `(C_G v)_lin = 0`."""
    model, state = arm
    eom = fc.equations(model, state, factorization).change(fc.changes.centroidal(model, state))
    check = eom.certify()["linear blocks"]
    assert check.claimed == (factorization == "christoffel")
    assert check.residual < 1e-13 if check.claimed else check.residual > 1e-2
    agree("(C_G v)_lin = 0", (eom.C @ eom.v)[:3], np.zeros(3))


def test_a_certificate_is_a_table(arm):
    model, state = arm
    certificate = fc.equations(model, state, "hamel").change(fc.changes.locked(model, state)).certify()
    lines = str(certificate).splitlines()
    assert lines[0] == "locked equations, hamel matrix: passed"
    assert any(line.split()[0] == "torsion" and "not claimed" in line for line in lines)
    assert any(line.split()[:2] == ["force", "decoupling"] and "holds" in line for line in lines)
    assert certificate["symmetry"].holds
    with pytest.raises(fc.ModelError, match=r"check is one of symmetry, .*, not 'beauty'"):
        certificate["beauty"]


# lies -------------------------------------------------------------------------------------------------------------


def broken(certificate):
    return {check.name for check in certificate.checks if check.claimed and not check.holds}


def skew(rng, n):
    X = rng.normal(size=(n, n))
    return X - X.T


def orthogonal_to(v, row):
    """A matrix that does not act on `v`: the part of a Coriolis matrix that no motion shows."""
    return np.outer(row, row - v * (row @ v) / (v @ v))


LIES = {  # what is added, and what must break
    "C, any": (
        lambda e, x: {"C": e.C + x.normal(size=e.C.shape)},
        {"coriolis", "passivity", "torsion", "forces", "power"},
    ),
    "C, skew": (lambda e, x: {"C": e.C + skew(x, len(e.v))}, {"coriolis", "torsion", "forces"}),
    "C, unseen by v": (
        lambda e, x: {"C": e.C + orthogonal_to(e.v, x.normal(size=e.v.size))},
        {"coriolis", "passivity", "torsion"},
    ),
    "C, transposed": (lambda e, x: {"C": e.C.T}, {"coriolis", "torsion", "forces"}),
    "M, one side": (lambda e, x: {"M": e.M + np.triu(np.ones_like(e.M), 1)}, {"symmetry", "mass", "forces"}),
    "M, negative": (lambda e, x: {"M": -e.M}, {"positivity", "mass", "forces", "power"}),
    "g": (lambda e, x: {"g": e.g + 1e-3}, {"weight", "forces", "power"}),
    "g, without work": (lambda e, x: {"g": e.g + skew(x, len(e.v)) @ e.v}, {"weight", "forces"}),
    "Mdot": (lambda e, x: {"Mdot": e.Mdot + np.eye(len(e.v))}, {"mass rate"}),
    "v": (lambda e, x: {"v": e.v + 0.1}, {"change", "forces", "power"}),
}


@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize("formulation", ["body", "mixed", "centroidal", "locked", "momentum map"])
def test_a_lie_is_found(arm, lie, formulation):
    model, state = arm
    rng = np.random.default_rng(0)
    eom = fc.equations(model, state).change(changes(model, state, rng)[formulation])
    tamper, expected = LIES[lie]
    certificate = replace(eom, **tamper(eom, rng)).certify()
    assert not certificate.passed
    assert expected <= broken(certificate)
    assert "FAILED" in str(certificate)
    assert "BROKEN" in str(certificate)


@pytest.mark.parametrize("formulation", ["mixed", "centroidal", "locked", "base at, body", "G[B]"])
def test_a_wrong_rate_of_the_change_is_found(arm, formulation):
    """`dT/dt` with a wrong sign, or forgotten: the equations are wrong, the mass matrix is not."""
    model, state = arm
    change = changes(model, state, np.random.default_rng(0))[formulation]
    for wrong in (0.0 * change.T_dot, -change.T_dot):
        certificate = fc.equations(model, state).change(replace(change, T_dot=wrong)).certify()
        assert {"change rate", "mass rate", "coriolis", "passivity", "forces"} <= broken(certificate)
        assert certificate["symmetry"].holds


def test_a_wrong_inverse_is_found(arm):
    model, state = arm
    change = fc.changes.centroidal(model, state)
    wrong = replace(change, inverse=fc.changes.mixed(model, state).inverse)
    found = broken(fc.equations(model, state).change(wrong).certify())
    assert {"change", "mass decoupling", "power"} <= found


@pytest.mark.parametrize("claim", ["mass decoupling", "invariance", "gravity", "linear blocks"])
def test_a_false_claim_is_found(arm, claim):
    model, state = arm
    proud = replace(fc.changes.mixed(model, state), claims=[claim])
    certificate = fc.equations(model, state).change(proud).certify()
    assert broken(certificate) == {claim}


@pytest.mark.parametrize("factorization", ["newton_euler", "hamel"])
def test_a_false_name_is_found(arm, factorization):
    """The matrix of [Feurstein] (3.39) is not the christoffel matrix, whatever it is called."""
    model, state = arm
    eom = replace(fc.equations(model, state, factorization), factorization="christoffel")
    assert broken(eom.certify()) == {"coriolis", "passivity", "torsion"}


REDUCED_LIES = {  # what is changed, and what must break
    "Mb": {"mass decoupling", "forces"},
    "Lq": {"mass decoupling", "forces"},
    "A": {"connection", "velocity", "mass decoupling"},
    "mu": {"velocity"},
    "xi": {"velocity", "forces", "power"},
    "D_q": {"passivity", "separation", "parts"},
    "D_mu": {"skewness", "separation", "parts"},
    "Gamma": {"coriolis", "parts"},
    "B": {"skewness of B", "curvature", "parts"},
    "P": {"commutativity", "parts"},
    "S": {"commutativity", "parts"},
    "g": {"weight", "forces", "power"},
}


@pytest.mark.parametrize("field", REDUCED_LIES)
def test_a_lie_in_the_reduced_equations_is_found(arm, field):
    model, state = arm
    rel = fc.reduced_equations(model, state)
    wrong = getattr(rel, field) + 1e-3 * np.random.default_rng(0).normal(size=getattr(rel, field).shape)
    found = broken(fc.formulations.certify_reduced(model, state, rel._replace(**{field: wrong})))
    assert REDUCED_LIES[field] <= found


def test_the_two_part_matrix_without_its_curvature_is_found(arm):
    model, state = arm
    rel = fc.reduced_equations(model, state)
    D_mu = rel.D_mu.copy()
    D_mu[model.m :, model.m :] = 0.0  # still skew: only physics can tell
    found = broken(fc.formulations.certify_reduced(model, state, rel._replace(D_mu=D_mu)))
    assert {"forces", "separation"} <= found
    assert "skewness" not in found


def test_a_robot_at_rest_is_certified_too():
    """Whatever vanishes at rest is zero beside zero, not a division by it."""
    for model in (fc.robots.cat(), fc.robots.revolute_hopper(), fc.robots.random_tree(np.random.default_rng(0), 4)):
        assert fc.formulations.certify_reduced(model, model.neutral()).passed
        assert all(check.residual <= 1e-9 for check in fc.formulations.certify_reduced(model, model.neutral()).checks)


def test_sums_over_links_need_no_matrix_of_each_link():
    """A certificate of 1,000 links took 8 GB for one sum, of which its estimate knew nothing, and minutes."""
    left, right = np.random.default_rng(0).normal(size=(2, 100, 6, 100))
    middle = np.random.default_rng(1).normal(size=(100, 6, 6))
    tracemalloc.start()
    found = over_links(left, middle, right)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_allclose(found, np.einsum("lai,lab,lbj->ij", left, middle, right, optimize=True), atol=1e-10)
    assert peak < 4 * right.nbytes  # 100 x 100 for each link are 17 times as much
