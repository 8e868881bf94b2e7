"""Without a GPU: the orders, moves and stages behind CUDA text, and what is said where CuPy is missing."""

import functools
import itertools
import os
import shutil
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.arrays.operations import OPERATIONS
from fallingcat.compiler import compile
from fallingcat.compiler.codegen import c
from fallingcat.compiler.cuda import cost_model as machine
from fallingcat.compiler.cuda import emit_iterated as cuda_looped
from fallingcat.compiler.cuda import emitter as cuda
from fallingcat.compiler.cuda import min_cut, output_partition, plan_search, stages
from fallingcat.compiler.cuda import rematerialization as recompute
from fallingcat.compiler.cuda import spilling as registers
from fallingcat.compiler.ir import schedule
from fallingcat.compiler.ir.instructions import Input, Instruction
from fallingcat.compiler.ir.program import Program, program
from fallingcat.compiler.ir.trace import Recipe, trace
from fallingcat.errors import ExtraMissingError


def close(found, expected, tolerance):
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=tolerance * max(1.0, np.abs(expected).max()))


def evaluated(lines, known):
    """The values of a straight line; every operand must be there before it is used."""
    known = dict(known)
    run = {op: row.evaluate for op, row in OPERATIONS.items()}
    run |= {
        "fma": lambda a, b, x: a * b + x,
        "fms": lambda a, b, x: a * b - x,
        "fnma": lambda a, b, x: x - a * b,
    }
    for line in lines:
        operands = [known[x] if isinstance(x, int) else x for x in line.operands]
        known[line.value] = run[line.op](*operands)
    return known


@pytest.fixture(scope="module")
def example():
    """The forward dynamics of a humanoid as a program, with inputs and the results that they give."""
    model = fc.robots.humanoid()
    traced = trace(Recipe(model, fc.forward_dynamics))
    made = program(traced.inputs, traced.outputs)
    arguments = c._test_inputs(model, traced, "float64")[0]
    known = {x: float(arguments[place[0]][place[1]]) for x, place in made.inputs.items()}
    q, v, forces = arguments
    return made, arguments, known, np.asarray(fc.forward_dynamics(model, model.unflatten(q, v), forces))


def results_of(made, known):
    return np.array([known[x] if isinstance(x, int) else x for x in made.outputs])


def test_scheduling_keeps_the_numbers_and_few_values_waiting():
    model = fc.robots.humanoid()
    traced = trace(Recipe(model, fc.inverse_dynamics))
    made = program(traced.inputs, traced.outputs)
    order = schedule.schedule(made.instructions, made.inputs, made.outputs)
    assert sorted(order) == sorted(made.instructions)
    assert schedule.waiting(order) <= schedule.waiting(made.instructions)


def test_recomputing_keeps_the_numbers_and_fewer_values(example):
    made, arguments, _, expected = example
    again = recompute.recompute(made)
    known = {x: float(arguments[place[0]][place[1]]) for x, place in again.inputs.items()}
    close(results_of(again, evaluated(again.instructions, known)), expected, 1e-10)

    def waiting(lines):
        return schedule.waiting(schedule.schedule(lines, again.inputs, again.outputs))

    assert waiting(again.instructions) < 0.7 * waiting(made.instructions)
    assert len(again.instructions) < 1.5 * len(made.instructions)


@pytest.mark.parametrize("keep", [8, 40, 10_000])
def test_moves_bring_every_value_back_in_time(example, keep):
    made, _, known, expected = example
    plan = registers.Planner(made.instructions, made.inputs).plan(keep)
    hand, memory, computed = {}, {}, {}
    for step in plan.steps:
        if step.kind == "read":
            hand[step.value] = known[step.value]
        elif step.kind == "spill":
            memory[step.place] = hand.pop(step.value)
        elif step.kind == "reload":
            hand[step.value] = memory.pop(step.place)
        else:
            computed[step.value] = hand[step.value] = evaluated([step.line], hand)[step.value]
        assert step.place < plan.places
    close(results_of(made, computed), expected, 1e-10)
    assert (plan.places == 0) == (keep == 10_000)


@pytest.mark.parametrize("keep", [8, 40, 170])
def test_moves_that_need_too_many_places_are_none(example, keep):
    planner = registers.Planner(example[0].instructions, example[0].inputs)
    plan = planner.plan(keep)
    assert planner.plan_within(keep, plan.places) == plan
    assert planner.plan_within(keep, plan.places - 1) is None
    assert planner.plan_within(keep, 0) is None


