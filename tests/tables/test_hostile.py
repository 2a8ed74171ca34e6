"""Tables that once lost data, gave a traceback or a wrong answer: one test for each."""

from __future__ import annotations

import datetime as dt
import json
import os
import threading

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score

from leaven.cli import main
from leaven.graph_based import HarmonicClassifier
from leaven.tables import TableError, TablePreparer, _kinds, label_table, read_table, write_table


def run(*args):
    return CliRunner().invoke(main, [str(arg) for arg in args])


def refused(done, *words):
    """One line on standard error, exit code 2."""
    assert done.exit_code == 2, done.output
    (line,) = done.stderr.strip().splitlines()
    for word in words:
        assert word in line
    return True


def two_classes(n=40, **columns):
    kind = ["a" if i % 2 else "b" for i in range(n)]
    table = {"x": [(i % 2) * 3 + (i % 7) / 7 for i in range(n)], **columns}
    return pd.DataFrame({**table, "t": [k if i < 12 else None for i, k in enumerate(kind)]}), kind


TEXTS = ["the parcel came late again", "please send a refund to my card now"]


@pytest.mark.parametrize("name", ["", " ", "comment__c", "__", "a.b"])
def test_text_columns_of_any_name_are_learned_from(name):
    rng = np.random.RandomState(0)
    kind = rng.randint(0, 2, 60)
    words = [f"{TEXTS[k]} {rng.randint(1000)}" for k in kind]
    table = pd.DataFrame({name: words, "t": np.where(np.arange(60) < 12, kind.astype(str), None)})
    result = label_table(table, "t", text=name, details=False, method="logistic-regression")
    assert np.mean(result.table["t_predicted"].astype(int) == kind) > 0.95
    assert name in result.summary.columns


def test_dates_beyond_nanoseconds():
    days = ["2024-01-02", "9999-12-31", "0001-01-01", "2024-03-04"] * 10
    table, _ = two_classes(until=days)
    result = label_table(table, "t", details=False, method="logistic-regression")
    assert result.summary.columns["until"] == "date"
    features = TablePreparer().fit_transform(table[["until", "x"]])
    assert np.isfinite(features).all()


@pytest.mark.parametrize("ends_in_2262", [False, True])
def test_dates_are_the_same_in_old_and_new_pandas(monkeypatch, ends_in_2262):
    # pandas 2.2 parses to nanoseconds; what lies beyond is parsed by Python.
    monkeypatch.setattr(_kinds, "_ends_in_2262", lambda: ends_in_2262)
    cells = pd.Series(["1970-01-02", "9999-12-31T00:00:01+00:00", "x", None], dtype=object)
    if not ends_in_2262 and pd.isna(pd.to_datetime("9999-12-31", errors="coerce")):
        pytest.skip("this pandas does parse to nanoseconds")
    seconds = [86_400.0, 253_402_214_401.0, np.nan, np.nan]
    np.testing.assert_array_equal(_kinds._seconds(cells, "ISO8601"), seconds)
    months = pd.Series(["2-JAN-1970", "31-DEC-9999", "31-DEC"])
    np.testing.assert_array_equal(
        _kinds._seconds(months, "%d-%b-%Y"), [86_400.0, 253_402_214_400.0, np.nan]
    )


def test_far_dates_in_other_time_zones():
    assert _kinds._far_time("9000-01-01T02:00:00+02:00", "ISO8601") == np.datetime64("9000-01-01")
    assert np.isnat(_kinds._far_time(7, "ISO8601"))


def test_day_month_name_year_is_a_date():
    table, _ = two_classes(day=[f"{1 + i % 28}-APR-1987" for i in range(40)])
    result = label_table(table, "t", details=False, method="naive-bayes")
    assert result.summary.columns["day"] == "date"


def test_times_of_day_are_numbers():
    times = [dt.time(i % 24, i % 60) for i in range(40)]
    table, _ = two_classes(at=times)
    assert (
        label_table(table, "t", details=False, method="naive-bayes").summary.columns["at"]
        == "number"
    )


@pytest.mark.parametrize("size", [1e308, 1e-308])
def test_cells_at_the_ends_of_the_range(size):
    table, kind = two_classes(big=[size * (1 if i % 3 else -1) for i in range(40)])
    result = label_table(table, "t", details=False, method="harmonic")
    assert np.isfinite(result.table["t_confidence"]).all()
    assert (result.table["t_predicted"] == kind).mean() > 0.9


@pytest.mark.parametrize("method", ["naive-bayes", "harmonic", "logistic-regression"])
def test_columns_whose_spread_overflows(method):
    # The quartiles were 2e308 apart, which is infinite: "Input X contains NaN. GaussianNB ...".
    cells = [1e25, 1e308, -1e308, 1e-300, np.inf]
    table, kind = two_classes(big=[cells[i % 5] for i in range(40)])
    result = label_table(table, "t", details=False, method=method)
    assert result.summary.columns["big"] == "number"
    assert np.isfinite(result.table["t_confidence"]).all()
    assert (result.table["t_predicted"] == kind).mean() > 0.8


