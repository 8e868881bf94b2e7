"""Kernels for elsewhere: C, CasADi, JAX."""

import errno
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace

import casadi
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import fallingcat as fc
from fallingcat import escaping
from fallingcat.compiler import compile, targets
from fallingcat.compiler.codegen import c
from fallingcat.compiler.codegen import c_syntax as shared
from fallingcat.compiler.ir.trace import Recipe, trace
from fallingcat.errors import ModelError

CC = shutil.which("gcc") or shutil.which("cc")
needs_cc = pytest.mark.skipif(CC is None or sys.platform == "win32", reason="needs a C compiler")
STRICT = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror"]
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
EVIL = 'knee */ #error "x"\n??/\\\n%s{}$(rm -rf)`'


def own(model, state, gain):
    """A user's own function: a record, a branch, a scalar, another argument."""
    return {"power": gain[0] * fc.kinetic_energy(model, state), "world": fc.momentum(model, state, frame="world")}


CASES = {
    "inverse_dynamics": (fc.robots.humanoid, fc.inverse_dynamics, {}, {}),
    "forward_dynamics": (fc.robots.cat, fc.forward_dynamics, {}, {}),
    "mass_matrix": (fc.robots.humanoid, fc.mass_matrix, {}, {}),
    "passive": (fc.robots.cat, fc.coriolis_matrix, {}, {"factorization": "passive"}),
    "reduced_equations": (fc.robots.cat, fc.reduced_equations, {}, {}),
    "own": (fc.robots.revolute_hopper, own, {"gain": 1}, {}),
}


def numbers(result):
    """All numbers of a result, flat."""
    if isinstance(result, dict):
        return np.concatenate([numbers(x) for x in result.values()])
    if isinstance(result, tuple):
        return np.concatenate([numbers(x) for x in result if not isinstance(x, fc.lie.Group)])
    return np.ravel(np.asarray(result, dtype=float))


def by_numpy(model, function, options, arguments, names):
    values = dict(zip(names, arguments, strict=True))
    state = model.unflatten(values.pop("q"), values.pop("v", np.zeros(model.nv)))
    return numbers(function(model, state, *values.values(), **options))


def close(found, expected, tolerance):
    assert found.shape == expected.shape
    assert np.abs(found - expected).max() <= tolerance * max(1.0, np.abs(expected).max())


def renamed(model, name):
    """The robot with an odd name for a joint, a link and itself."""
    joints = (replace(model.joints[0], name=name), *model.joints[1:])
    return replace(model, name=name, joints=joints)


# C ------------------------------------------------------------------------------------------------------------------


def run_c(source, folder, *flags):
    """What the test main prints, one row for each of its states."""
    _, code, main = source.write(folder)
    program_file = folder / "run"
    command = [CC, *STRICT, "-O1", *flags, str(code), str(main), "-o", str(program_file), "-lm"]
    subprocess.run(command, check=True, capture_output=True, text=True)
    run = subprocess.run([str(program_file)], check=True, capture_output=True, text=True)
    return np.array(run.stdout.split(), dtype=float).reshape(len(source.inputs), -1)


@needs_cc
@pytest.mark.parametrize("case", CASES)
def test_c_compiles_without_a_warning_and_gives_the_numbers_of_numpy(case, tmp_path):
    make, function, sizes, options = CASES[case]
    model = make()
    source = compile(model, function, target="c", inputs=sizes, **options)
    names = [a.name for a in trace(Recipe(model, function, sizes, options=options), whole=True).arguments]
    printed = run_c(source, tmp_path)
    for row, arguments in zip(printed, source.inputs, strict=True):
        close(row, by_numpy(model, function, options, arguments, names), 1e-12)