def through(cut, arguments, count):
    """What stages write, one after the other."""
    workspace, out = np.full(cut.places, np.nan), np.full(count, np.nan)
    for stage in cut.stages:
        sources = [*arguments, workspace]
        known = {x: float(sources[place[0]][place[1]]) for x, place in stage.inputs.items()}
        known = evaluated(stage.lines, known)
        for place, x in stage.stores:
            workspace[place] = known[x]
        for place, x in stage.outputs:
            out[place] = known[x] if isinstance(x, int) else x
    return out


@pytest.mark.parametrize("largest", [700, 3_000, 100_000])
def test_stages_hand_over_what_the_next_ones_need(example, largest):
    made, arguments, _, expected = example
    made = replace(made, instructions=schedule.schedule(made.instructions, made.inputs, made.outputs))
    cut = stages.stages(made, "float32", largest)
    assert (len(cut.stages) == 1) == (largest == 100_000)
    assert len(stages.stages(made, "float32", largest, more=1).stages) == len(cut.stages) + 1
    close(through(cut, arguments, len(made.outputs)), expected, 1e-10)


def test_the_waist_of_a_floating_robot_is_the_acceleration_of_its_base(example):
    """Six values; what comes after them needs fewer at a time than the whole, and gives the same."""
    made, arguments, _, expected = example
    parts = min_cut.split(made)
    cut = stages.stages(parts.program, "float32", 100_000, cuts=parts.cuts)
    assert [len(stage.stores) for stage in cut.stages] == [6, 0]
    assert cut.places == 6
    close(through(cut, arguments, len(made.outputs)), expected, 1e-10)
    assert max(schedule.waiting(stage.lines) for stage in cut.stages) < 0.7 * schedule.waiting(made.instructions)


def test_a_program_with_several_waists_comes_in_as_many_parts():
    """The reduced equations need the inertia of the whole robot, then how it moves as a whole; and give the same."""
    model = fc.robots.cat()
    traced = trace(Recipe(model, fc.reduced_equations))
    made = program(traced.inputs, traced.outputs)
    arguments = c._test_inputs(model, traced, "float64")[0]
    known = {x: float(arguments[place[0]][place[1]]) for x, place in made.inputs.items()}
    expected = results_of(made, evaluated(made.instructions, known))
    two = min_cut.split(made, plan_search.LATE_INPUT_SHARE)
    three = min_cut.split_last(two, plan_search.LATE_INPUT_SHARE)
    assert three.cuts[0] == two.cuts[0] < three.cuts[1]
    for parts in (two, three):
        cut = stages.stages(parts.program, "float64", 100_000, parts.cuts)
        assert len(cut.stages) == 1 + len(parts.cuts)
        close(through(cut, arguments, len(made.outputs)), expected, 1e-10)


@pytest.mark.parametrize(("largest", "least"), [(100_000, 1), (500, 3)])
def test_results_are_shared_out_among_stages_that_need_nothing_of_each_other(largest, least):
    """Each stage reads inputs alone; together they make all results once."""
    model = fc.robots.quadruped()
    traced = trace(Recipe(model, fc.coriolis_matrix))
    made = program(traced.inputs, traced.outputs)
    arguments = c._test_inputs(model, traced, "float64")[0]
    known = {x: float(arguments[place[0]][place[1]]) for x, place in made.inputs.items()}
    expected = results_of(made, evaluated(made.instructions, known))
    whole = output_partition.split_outputs(min_cut.Parts(made, (0,)), "float64", largest).ordered
    cut = stages.stages(whole.program, "float64", 100_000, whole.cuts[1:])
    assert len(cut.stages) == len(whole.cuts) >= least
    assert cut.places == 0
    assert not any(stage.stores for stage in cut.stages)
    assert sorted(place for stage in cut.stages for place, _ in stage.outputs) == [*range(len(made.outputs))]
    assert max(len(stage.lines) for stage in cut.stages) <= max(1.2 * largest, 0.6 * len(made.instructions))
    close(through(cut, arguments, len(made.outputs)), expected, 1e-10)


def test_after_a_waist_each_limb_is_a_stage_of_its_own():
    """The reduced equations of a robot with limbs: what passes between stages is the waist alone."""
    model = fc.robots.quadruped()
    traced = trace(Recipe(model, fc.reduced_equations))
    made = program(traced.inputs, traced.outputs)
    arguments = c._test_inputs(model, traced, "float64")[0]
    known = {x: float(arguments[place[0]][place[1]]) for x, place in made.inputs.items()}
    expected = results_of(made, evaluated(made.instructions, known))
    parts = min_cut.split_last(min_cut.split(made, plan_search.LATE_INPUT_SHARE), plan_search.LATE_INPUT_SHARE)
    alone = output_partition.split_outputs(parts, "float64", 2_000).ordered
    assert alone.cuts[:2] == parts.cuts
    cut = stages.stages(alone.program, "float64", 100_000, alone.cuts)
    assert len(cut.stages) == 1 + len(alone.cuts) > 3
    assert not any(stage.stores for stage in cut.stages[2:])
    close(through(cut, arguments, len(made.outputs)), expected, 1e-10)


