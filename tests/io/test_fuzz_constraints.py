"""Random robots with random loops (MJCF) and mimic joints (URDF), possible or not.

Out comes an error of ours, or a robot whose loops are closed by ``assemble`` and stay closed in a run, whose joints
follow their leaders, and whose dynamics invert each other.  ``FALLINGCAT_FUZZ_SECONDS=300 pytest -m slow`` tries it for
so long.
"""

import numpy as np
import pytest
from fuzzing import try_for, try_many
from hypothesis import strategies as st

import fallingcat as fc
from fallingcat.errors import FallingCatError
from fallingcat.io import read
from fallingcat.simulation.outcome import StatusCode

SEEDS = st.integers(0, 2**32 - 1)
JOINTS = ("hinge", "slide", "ball")
KINDS = ("revolute", "continuous", "prismatic", "fixed", "floating")
ODD = ("nan", "inf", "1e308", "1e-308", "0", "-1", "", "ghost", "1 2")


def numbers(rng, count, scale=1.0):
    """As text; now and then one of them is odd."""
    words = [f"{x:.6g}" for x in rng.normal(scale=scale, size=count)]
    if rng.random() < 0.02:
        words[rng.integers(count)] = str(rng.choice(ODD))
    return " ".join(words)


def some(rng, names):
    """A name that is there, or, seldom, one that is not."""
    return "ghost" if rng.random() < 0.03 else str(rng.choice(names))


# loops ----------------------------------------------------------------------------------------------------------------


def with_loops(seed):
    """MJCF: a random tree, and equalities between any two of its bodies or joints."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 5))
    kinds = [str(rng.choice(JOINTS)) for _ in range(count)]
    parents = [int(rng.integers(-1, i)) for i in range(count)]

    def body(i):
        inside = "".join(body(k) for k in range(i + 1, count) if parents[k] == i)
        kind = "<freejoint/>" if parents[i] < 0 and rng.random() < 0.5 else joint(i)
        geom = f'<geom size=".05" mass="{rng.uniform(0.1, 2.0):.4g}" pos="{numbers(rng, 3, 0.1)}"/>'
        return f'<body name="b{i}" pos="{numbers(rng, 3, 0.3)}">{kind}{geom}{inside}</body>'

    def joint(i):
        axis = "" if kinds[i] == "ball" else f' axis="{numbers(rng, 3)}"'
        return f'<joint name="j{i}" type="{kinds[i]}"{axis}/>'

    bodies, names = [f"b{i}" for i in range(count)], [f"j{i}" for i in range(count)]

    def equality():
        what = rng.choice(["connect", "weld", "joint"])
        second = f'="{some(rng, names if what == "joint" else bodies)}"' if rng.random() < 0.8 else ""
        if what == "joint":
            other = f"joint2{second}" if second else ""
            return f'<joint joint1="{some(rng, names)}" {other} polycoef="{numbers(rng, 5, 0.3)}"/>'
        anchor = f'anchor="{numbers(rng, 3, 0.2)}"' if what == "connect" or rng.random() < 0.3 else ""
        other = f"body2{second}" if second else ""
        return f'<{what} body1="{some(rng, bodies)}" {other} {anchor}/>'

    trees = "".join(body(i) for i in range(count) if parents[i] < 0)
    equalities = "".join(equality() for _ in range(rng.integers(1, 4)))
    return f"<mujoco><worldbody>{trees}</worldbody><equality>{equalities}</equality></mujoco>"


def check_loops(seed, path):
    path.write_text(with_loops(seed), encoding="utf-8")
    try:
        model, _ = read(path, loops="close")
        state = fc.constraints.assemble(model, model.neutral())
        run = fc.simulate(model, state, 0.01, progress=False)
    except FallingCatError as error:
        said = str(error)
    else:
        said = ""
    assert said.isprintable()
    if said:
        return
    assert np.abs(fc.constraints.equations(model, state).error).max(initial=0.0) < 1e-6
    assert np.isfinite(run.joints).all()
    if run.code is StatusCode.FINISHED and not run.warnings:
        end = np.abs(fc.constraints.equations(model, run.state(-1)).error).max(initial=0.0)
        assert end < 1e-3, end


# mimic joints ---------------------------------------------------------------------------------------------------------

BODY = "<inertial><mass value='1'/><inertia ixx='.1' iyy='.1' izz='.1' ixy='0' ixz='0' iyz='0'/></inertial>"


def with_mimics(seed):
    """URDF: a random tree whose joints follow any of them, themselves and each other."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 7))
    names = [f"j{i}" for i in range(count)]

    def joint(i):
        kind = str(
            rng.choice(["revolute", "continuous", "prismatic", "fixed", "floating"], p=[0.4, 0.25, 0.25, 0.05, 0.05])
        )
        mimic = ""
        if rng.random() < 0.5:
            words = f" multiplier='{numbers(rng, 1)}'" if rng.random() < 0.8 else ""
            words += f" offset='{numbers(rng, 1)}'" if rng.random() < 0.5 else ""
            leader = some(rng, names) if rng.random() < 0.3 else str(rng.choice(names[: i + 1]))
            mimic = f"<mimic joint='{leader}'{words}/>"
        low, high = sorted(rng.normal(size=2))
        limit = f"<limit lower='{low:.3g}' upper='{high:.3g}' effort='9' velocity='5'/>"
        return (
            f"<joint name='j{i}' type='{kind}'><parent link='l{rng.integers(0, i + 1)}'/><child link='l{i + 1}'/>"
            f"<origin xyz='{numbers(rng, 3, 0.3)}'/><axis xyz='{numbers(rng, 3)}'/>{limit}{mimic}</joint>"
        )

    links = "".join(f"<link name='l{i}'>{BODY}</link>" for i in range(count + 1))
    return f"<robot name='r'>{links}{''.join(map(joint, range(count)))}</robot>"


