"""The work of test_cluster.py, as a process of its own that cannot hang.

Starts a cluster of two worker processes on 127.0.0.1, does each piece of work on it and on one
machine, and writes the pairs of answers to the file that is named on the command line (names of
pieces after it: these only).
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import pickle
import signal
import sys
import threading
import traceback
import warnings
from itertools import pairwise
from pathlib import Path

import joblib
import numpy as np
import pandas as pd

SECONDS = 900
"""Two free cores take about a minute for all of it; a cluster that hangs is ended here."""

N = 150
# Class 2 lives in rows 100 to 120 alone, and rows 40 to 99 have no label.
CUTS = {
    "one": [],
    "two": [70],
    "seven": [20, 41, 62, 83, 104, 125],
    "uneven, one empty": [3, 3, 140],
    "a class in one partition": [100, 121],
}


def problem(n=N, seed=0):
    rng = np.random.default_rng(seed)
    y = np.where((np.arange(n) >= 100) & (np.arange(n) < 121), 2, rng.integers(0, 2, n))
    X = rng.normal(size=(n, 4)) + 1.7 * np.eye(4)[y]
    labels = np.where(rng.random(n) < 0.3, y, -1)
    labels[40:100] = -1
    labels[[0, 1, 2, 3]] = y[[0, 1, 2, 3]] = [0, 1, 0, 1]
    labels[[101, 103]] = 2
    return X, labels


def chunks_of(cuts):
    return tuple(b - a for a, b in pairwise([0, *cuts, N]))


def few_steps():
    """EM with a fixed number of iterations, so that a loaded machine need not do many."""
    from leaven.generative import SemiSupervisedGaussianNB

    return SemiSupervisedGaussianNB(max_iter=4, tol=0.0)


def numbers_of(model, X):
    """What a fit is compared by; lazy answers are computed."""
    found = {
        "probabilities": model.predict_proba(X),
        "transduction": np.asarray(model.transduction_),
        "distributions": np.asarray(model.label_distributions_),
    }
    for name in ("objective_trace_", "anchor_values_", "prior_", "theta_"):
        if hasattr(model, name):
            found[name] = np.asarray(getattr(model, name))
    return found


def estimators_on_partitions(client, folder):
    import dask.array as da

    from leaven.graph_based import AnchorGraphClassifier

    X, y = problem()
    pairs = {}
    for name, model in {
        "em": few_steps(),
        "anchor graph": AnchorGraphClassifier(40, random_state=0),
    }.items():
        expected = numbers_of(model.fit(X, y), X)
        for cuts, at in CUTS.items():
            rows = da.from_array(X, chunks=(chunks_of(at), -1))
            lazy = model.fit(rows, da.from_array(y, chunks=N))
            pairs[name, cuts] = numbers_of(lazy, X), expected
    return pairs


def frames(client, folder):
    """A fit on a Dask DataFrame, and predictions of fitted models on Dask collections."""
    import dask.array as da
    import dask.dataframe as dd
    from sklearn.linear_model import LogisticRegression

    import leaven
    from leaven.generative import SemiSupervisedMixedNB
    from leaven.graph_based import HarmonicClassifier
    from leaven.self_labeling import SelfTrainingClassifier
    from leaven.tables import label_table

    X, y = problem()
    table = pd.DataFrame(X, columns=list("abcd"))
    table["e"] = np.where(X[:, 0] > 1, "up", "down")
    names = pd.Series(np.array(["first", "second", "third", None], dtype=object)[y])
    lazy = dd.from_pandas(table.assign(target=names), npartitions=3)
    mixed = SemiSupervisedMixedNB(max_iter=4, tol=0.0)
    expected = numbers_of(mixed.fit(table, names), table)
    found = numbers_of(mixed.fit(lazy.drop(columns="target"), lazy["target"]), table)
    pairs = {"fit of a DataFrame": (found, expected)}
    for model in (HarmonicClassifier(), SelfTrainingClassifier(LogisticRegression())):
        model.fit(X, y)
        rows = da.from_array(X, chunks=(40, 3))
        answers = model.predict(rows), model.predict_proba(rows)
        pairs[type(model).__name__] = (
            dict(zip(["classes", "probabilities"], map(np.asarray, answers), strict=True)),
            {"classes": model.predict(X), "probabilities": model.predict_proba(X)},
        )
    path = folder / "model.leaven"
    label_table(table.assign(target=names), "target", method="naive-bayes").save(path)
    saved = leaven.load(path)
    labeled = saved.label(lazy)
    computed = labeled.compute()
    pairs["saved model"] = (
        {
            "labels": computed["target_predicted"].to_numpy(dtype=object),
            "confidence": computed["target_confidence"].to_numpy(),
            "dtypes": [str(kind) for kind in labeled.dtypes],
        },
        {
            "labels": saved.label(table.assign(target=names))["target_predicted"].to_numpy(object),
            "confidence": saved.label(table.assign(target=names))["target_confidence"].to_numpy(),
            "dtypes": [str(kind) for kind in computed.dtypes],
        },
    )
    return pairs


def read_rows(rows, log, deadly):
    """Give rows as they are; the reading number ``deadly`` kills its worker, once."""
    with Path(log).open("a") as stream:  # one short write at the end of a file is atomic
        stream.write("read\n")
    if len(Path(log).read_text().splitlines()) == deadly:
        os.kill(os.getpid(), signal.SIGKILL)
    return rows


def killed_in_em(client, folder):
    import dask.array as da

    X, y = problem()
    expected = numbers_of(few_steps().fit(X, y), X)
    log = folder / "reads"
    rows = da.from_array(X, chunks=(50, -1)).map_blocks(read_rows, str(log), 12, dtype=float)
    before = pids(client)
    found = numbers_of(few_steps().fit(rows, da.from_array(y, chunks=50)), X)
    client.wait_for_workers(2, timeout=120)
    # What was persisted is not read again, whatever passes there are.
    log = folder / "persisted reads"
    kept = da.from_array(X, chunks=(50, -1)).map_blocks(read_rows, str(log), 0, meta=X[:0])
    kept = client.persist(kept)
    again = numbers_of(few_steps().fit(kept, da.from_array(y, chunks=50)), X)
    return {
        "em": (found, expected),
        "workers": (before, pids(client)),
        "persisted": (again, expected),
        "reads": len(log.read_text().splitlines()),
    }


def pids(client):
    return sorted(client.run(os.getpid).values())


def trials(client, folder):
    """Trials of two methods; the first fit of all kills its worker."""
    from sklearn.naive_bayes import GaussianNB

    from leaven.evaluation import DrawProtocol, compare, learning_curve, read_store
    from studies.registry import Run

    class Mortal(GaussianNB):
        def __init__(self, log="", *, priors=None, var_smoothing=1e-9):
            super().__init__(priors=priors, var_smoothing=var_smoothing)
            self.log = log

        def fit(self, X, y, sample_weight=None):
            first = not Path(self.log).exists()
            with Path(self.log).open("a") as stream:
                stream.write("begun\n")
            if first:
                os.kill(os.getpid(), signal.SIGKILL)
            super().fit(X, y, sample_weight)
            with Path(self.log).open("a") as stream:
                stream.write("ended\n")
            return self

    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 120)
    data = {"blobs": (rng.normal(size=(120, 4)) + 1.5 * np.eye(4)[y], y)}
    settings = {"protocol": DrawProtocol("draws", per_class=5, n_trials=6), "random_state": 0}
    expected = compare({"NB": GaussianNB()}, data, **settings)
    log, store = folder / "fits", folder / "trials.sqlite"
    methods = {"NB": Mortal(str(log))}
    with joblib.parallel_config("dask"):
        found = compare(methods, data, **settings, store=store, n_jobs=-1)
        fits = log.read_text().splitlines()
        again = compare(methods, data, **settings, store=store, n_jobs=-1)
    curve = {"sizes": [6, 12, 30], "n_trials": 3, "random_state": 0}
    one = learning_curve(few_steps(), *data["blobs"], **curve)
    with joblib.parallel_config("dask"):
        many = learning_curve(few_steps(), *data["blobs"], **curve, n_jobs=-1)
        study = Run(n_trials=2, n_jobs=-1).compare({"NB": GaussianNB()}, data, settings["protocol"])
    return {
        "compare": (found, expected),
        "fits": fits,
        "fits in the second run": len(log.read_text().splitlines()) - len(fits),
        "again": (again, found),
        "stored": read_store(store),
        "learning curve": (many, one),
        "study": (study, Run(n_trials=2).compare({"NB": GaussianNB()}, data, settings["protocol"])),
    }


def files(client, folder):
    """``leaven label`` on many files with a scheduler, and with a worker killed halfway."""
    from leaven.tables import label_files

    X, y = problem(300)
    table = pd.DataFrame(X, columns=list("abcd"))
    table["topic"] = np.array(["x", "y", "z", None], dtype=object)[y]
    source = folder / "rows"
    source.mkdir()
    for number, part in enumerate(np.array_split(np.arange(300), 6)):
        table.iloc[part].to_parquet(source / f"part{number}.parquet", index=False)
    address = client.scheduler.address
    pairs = {}
    for method in ("naive-bayes-em", "anchor-graph"):
        settings = {"method": method, "sample": 60, "random_state": 0}
        label_files(source, "topic", folder / f"one {method}", **settings)
        out = folder / f"many {method}"
        with kill_when_written(client, out, 1 if method == "anchor-graph" else None):
            label_files(source, "topic", out, **settings, scheduler=address)
        pairs[method] = answers_in(out), answers_in(folder / f"one {method}")
    return pairs


def no_worker(client, folder):
    """``leaven label`` with a scheduler that has no worker, or whose workers all die."""
    import distributed
    from click.testing import CliRunner

    from leaven.cli import main as command
    from leaven.tables import TableError, _workers

    pd.DataFrame({"x": [1.0, 2.0], "t": ["a", None]}).to_csv(folder / "a.csv", index=False)
    _workers.WORKER_SECONDS = 1
    with distributed.LocalCluster(
        n_workers=0, host="127.0.0.1", dashboard_address=None, silence_logs=50
    ) as empty:
        words = ["label", str(folder / "*.csv"), "--target", "t", "--out", str(folder / "out")]
        run = CliRunner().invoke(command, [*words, "--scheduler", empty.scheduler_address])
    try:
        with _workers.open_workers(client.scheduler.address, None):
            raise distributed.KilledWorker("part0", None, 3)  # what Dask raises after three
    except TableError as error:
        killed = str(error)
    return {"exit code": run.exit_code, "said": " ".join(run.output.split()), "killed": killed}


@contextlib.contextmanager
def kill_when_written(client, out, n_files):
    """Kill one worker as soon as ``n_files`` files are written."""
    victim, over = pids(client)[0], threading.Event()

    def watch():
        while not over.wait(0.02):
            if len(list(out.glob("part*"))) >= n_files:
                os.kill(victim, signal.SIGKILL)
                return

    thread = threading.Thread(target=watch, daemon=True)
    if n_files is not None:
        thread.start()
    yield
    over.set()


def answers_in(folder):
    table = pd.concat([pd.read_parquet(path) for path in sorted(folder.glob("part*"))])
    return {
        "labels": table["topic_predicted"].to_numpy(dtype=object),
        "confidence": table["topic_confidence"].to_numpy(),
    }


PIECES = {
    "estimators": estimators_on_partitions,
    "frames": frames,
    "killed": killed_in_em,
    "trials": trials,
    "files": files,
    "no worker": no_worker,
}


def main(out, *names):
    import distributed

    faulthandler.dump_traceback_later(SECONDS, exit=True)
    warnings.simplefilter("ignore")  # of iterations that are not many enough
    answers = {}
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address=None,
            silence_logs=50,
        ) as cluster,
        distributed.Client(cluster, timeout=120) as client,
    ):
        for name in names or PIECES:
            folder = out.parent / name
            folder.mkdir()
            try:
                answers[name] = PIECES[name](client, folder)
            except Exception:
                answers[name] = traceback.format_exc()
            out.write_bytes(pickle.dumps(answers))
        faulthandler.cancel_dump_traceback_later()
        # Closing a cluster politely may take minutes on a loaded machine.
        faulthandler.dump_traceback_later(60, exit=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
