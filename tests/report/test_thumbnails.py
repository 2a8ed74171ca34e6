"""Thumbnails in the report: small, few, and of no file outside the folder."""

from __future__ import annotations

import base64
import io
import re

import numpy as np
import pandas as pd
import pytest

from leaven.report import _thumbnails as module
from leaven.report import render_report
from leaven.report._thumbnails import thumbnail
from leaven.tables import label_table

Image = pytest.importorskip("PIL.Image")

SHOWN = re.compile(r'<img class="thumb" src="data:image/(\w+);base64,([^"]+)" alt="([^"]*)">')


@pytest.fixture
def pictures(tmp_path):
    folder = tmp_path / "pictures"
    folder.mkdir()
    rng = np.random.default_rng(0)
    names = [f"{i:02d}.png" for i in range(24)]
    for i, name in enumerate(names):
        pixels = rng.integers(0, 60, size=(6, 8))
        pixels[:, :2] += 180 * (i % 2)
        Image.fromarray(pixels.astype(np.uint8)).save(folder / name)
    kinds = np.where(np.arange(24) % 2, "left", "none").astype(object)
    table = pd.DataFrame({"note": "x", "image": names, "kind": kinds})
    table.loc[8:, "kind"] = None
    return folder, table


def decoded(data):
    return Image.open(io.BytesIO(base64.b64decode(data)))


def test_the_report_shows_the_images_of_its_rows(pictures):
    folder, table = pictures
    result = label_table(table, "kind", method="harmonic", image_folder=folder, ask=3)
    page = render_report(result)
    shown = SHOWN.findall(page)
    asked = [table["image"][row] for row in result.ask]
    assert [name for _, _, name in shown][:3] == asked
    assert len(shown) == 3 + 10
    for form, data, name in shown:
        assert form == "png"
        found = np.asarray(decoded(data).convert("L"))
        np.testing.assert_array_equal(found, np.asarray(Image.open(folder / name)))
    assert "img-src data:" in page
    plain = label_table(
        table.drop(columns="image").assign(x=np.arange(24) % 5 * 1.5), "kind", method="harmonic"
    )
    assert "<img" not in render_report(plain)


def test_vectors_and_tables_without_a_folder(pictures):
    folder, table = pictures
    vectors = np.column_stack([np.arange(24) % 2, 1 - np.arange(24) % 2]) + 0.25
    options = {"method": "harmonic", "vectors": vectors}
    with_images = label_table(table, "kind", image_folder=folder, **options)
    shown = SHOWN.findall(render_report(with_images))
    assert len(shown) == 10  # vectors tell rows apart that are equal in the other columns
    assert not SHOWN.search(render_report(label_table(table, "kind", **options)))


def test_there_are_at_most_so_many(pictures, monkeypatch):
    folder, table = pictures
    monkeypatch.setattr(module, "MOST", 4)
    result = label_table(table, "kind", method="harmonic", image_folder=folder, ask=3)
    assert len({name for _, _, name in SHOWN.findall(render_report(result))}) == 4


def test_large_images_become_small(tmp_path):
    ramp = np.tile(np.linspace(0, 255, 400).astype(np.uint8), (200, 1))
    Image.fromarray(ramp).save(tmp_path / "a.jpg")
    kind, data = re.match(r"data:image/(\w+);base64,(.+)", thumbnail("a.jpg", tmp_path)).groups()
    assert kind == "jpeg"
    assert decoded(data).size == (64, 32)
    assert len(data) < 4 * module.MOST_BYTES / 3


def test_no_other_file_and_no_broken_one_is_shown(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    Image.new("L", (4, 4)).save(tmp_path / "secret.png")
    Image.new("L", (4, 4)).save(folder / "fine.png")
    (folder / "link.png").symlink_to(tmp_path / "secret.png")
    (folder / "text.png").write_text("no image")
    (folder / "image.txt").write_bytes((folder / "fine.png").read_bytes())
    outside = ("../secret.png", str(tmp_path / "secret.png"), "link.png")
    for cell in (*outside, "text.png", "image.txt"):
        assert thumbnail(cell, folder) == ""
    for cell in ("fine.png", str(folder / "fine.png")):
        assert thumbnail(cell, folder).startswith("data:image/png;base64,")


def test_noise_that_does_not_compress_is_left_out(tmp_path):
    noise = np.random.default_rng(0).integers(0, 256, size=(64, 64, 3)).astype(np.uint8)
    Image.fromarray(noise).save(tmp_path / "noise.png")
    assert thumbnail("noise.png", tmp_path) == ""
