"""Bars of runs and compiles: after a second, where somebody looks, gone when done."""

import io
import os
import subprocess
import sys
import time
import warnings
from importlib import import_module
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from rich import console as rich_console
from rich.console import Console
from rich.progress import Progress
from typer.testing import CliRunner

import fallingcat as fc
from fallingcat import progress
from fallingcat.cli import app, certify_file
from fallingcat.errors import Interrupted
from fallingcat.formulations import certificate
from fallingcat.symbolic import size

CAT = fc.robots.two_cylinder_cat()
SLOW = """
import time
import fallingcat as fc
cat = fc.robots.two_cylinder_cat()
def controller(t, state):
    time.sleep(0.05)
    return [0.0, 0.0]
run = fc.simulate(cat, cat.neutral(), 0.16, controller, dt=0.02, integrator="rkmk4")
print(run.status)
"""


@pytest.fixture
def screen(monkeypatch):
    """What a terminal shows, for bars that come at once."""
    out = io.StringIO()
    monkeypatch.setattr(progress, "BAR_DELAY", 0.0)
    monkeypatch.setattr(progress, "BAR_PERIOD", 0.0)
    monkeypatch.setattr(rich_console, "Console", lambda **_: Console(file=out, force_terminal=True, width=80))
    return out


def test_work_that_cannot_say_how_far_it_is_warns_by_the_clock(monkeypatch):
    def slow_function(model, state):
        time.sleep(0.3)
        return state.joints

    monkeypatch.setattr(progress, "WARNING_DELAY", 0.01)
    monkeypatch.setattr(certificate, "certify", lambda equations, tolerance: time.sleep(0.3))
    with pytest.warns(progress.SlowWarning, match="certifying 'two_cylinder_cat' has not ended after 0 s; Ctrl-C"):
        fc.equations(CAT, CAT.neutral()).certify()
    with pytest.warns(progress.SlowWarning, match="compiling slow_function of 'two_cylinder_cat' has not ended"):
        fc.compile(CAT, slow_function)


def slowly(t, state):
    time.sleep(2e-3)
    return [0.0, 0.0]


def test_a_run_shows_how_far_it_is(screen):
    shares = []
    run = fc.simulate(CAT, CAT.neutral(), 0.1, slowly, dt=0.01, integrator="rkmk4", progress=True)
    assert run.status == "finished"
    assert "simulating 'two_cylinder_cat'" in screen.getvalue()
    assert "\x1b[2K" in screen.getvalue()  # the line is erased
    before = screen.getvalue()
    fc.simulate(CAT, CAT.neutral(), 0.1, slowly, dt=0.01, integrator="rkmk4", progress=shares.append)
    assert shares == pytest.approx([0.1 * k for k in range(1, 11)])
    fc.simulate(CAT, CAT.neutral(), 0.1, slowly, dt=0.01, integrator="rkmk4", progress=False)
    fc.simulate(CAT, CAT.neutral(), 0.1, slowly, dt=0.01, integrator="rkmk4")  # a pipe
    assert screen.getvalue() == before


def test_it_is_gone_after_an_interrupt(screen):
    def pressed(t, state):
        if t > 0.05:
            raise KeyboardInterrupt
        return slowly(t, state)

    with pytest.raises(Interrupted):
        fc.simulate(CAT, CAT.neutral(), 1.0, pressed, dt=0.01, integrator="rkmk4", progress=True)
    with Progress(console=Console(file=io.StringIO(), force_terminal=True)):
        pass  # another bar may begin


def test_beside_another_bar_it_stays_away(screen):
    other = io.StringIO()
    with (
        Progress(console=Console(file=other, force_terminal=True)) as bar,
        progress.report_progress("work", True) as tell,
    ):
        bar.add_task("mine", total=1.0)
        time.sleep(0.05)
        tell(0.5)
    assert "mine" in other.getvalue()


