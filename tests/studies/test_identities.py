"""Equations of the documents as studies: they hold, and they notice what does not."""

from __future__ import annotations

import numpy as np
import pytest

import fallingcat.studies as fs
from fallingcat.errors import ModelError
from fallingcat.lie import SE2
from fallingcat.studies.identities import GROUPS


@pytest.mark.parametrize(
    ("name", "differ"), [("from-equations", 0), ("mishra-equations", 0), ("traversaro-identities", 1)]
)
def test_what_is_claimed_holds_but_lemma_4_3_for_every_matrix(name, differ):
    result = fs.run_study(fs.load(name))
    wrong = [row for row in result.rows if row.holds is not True]
    assert len(wrong) == differ
    assert all("Lemma 4.3" in row.where and row.ours > 1e-3 for row in wrong)
    assert {row.category for row in result.rows if row not in wrong} == {"identity"}  # no document prints "holds"
    assert all(row.category == "printed statement" for row in wrong)
    assert len(result.rows) > 10
    assert result.page().blocks


def test_a_wrong_sign_is_noticed(monkeypatch):
    """That of [From] (79): velocity, series and Coriolis sum of SE(2) fail, nothing else does."""

    class Printed(SE2):
        def dexp_right(self, x):
            return 2.0 * np.eye(3) - super().dexp_right(x)

    monkeypatch.setitem(GROUPS, "SE(2)", Printed())
    broken = {row.name for row in fs.run("from-equations", samples=3).rows if row.holds is False}
    words = ("velocity on SE(2)", "series of the velocity matrix, SE(2)", "Coriolis matrix, SE(2)")
    assert broken == set(words)


def test_a_certificate_that_is_not_there_is_named():
    seen = fs.kind_of("certificates").run(
        fs.load("mishra-equations").parameters.model_copy(update={"states": 1}), print
    )
    with pytest.raises(ModelError, match="no certificate bodies/hamel: there are body/"):
        fs.kind_of("certificates").measure("bodies/hamel/power")(seen)
    with pytest.raises(ModelError, match="powers"):
        fs.kind_of("certificates").measure("body/hamel/powers")(seen)
    assert fs.kind_of("certificates").measures["not_proved"](seen) == 0