def narrowing(wide, narrow):
    """``wide`` sums of all inputs, ``narrow`` sums of those, and results of these and single inputs."""
    lines, number = [], itertools.count(8)

    def added(op, *operands):
        lines.append(Instruction(next(number), op, operands))
        return lines[-1].value

    def all_of(op, values, start):
        return functools.reduce(lambda a, b: added(op, a, b), values, start)

    first = [all_of("add", range(8), added("mul", 0, float(k))) for k in range(wide)]
    sums = [all_of("add", first, added("mul", k % 8, 2.0 + k)) for k in range(narrow)]
    total = all_of("mul", sums[1:], sums[0])
    results = [*(added("mul", total, k) for k in range(8)), *(added("mul", x, x) for x in sums)]
    return Program((8,), {k: Input(0, k) for k in range(8)}, lines, results, [], 0)


@pytest.mark.parametrize(("wide", "narrow"), [(7, 1), (7, 2), (9, 5), (3, 7)])
def test_waists_are_found_where_programs_narrow(wide, narrow):
    made, arguments = narrowing(wide, narrow), [np.arange(1.0, 9.0)]
    parts = min_cut.split(made)
    cut = stages.stages(parts.program, "float64", 100_000, cuts=parts.cuts)
    assert len(cut.stages[0].stores) == min(wide, narrow)
    known = evaluated(made.instructions, {k: arguments[0][k] for k in range(8)})
    close(through(cut, arguments, len(made.outputs)), results_of(made, known), 1e-12)


def test_what_does_not_narrow_has_no_waist():
    none = min_cut.split(narrowing(min_cut.MAX_CUT_VALUES + 1, min_cut.MAX_CUT_VALUES + 1)) is None
    assert none


@pytest.mark.parametrize("dtype", ["float32", pytest.param("float64", marks=pytest.mark.slow)])
def test_the_fastest_way_is_one_of_those_that_compute_the_same(example, dtype):
    made, arguments, _, expected = example
    took = []
    for way in plan_search._plans(made, dtype):
        close(through(way, arguments, len(made.outputs)), expected, 1e-10)
        took.append(plan_search.seconds(way, dtype))
    assert len(took) >= 4
    assert plan_search.seconds(plan_search.fastest(made, dtype), dtype) == min(took)


def closer_and_closer(judged):
    while judged.closer:
        yield judged.price
        judged = judged.closer()
    yield judged.price


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("long", [False, True])
def test_ways_that_cannot_be_the_fastest_are_not_planned(monkeypatch, long, dtype):
    """The first of the lowest price is taken, as if all were known; what is known first of a way is no more than it."""
    traced = trace(Recipe(fc.robots.quadruped(), fc.forward_dynamics))
    made, judge, whole = (
        program(traced.inputs, traced.outputs),
        plan_search._PlanPrices(dtype, long),
        plan_search.stage_layout,
    )
    every = [*(plan_search._long_plans if long else plan_search._plans)(made, dtype)]
    assert any(isinstance(way, output_partition.Shares) for way in every) == long
    prices = [[*closer_and_closer(judge.first(k, way))] for k, way in enumerate(every)]
    assert all(known == sorted(known) for known in prices)
    first = judge.first(0, every[np.argmin([known[-1] for known in prices])])
    while first.closer:
        first = first.closer()
    planned = []
    monkeypatch.setattr(plan_search, "MIN_LONG_STAGES", 0.0 if long else plan_search.MIN_LONG_STAGES)
    monkeypatch.setattr(plan_search, "stage_layout", lambda stage, kind: planned.append(stage) or whole(stage, kind))
    assert plan_search.fastest(made, dtype) == first.stages
    assert len(planned) < sum(len(way.stages) for way in every if isinstance(way, stages.Stages)) / 2


