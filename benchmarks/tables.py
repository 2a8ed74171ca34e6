"""Time and memory of ``leaven label`` on a large table, in a process of its own.

The table has numbers, categories, a date, missing cells and an id; three classes, which follow
some of the columns. Run ``python benchmarks/tables.py --rows 1000000`` for the large one. With
``--texts 9000`` it holds that many messages of 20 Newsgroups instead, which needs LEAVEN_DATA.
The seconds of each method, and why one was stopped or skipped, are printed below.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

CLASSES = np.array(["red", "green", "blue"])


def make_table(n_rows: int, n_columns: int, n_labeled: int, seed: int = 0) -> pd.DataFrame:
    """Make a table with ``n_columns`` columns beside the target and the truth."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, n_rows)
    part = rng.integers(0, 4, n_rows)  # each class has four clusters
    centers = rng.normal(scale=3.0, size=(3, 4, 6))
    table: dict[str, object] = {"id": np.arange(n_rows) + 10_000_000}
    near = centers[truth, part] + rng.normal(size=(n_rows, 6))
    for j in range(6):
        table[f"near{j}"] = near[:, j].round(4)
    for j in range(3):
        right = rng.random(n_rows) < 0.6
        level = np.where(right, truth, rng.integers(0, 8, n_rows))
        table[f"level{j}"] = np.array([f"l{i}" for i in range(8)])[level]
    days = rng.integers(0, 2000, n_rows)
    table["when"] = (np.datetime64("2020-01-01") + days).astype(str)
    j = 0
    while len(table) < n_columns:
        noise = rng.normal(size=n_rows).round(4)
        noise[rng.random(n_rows) < 0.05] = np.nan
        table[f"noise{j}"] = noise
        j += 1
    names = CLASSES[truth].astype(object)
    labeled = np.zeros(n_rows, dtype=bool)
    labeled[rng.choice(n_rows, n_labeled, replace=False)] = True
    table["class"] = np.where(labeled, names, "")
    table["truth"] = names
    return pd.DataFrame(table)


def make_texts(n_rows: int, n_labeled: int, seed: int = 0) -> pd.DataFrame:
    """Draw messages of 20 Newsgroups; every group has as many labels."""
    from leaven.datasets import load

    data = load("20news-18828")
    rng = np.random.default_rng(seed)
    drawn = rng.choice(len(data.data), n_rows, replace=False)
    truth = pd.Series(np.asarray(data.target, dtype=object)[drawn])
    labeled = truth.groupby(truth).sample(n_labeled // truth.nunique(), random_state=seed).index
    texts = pd.Series(data.data, dtype=object).to_numpy()[drawn]
    given = truth.where(truth.index.isin(labeled), "")
    return pd.DataFrame({"text": texts, "class": given, "truth": truth})


def run(table: pd.DataFrame, options: list[str]) -> dict[str, object]:
    """Label a table in a process; tell seconds, peak memory, accuracy and notes."""
    n_rows, n_columns = len(table), table.shape[1] - 2
    with tempfile.TemporaryDirectory() as folder:
        path, out = Path(folder) / "table.csv", Path(folder) / "out.csv"
        truth, given = table.pop("truth").to_numpy(), (table["class"] != "").to_numpy()
        table.to_csv(path, index=False)
        size = path.stat().st_size
        command = [sys.executable, "-m", "leaven.cli", "label", str(path), "--target", "class"]
        command += ["--out", str(out), "--json", *options]
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.PIPE)
        stdout = process.stdout.read() if process.stdout is not None else b""
        # Of this process alone, and not of all that ran before.
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        if status:
            raise SystemExit(f"leaven label failed with status {status}.")
        summary = json.loads(stdout)
        found = pd.read_csv(out, usecols=["class_predicted"])["class_predicted"].to_numpy()
        # Where a method is named there is no selection.
        tried = summary.get("selection") or {"candidates": []}
        names = [
            f"{each['name']} {each['seconds']:.1f} s"
            for each in tried["candidates"]
            if each["seconds"]
        ]
        left_out = [each["reason"] for each in tried["candidates"] if each["reason"]]
        return {
            "rows": n_rows,
            "columns": n_columns,
            "labels": int(given.sum()),
            "file MB": round(size / 1e6, 1),
            "seconds": round(seconds, 1),
            "processor": round(usage.ru_utime + usage.ru_stime, 1),
            "peak GB": round(usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 1e9, 2),
            "accuracy": round(float((found == truth)[~given].mean()), 4),
            "method": summary["method"],
            "tried": ", ".join(names),
            "left out": " ".join(left_out),
            "notes": " ".join(summary["notes"]),
        }


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--labels", type=int, default=300)
    parser.add_argument("--texts", type=int, help="rows of a table of texts instead")
    parser.add_argument("options", nargs="*", help="for leaven label, after --")
    arguments = parser.parse_args()
    if arguments.texts is None:
        table = make_table(arguments.rows, arguments.columns, arguments.labels)
    else:
        table = make_texts(arguments.texts, arguments.labels)
    found = run(table, arguments.options)
    for name, value in found.items():
        print(f"{name:10} {value}")


if __name__ == "__main__":
    main()