def test_what_is_done_within_a_second_says_nothing(screen, monkeypatch):
    monkeypatch.setattr(progress, "BAR_DELAY", 60.0)
    with progress.report_progress("work", True) as tell:
        tell(0.5)
    assert screen.getvalue() == ""


def test_names_are_no_markup(screen):
    with progress.report_progress("[bold]x[/bold]", True):
        time.sleep(0.05)
    assert "[bold]x[/bold]" in screen.getvalue()


def test_compiles_tell_too(screen, monkeypatch):
    told = []
    monkeypatch.setattr(progress, "is_interactive", lambda: True)
    monkeypatch.setattr(progress._Bar, "show", lambda self: told.append(self._what))

    def mine(model, state):
        return fc.mass_matrix(model, state) + 1.0

    fc.compile(CAT, mine)
    assert "compiling mine of 'two_cylinder_cat'" in told


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_in_a_terminal_and_not_in_a_pipe():
    import pty

    piped = subprocess.run([sys.executable, "-c", SLOW], capture_output=True, text=True, check=True)
    assert (piped.stdout, piped.stderr) == ("finished\n", "")
    here, there = pty.openpty()
    shown = subprocess.Popen(
        [sys.executable, "-c", SLOW], stdout=subprocess.PIPE, stderr=there, env=os.environ | {"TERM": "xterm"}
    )
    os.close(there)
    seen = b""
    while True:
        try:
            part = os.read(here, 1 << 16)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        seen += part
    assert shown.communicate()[0] == b"finished\n"
    assert b"simulating 'two_cylinder_cat'" in seen


def test_what_takes_long_says_so_once_without_a_terminal(monkeypatch):
    monkeypatch.setattr(progress, "WARNING_DELAY", 0.02)
    with pytest.warns(progress.SlowWarning, match=r"simulating 'two_cylinder_cat' has done .* %.* s are left") as said:
        run = fc.simulate(CAT, CAT.neutral(), 0.3, slowly, dt=0.005, integrator="rkmk4")
    assert run.status == "finished"
    assert sum("has done" in str(w.message) for w in said) == 1
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*has done")
        fc.simulate(CAT, CAT.neutral(), 0.3, slowly, dt=0.005, integrator="rkmk4", progress=False)


def test_large_work_is_refused_or_warned_of_before_it_begins(monkeypatch, tmp_path):
    """By name, with an estimate: certificates, equations, runs, derivations, and the command line."""
    cat = fc.robots.cat()
    monkeypatch.setattr(progress, "MAX_BYTES", 6 * 8 * 16**2 - 1)
    for call, what in (
        (lambda: fc.equations(cat, cat.neutral()), "the equations of 'cat'"),
        (lambda: fc.simulate(cat, cat.neutral(), 0.01), "a run of 'cat' with 16 degrees of freedom"),
        (lambda: fc.rollout(cat, [cat.neutral()], 0.01), "a run of 'cat' with 16 degrees of freedom"),
    ):
        with pytest.raises(fc.ModelError, match=rf"{what} would take about .* GB of memory, more than 4: lock joints"):
            call()
    monkeypatch.setattr(progress, "MAX_BYTES", 6 * 8 * 16**2)
    with pytest.raises(fc.ModelError, match="a certificate of 'cat' would take about"):
        fc.equations(cat, cat.neutral()).certify()
    monkeypatch.undo()
    monkeypatch.setattr(progress, "MAX_UNANNOUNCED_TIME", 0.4)
    with pytest.warns(progress.SlowWarning, match="first run of 'cat' with 16 degrees of freedom will take about 0 s"):
        fc.simulate(cat, cat.neutral(), 0.01, progress=False)
    monkeypatch.setattr(progress, "MAX_UNANNOUNCED_TIME", 1e-3)
    with pytest.warns(progress.SlowWarning, match="certifying 'cat' will take about 0 s: lock joints"):
        fc.equations(cat, cat.neutral()).certify()

    def own(model, state):
        return fc.coriolis_matrix(model, state)

    with pytest.warns(progress.SlowWarning, match=r"compiling own of 'cat', [\d,]+ operations, will take about 0 s"):
        fc.compile(cat, own)
    monkeypatch.setattr(size, "MAX_LINKS", 10)
    with pytest.raises(fc.ModelError, match=r"'cat' has 11 links, too many for symbols \(10\)"):
        fc.symbolic.derive(cat)
    monkeypatch.setattr(certify_file, "SECONDS_EACH", 10.0)
    fc.save(fc.robots.two_cylinder_cat(), tmp_path / "cat.toml")
    said = CliRunner().invoke(app, ["certify", str(tmp_path / "cat.toml"), "--states", "1"])
    assert said.exit_code == 0
    assert "'two_cylinder_cat' at 1 state takes about 11 min" in said.stderr


