"""Many files in, one output file for each: learned from all labels and a sample."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from sklearn.base import clone

import leaven
import leaven._files
from leaven.cli import main
from leaven.tables import TableError, _many_files, find_files, label_files, label_table

RUNNER = CliRunner()
CUTS = [0, 10, 90, 90, 300]


def rows(n=300, seed=0):
    """Three groups of numbers and a word; the third class is labeled in the last file only."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 3, n)
    table = pd.DataFrame(
        {
            "x": 4.0 * kind + rng.normal(size=n),
            "y": rng.normal(size=n) - 3.0 * (kind == 1),
            "word": np.array(["ash", "birch", "cedar"])[(kind + (rng.random(n) < 0.1)) % 3],
            "topic": np.array(["a", "b", "c"], dtype=object)[kind],
        }
    )
    keep = (np.arange(n) % 10 == 0) & ((kind != 2) | (np.arange(n) >= 90))
    table.loc[~keep, "topic"] = None
    return table, np.array(["a", "b", "c"])[kind]


@pytest.fixture
def folder(tmp_path):
    table, _ = rows()
    source = tmp_path / "rows"
    source.mkdir()
    for number, (start, stop) in enumerate(pairwise(CUTS)):
        table[start:stop].to_parquet(source / f"part{number}.parquet", index=False)
    return tmp_path


def read_all(out):
    return pd.concat([pd.read_parquet(p) for p in sorted(out.iterdir())], ignore_index=True)


def test_many_files_are_labeled_as_one_table(folder):
    table, truth = rows()
    done = label_files(folder / "rows", "topic", folder / "out", method="logistic-regression")
    assert [Path(p).name for p in done.outputs] == [f"part{i}.parquet" for i in range(4)]
    counts = (done.n_rows, done.n_labeled, done.n_learned, done.n_kept)
    assert counts == (300, int(table["topic"].notna().sum()), 300, 0)
    found = read_all(folder / "out")
    pd.testing.assert_frame_equal(found[["x", "y", "word"]], table[["x", "y", "word"]])
    # Every row was learned from: the answers are those of one table with the same rows.
    given = table["topic"].notna()
    order = np.argsort(~given.to_numpy(), kind="stable")
    one = label_table(table.iloc[order], "topic", method="logistic-regression", details=False)
    expected = one.table["topic_predicted"].sort_index().to_numpy(dtype=object)
    assert (found["topic_predicted"].to_numpy(dtype=object) == expected).mean() > 0.97
    assert (found["topic_predicted"] == truth).mean() > 0.8
    assert (found.loc[given, "topic_predicted"] == table.loc[given, "topic"]).all()
    assert (found["topic_source"] == np.where(given, "given", "inferred")).all()


def test_a_sample_is_learned_from_and_jobs_do_not_change_it(folder):
    settings = {"method": "naive-bayes", "sample": 60, "random_state": 3}
    one = label_files(folder / "rows", "topic", folder / "one", **settings)
    two = label_files(folder / "rows", "topic", folder / "two", **settings, n_jobs=2)
    assert one.n_learned == two.n_learned == one.n_labeled + 60
    pd.testing.assert_frame_equal(read_all(folder / "one"), read_all(folder / "two"))


def test_relative_paths_begin_where_the_call_is_made(folder, monkeypatch):
    # The workers of one call serve the next, in the folder in which they were started.
    settings = {"method": "naive-bayes", "random_state": 0, "n_jobs": 2}
    monkeypatch.chdir(folder)
    label_files("rows", "topic", "first", **settings)
    elsewhere = folder / "elsewhere"
    (folder / "rows").rename(folder / "moved")
    elsewhere.mkdir()
    (folder / "moved").rename(elsewhere / "rows")
    monkeypatch.chdir(elsewhere)
    label_files("rows", "topic", "second", **settings)
    assert answers_of(elsewhere / "second") == answers_of(folder / "first")


