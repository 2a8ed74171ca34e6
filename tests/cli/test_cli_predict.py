"""``leaven label --save``, ``leaven predict`` and ``leaven show``, as typed."""

from __future__ import annotations

import json
import os
import zipfile

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from leaven.cli import main
from leaven.datasets import load_example
from leaven.tables import _embed


def run(*args):
    return CliRunner().invoke(main, [str(arg) for arg in args])


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    load_example("orchard").to_csv(folder / "orchard.csv", index=False)
    options = ["--target", "variety", "--method", "harmonic", "--no-report", "--quiet"]
    done = run("label", folder / "orchard.csv", *options, "--save", folder / "orchard.leaven")
    assert done.exit_code == 0, done.output
    return folder


def test_new_rows_are_labeled(saved, tmp_path):
    new = load_example("orchard").tail(30).drop(columns="variety")
    new.to_csv(tmp_path / "new.csv", index=False)
    done = run("predict", saved / "orchard.leaven", tmp_path / "new.csv", "--probabilities")
    assert done.exit_code == 0, done.output
    assert "Labeled 30 of 30 rows" in done.stderr
    labeled = pd.read_csv(tmp_path / "new.labeled.csv")
    assert labeled["id"].tolist() == new["id"].tolist()
    columns = ["variety_predicted", "variety_confidence", "variety_source", "variety_p_Amberley"]
    assert set(columns) <= set(labeled.columns)


def test_predictions_are_those_of_the_run_that_saved_the_model(saved):
    labeled = pd.read_csv(saved / "orchard.labeled.csv")
    done = run("predict", saved / "orchard.leaven", saved / "orchard.csv", "--out", saved / "o.csv")
    assert done.exit_code == 0, done.output
    again = pd.read_csv(saved / "o.csv")
    assert (again["variety_predicted"] == labeled["variety_predicted"]).mean() > 0.95


def test_show(saved):
    done = run("show", saved / "orchard.leaven")
    assert done.exit_code == 0
    for word in ("variety", "500 rows", "harmonic", "Amberley (5)", "diameter_mm (number)"):
        assert word in done.stdout
    found = json.loads(run("show", saved / "orchard.leaven", "--json").stdout)
    assert found["about"]["n_labeled"] == 15


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"plain", "not a model file"), (b"", "not a model file"), (None, "cannot be opened")],
)
def test_files_that_are_no_models(content, message, saved, tmp_path):
    path = tmp_path / "no.leaven"
    if content is not None:
        path.write_bytes(content)
    for command in (
        ["show", path],
        ["predict", path, saved / "orchard.csv", "--out", tmp_path / "x.csv"],
    ):
        done = run(*command)
        assert done.exit_code == 2
        assert message in done.stderr
        assert len(done.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "x.csv").exists()


def test_a_file_without_its_description_is_one_line(saved, tmp_path):
    path = tmp_path / "bare.leaven"
    with zipfile.ZipFile(saved / "orchard.leaven") as old, zipfile.ZipFile(path, "w") as new:
        header = json.loads(old.read("header.json"))
        del header["about"]["target"], header["about"]["columns"]
        new.writestr("header.json", json.dumps(header))
        for name in ("objects.json", "arrays.bin"):
            new.writestr(name, old.read(name))
    for command in (
        ["show", path],
        ["label", saved / "orchard.csv", "--target", "variety", "--start", path],
    ):
        done = run(*command)
        assert done.exit_code == 2
        assert "does not say of its model: target, columns." in done.stderr
        assert len(done.stderr.strip().splitlines()) == 1