def test_stiff_springs_and_long_chains_are_warned_of_before_a_run_begins(monkeypatch):
    """They warned after half a minute, or not at all."""
    monkeypatch.setattr(import_module("fallingcat.simulation.simulate"), "Run", lambda *_, **__: pytest.fail("begun"))
    cat = fc.robots.cat()
    state = cat.random_state(np.random.default_rng(0))
    with (
        pytest.warns(progress.SlowWarning, match=r"'cat' by 'rosenbrock', which follows springs at .*e\+08 rad/s"),
        pytest.raises(pytest.fail.Exception),
    ):
        fc.simulate(cat, state, 1.0, fc.control.JointSpring(1e14))
    chain = fc.robots.random_tree(np.random.default_rng(0), 300)
    with (
        pytest.warns(progress.SlowWarning, match=r"the first run of .* degrees of freedom will take about"),
        pytest.raises(pytest.fail.Exception),
    ):
        fc.simulate(chain, chain.neutral(), 1.0, integrator="rkmk4")
    monkeypatch.undo()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fc.simulate(cat, state, 0.01, fc.control.JointSpring(1e3))


def test_the_rest_is_estimated_after_seconds(monkeypatch):
    """From the pace since something was done first: what starts slowly is not said to take years."""
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(progress.time, "monotonic", lambda: clock.now)

    def tell(notice, *done):
        for clock.now, share in done:
            notice.tell(share)

    with pytest.warns(progress.SlowWarning) as said:
        tell(progress._SlowNotice("a run"), (9.0, 0.0), (10.0, 1e-3), (10.5, 0.1), (14.0, 1.1e-2), (15.0, 2e-2))
    (warning,) = said
    assert str(warning.message) == "a run has done 1.1 % in 14 s: at this pace about 7 min are left"
    clock.now = 0.0
    with pytest.warns(progress.SlowWarning, match=r"a run has done 0 % in 31 s$"):
        tell(progress._SlowNotice("a run"), (2.0, 0.0), (31.0, 0.0))


def test_a_package_that_others_have_imported_makes_no_notebook(monkeypatch):
    """Bars were drawn in every process that had imported ipykernel."""
    monkeypatch.setitem(sys.modules, "ipykernel", ModuleType("ipykernel"))
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert not progress.is_interactive()
    kernel = type("ZMQInteractiveShell", (), {})()
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: kernel))
    assert progress.is_interactive()


def test_warnings_of_slow_work_name_the_line_of_the_program(monkeypatch):
    """From a thread too: it said a line of ``threading.py``."""
    monkeypatch.setattr(progress, "WARNING_DELAY", 0.01)
    monkeypatch.setattr(certificate, "certify", lambda equations, tolerance: time.sleep(0.3))
    with pytest.warns(progress.SlowWarning, match="has not ended") as said:
        fc.equations(CAT, CAT.neutral()).certify()
    assert [each.filename for each in said] == [__file__]
    with pytest.warns(progress.SlowWarning, match="a thing will take about 60 s") as said:
        progress.warn_of_time("a thing", 60.0)
    assert [each.filename for each in said] == [__file__]
