"""Unproved is not passed: three verdicts, claims as objects, and residuals in which light joints count."""

from dataclasses import replace

import numpy as np
import pytest
from formulation_changes import changes
from hypothesis import given, settings
from random_robots import build, rng_of, robots

import fallingcat as fc
from fallingcat.formulations import worst
from fallingcat.formulations.evidence import Evidence
from fallingcat.formulations.links import Links
from fallingcat.lie import Trivial


@pytest.fixture(scope="module")
def cat():
    model = fc.robots.cat()
    return model, model.random_state(np.random.default_rng(0))


def verdicts(certificate):
    return {check.name: check.verdict for check in certificate.claims}


ON_RATES = {"change rate", "mass rate", "coriolis", "passivity", "torsion", "forces", "power"}


def test_three_matrices_with_the_rate_forgotten_do_not_pass(cat):
    """The documented example: `C` is wrong by several units, and nothing can tell without a clock."""
    model, state = cat
    T = np.eye(model.nv)
    T[:3, :3] = state.pose[:3, :3]
    change = fc.VelocityChange(T, np.zeros_like(T), T.T, "mujoco")
    certificate = fc.equations(model, state).change(change).certify()
    assert (certificate.verdict, certificate.passed) == ("unproved", False)
    found = verdicts(certificate)
    assert {name for name, verdict in found.items() if verdict == "unproved"} == ON_RATES
    assert {verdict for name, verdict in found.items() if name not in ON_RATES} == {"holds"}
    text = str(certificate)
    assert text.splitlines()[0] == "mujoco equations, christoffel matrix: UNPROVED"
    assert text.count("(the change gives no `at`: its rate cannot be checked)") == len(ON_RATES)


def test_a_broken_claim_outweighs_an_unproved_one(cat):
    model, state = cat
    eom = fc.equations(model, state).change(replace(fc.changes.mixed(model, state), at=None))
    certificate = replace(eom, g=eom.g + 1.0).certify()
    assert certificate.verdict == "broken"
    assert "FAILED" in str(certificate).splitlines()[0]
    assert certificate["weight"].verdict == "broken"
    assert certificate["forces"].verdict == "unproved"
    assert np.isnan(certificate["forces"].residual)


def test_a_clock_that_drops_imaginary_parts_proves_nothing(cat):
    """`at` on real arrays: the complex step sees a rate of zero, just what a forgotten `T_dot` says."""
    model, state = cat
    change = fc.changes.mixed(model, state)
    frozen = replace(change, T_dot=0.0 * change.T_dot, at=lambda step: np.real(change.at(step)))
    certificate = fc.equations(model, state).change(frozen).certify()
    assert certificate["change rate"].verdict == "unproved"
    assert "complex numbers" in certificate["change rate"].reason
    assert not certificate.passed


def test_a_certificate_without_claims_has_not_passed():
    assert not fc.Certificate("nothing", "christoffel", ()).passed


def test_equations_of_fewer_velocities_show_what_they_cannot_prove(cat):
    """Such changes are refused; equations made by hand keep every row."""
    model, state = cat
    square = fc.equations(model, state).change(fc.changes.centroidal(model, state))
    keep = slice(0, model.nv - 1)
    change = square.changes
    wide = replace(change, T=change.T[keep], T_dot=change.T_dot[keep], inverse=change.inverse[:, keep],
                   at=lambda step: change.at(step)[keep])  # fmt: skip
    eom = replace(square, M=square.M[keep, keep], C=square.C[keep, keep], g=square.g[keep], v=square.v[keep],
                  Mdot=square.Mdot[keep, keep], changes=wide)  # fmt: skip
    certificate = eom.certify()
    assert [c.name for c in certificate.checks] == [c.name for c in square.certify().checks]
    assert not certificate.passed
    assert "drops velocities" in certificate["forces"].reason
    assert certificate["mass"].verdict == certificate["weight"].verdict == "holds"


def test_matrices_without_a_function_are_unproved(cat):
    """`Tx` as a number says nothing about its rate; as a function of the state it does."""
    model, state = cat
    R = np.kron(np.eye(2), state.pose[:3, :3])
    given = fc.equations(model, state).change(fc.changes.decoupling(model, state, Tx=R)).certify()
    assert (given.verdict, given["mass decoupling"].verdict) == ("unproved", "holds")
    turning = fc.changes.decoupling(model, state, Tx=lambda at: np.kron(np.eye(2), at.pose[:3, :3]))
    assert fc.equations(model, state).change(turning).certify().passed


def test_numbers_only(cat):
    model, state = cat
    eom = fc.equations(model, state)
    with pytest.raises(fc.ModelError, match="certificates are of plain numbers"):
        replace(eom, M=eom.M.astype(object)).certify()
    with pytest.raises(fc.ModelError, match=r"factorization is one of christoffel, .*, not 'cristoffel'"):
        replace(eom, factorization="cristoffel").certify()


# claims -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("claim", "nearest"),
    [("mass decopling", "mass decoupling"), ("decoupled mass", "mass decoupling"), ("invarience", "invariance"),
     ("decoupled coriolis", "mass decoupling"), ("linear block", "linear blocks")],
)  # fmt: skip
def test_an_unknown_claim_is_an_error_that_names_the_nearest(cat, claim, nearest):
    change = fc.changes.mixed(*cat)
    with pytest.raises(fc.ModelError, match=rf"there is no claim '{claim}': the nearest is '{nearest}'"):
        replace(change, claims=[claim])


def _trace(eom, seen):
    return worst(np.trace(eom.M) - np.trace(seen.M), np.trace(seen.M_size))


