"""`pytest -v tests/formulations` ends with the worst residual of every law."""

import pytest
from residuals import WORST


@pytest.hookimpl(tryfirst=True)
def pytest_terminal_summary(terminalreporter, config):
    if WORST and config.get_verbosity() > 0:
        terminalreporter.section("worst residuals")
        for law, worst in sorted(WORST.items()):
            terminalreporter.write_line(f"{law:60s} {worst:.1e}")
        WORST.clear()  # other folders print theirs only if these did not
