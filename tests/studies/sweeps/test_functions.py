"""Sweeps of plain functions."""

import numpy as np
import pytest
import zarr

import fallingcat as fc

pytest.importorskip("zarr")
pytest.importorskip("joblib")


def parabola(x, y=2.0, *, n=1):
    if x > 2.5:
        raise ValueError("too far")
    assert isinstance(n, int)
    return {"square": x * x + y, "whole": range(n).stop}


def test_numbers_by_name_over_a_grid(tmp_path):
    found = fc.studies.sweep(parabola, {"x": [1.0, 2.0, 3.0], "n": [1, 4]}, tmp_path / "out", workers=0, y=5.0)
    assert found.data() == {"done": 4, "failed": 2, "total": 6}
    data = found.open()
    np.testing.assert_array_equal(data.square.sel(n=1), [6.0, 9.0, np.nan])
    np.testing.assert_array_equal(data.whole.sel(x=1.0), [1.0, 4.0])
    assert "ValueError: too far" in str(data.error.sel(x=3.0, n=1).values)


def test_one_number_is_the_result(tmp_path):
    found = fc.studies.sweep(lambda a: 3.0 * a, {"a": np.array([1.0, 2.0])}, tmp_path / "out", workers=0)
    np.testing.assert_array_equal(found.open().result, [3.0, 6.0])


def test_in_processes_of_their_own(tmp_path):
    scale = 7.0
    found = fc.studies.sweep(lambda a: scale * a, {"a": [1.0, 2.0, 3.0]}, tmp_path / "out", workers=2)
    np.testing.assert_array_equal(found.open().result, [7.0, 14.0, 21.0])


def test_what_was_stopped_goes_on(tmp_path):
    calls = []

    def noted(a):
        calls.append(a)
        return a

    given = (noted, {"a": [1.0, 2.0, 3.0]}, tmp_path / "out")
    first = fc.studies.sweep(*given, workers=0, measures=["result"])
    assert len(calls) == 3
    assert fc.studies.sweep(*given, workers=0, resume=True, measures=["result"]).data() == first.data()
    assert len(calls) == 3
    with pytest.raises(fc.FallingCatError, match=r"resume=True \(--resume\)"):
        fc.studies.sweep(*given, workers=0)
    with pytest.raises(fc.FallingCatError, match="function"):
        fc.studies.sweep(lambda a: -a, *given[1:], workers=0, resume=True, measures=["result"])


def test_it_reports_progress(tmp_path, capsys):
    seen = []
    fc.studies.sweep(lambda a: a, {"a": [1.0, 2.0]}, tmp_path / "a", workers=0, progress=lambda *x: seen.append(x))
    assert seen[-1] == (2, 0, 2)
    fc.studies.sweep(lambda a: a, {"a": [1.0, 2.0]}, tmp_path / "b", workers=0, progress=True)  # a bar after a second
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda out: fc.studies.sweep(parabola, {"z": [1.0]}, out), "parabola has no argument 'z'"),
        (lambda out: fc.studies.sweep(parabola, {"x": []}, out), "grid has no values of 'x'"),
        (lambda out: fc.studies.sweep(parabola, {"y": [1.0]}, out), "parabola needs 'x'"),
        (
            lambda out: fc.studies.sweep(lambda a: "no number", {"a": [1.0]}, out),
            "returns a number, or numbers by name",
        ),
        (lambda out: fc.studies.sweep(parabola, {"x": [3.0]}, out), r"fails at the first point.*measures=\[...\]"),
        (lambda out: fc.studies.sweep(7, {"x": [3.0]}, out), "or as a function, not by 7"),
        (lambda out: fc.studies.sweep(parabola, {"x": [1.0]}, out, progress="bar"), "progress is True, False"),
    ],
)
def test_what_cannot_be_swept_is_reported(call, words, tmp_path):
    with pytest.raises(fc.FallingCatError, match=words):
        call(tmp_path / "out")


def test_a_task_fails_alone_whatever_it_raises(tmp_path):
    """An error without a text, and what is no Exception, ended the sweep."""

    class Silent(Exception):
        def __str__(self):
            raise RuntimeError("no text")

    raised = {1.0: Silent(), 2.0: SystemExit(5), 3.0: GeneratorExit(), 4.0: RecursionError("too deep")}

    def task(a):
        if a in raised:
            raise raised[a]
        return a

    out = tmp_path / "sweep.zarr"
    found = fc.studies.sweep(task, {"a": [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]}, out, workers=0, progress=False)
    assert found.data() == {"done": 2, "failed": 4, "total": 6}
    errors = zarr.open_group(str(out), mode="r")["error"][:]
    assert [str(error) for error in errors[1:5]] == [
        "Silent",
        "SystemExit: 5",
        "GeneratorExit: ",
        "RecursionError: too deep",
    ]