def answers_of(directory):
    return {path.name: path.read_bytes() for path in directory.iterdir()}


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("method", ["naive-bayes-em", "anchor-graph"])
def test_some_methods_learn_from_all_rows(folder, method, n_jobs):
    settings = {"method": method, "random_state": 0, "n_jobs": n_jobs}
    everything = label_files(folder / "rows", "topic", folder / "all", **settings)
    sampled = label_files(folder / "rows", "topic", folder / "some", **settings, sample=5)
    assert sampled.n_learned < 60 < everything.n_learned
    assert sampled.n_fitted == everything.n_fitted == sampled.n_rows
    assert (everything.model.about["n_rows"], sampled.model.about["n_rows"]) == (300, 300)
    found, chosen = method_of(sampled.model), method_of(sampled.result.model())
    assert not hasattr(found, "transduction_")
    n_labeled = sampled.n_labeled
    if method == "naive-bayes-em":
        # All unlabeled rows together weigh what those of the sample did.
        ratio = found.unlabeled_weight / chosen.unlabeled_weight
        assert ratio == pytest.approx(5 / (300 - n_labeled))
    # The same as all rows at once in one table, prepared as the model prepares them.
    table, truth = rows()
    codes = table["topic"].map({"a": 0, "b": 1, "c": 2}).fillna(-1).to_numpy(dtype=int)
    features = sampled.model.preparer.transform(table.drop(columns="topic"))
    fitted = dict(sampled.model.estimator.estimators)[method]
    if hasattr(fitted, "steps"):
        features = fitted[:-1].transform(features)
    expected = clone(found).fit(features, codes)
    P = expected.predict_proba(features)
    np.testing.assert_allclose(found.predict_proba(features), P, rtol=1e-4, atol=1e-5)
    assert not np.allclose(chosen.predict_proba(features), P, atol=1e-3)
    # And these are the probabilities of the files.
    out = read_all(folder / "some")
    free = codes < 0
    np.testing.assert_allclose(out["topic_confidence"][free], P[free].max(axis=1), atol=1e-4)
    assert (out["topic_predicted"] == truth).mean() > 0.7


def test_the_sample_of_many_files_is_bounded_while_they_are_read():
    rng = np.random.default_rng(0)
    looks, held, every = [None] * 50, [], []
    for number in range(50):
        keys = np.sort(rng.random(40))
        every.append(keys)
        part = pd.DataFrame({"x": keys})
        looks[number] = _many_files._Look("", ("x",), {}, 40, 0, part[:0], part, keys)
        _many_files._keep_sample(looks, 100)
        held.append(sum(len(look.keys) for look in looks if look is not None))
    assert max(held) <= 200
    found = _many_files._rows_to_learn_from(looks, 100)
    np.testing.assert_array_equal(np.sort(found["x"]), np.sort(np.concatenate(every))[:100])


def method_of(model):
    ((_, fitted),) = model.estimator.estimators
    return fitted[-1] if hasattr(fitted, "steps") else fitted


def test_files_without_rows_and_more_columns(folder):
    label_files(
        folder / "rows",
        "topic",
        folder / "out",
        method="naive-bayes",
        probabilities=True,
        min_confidence=0.95,
    )
    parts = [pd.read_parquet(p) for p in sorted((folder / "out").iterdir())]
    assert [len(part) for part in parts] == [10, 80, 0, 210]
    assert len({tuple(part.columns) for part in parts}) == 1
    found = read_all(folder / "out")
    names = [f"topic_p_{name}" for name in "abc"]
    np.testing.assert_allclose(found[names].sum(axis=1), 1.0, atol=1e-5)
    low = found["topic_confidence"] < 0.95
    assert 0 < low.sum() < len(found)
    assert (found["topic_predicted"].isna() == low).all()
    for name, value in [("sets", True), ("target_error", 0.1), ("ask", 3)]:
        with pytest.raises(TableError, match=f"label_files makes no use of {name}"):
            label_files(folder / "rows", "topic", folder / "no", **{name: value})