def test_no_copies_make_a_stage_faster_than_the_least():
    """Also where the cache holds a part, and fetching would be faster than holding; nor does cutting it in two."""
    rng = np.random.default_rng(8)
    faster = 0
    for dtype, rate in machine.INSTRUCTION_RATE.items():
        for _ in range(2000):
            work = machine.Work(rate, rng.uniform(7_000, 9_000), int(rng.integers(0, 2_000)), rng.uniform(0.0, 3e-10))
            warps, copies = rng.uniform(1.0, 16.0), int(rng.integers(0, 1_000))
            fewer = warps * rng.uniform(0.5, 1.0)
            assert work.least(warps) <= work.seconds(copies, fewer)
            rest = machine.Work(rate, rng.uniform(0.0, 5_000), int(rng.integers(0, 2_000)), rng.uniform(0.0, 3e-10))
            both = machine.Work(rate, *(x + y for x, y in zip(work[1:], rest[1:], strict=True)))
            apart = work.seconds(copies, fewer) + rest.seconds(0, warps)
            assert max(both.floor(warps), work.floor(warps) + rest.floor(warps)) <= (1.0 + 1e-15) * apart
            faster += work.seconds(copies, warps) < work.seconds(0, warps)
        assert (faster > 0) == (dtype == "float64")


def test_a_long_program_comes_in_many_short_stages(example, monkeypatch):
    made, arguments, _, expected = example
    monkeypatch.setattr(plan_search, "MIN_LONG_STAGES", 0.5)
    best = plan_search.fastest(made, "float32")
    assert len(best.stages) - len(stages.stages(made, "float32").stages) in plan_search.EXTRA_STAGES
    close(through(best, arguments, len(made.outputs)), expected, 1e-10)


def test_time_grows_with_instructions_traffic_and_what_waits(example):
    made = plan_search._ordered(example[0])
    whole = stages.stages(made, "float32", 100_000).stages[0]
    half = whole._replace(lines=whole.lines[: len(whole.lines) // 2], outputs=[])

    def took(stage, dtype="float32", copies=0, warps=8):
        return machine.Work.of(stage, dtype).seconds(copies, warps)

    assert took(half) < took(whole)
    crowded = half._replace(stores=[(k, line.value) for k, line in enumerate(half.lines)])
    assert took(crowded) > 2.0 * took(half)
    assert took(half, "float64") > took(half)
    assert took(half, copies=500) > took(half)
    assert took(half, warps=4) > 1.5 * took(half)
    assert took(half, warps=16) == took(half)  # eight keep a multiprocessor busy
    assert took(half, copies=machine.INSTRUCTION_CACHE + machine.INSTRUCTION_CACHE_MARGIN) > 4.0 * took(
        half
    )  # fetched again by every warp


def test_a_stage_is_laid_out_for_what_waits(example):
    """As many warps as its registers leave, and as shared memory holds what they do not."""
    made = plan_search._ordered(example[0])
    whole = stages.stages(made, "float32", 100_000).stages[0]
    laid = cuda.stage_layout(whole, "float32")
    assert laid.moves.places > 0
    assert laid.shape == cuda.SHAPES["float32"][-1]
    few = stages.stages(made, "float32", 100_000, more=40).stages[0]
    laid = cuda.stage_layout(few, "float32")
    assert laid.moves.places == 0
    assert laid.shape == cuda.SHAPES["float32"][0]
    assert cuda.Shape(64, 4, 170).warps(0) == 8
    assert cuda.Shape(64, 4, 170).warps(4 * 454) == 4  # 454 numbers of each thread: 128 threads


def test_without_cupy_there_is_the_text_and_a_clear_error(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    model = fc.robots.cat()
    kernel = compile(model, fc.mass_matrix, target="cuda", dtype="float32")
    assert "__global__" in kernel.source
    assert "double" not in kernel.source.replace("double_as", "")
    assert kernel.signature[0].name == "q"
    with pytest.raises(ExtraMissingError, match=r"'\.\[gpu\]'") as error:
        kernel(np.zeros(model.nq))
    assert "\n" not in str(error.value)


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc")
def test_nvcc_compiles_the_text(tmp_path):
    """For machines that copy to shared memory by themselves, and for older ones; in a loop, too."""
    for dtype, chip in (("float32", "sm_75"), ("float64", "sm_80")):
        kernel = compile(fc.robots.revolute_hopper(), fc.forward_dynamics, target="cuda", dtype=dtype)
        again = cuda_looped.text(kernel.stages.stages[0], len(kernel.signature), dtype, "again")
        (tmp_path / "kernel.cu").write_text(f"{kernel.source}\n{again.source}")
        command = ["nvcc", f"-arch={chip}", "-ptx", "kernel.cu", "-o", os.devnull]
        subprocess.run(command, check=True, cwd=tmp_path, capture_output=True, text=True)


def test_a_part_that_is_one_long_instruction_is_not_cut():
    lines = [Instruction(k, "neg", (k - 1,)) for k in range(1, 5)]
    assert stages.bounds(lines, [1.0, 100.0, 1.0, 1.0], 3) == []
    assert stages.bounds(lines, [1.0] * 4, 2) == [2]
