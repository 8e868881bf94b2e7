"""Pages: one file, no network, nothing that a name says is markup."""

import json
import re

import numpy as np
import pytest
from nasty_page import NASTY, nasty_page

import fallingcat as fc
from fallingcat.errors import ModelError
from fallingcat.views import Box, Capsule, HeatMap, Scene, body_shape, model_shapes


def data_of(html):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.S)[1])


def test_names_survive_as_data_and_are_never_markup():
    html = nasty_page().html()
    data = data_of(html)
    assert data["title"] == data["facts"][0]["label"] == data["blocks"][0]["parts"][0]["name"] == NASTY
    assert html.count("<script") == 2
    assert "<img" not in html
    assert "innerHTML" not in html
    assert "document.write" not in html


def test_the_page_needs_nothing_from_elsewhere():
    html = nasty_page().html()
    assert not re.search(r"(https?:)?//[a-z0-9.-]+\.[a-z]{2,}", html)
    assert "default-src 'none'" in html
    assert not re.search(r"<(link|script|img)[^>]+(href|src)=(?!\"data:)", html)


def test_numbers_that_are_not_finite_are_gaps():
    chart = data_of(nasty_page().html())["blocks"][2]
    assert chart["lines"][1]["y"][:5] == [None] * 5
    assert chart["x"][-1] == 1.0


def test_writing_is_atomic_and_readable(tmp_path):
    target = tmp_path / "page.html"
    target.write_text("old")
    assert nasty_page().write(target) == target
    assert target.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    with pytest.raises(FileNotFoundError):
        nasty_page().write(tmp_path / "no" / "page.html")


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(ModelError, match="values of shape"):
        HeatMap("map", [0, 1], [0, 1, 2], np.zeros((3, 2))).data()
    with pytest.raises(ModelError, match="poses of"):
        Scene([0.0, 1.0], {"a": np.zeros((3, 4, 4))}, {"a": []}).data()


def test_bodies_look_like_their_inertia():
    ball = body_shape(fc.robots.cat().links[fc.robots.cat().link_index("head")].body)
    assert isinstance(ball, Capsule)
    assert ball.radius == pytest.approx(0.045)
    front = body_shape(fc.robots.cat().links[0].body)
    length = np.linalg.norm(np.subtract(front.end, front.start)) + 2.0 * front.radius
    assert (front.radius, length) == (pytest.approx(0.055), pytest.approx(0.2))
    plate = body_shape(fc.Body(3.0, np.zeros(3), np.diag([1.0001, 1.0001, 2.0])))
    assert isinstance(plate, Box)
    assert body_shape(fc.Body()) is None
    assert set(model_shapes(fc.robots.humanoid())) == set(fc.robots.humanoid().link_names)
