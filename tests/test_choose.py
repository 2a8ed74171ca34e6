"""The page that says which method to use knows every public classifier, and its map is drawn."""

from __future__ import annotations

import importlib.util
import re
from html import unescape
from pathlib import Path

import pytest

from leaven import (
    generative,
    graph_based,
    low_density,
    model_selection,
    representation,
    self_labeling,
)

DOCS = Path(__file__).parents[1] / "docs"
PAGE = (DOCS / "guide" / "choose.md").read_text(encoding="utf-8")
FAMILIES = (generative, graph_based, low_density, self_labeling, model_selection, representation)


def classifiers():
    for module in FAMILIES:
        for name in module.__all__:
            found = getattr(module, name)
            if isinstance(found, type) and hasattr(found, "predict_proba"):
                yield f"{module.__name__}.{name}"


@pytest.mark.parametrize("name", sorted(classifiers()))
def test_every_classifier_has_a_full_line(name):
    (line,) = [line for line in PAGE.splitlines() if line.startswith(f"| {{class}}`~{name}`")]
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert len(cells) == 11
    assert all(cells)


def test_the_map_is_what_its_script_draws_and_its_links_exist():
    spec = importlib.util.spec_from_file_location("method_map", DOCS / "figures" / "method_map.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    methods = {method for _, answers in script.MAP for _, method, _ in answers}
    for name, draw in script.DRAWN.items():
        drawn = draw()
        assert (DOCS / "images" / name).read_text(encoding="utf-8") == drawn
        assert f"../images/{name}" in PAGE
        for page in set(re.findall(r'href="([^"]+)\.html"', drawn)):
            assert (DOCS / "guide" / f"{page}.md").exists(), page
        # The boxes, apart from the ground, are links; no form of the map lacks a method.
        assert len(re.findall("<rect", drawn)) - 1 == len(re.findall("<a ", drawn))
        assert methods <= {unescape(text) for text in re.findall(">([^<]+)</text>", drawn)}


def test_every_page_of_the_guide_is_in_its_index():
    index = (DOCS / "guide" / "index.md").read_text(encoding="utf-8")
    pages = {path.stem for path in (DOCS / "guide").glob("*.md")} - {"index", "reproduce"}
    missing = {page for page in pages if f"{{doc}}`{page}`" not in index}
    assert not missing
