"""Many files in, one output file for each: learned from all labels and a sample."""

from __future__ import annotations

import errno
import inspect
import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from sklearn.base import clone

import leaven._files
from leaven.cli import main
from leaven.tables import TableError, find_files, label_files, label_table

MIXES = "mix_stderr" in inspect.signature(CliRunner).parameters
RUNNER = CliRunner(**({"mix_stderr": False} if MIXES else {}))
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


def test_naive_bayes_em_learns_from_all_rows(folder):
    everything = label_files(
        folder / "rows", "topic", folder / "all", method="naive-bayes-em", random_state=0
    )
    sampled = label_files(
        folder / "rows", "topic", folder / "some", method="naive-bayes-em", sample=5, random_state=0
    )
    assert sampled.n_learned < 60 < everything.n_learned
    mixture = mixture_of(sampled.model)
    assert not np.allclose(mixture.means_, mixture_of(sampled.result.model()).means_)
    assert not hasattr(mixture, "transduction_")
    # The same as all rows at once in one table, prepared as the model prepares them.
    table, _ = rows()
    codes = table["topic"].map({"a": 0, "b": 1, "c": 2}).fillna(-1).to_numpy(dtype=int)
    features = sampled.model.preparer.transform(table.drop(columns="topic"))
    fitted = sampled.model.estimator.estimators[0][1]
    if hasattr(fitted, "steps"):
        features = fitted[:-1].transform(features)
    expected = clone(mixture).fit(features, codes)
    np.testing.assert_allclose(mixture.means_, expected.means_, rtol=1e-5, atol=1e-6)


def mixture_of(model):
    fitted = model.estimator.estimators[0][1]
    return fitted[-1] if hasattr(fitted, "steps") else fitted


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


def test_bad_input(folder):
    source, out = folder / "rows", folder / "out"
    part = pd.read_parquet(source / "part1.parquet")
    for change, message in [
        (part.drop(columns="x"), r"part9.parquet lacks the column 'x', unlike .*part0.parquet"),
        (part.assign(z=1), r"part9.parquet has a column 'z'"),
        (part.assign(x="high"), r"'x' holds text in .*part9.parquet, but numbers in .*part0"),
        (part.drop(columns="topic"), r"part9.parquet has no column 'topic'"),
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
        ([*command[:-1], str(folder / "new"), "--scheduler", "tcp://127.0.0.1:1"], "reached"),
        (["label", "x.csv", "--target", "t", "--resume"], "are for many files"),
    ]:
        bad = RUNNER.invoke(main, arguments)
        assert bad.exit_code == 2, bad.output
        assert message in " ".join(bad.stderr.split())
    assert not (folder / "new").exists()