def test_the_summary_names_the_model(saved, tmp_path):
    options = ["--target", "variety", "--method", "naive-bayes", "--no-report"]
    out = ["--out", tmp_path / "o.csv", "--save", tmp_path / "m.leaven"]
    done = run("label", saved / "orchard.csv", *options, *out)
    assert f"Model in {tmp_path / 'm.leaven'}" in done.output
    found = json.loads(run("label", saved / "orchard.csv", *options, *out, "--json").stdout)
    assert found["model"] == str(tmp_path / "m.leaven")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--report", "in.csv"], "The report in.csv is the input"),
        (["--out", "in.csv"], "The output in.csv is the input"),
        (["--out", "link.csv"], "The output link.csv is the input"),
        (["--save", "in.csv"], "The model in.csv is the input"),
        (["--out", "o.csv", "--report", "o.csv"], "output and the report are the same file"),
        (["--out", "o.csv", "--save", "./o.csv"], "output and the model are the same file"),
    ],
)
def test_no_output_is_the_input_or_another_output(options, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    load_example("orchard").to_csv("in.csv", index=False)
    os.link("in.csv", "link.csv")
    before = (tmp_path / "in.csv").read_bytes()
    done = run("label", "in.csv", "--target", "variety", "--method", "naive-bayes", *options)
    assert done.exit_code == 2
    assert message in done.stderr
    assert (tmp_path / "in.csv").read_bytes() == before
    assert not (tmp_path / "o.csv").exists()


def test_compare_does_not_replace_its_input(tmp_path):
    load_example("orchard").to_csv(tmp_path / "in.csv", index=False)
    before = (tmp_path / "in.csv").read_bytes()
    done = run("compare", tmp_path / "in.csv", "--target", "variety", "--out", tmp_path / "in.csv")
    assert done.exit_code == 2
    assert "is the input. Name another file." in done.stderr
    assert (tmp_path / "in.csv").read_bytes() == before


def test_vectors_are_kept_and_asked_for(tmp_path):
    tickets = load_example("support_tickets").head(120)
    rng = np.random.default_rng(0)
    np.save(tmp_path / "v.npy", rng.normal(size=(120, 3)))
    tickets.to_csv(tmp_path / "t.csv", index=False)
    options = ["--target", "topic", "--method", "logistic-regression", "--no-report", "--quiet"]
    vectors = ["--vectors", tmp_path / "v.npy", "--ignore", "text"]
    model = tmp_path / "t.leaven"
    done = run("label", tmp_path / "t.csv", *options, *vectors, "--save", model)
    assert done.exit_code == 0, done.output
    about = json.loads(run("show", model, "--json").stdout)["about"]
    assert about["columns"]["vectors"] == "vector"
    assert about["dropped"]["text"] == "to be ignored"
    refused = run("predict", model, tmp_path / "t.csv", "--out", tmp_path / "p.csv")
    assert refused.exit_code == 2
    assert "Pass --vectors 'vectors.npy'." in refused.stderr
    assert not (tmp_path / "p.csv").exists()
    done = run("predict", model, tmp_path / "t.csv", "--out", tmp_path / "p.csv", *vectors[:2])
    assert done.exit_code == 0, done.output
    found, wanted = pd.read_csv(tmp_path / "p.csv"), pd.read_csv(tmp_path / "t.labeled.csv")
    assert found["topic_predicted"].equals(wanted["topic_predicted"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--vectors", "none.npy"], "No such file: none.npy"),
        (["--ignore", "txet"], "no column to ignore, 'txet'. Did you mean 'text'?"),
        (["--embed", "some/model"], "needs sentence-transformers or model2vec"),
    ],
)
def test_mistakes_about_vectors_are_one_line(tmp_path, monkeypatch, options, message):
    monkeypatch.setattr(_embed, "is_installed", lambda name: False)
    load_example("support_tickets").head(60).to_csv(tmp_path / "t.csv", index=False)
    done = run("label", tmp_path / "t.csv", "--target", "topic", "--no-report", *options)
    assert done.exit_code == 2
    assert message in done.stderr
    assert done.stderr.strip().count("\n") == 0
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


def test_embedded_texts_are_kept_beside_the_output(tmp_path, monkeypatch):
    asked = []

    def embedder(name):
        def embed(texts):
            asked.extend(texts)
            return np.array([[len(text), text.count("a") + 0.5] for text in texts], dtype="f4")

        return embed

    monkeypatch.setattr(_embed, "load_embedder", embedder)
    tickets = load_example("support_tickets").head(60)
    tickets.to_csv(tmp_path / "t.csv", index=False)
    options = ["--target", "topic", "--method", "logistic-regression", "--no-report", "--quiet"]
    for _ in range(2):
        done = run("label", tmp_path / "t.csv", *options, "--embed", "some/model")
        assert done.exit_code == 0, done.output
    assert asked == tickets["text"].tolist()
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["t.csv", "t.labeled.csv", "t.vectors.npz"]


def test_start_says_what_more_labels_brought(saved, tmp_path):
    table = load_example("orchard")
    labeled = pd.read_csv(saved / "orchard.labeled.csv")["variety_predicted"]
    table.loc[:20, "variety"] = labeled[:21]
    table.to_csv(tmp_path / "more.csv", index=False)
    more = int(table["variety"].notna().sum()) - 15
    options = ["--target", "variety", "--method", "naive-bayes", "--no-report"]
    start = ["--start", saved / "orchard.leaven"]
    done = run("label", tmp_path / "more.csv", *options, *start)
    assert done.exit_code == 0, done.output
    assert f"Since the last time: {more} labels more, accuracy not estimated" in done.stdout
    done = run("label", tmp_path / "more.csv", *options, *start, "--json")
    assert json.loads(done.stdout)["since"].startswith(f"Since the last time: {more} labels more")
    (tmp_path / "no.leaven").write_text("no model")
    done = run("label", tmp_path / "more.csv", *options, "--start", tmp_path / "no.leaven")
    assert done.exit_code == 2
    assert done.stderr.count("\n") == 1