@pytest.mark.parametrize(
    ("path", "word"),
    [
        ("", "is empty"),
        (".", "holds neither tables nor images"),
        ("a\0b.csv", "name of a file"),
        ("no.csv", "No such"),
    ],
)
def test_names_of_files(path, word, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert refused(run("label", path, "--target", "t", "--out", "o.csv"), word)
    assert not os.listdir(tmp_path)


def test_a_directory_is_named(tmp_path):
    (tmp_path / "d.csv").mkdir()
    assert refused(run("label", tmp_path / "d.csv", "--target", "t"), "directory")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_a_pipe_is_read(tmp_path):
    table, _ = two_classes()
    os.mkfifo(tmp_path / "p.csv")
    text = table.to_csv(index=False)
    writer = threading.Thread(target=lambda: (tmp_path / "p.csv").write_text(text))
    writer.start()
    found = read_table(tmp_path / "p.csv")
    writer.join()
    assert len(found) == len(table)


def test_utf_16_without_a_mark_is_named(tmp_path):
    table, _ = two_classes()
    (tmp_path / "a.csv").write_bytes(table.to_csv(index=False).encode("utf-16-le"))
    assert refused(run("label", tmp_path / "a.csv", "--target", "t"), "utf-16")
    mistaken = run("label", tmp_path / "a.csv", "--target", "t", "--encoding", "utf-16")
    assert refused(mistaken, "byte order mark of utf-16. If its bytes are in order, pass")


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ('{"x": 1, "t": "\\ud800"}', "half of a character"),
        ('{"x": ' + "9" * 5000 + ', "t": "a"}', "too long"),
        ("[" * 100_000, "line 1"),
        ('{"x": ' + "[" * 100_000 + "]" * 100_000 + "}", "line 1"),
    ],
)
def test_odd_json(line, word, tmp_path):
    (tmp_path / "a.jsonl").write_text(line + "\n")
    assert refused(run("label", tmp_path / "a.jsonl", "--target", "t"), word)


def test_whole_characters_in_json_stay(tmp_path):
    text = json.dumps({"x": "\U0001f600", "t": "a"}) + "\n"  # a pair of surrogates
    (tmp_path / "a.jsonl").write_text(text)
    assert read_table(tmp_path / "a.jsonl")["x"][0] == "\U0001f600"


def test_named_index_is_not_lost(tmp_path):
    table = pd.DataFrame({"x": [1, 2]}, index=pd.Index(["p", "q"], name="id"))
    write_table(table, tmp_path / "a.csv")
    assert read_table(tmp_path / "a.csv").columns.tolist() == ["id", "x"]
    table.index.name = None
    write_table(table, tmp_path / "b.csv")
    assert read_table(tmp_path / "b.csv").columns.tolist() == ["x"]


def test_a_full_disk_behind_standard_output(tmp_path):
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full here")
    import subprocess
    import sys

    table, _ = two_classes()
    table.to_csv(tmp_path / "a.csv", index=False)
    options = ["--target", "t", "--method", "naive-bayes", "--out", "-", "--quiet"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "leaven.cli", "label", str(tmp_path / "a.csv"), *options],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr


X = [[0.0], [0.2], [5.0], [5.2]]


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([0.0, -1.0, 1.0, -1.0], "holds -1.0 among floats"),
        (np.array([0.0, -1.0, 1.0, np.nan], dtype=object), "holds -1.0 among floats"),
        (["a", "", "b", ""], "empty strings"),
        (np.array(["a", "", "b", None], dtype=object), "empty strings"),
        (np.array([2**70, -1, 5, -1], dtype=object), "too large to name a class"),
        (np.array([2**63, -1, 5, -1], dtype=object), "too large to name a class"),
        (np.array([2**63, 1, 5, 1], dtype=np.uint64), "too large to name a class"),
    ],
)
def test_labels_that_would_be_misread(y, message):
    with pytest.raises(ValueError, match=message):
        HarmonicClassifier().fit(X, y)


def test_score_leaves_unlabeled_rows_out():
    model = HarmonicClassifier(prior=None).fit(X, [0, -1, 1, -1])
    assert model.score(X, [0, -1, 0, -1]) == 0.5
    assert model.score(X, [0, -1, 0, 1], sample_weight=[1.0, 9.0, 2.0, 1.0]) == 0.5
    with pytest.raises(ValueError, match="no labeled row"):
        model.score(X, [-1, -1, -1, -1])


def test_grid_search_with_unlabeled_rows_scores_the_labeled_ones():
    rng = np.random.RandomState(0)
    truth = np.repeat([0, 1], 60)
    rows = rng.normal(size=(120, 2)) + 6 * truth[:, None]
    y = np.where(rng.uniform(size=120) < 0.4, truth, -1)
    search = GridSearchCV(HarmonicClassifier(), {"label_noise": [0.0, 0.1]}, cv=3).fit(rows, y)
    assert search.best_score_ > 0.9
    labeled = y >= 0
    peer = cross_val_score(LogisticRegression(), rows[labeled], y[labeled], cv=3)
    assert abs(search.best_score_ - peer.mean()) < 0.1


def test_a_table_and_a_name_that_is_no_column():
    table, _ = two_classes()
    with pytest.raises(TableError, match="no target column 'tt'"):
        label_table(table, "tt")


def test_very_wide_tables_are_refused(tmp_path):
    # 100,000 columns did not end.
    names = [f"c{i}" for i in range(20_001)]
    lines = [",".join([*names, "t"])]
    lines += [",".join([*(["1.5"] * len(names)), kind]) for kind in ("a", "b", "")]
    (tmp_path / "wide.csv").write_text("\n".join(lines))
    out = tmp_path / "out.csv"
    done = run("label", tmp_path / "wide.csv", "--target", "t", "--out", out)
    assert refused(done, "20,001 columns", "at most 20,000")
    assert not out.exists()