@needs_cc
def test_c_passes_the_sanitizers(tmp_path):
    probe = tmp_path / "probe.c"
    probe.write_text("int main(void) { return 0; }\n")
    if subprocess.run([CC, *SANITIZERS, str(probe), "-o", str(tmp_path / "probe")], capture_output=True).returncode:
        pytest.skip("the compiler has no sanitizers")
    source = compile(fc.robots.cat(), fc.forward_dynamics, target="c")
    run_c(source, tmp_path, *SANITIZERS)  # the main compares; a finding ends it with an error


@needs_cc
def test_c_in_single_precision_and_with_fused_products(tmp_path):
    model = fc.robots.cat()
    names = [a.name for a in trace(Recipe(model, fc.inverse_dynamics)).arguments]
    for dtype, fma, tolerance in (("float32", False, 1e-4), ("float64", True, 1e-12)):
        source = c.build(Recipe(model, fc.inverse_dynamics, dtype=dtype), fma=fma)
        assert ("fma(" in source.source) == fma
        printed = run_c(source, tmp_path)
        for row, arguments in zip(printed, source.inputs, strict=True):
            exact = [np.asarray(x, dtype=float) for x in arguments]
            close(row, by_numpy(model, fc.inverse_dynamics, {}, exact, names), tolerance)


@needs_cc
def test_c_uses_nothing_but_math_and_no_memory_of_its_own(tmp_path):
    source = compile(fc.robots.cat(), fc.inverse_dynamics, target="c")
    _, code, _ = source.write(tmp_path)
    assert re.findall(r"#include (.*)", source.source) == ['"fc_inverse_dynamics.h"', "<math.h>"]
    subprocess.run([CC, *STRICT, "-O1", "-c", str(code), "-o", str(tmp_path / "code.o")], check=True)
    if shutil.which("nm"):
        symbols = subprocess.run(["nm", str(tmp_path / "code.o")], capture_output=True, text=True, check=True).stdout
        undefined = set(re.findall(r" U _?(\w+)", symbols))
        assert undefined <= {"sin", "cos", "sincos", "sqrt", "_GLOBAL_OFFSET_TABLE_"}
        assert not re.search(r" [BbDdC] ", symbols)  # no variables: reentrant


@needs_cc
@pytest.mark.skipif(shutil.which("g++") is None, reason="needs a C++ compiler")
def test_the_header_is_fine_in_cpp(tmp_path):
    header, *_ = compile(fc.robots.cat(), fc.mass_matrix, target="c").write(tmp_path)
    (tmp_path / "use.cpp").write_text(f'#include "{header.name}"\nint main() {{ fc_mass_matrix_work w; (void)w; }}\n')
    command = ["g++", "-Wall", "-Wextra", "-pedantic", "-Werror", "-c", "use.cpp", "-o", "use.o"]
    subprocess.run(command, check=True, cwd=tmp_path)


# names --------------------------------------------------------------------------------------------------------------


@needs_cc
def test_names_of_a_robot_never_reach_the_code(tmp_path):
    model = renamed(fc.robots.cat(), EVIL)
    source = compile(model, fc.inverse_dynamics, target="c")
    kernel = compile(model, fc.inverse_dynamics, target="cuda")
    for text in (source.header, source.source, source.main, kernel.source):
        assert text.isascii()
        assert not [bad for bad in ("#error", "??", "\\\n") if bad in text]
        assert text.count("/*") == text.count("*/")
        assert not [bad for bad in ("knee", "rm -rf") if bad in re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)]
    assert "knee %2A%2F %23error" in source.header
    run_c(source, tmp_path)


def test_names_of_functions_and_arguments_are_made_harmless():
    assert shared.identifier(lambda model, state: None) == "fc_function"
    wild = lambda model, state: None  # noqa: E731
    wild.__name__ = "x; system(1)"
    assert shared.identifier(wild) == "fc_function"
    wild.__name__ = "größe"
    assert shared.identifier(wild) == "fc_function"
    assert len(escaping.comment("é" * 1000)) == 80

    def keyword(model, state, double):
        return double + fc.kinetic_energy(model, state)

    source = compile(fc.robots.cat(), keyword, target="c", inputs={"double": 2})
    assert "a2[2]" in source.header