def test_resume_keeps_what_is_there(folder, monkeypatch):
    settings = {"method": "naive-bayes"}
    label_files(folder / "rows", "topic", folder / "whole", **settings)
    out, written = folder / "out", []
    real = leaven._files.os.replace

    def full_disk(source, target):
        if len(written) == 2:
            raise OSError(errno.ENOSPC, "No space left on device", str(target))
        written.append(target)
        return real(source, target)

    monkeypatch.setattr(leaven._files.os, "replace", full_disk)
    with pytest.raises(OSError, match="No space left"):
        label_files(folder / "rows", "topic", out, **settings)
    monkeypatch.undo()
    names = sorted(path.name for path in out.iterdir())
    assert names == ["part0.parquet", "part1.parquet"]  # nothing half written
    times = [path.stat().st_mtime_ns for path in sorted(out.iterdir())]
    with pytest.raises(TableError, match="not empty"):
        label_files(folder / "rows", "topic", out, **settings)
    done = label_files(folder / "rows", "topic", out, **settings, resume=True)
    assert done.n_kept == 2
    assert [path.stat().st_mtime_ns for path in sorted(out.iterdir())[:2]] == times
    pd.testing.assert_frame_equal(read_all(out), read_all(folder / "whole"))


DIE = """
import os, signal, sys
import leaven._files
from leaven.cli import main

written, real = [], os.replace
def replace(source, target):
    if len(written) == 2:
        os.kill(os.getpid(), signal.SIGKILL)  # the third file is written, but has no name yet
    written.append(target)
    return real(source, target)
leaven._files.os.replace = replace
main(sys.argv[1:])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_a_killed_client_loses_the_file_under_way(folder):
    out = folder / "out"
    command = ["label", str(folder / "rows"), "--target", "topic", "--out", str(out)]
    command += ["--method", "naive-bayes", "--quiet"]
    source = Path(leaven.__file__).parents[1]
    run = subprocess.run(
        [sys.executable, "-c", DIE, *command],
        env={**os.environ, "PYTHONPATH": str(source)},
        timeout=600,
        check=False,
    )
    assert run.returncode == -signal.SIGKILL
    shown = sorted(path.name for path in out.iterdir() if not path.name.startswith("."))
    assert shown == ["part0.parquet", "part1.parquet"]
    assert len(list(out.iterdir())) == 3  # what was under way is hidden
    again = RUNNER.invoke(main, [*command, "--resume"])
    assert again.exit_code == 0, again.output
    assert len(list(out.iterdir())) == 4  # and is removed
    label_files(folder / "rows", "topic", folder / "whole", method="naive-bayes", random_state=0)
    pd.testing.assert_frame_equal(read_all(out), read_all(folder / "whole"))


def test_a_full_disk_is_one_line(folder, monkeypatch):
    out = folder / "out"

    def full(source, target):
        raise OSError(errno.ENOSPC, "No space left on device")  # as a disk does, without a name

    monkeypatch.setattr(leaven._files.os, "replace", full)
    command = ["label", str(folder / "rows"), "--target", "topic", "--out", str(out)]
    run = RUNNER.invoke(main, [*command, "--method", "naive-bayes"])
    assert run.exit_code == 1
    said = " ".join(run.stderr.split())
    assert said.endswith("out/part0.parquet: No space left on device.")
    assert "Traceback" not in said
    assert list(out.iterdir()) == []  # nothing half written


def test_bad_input(folder):
    source, out = folder / "rows", folder / "out"
    part = pd.read_parquet(source / "part1.parquet")
    for change, message in [
        (part.drop(columns="x"), r"part9.parquet lacks the column 'x', unlike .*part0.parquet"),
        (part.assign(z=1), r"part9.parquet has a column 'z'"),
        (part.assign(x="high"), r"'x' holds text in .*part9.parquet, but numbers in .*part0"),
        (part.drop(columns="topic"), r"part9.parquet has no column 'topic'"),
        (
            part.assign(topic=np.arange(len(part), dtype=float)),
            r"'topic' holds numbers in .*part9.parquet, but text in .*part",
        ),
        (
            part.assign(word=pd.Timestamp("2026-01-02")),
            r"'word' holds dates in .*part9.parquet, but text in .*part",
        ),
    ]:
        change.to_parquet(source / "part9.parquet", index=False)
        with pytest.raises(TableError, match=message):
            label_files(source, "topic", out, method="naive-bayes")
    (source / "part9.parquet").unlink()
    with pytest.raises(TableError, match=r"No file matches '.*\.tsv'"):
        find_files(str(source / "*.tsv"))
    with pytest.raises(TableError, match="holds the input files"):
        label_files(source, "topic", source)
    (folder / "file").write_text("")
    with pytest.raises(TableError, match="is a file, but many files need a directory"):
        label_files(source, "topic", folder / "file")
    with pytest.raises(TableError, match="holds no table"):
        find_files(_made(folder / "empty"))
    _made(folder / "strange").joinpath("notes.txt").write_text("")
    with pytest.raises(TableError, match=r"'notes.txt', which is no output"):
        label_files(source, "topic", folder / "strange", resume=True)
    assert not out.exists()


def test_cells_of_csv_files_that_differ_are_told(tmp_path):
    # Every cell of CSV is text, so that neither dtypes nor pandas would tell them apart.
    table, _ = rows()
    table["day"] = pd.Timestamp("2026-03-01") + pd.to_timedelta(np.arange(300), "D")
    source = _made(tmp_path / "rows")
    for start in range(0, 300, 100):
        table[start : start + 100].to_csv(source / f"part{start}.csv", index=False)
    last = table[200:]
    for change, message in [
        (last.assign(x=last["x"].astype(str) + "mg"), r"'x' holds text in .*part200.csv, but num"),
        (last.assign(word=np.arange(100)), r"'word' holds numbers in .*part200.csv, but text in"),
        (last.assign(day="some day"), r"'day' holds text in .*part200.csv, but dates in .*part0"),
    ]:
        change.to_csv(source / "part200.csv", index=False)
        with pytest.raises(TableError, match=message):
            label_files(source, "topic", tmp_path / "out", method="naive-bayes")
    last.to_csv(source / "part200.csv", index=False)
    table[:30].to_parquet(source / "more.parquet", index=False)
    with pytest.raises(TableError, match=r"'x' holds numbers as text in .*, but numbers in"):
        label_files(source, "topic", tmp_path / "out", method="naive-bayes")
    (source / "more.parquet").unlink()
    # One typing error, a file of few rows and one with numbers beside words are no difference.
    last = last.astype({"x": object})
    last.iloc[7, 0] = "1,5"
    last["word"] = np.where(np.arange(100) < 50, "7", last["word"])
    last.to_csv(source / "part200.csv", index=False)
    table[:4].assign(x="?", word=3).to_csv(source / "few.csv", index=False)
    done = label_files(source, "topic", tmp_path / "out", method="naive-bayes")
    assert done.n_rows == 304


def _made(path):
    path.mkdir()
    return path


def test_the_command(folder):
    pattern, out = str(folder / "rows" / "*.parquet"), str(folder / "labeled")
    command = ["label", pattern, "--target", "topic", "--method", "naive-bayes", "--out", out]
    result = RUNNER.invoke(main, [*command, "--json", "--save", str(folder / "m.leaven")])
    assert result.exit_code == 0, result.output
    facts = json.loads(result.stdout)
    assert (facts["files"], facts["rows"], facts["kept"]) == (4, 300, 0)
    assert (folder / "m.leaven").exists()
    assert len(read_all(folder / "labeled")) == 300
    again = RUNNER.invoke(main, [*command, "--resume"])
    assert "4 of them kept" in " ".join(again.stderr.split())
    for arguments, message in [
        (command, "is not empty"),
        (command[:-2], "name it with --out"),
        ([*command, "--ask", "3"], "--ask is for one file"),
        ([*command, "--sets"], "--sets is for one file"),
        ([*command, "--target-error", "0.1"], "--target-error is for one file"),
        ([*command[:-1], str(folder / "new"), "--scheduler", "tcp://127.0.0.1:1"], "reached"),
        (["label", "x.csv", "--target", "t", "--resume"], "are for many files"),
    ]:
        bad = RUNNER.invoke(main, arguments)
        assert bad.exit_code == 2, bad.output
        assert message in " ".join(bad.stderr.split())
    assert not (folder / "new").exists()
