"""Pages: one file, no network, nothing that a name says is markup."""

import base64
import json
import re
from dataclasses import replace

import numpy as np
import pytest
from defusedxml import ElementTree
from nasty_page import NASTY, nasty_page

from fallingcat.errors import FileError, ModelError
from fallingcat.visualization import (
    HeatMap,
    Page,
    Picture,
    Scene,
    Surface,
    Table,
    Trace,
    map_svg,
    side_by_side,
    surface_svg,
)
from fallingcat.visualization.figures import zero_segments


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
    with pytest.raises(FileError, match="cannot be written"):
        nasty_page().write(tmp_path / "no" / "page.html")


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(ModelError, match="values of shape"):
        HeatMap("map", [0, 1], [0, 1, 2], np.zeros((3, 2))).data()
    with pytest.raises(ModelError, match="poses of"):
        Scene([0.0, 1.0], {"a": np.zeros((3, 4, 4))}, {"a": []}).data()


def saddle(count=21):
    x = np.linspace(-1.0, 1.0, count)
    return x, x[:, None] ** 2 + x[None, :] ** 2 - 0.25


def test_tables_and_pictures_travel_as_data():
    picture = Picture(NASTY, "<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>")
    data = data_of(Page("p", blocks=[Table(NASTY, ["a", NASTY], [["1", NASTY]]), picture]).html())
    table, shown = data["blocks"]
    assert table["rows"] == [["1", NASTY]]
    assert base64.b64decode(shown["svg"]).decode() == picture.svg
    with pytest.raises(ModelError, match="2 cells"):
        Table("t", ["a", "b"], [["1"]]).data()


def test_zero_lines_of_a_figure_lie_where_the_map_is_zero():
    x, z = saddle(81)
    points = np.concatenate(zero_segments(x, x, z))
    assert len(points) > 100
    assert np.abs(np.linalg.norm(points, axis=1) - 0.5).max() < 2e-3


def test_the_zero_line_is_called_what_the_map_is_of():
    x, z = saddle()
    chart = HeatMap("heights", x, x, z)
    assert ">zero<" in map_svg(chart)
    assert "curvature" not in map_svg(chart)
    assert ">sea level<" in map_svg(replace(chart, zero="sea level"))
    assert replace(chart, zero="sea level").data()["zero"] == "sea level"  # which the page's legend says


def test_figures_are_pictures_without_markup_from_names():
    x, z = saddle()
    circle = 0.5 * np.stack([np.cos(np.linspace(0.0, 7.0, 50)), np.sin(np.linspace(0.0, 7.0, 50))])
    chart = HeatMap(NASTY, x, x, z, NASTY, NASTY, NASTY, traces=[Trace(NASTY, *circle)], equal=True)
    surface = Surface(NASTY, x, x, z, circle, NASTY, NASTY, NASTY, inside=True)
    both = side_by_side([map_svg(chart), surface_svg(surface)])
    root = ElementTree.fromstring(both)
    tags = {element.tag.split("}")[1] for element in root.iter()}
    assert tags == {"svg", "rect", "path", "text", "g", "polygon"}
    assert NASTY in "".join(root.itertext())
    inside = surface_svg(surface).count("<polygon")
    assert 0 < inside < surface_svg(replace(surface, inside=False)).count("<polygon")