def test_an_unknown_target_is_refused():
    with pytest.raises(ModelError, match="target is one of cpu, c, cuda, casadi, jax, javascript, not 'java'"):
        compile(fc.robots.cat(), fc.mass_matrix, target="java")
    with pytest.raises(ModelError, match="target"):
        targets.check("cpu ")


@pytest.mark.parametrize("x", [0.1, -1e-300, 1e22, 3.0, float("inf"), float("nan"), -0.0])
def test_constants_read_back(x):
    for dtype in ("float64", "float32"):
        text = shared.Real(dtype).constant(x).strip("()").rstrip("f").replace("INFINITY", "inf").replace("NAN", "nan")
        with np.errstate(over="ignore"):
            assert np.array_equal(np.dtype(dtype).type(text), np.dtype(dtype).type(x), equal_nan=True)


# CasADi -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES)
def test_casadi_gives_the_numbers_of_numpy(case):
    make, function, sizes, options = CASES[case]
    model = make()
    made = compile(model, function, target="casadi", inputs=sizes, **options)
    traced = trace(Recipe(model, function, sizes, options=options), whole=True)
    assert made.name_in() == [a.name for a in traced.arguments]
    arguments = c._test_inputs(model, traced, "float64")[0]
    outputs = made.call([casadi.DM(x) for x in arguments])
    found = np.concatenate([np.asarray(x.full()).ravel() for x in outputs])
    close(found, by_numpy(model, function, options, arguments, made.name_in()), 1e-12)


def test_casadi_names_fields_keeps_zeros_and_differentiates():
    hopper = fc.robots.revolute_hopper()
    rel = compile(hopper, fc.reduced_equations, target="casadi")
    assert rel.name_out()[:4] == ["Mb", "Lq", "A", "mu"]
    humanoid = fc.robots.humanoid()
    M = compile(humanoid, fc.mass_matrix, target="casadi")
    assert M.size_out(0) == (humanoid.nv, humanoid.nv)
    assert M.sparsity_out(0).nnz() < humanoid.nv**2 // 2  # limbs do not couple
    energy = compile(hopper, fc.kinetic_energy, target="casadi")
    q, v = casadi.SX.sym("q", hopper.nq), casadi.SX.sym("v", hopper.nv)
    momentum = casadi.Function("p", [q, v], [casadi.gradient(energy(q, v), v)])
    state = hopper.random_state(np.random.default_rng(1))
    flat = hopper.flatten(state)
    expected = fc.mass_matrix(hopper, state) @ flat[1]
    close(np.ravel(momentum(*flat).full()), expected, 1e-12)
    with pytest.raises(ModelError, match="float64"):
        compile(hopper, fc.mass_matrix, target="casadi", dtype="float32")


# JAX ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", ["forward_dynamics", "passive", "own"])
def test_jax_gives_the_numbers_of_numpy(case):
    make, function, sizes, options = CASES[case]
    model = make()
    made = compile(model, function, target="jax", inputs=sizes, **options)
    traced = trace(Recipe(model, function, sizes, options=options))
    tests = c._test_inputs(model, traced, "float64")
    names = [a.name for a in traced.arguments]
    with jax.enable_x64(True):
        batch = jax.jit(jax.vmap(made))(*(np.stack(x) for x in zip(*tests, strict=True)))
        for k, arguments in enumerate(tests):
            expected = by_numpy(model, function, options, arguments, names)
            close(numbers(jax.tree.map(lambda x, k=k: x[k], batch)), expected, 1e-12)
        close(numbers(made(*tests[0])), by_numpy(model, function, options, tests[0], names), 1e-12)


