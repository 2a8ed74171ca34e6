"""Rows that do not fit: EM and the anchor graph on a Dask cluster, against one process.

``python benchmarks/cluster.py`` takes some minutes; ``--rows 1250000,20000000`` is the full size.
Rows of 16 float32 columns in five overlapping normal classes, the fifth with one row in 500, are
written as Parquet files of 312,500 rows; 20 rows per class have a label. Gaussian naive Bayes EM
(five iterations, the same work whatever the rows) and the anchor graph (500 anchors, consistency)
learn from all rows: in one process that reads one file at a time, and on a ``LocalCluster`` with
one worker, with two, and with two of which one is killed by SIGKILL halfway. Each run is a process
of its own, and each worker has a memory limit that its nanny enforces.

Printed are seconds, processor seconds and peak memory of the client and of the largest worker;
accuracy on the first files, and recall of the rare class, beside those of the labeled rows with
50,000 others (``sample``); the largest difference of a parameter from one process; and between the
first and the last number of rows the exponent of the growth of processor time, which unlike
seconds does not depend on what else the machine does.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

from leaven.generative import SemiSupervisedGaussianNB
from leaven.graph_based import AnchorGraphClassifier

N_COLUMNS, PER_CLASS, SAMPLE = 16, 20, 50_000
SHARES = [0.3, 0.3, 0.2, 0.198, 0.002]
FILE_ROWS = 312_500  # 20 MB in memory, and four files for the smallest size of the full run
TESTED_FILES = 2  # accuracy on 625,000 rows is known to 0.001
COLUMNS = [f"x{j}" for j in range(N_COLUMNS)]
MODELS = {
    "em": lambda: SemiSupervisedGaussianNB(max_iter=5, tol=0.0),
    # With 5,000 rows per label and more harmonic functions come near to a constant, in which class
    # mass normalization finds nothing but its own proportions; consistency does not.
    "anchor": lambda: AnchorGraphClassifier(500, form="consistency", prior=None, random_state=0),
    "harmonic": lambda: AnchorGraphClassifier(500, form="harmonic", random_state=0),
}


def write_rows(folder: Path, n_rows: int) -> None:
    """Write files; the first rows of each class in the first files have a label."""
    rng = np.random.default_rng(0)
    centers = 0.8 * rng.normal(size=(len(SHARES), N_COLUMNS))
    spreads = np.exp(0.3 * rng.normal(size=centers.shape))
    left = np.full(len(SHARES), PER_CLASS)
    for number, start in enumerate(range(0, n_rows, FILE_ROWS)):
        rng = np.random.default_rng([1, number])
        size = min(FILE_ROWS, n_rows - start)
        y = rng.choice(len(SHARES), size, p=SHARES)
        X = centers[y] + spreads[y] * rng.normal(size=(size, N_COLUMNS))
        label = np.full(size, -1, dtype=np.int8)
        for c in range(len(SHARES)):
            rows = np.flatnonzero(y == c)[: left[c]]
            label[rows], left[c] = c, left[c] - len(rows)
        table = pd.DataFrame(X.astype(np.float32), columns=COLUMNS)
        table.assign(label=label, truth=y.astype(np.int8)).to_parquet(
            folder / f"part{number:03}.parquet", index=False
        )


class Files:
    """The files as partitions, one in memory at a time."""

    def __init__(self, paths: list[Path]) -> None:
        self.paths = paths

    def __iter__(self):
        for path in self.paths:
            table = pd.read_parquet(path, columns=[*COLUMNS, "label"])
            yield table[COLUMNS], table["label"].to_numpy()


def sampled(paths: list[Path]) -> tuple[pd.DataFrame, np.ndarray]:
    parts = []
    for path in paths:
        table = pd.read_parquet(path)
        others = table[table["label"] < 0].sample(SAMPLE // len(paths), random_state=0)
        parts += [table[table["label"] >= 0], others]
    rows = pd.concat(parts)
    return rows[COLUMNS], rows["label"].to_numpy()


def used() -> dict[str, float]:
    own = resource.getrusage(resource.RUSAGE_SELF)
    return {"cpu": own.ru_utime + own.ru_stime, "mb": own.ru_maxrss / 1024}


def run(kind: str, name: str, folder: Path, memory: str, kill_after: float) -> dict:
    """Fit in this process, which does nothing else; say what it took."""
    warnings.simplefilter("ignore")  # the number of iterations is fixed
    paths = sorted(folder.glob("part*.parquet"))
    model = MODELS[name]()
    before = used()["cpu"]
    started = time.perf_counter()
    if kind in ("one process", "sample"):
        model.fit(*((Files(paths), None) if kind == "one process" else sampled(paths)))
        found = {"seconds": time.perf_counter() - started, "worker mb": 0.0}
        found |= {"cpu": used()["cpu"] - before}
    else:
        found = on_cluster(model, paths, 1 if kind == "one worker" else 2, memory, kill_after)
    found["client mb"] = used()["mb"]  # without what the test below needs
    table = pd.concat([pd.read_parquet(path) for path in paths[:TESTED_FILES]])
    right = model.predict(table[COLUMNS]) == table["truth"].to_numpy()
    rare = table["truth"].to_numpy() == len(SHARES) - 1
    found |= {"accuracy": float(right.mean()), "rare": float(right[rare].mean())}
    numbers = model.theta_ if name == "em" else model.anchor_values_
    return found | {"numbers": np.asarray(numbers).ravel().tolist()}


def on_cluster(model, paths: list[Path], n_workers: int, memory: str, kill_after: float) -> dict:
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    cluster = LocalCluster(
        n_workers=n_workers,
        threads_per_worker=1,
        memory_limit=memory,
        host="127.0.0.1",
        dashboard_address=None,
        silence_logs=50,
    )
    client = Client(cluster, timeout=120)
    for module in ("leaven.generative", "leaven.graph_based", "dask.dataframe", "pyarrow.parquet"):
        client.run(__import__, module)  # imports are not what is measured
    table = dd.read_parquet([str(path) for path in paths])
    first, *_ = client.run(os.getpid).values()
    cpu = sum(each["cpu"] for each in client.run(used).values()) + used()["cpu"]
    if kill_after:
        timer = threading.Timer(kill_after, os.kill, (first, signal.SIGKILL))
        timer.start()
    started = time.perf_counter()
    model.fit(table[COLUMNS], table["label"])
    seconds = time.perf_counter() - started
    if kill_after:
        timer.cancel()
        # The fit needs only the worker that is left; the new one may be late on a loaded machine.
        with contextlib.suppress(TimeoutError):
            client.wait_for_workers(n_workers, timeout=60)
    spent = list(client.run(used).values())
    found = {
        "seconds": seconds,
        "cpu": sum(each["cpu"] for each in spent) + used()["cpu"] - cpu,
        "worker mb": max(each["mb"] for each in spent),
    }
    # A loaded machine may not end the workers in time; they end with this process.
    with contextlib.suppress(TimeoutError):
        client.close()
        cluster.close()
    return found


def measure(kind: str, name: str, folder: Path, memory: str, kill_after: float = 0.0) -> dict:
    """Run one fit in a fresh process."""
    command = [sys.executable, __file__, "--run", kind, name, str(folder), memory, str(kill_after)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{kind}, {name}: {done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def compare(name: str, folder: Path, memory: str, kinds: list[str]) -> dict[str, dict]:
    found: dict[str, dict] = {}
    for kind in kinds:
        killed = kind == "one of two killed"
        halfway = found["two workers"]["seconds"] / 2 if killed else 0.0
        found[kind] = one = measure(kind, name, folder, memory, halfway)
        line = f"  {name:6} {kind:18} {one['seconds']:7.1f} s {one['cpu']:7.1f} s processor"
        line += f"  client {one['client mb']:5.0f} MB"
        line += f"  worker {one['worker mb']:5.0f} MB" if one["worker mb"] else " " * 17
        line += f"  accuracy {one['accuracy']:.4f}, rare class {one['rare']:.3f}"
        numbers = found.get("one process", {}).get("numbers")
        if numbers and kind != "sample":
            apart = np.abs(np.subtract(one["numbers"], numbers)).max()
            line += f"  apart {apart:.0e}"
        print(line, flush=True)
    for kind in ("one worker", "one process"):
        if {kind, "two workers"} <= found.keys():
            ratio = found[kind]["seconds"] / found["two workers"]["seconds"]
            print(f"  {name:6} two workers against {kind}: {ratio:.2f} times as fast", flush=True)
    return found


KINDS = ["sample", "one process", "one worker", "two workers", "one of two killed"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", default="160000,640000", help="sizes, separated by commas")
    parser.add_argument("--memory", default="2GB", help="limit per worker")
    parser.add_argument("--models", default="em,anchor", help=f"of {', '.join(MODELS)}")
    parser.add_argument("--kinds", default=",".join(KINDS), help="which runs, by commas")
    parser.add_argument("--run", nargs=5, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.run:
        kind, name, folder, memory, after = chosen.run
        print(json.dumps(run(kind, name, Path(folder), memory, float(after))))
        return
    sizes = [int(size) for size in chosen.rows.split(",")]
    kinds = chosen.kinds.split(",")
    times: dict[tuple[str, str], list[float]] = {}
    for n_rows in sizes:
        with tempfile.TemporaryDirectory() as folder:
            write_rows(Path(folder), n_rows)
            n_files = len(list(Path(folder).iterdir()))
            print(f"{n_rows:,} rows in {n_files} files", flush=True)
            for name in chosen.models.split(","):
                for kind, one in compare(name, Path(folder), chosen.memory, kinds).items():
                    times.setdefault((name, kind), []).append(one["cpu"])
    if len(sizes) > 1:
        print(f"exponent of processor time from {sizes[0]:,} to {sizes[-1]:,} rows")
        for (name, kind), found in times.items():
            if kind not in ("sample", "one of two killed"):
                exponent = np.log(found[-1] / found[0]) / np.log(sizes[-1] / sizes[0])
                print(f"  {name:6} {kind:18} {exponent:.2f}")


if __name__ == "__main__":
    main()