def test_a_claim_of_ones_own(cat):
    model, state = cat
    trace = fc.formulations.Claim("trace", "tr M", _trace)
    never = fc.formulations.Claim("beauty", "is beautiful", lambda eom, seen: 1.0, frozenset({"hamel"}))
    change = replace(fc.changes.centroidal(model, state), claims=[never, "mass decoupling", trace])
    certificate = fc.equations(model, state).change(change).certify()
    assert [check.name for check in certificate.checks][-3:] == ["mass decoupling", "beauty", "trace"]
    assert certificate.passed
    assert not certificate["beauty"].claimed
    assert certificate["trace"].verdict == "holds"
    assert fc.equations(model, state, "hamel").change(change).certify()["beauty"].verdict == "broken"


def test_a_claim_that_cannot_be_checked_says_why(cat):
    def unknown(eom, seen):
        raise fc.formulations.UnprovedError("nobody knows")

    model, state = cat
    change = replace(fc.changes.mixed(model, state), claims=[fc.formulations.Claim("secret", "?", unknown)])
    certificate = fc.equations(model, state).change(change).certify()
    assert (certificate.verdict, certificate["secret"].reason) == ("unproved", "nobody knows")


def test_two_claims_of_one_name_are_an_error(cat):
    for name in ("symmetry", "gravity", "mine"):
        one, other = (fc.formulations.Claim(name, meaning, _trace) for meaning in ("a", "b"))
        with pytest.raises(fc.ModelError, match=f"two claims called '{name}'"):
            replace(fc.changes.mixed(*cat), claims=[one, other])


# residuals ------------------------------------------------------------------------------------------------------------


def spread(model, rng, decades):
    """The same robot with masses over many decades."""
    links = []
    for link in model.links:
        k = 10.0 ** rng.uniform(-decades / 2, decades / 2)
        links.append(replace(link, body=fc.Body(k * link.body.mass, link.body.center, k * link.body.inertia)))
    return replace(model, links=tuple(links))


@settings(max_examples=6)
@given(recipe=robots(largest=6))
@pytest.mark.parametrize("rest", [False, True], ids=["moving", "at rest"])
def test_rounding_passes_whatever_the_masses(rest, recipe):
    """12 decades of mass, with and without gravity and velocity: no false alarm, no 0/0."""
    model, state = build(recipe)
    model = spread(model, rng_of(recipe), decades=12)
    if rest:
        state = state._replace(twist=0.0 * state.twist, rates=0.0 * state.rates)
        model = replace(model, gravity=np.zeros(3))
    links = Links(model, state)
    for name, change in changes(model, state, rng_of(recipe)).items():
        seen = Evidence(links, change)
        for factorization in fc.dynamics.FACTORIZATIONS:
            eom = fc.equations(model, state, factorization).change(change)
            certificate = fc.formulations.certificate.certify(eom, seen=seen)
            assert certificate.passed, f"{name}\n{certificate}"
    if not isinstance(model.base, Trivial):
        certificate = fc.formulations.certify_reduced(model, state)
        assert certificate.passed, str(certificate)


@pytest.fixture(scope="module")
def crane():
    """Fifty tonnes, with a pointer of half a gram at the end: a mass ratio of 1e8."""
    arm = fc.robots.random_tree(np.random.default_rng(5), 3, kinds=["revolute"], branching=0.0)
    factors = [5e4, 1e3, 1e2, 5e-4]
    links = [replace(link, body=fc.Body(k, link.body.center, k / link.body.mass * link.body.inertia))
             for link, k in zip(arm.links, factors, strict=True)]  # fmt: skip
    model = replace(arm, links=tuple(links))
    return model, model.random_state(np.random.default_rng(6))


@pytest.mark.parametrize("formulation", ["body", "mixed", "centroidal", "locked"])
@pytest.mark.parametrize("field", ["M", "C", "g", "Mdot"])
def test_an_error_in_a_light_joint_of_a_heavy_robot_is_seen(crane, formulation, field):
    """Every entry of the pointer's row and column that is not zero, off by 1e-5 of itself."""
    model, state = crane
    change = changes(model, state, np.random.default_rng(0))[formulation]
    eom = fc.equations(model, state).change(change)
    assert eom.certify().passed
    seen, X = Evidence(Links(model, state), change), getattr(eom, field)
    size = {"M": seen.M_size, "C": seen.C_size, "Mdot": seen.C_size + seen.C_size.T, "g": seen.g_size}[field]
    last = [(-1,)] if field == "g" else [*((-1, i) for i in range(model.nv)), *((i, -1) for i in range(model.nv))]
    for place in last:
        if abs(X[place]) < 1e-3 * size[place]:
            continue  # small by chance or zero: 1e-5 of it is rounding
        wrong = X.copy()
        wrong[place] *= 1.0 + 1e-5
        assert not replace(eom, **{field: wrong}).certify().passed, place


@pytest.mark.parametrize("make", [fc.robots.cat, fc.robots.revolute_hopper, fc.robots.humanoid])
def test_reduced_equations_at_rest_are_certified(make):
    """Issue: division by zero.  At rest no force does work, and everything that moves nothing is exactly zero."""
    model = make()
    with np.errstate(all="raise"):
        certificate = fc.formulations.certify_reduced(model, model.neutral())
    assert certificate.passed, str(certificate)
    rel = fc.reduced_equations(model, model.neutral())
    wrong = rel._replace(D_q=rel.D_q + 1e-12 * np.eye(model.nv))
    assert not fc.formulations.certify_reduced(model, model.neutral(), wrong).passed