def test_jax_takes_batches_gradients_and_single_precision():
    hopper = fc.robots.revolute_hopper()
    energy = compile(hopper, fc.kinetic_energy, target="jax")
    state = hopper.random_state(np.random.default_rng(2))
    q, v = hopper.flatten(state)
    with jax.enable_x64(True):
        gradient = jax.jit(jax.grad(energy, argnums=1))(q, v)
        close(np.asarray(gradient), fc.mass_matrix(hopper, state) @ v, 1e-12)
        assert energy(np.tile(q, (2, 3, 1)), v).shape == (2, 3)
    single = energy(jnp.asarray(q, jnp.float32), jnp.asarray(v, jnp.float32))
    assert single.dtype == jnp.float32
    assert abs(float(single) - fc.kinetic_energy(hopper, state)) < 1e-3
    with pytest.raises(ModelError, match="takes 2 arguments"):
        energy(q)
    with pytest.raises(ModelError, match="v must have shape"):
        energy(q, v[:-1])


def scaled(model, state, double, sin, q_wanted):
    return state.joints * double + sin * q_wanted


@pytest.mark.skipif(CC is None, reason="no C compiler")
def test_arguments_keep_their_names_in_c_unless_they_mean_something_there(tmp_path):
    model = fc.robots.planar_arm()
    plain = fc.compile(model, fc.inverse_dynamics, target="c")
    assert "(const double q[3], const double v[3], const double acceleration[3], double out[3]," in plain.header
    assert " *   q[3]  configuration: base coordinates, then joints (m, rad)" in plain.header
    assert "%" not in plain.header
    odd = fc.compile(model, scaled, target="c", inputs={"double": 3, "sin": 3, "q_wanted": 3})
    assert (
        "(const double q[3], const double v[3], const double a2[3], const double a3[3], const double q_wanted[3],"
        in odd.header
    )
    source, *_ = (p for p in odd.write(tmp_path) if p.name == "fc_scaled.c")
    command = [CC, "-std=c99", "-Wall", "-Werror", str(source), str(tmp_path / "fc_scaled_test.c"), "-lm"]
    subprocess.run([*command, "-o", str(tmp_path / "run")], check=True)
    subprocess.run([str(tmp_path / "run")], check=True, stdout=subprocess.DEVNULL)


def slider():
    """Nothing of its dynamics depends on velocities."""
    links = tuple(fc.Link(name, fc.Body(1.0, np.zeros(3), np.eye(3))) for name in ("base", "cart"))
    joint = fc.Joint("rail", fc.joints.Prismatic((1.0, 0.0, 0.0)), "base", "cart")
    return fc.Model("slider", fc.lie.Trivial(), links, (joint,))


@pytest.mark.parametrize("function", [fc.mass_matrix, fc.bias_forces, fc.link_pose, fc.inverse_dynamics])
def test_signatures_do_not_depend_on_the_robot(function):
    options = {"link": "cart"} if function is fc.link_pose else {}
    model, more = slider(), ["acceleration"] if function is fc.inverse_dynamics else []
    prototype = re.search(r"void fc_\w+\((.*)\);", compile(model, function, target="c", **options).header).group(1)
    assert re.findall(r"const double (\w+)\[", prototype) == ["q", "v", *more]
    made = compile(model, function, target="casadi", **options)
    assert made.name_in() == ["q", "v", *more]
    found = made(q=[0.3], **{name: [1.0] for name in more})["out"]  # v is left out by name
    q, v = model.flatten(model.state(joints=[0.3]))
    np.testing.assert_allclose(
        found, np.reshape(compile(model, function, **options)(q, v, *([[1.0]] * len(more))), found.shape)
    )


def test_c_that_cannot_be_written_is_an_error_of_ours(tmp_path, monkeypatch):
    """And leaves no half of a file, on a disk that is full; it was an OSError."""
    arm = fc.robots.planar_arm()
    source = fc.compile(arm, fc.mass_matrix, target="c")
    (tmp_path / "file").write_text("no folder", encoding="utf-8")
    with pytest.raises(fc.FileError, match="the folder cannot be made"):
        source.write(tmp_path / "file")

    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(fc.FileError, match="the file cannot be written: No space left on device"):
        source.write(tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []
