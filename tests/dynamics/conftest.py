"""`pytest -v tests/dynamics` ends with the worst residual of every law."""

from residuals import WORST


def pytest_terminal_summary(terminalreporter, config):
    if WORST and config.get_verbosity() > 0:
        terminalreporter.section("worst residuals")
        for law, worst in sorted(WORST.items()):
            terminalreporter.write_line(f"{law:60s} {worst:.1e}")
