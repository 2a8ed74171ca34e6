"""Images: their pixels, their labels, and those that do not open."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import leaven
from leaven.cli import main
from leaven.tables import TableError, join_labels, label_table, labels_of_folders
from leaven.tables._images import Pixels, find_pixels, read_images

Image = pytest.importorskip("PIL.Image")


def draw(folder, n_images=24, size=(8, 6)):
    """Images of a bar at the left or at the top, with noise; returns paths and classes."""
    rng = np.random.default_rng(0)
    names, kinds = [], []
    for i in range(n_images):
        pixels = rng.integers(0, 60, size=size[::-1])
        kind = "left" if i % 2 else "top"
        if kind == "left":
            pixels[:, :2] += 180
        else:
            pixels[:2] += 180
        name = f"{i:03d}.png"
        Image.fromarray(pixels.astype(np.uint8)).save(folder / name)
        names.append(name)
        kinds.append(kind)
    return names, np.array(kinds, dtype=object)


@pytest.fixture
def pictures(tmp_path):
    folder = tmp_path / "pictures"
    folder.mkdir()
    names, kinds = draw(folder)
    table = pd.DataFrame({"image": names, "kind": kinds})
    table.loc[8:, "kind"] = None
    return folder, table, kinds


def run(*words):
    return CliRunner().invoke(main, [str(word) for word in words])


def test_pixels_are_those_that_were_saved(tmp_path):
    wanted = np.array([[3, 250, 17], [90, 41, 200]], dtype=np.uint8)
    Image.fromarray(wanted).save(tmp_path / "a.png")
    images, unread = read_images(pd.Series(["a.png", str(tmp_path / "a.png")]), tmp_path)
    for image in images:
        np.testing.assert_array_equal(image, wanted)
    assert unread == {}
    found = Pixels("p", (3, 2)).join(pd.DataFrame({"p": ["a.png"]}), tmp_path)
    np.testing.assert_array_equal(found["p_pixels"].iloc[0], wanted.ravel())


def test_images_are_labeled_by_their_pixels(pictures, tmp_path):
    folder, table, truth = pictures
    result = label_table(table, "kind", method="harmonic", image_folder=folder, details=False)
    assert (result.table["kind_predicted"] == truth).all()
    assert result.summary.columns == {"image_pixels": "vector"}
    assert "image_pixels" not in result.table
    result.save(tmp_path / "m.leaven")
    model = leaven.load(tmp_path / "m.leaven")
    found = model.predict(table[["image"]], image_folder=folder)
    assert (found == truth).all()
    with pytest.raises(TableError, match="pipeline_ does not read images"):
        _ = result.pipeline_


def test_without_a_folder_the_paths_are_not_used(pictures):
    _, table, _ = pictures
    with pytest.raises(TableError, match="'image' holds paths of images"):
        label_table(table, "kind", method="harmonic")


def test_images_that_do_not_open_are_named_skipped_and_counted(pictures):
    folder, table, truth = pictures
    (folder / "009.png").write_bytes(b"no image")
    (folder / "010.png").write_bytes((folder / "010.png").read_bytes()[:40])
    (folder / "011.png").unlink()
    Image.new("L", (5, 5)).save(folder / "012.png")
    images, unread = read_images(table["image"], folder)
    assert sum(image is None for image in images) == 3
    assert unread["009.png"] == "it is no image"
    assert unread["011.png"] == "no such file"
    with pytest.warns(UserWarning, match=r"4 images were skipped: '009.png' \(it is no image\)"):
        joined = Pixels("image", (8, 6)).join(table, folder)
    assert joined["image_pixels"].isna().tolist() == [9 <= i <= 12 for i in range(24)]
    (folder / "012.png").unlink()
    with (
        pytest.warns(UserWarning, match="4 images were skipped"),
        pytest.warns(UserWarning, match="4 rows have no cell in the columns"),
    ):
        found = label_table(
            table, "kind", method="logistic-regression", image_folder=folder, details=False
        )
    right = found.table["kind_predicted"] == truth
    assert right[[i for i in range(24) if not 9 <= i <= 12]].all()


def test_new_images_of_another_size_are_skipped(pictures):
    folder, _, _ = pictures
    Image.new("L", (5, 7)).save(folder / "new.png")
    with pytest.warns(
        UserWarning, match=r"1 image was skipped: 'new.png' \(it is 5 x 7, not 8 x 6"
    ):
        Pixels("image", (8, 6)).join(pd.DataFrame({"image": ["000.png", "new.png"]}), folder)


def test_large_images_need_vectors(pictures):
    folder, table, truth = pictures
    for name in table["image"]:
        Image.new("L", (100, 80)).save(folder / name)
    with pytest.raises(TableError, match=r"too large or of several sizes \(100 x 80\)") as caught:
        label_table(table, "kind", image_folder=folder)
    assert "--vectors" in caught.value.for_command_line()
    vectors = np.column_stack([truth == "left", truth == "top"]) + 0.25
    found = label_table(
        table, "kind", method="harmonic", image_folder=folder, vectors=vectors, details=False
    )
    assert (found.table["kind_predicted"] == truth).all()


def test_other_columns_are_learned_from_where_images_cannot_be(pictures, tmp_path):
    folder, table, truth = pictures
    table["size"] = np.where(truth == "left", 2.5, 7.5) + np.arange(24) / 100
    with pytest.warns(UserWarning, match=r"Not learned from: No image of 'image' can be read"):
        found = label_table(
            table, "kind", method="naive-bayes", image_folder=tmp_path, details=False
        )
    assert (found.table["kind_predicted"] == truth).all()
    assert found.summary.columns == {"size": "number"}
    for name in table["image"][:4]:
        Image.new("L", (100, 80)).save(folder / name)
    with pytest.warns(UserWarning, match=r"several sizes \(8 x 6, 100 x 80\)"):
        found = label_table(table, "kind", method="naive-bayes", image_folder=folder, details=False)
    assert found.pixels is None


def test_a_folder_without_readable_images(pictures, tmp_path):
    _, table, _ = pictures
    with pytest.raises(TableError, match="No image of 'image' can be read"):
        find_pixels(table[["image"]], tmp_path)
    assert find_pixels(pd.DataFrame({"x": [1.5, 2.5, 4.0]}), tmp_path) is None


def test_labels_of_a_table_and_of_folders():
    images = pd.DataFrame({"image": ["a.png", "b.png", "c/d.png"]})
    labels = pd.DataFrame({"n": ["1", "2"], "file": ["b.png", "c/d.png"], "kind": ["x", "y"]})
    found, target = join_labels(images, labels, "kind")
    assert (target, found["kind"].tolist()) == ("kind", ["", "x", "y"])
    with pytest.raises(TableError, match="columns n, kind: which one is the target"):
        join_labels(images, labels, None)
    with pytest.raises(TableError, match="no column 'sort'"):
        join_labels(images, labels, "sort")
    with pytest.raises(TableError, match=r"No column of the labels holds names of images"):
        join_labels(images, labels[["n", "kind"]], "kind")
    assert labels_of_folders(images["image"]).tolist() == ["", "", "c"]


def test_command_with_a_table_of_labels(pictures, tmp_path):
    folder, table, truth = pictures
    table.dropna().to_csv(tmp_path / "labels.csv", index=False)
    options = ["--labels", tmp_path / "labels.csv", "--method", "harmonic", "--no-report"]
    model = tmp_path / "m.leaven"
    done = run("label", folder, *options, "--save", model, "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["target"] == "kind"
    done = run("label", folder, *options, "--ask", 2)
    assert done.exit_code == 0, done.output
    assert re.search(r"row +kind_predicted +image", done.stdout)
    found = pd.read_csv(tmp_path / "pictures.labeled.csv")
    assert found["image"].tolist() == table["image"].tolist()
    assert (found["kind_predicted"] == truth).all()
    table[["image"]].to_csv(folder / "new.csv", index=False)
    done = run("predict", model, folder / "new.csv", "--out", tmp_path / "new.csv")
    assert done.exit_code == 0, done.output
    assert (pd.read_csv(tmp_path / "new.csv")["kind_predicted"] == truth).all()


def test_command_with_folders_as_classes(pictures, tmp_path):
    folder, table, truth = pictures
    for i in range(8):
        (folder / truth[i]).mkdir(exist_ok=True)
        (folder / table["image"][i]).rename(folder / truth[i] / table["image"][i])
    done = run("label", folder, "--method", "harmonic", "--no-report", "--quiet")
    assert done.exit_code == 0, done.output
    found = pd.read_csv(tmp_path / "pictures.labeled.csv").set_index("image")["label_predicted"]
    by_name = {path.rpartition("/")[2]: label for path, label in found.items()}
    assert [by_name[name] for name in table["image"]] == truth.tolist()


def test_the_target_of_a_table_is_needed(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,x\n")
    done = run("label", tmp_path / "t.csv")
    assert done.exit_code == 2
    assert "Missing option '--target'" in done.stderr


def test_a_few_images_of_another_size_are_skipped_and_guessed(pictures):
    folder, table, truth = pictures
    Image.new("L", (5, 7)).save(folder / "020.png")
    with (
        pytest.warns(UserWarning, match=r"skipped: '020.png' \(it is 5 x 7, not 8 x 6\)"),
        pytest.warns(UserWarning, match="1 row has no cell in the columns that were learned from"),
        pytest.warns(UserWarning, match="One row is near no labeled row"),
    ):
        found = label_table(table, "kind", method="harmonic", image_folder=folder, details=False)
    others = np.arange(24) != 20
    assert (found.table["kind_predicted"] == truth)[others].all()
    expected = found.probabilities[others].mean(axis=0)
    np.testing.assert_allclose(found.probabilities.iloc[20], expected)


def test_a_model_of_images_labels_a_folder(pictures, tmp_path):
    folder, table, truth = pictures
    renamed = table.rename(columns={"image": "photo"})
    model = label_table(
        renamed, "kind", method="harmonic", image_folder=folder, details=False
    ).model()
    expected = model.predict_proba(renamed[["photo"]], image_folder=folder)
    for path in (folder, str(folder)):
        pd.testing.assert_frame_equal(model.predict_proba(path), expected)
    assert model.predict(folder).tolist() == truth.tolist()
    assert model.label(folder)["photo"].tolist() == table["image"].tolist()
    with pytest.raises(TableError, match=r"is no folder"):
        model.predict(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(TableError, match="has no image that a browser shows"):
        model.predict(tmp_path / "empty")
    numbers = pd.DataFrame({"x": [1.5, 2.0, 9.5, 9.0], "kind": ["a", None, "b", None]})
    other = label_table(numbers, "kind", method="harmonic", details=False).model()
    with pytest.raises(TableError, match=r"did not learn from images.*columns 'x'"):
        other.predict(folder)


def test_command_predicts_a_folder(pictures, tmp_path):
    folder, table, truth = pictures
    model = tmp_path / "m.leaven"
    label_table(table, "kind", method="harmonic", image_folder=folder, details=False).save(model)
    done = run("predict", model, f"{folder}/")
    assert done.exit_code == 0, done.output
    found = pd.read_csv(tmp_path / "pictures.labeled.csv")
    assert found["image"].tolist() == table["image"].tolist()
    assert found["kind_predicted"].tolist() == truth.tolist()
    for command in ("predict", "label"):
        (tmp_path / "empty").mkdir(exist_ok=True)
        words = [model] if command == "predict" else []
        done = run(command, *words, tmp_path / "empty", *([] if words else ["--target", "kind"]))
        assert done.exit_code == 2
        assert "directory" in done.stderr
        assert "images" in done.stderr
        assert len(done.stderr.strip().splitlines()) == 1