def check_mimics(seed, path):
    path.write_text(with_mimics(seed), encoding="utf-8")
    rng = np.random.default_rng(seed)
    try:
        model, _ = read(path)
        state = model.random_state(rng)
    except FallingCatError as error:
        said = str(error)
    else:
        said = ""
    assert said.isprintable()
    if said:
        return
    M = fc.mass_matrix(model, state)
    if np.abs(M).max(initial=0.0) > 1e100 or np.linalg.cond(M) > 1e8:
        return
    a = rng.normal(size=model.nv)
    forces = fc.inverse_dynamics(model, state, a)
    scale = 1e-8 * (1.0 + np.abs(a).max(initial=0.0)) * np.linalg.cond(M)
    np.testing.assert_allclose(fc.forward_dynamics(model, state, forces), a, rtol=0, atol=scale)
    v = np.concatenate([state.twist, state.rates])
    assert np.isclose(0.5 * v @ M @ v, fc.kinetic_energy(model, state), rtol=1e-9, atol=1e-9)
    run = fc.simulate(model, state, 0.005, passive=False, progress=False)
    assert np.isfinite(run.joints).all()
    again = path.with_suffix(".toml")
    fc.save(model, again)
    other = fc.load(again)
    np.testing.assert_allclose(fc.mass_matrix(other, other.state(*state)), M, rtol=1e-9, atol=1e-12)


CHECKS = {"r.xml": check_loops, "r.urdf": check_mimics}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CHECKS)
def test_random_constraints(name, tmp_path):
    try_many(SEEDS, lambda seed: CHECKS[name](seed, tmp_path / name), 6)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "seed"), [("r.xml", 19006), ("r.urdf", 14361)], ids=["loop to itself", "ratio 1e308"])
def test_constraints_that_broke_once(name, seed, tmp_path):
    CHECKS[name](seed, tmp_path / name)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CHECKS)
def test_random_constraints_for_a_while(name, tmp_path):
    assert try_for(SEEDS, lambda seed: CHECKS[name](seed, tmp_path / name), each=20) > 0
