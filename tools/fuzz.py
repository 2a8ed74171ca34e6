"""Throw odd input at leaven and see that it answers rightly, or refuses in one line.

``python -m tools.fuzz --seconds 300`` shares the time among the suites; ``python -m tools.fuzz
tables --count 20000 --seed 7`` runs one of them. Every failure is printed with the seed of its
case, and ``python -m tools.fuzz SUITE --seed N --count 1`` repeats it.

- ``tables``: files of odd cells, names, dtypes, encodings and bytes through ``leaven label``.
  Every cell comes back as it was, or there is one line on standard error, exit code 2 and no file.
- ``estimators``: every public classifier on odd dtypes, scales from 1e-300 to 1e300, degenerate
  rows and all kinds of labels. Probabilities are finite and sum to one, labels are kept, and the
  same problem in other words (names, marks, containers, orders) has the same answer, or a message
  says why not.
- ``files``: model files, saved sessions of active learning and stores of results, with flipped
  bits or cut short, are noticed.
- ``signals``: a run that is interrupted, terminated or killed leaves all of an output or nothing.
- ``kills``: ``kill -9`` of ``ActiveLearner.save`` and of a study at a random moment: what was
  reported as saved is there. (The labeling page has such a test in tests/app.)
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import logging
import os
import random
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tools import fuzz_tables
from tools.fuzz_estimators import estimators

Failure = str | None

_PATIENCE = 120.0
"""Seconds in which a program must end after a signal; it takes one on an idle machine."""


def command(*args: str) -> tuple[int, str]:
    """Run the command in this process; give its exit code and standard error."""
    from leaven.cli import main

    stderr = io.StringIO()
    with contextlib.redirect_stderr(stderr), contextlib.redirect_stdout(io.StringIO()):
        try:
            main(list(args))
            code = 0
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 1
    return code, stderr.getvalue()


def tables(rng: random.Random, folder: Path) -> Failure:
    """Label a table of odd cells."""
    return fuzz_tables.tables(rng, folder, command)


def files(rng: random.Random, folder: Path) -> Failure:
    """Damage a file and read it."""
    name, write, read = rng.choice(_readers())
    path, damaged = folder / f"whole.{name}", folder / f"damaged.{name}"
    if not path.exists():
        write(path)
        expected[name] = read(path)
    content = bytearray(path.read_bytes())
    if rng.random() < 0.5:
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    else:
        del content[rng.randrange(len(content)) :]
    damaged.write_bytes(content)
    try:
        found = read(damaged)
    except ValueError as error:  # ModelFileError and StoreError are such
        return f"{name}: more than one line: {error}" if "\n" in str(error) else None
    return None if found == expected[name] else f"{name}: a damaged file gave another answer"


expected: dict[str, Any] = {}


def _readers() -> list[tuple[str, Callable[[Path], Any], Callable[[Path], Any]]]:
    """List kinds of files: a name, what writes one, and what reads it."""
    from sklearn.naive_bayes import GaussianNB

    from leaven.active import ActiveLearner
    from leaven.evaluation import compare, read_store
    from leaven.graph_based import HarmonicClassifier
    from leaven.persistence import load_object, save_object

    X, y = np.arange(12.0).reshape(6, 2), [0, -1, -1, -1, -1, 1]

    def write_store(path: Path) -> None:
        rows = np.random.RandomState(0).normal(size=(40, 2))
        data = {"two": (rows, (rows[:, 0] > 0).astype(int))}
        compare({"bayes": GaussianNB()}, data, n_trials=2, store=path, random_state=0)

    return [
        (
            "leaven",
            lambda path: save_object(path, HarmonicClassifier().fit(X, y), kind="model"),
            lambda path: load_object(path, kind="model").predict_proba(X).tolist(),
        ),
        (
            "session",
            lambda path: ActiveLearner(GaussianNB(), random_state=0).fit(X, y).save(path),
            lambda path: ActiveLearner.load(path).query(3).tolist(),
        ),
        ("db", write_store, lambda path: read_store(path).to_csv()),
    ]


def signals(rng: random.Random, folder: Path) -> Failure:
    """Stop a run at a random moment."""
    from leaven.cli import main

    importlib.import_module("leaven.tables")  # once, before the forks
    n_rows = 300
    file, out = folder / "s.csv", folder / "s.out.csv"
    options = ["--target", "target", "--out", str(out), "--method", "harmonic", "--no-report"]

    def label() -> None:
        main(["label", str(file), *options])

    if not file.exists():
        numbers = np.random.RandomState(0)
        table = pd.DataFrame(numbers.normal(size=(n_rows, 4)).round(3), columns=list("abcd"))
        table["target"] = np.where(np.arange(n_rows) < 40, np.where(table["a"] > 0, "x", "y"), "")
        table.to_csv(file, index=False)
        # How long a run takes here and now: later signals would find it ended.
        started = time.monotonic()
        stopped_at(label, _PATIENCE, 0)
        expected["seconds of a run"] = time.monotonic() - started
    out.unlink(missing_ok=True)

    def parts() -> set[str]:
        return {name for name in os.listdir(folder) if name.endswith(".tmp")}

    # What a killed run left stays until a run comes to its own output.
    before = parts()
    number = rng.choice([signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
    _, message = stopped_at(label, rng.uniform(0.0, 1.1) * expected["seconds of a run"], number)
    if out.exists() and sum(1 for _ in out.open()) != n_rows + 1:
        return f"{number.name}: half of an output"
    if number != signal.SIGKILL and parts() - before and "interrupted" in message:
        return f"{number.name}: left {parts() - before}"
    return f"{number.name}: {message}" if "Traceback" in message else None


def kills(rng: random.Random, folder: Path) -> Failure:
    """Kill a program that saves again and again."""
    from sklearn.naive_bayes import GaussianNB

    from leaven.active import ActiveLearner
    from leaven.evaluation import compare, read_store

    session, store = folder / "session.leaven", folder / "study.db"
    rows = np.random.RandomState(0).normal(size=(60, 2))
    truth = (rows[:, 0] > 0).astype(int)

    def save() -> None:
        learner = ActiveLearner(GaussianNB(), random_state=0).fit(rows)
        for row in range(60):
            learner.teach([row], [int(truth[row])])
            learner.save(session)
            print(row + 1, flush=True)

    def study() -> None:
        for trials in range(1, 30):
            data = {"two": (rows, truth)}
            compare({"bayes": GaussianNB()}, data, n_trials=trials, store=store, random_state=0)
            print(trials, flush=True)

    session.unlink(missing_ok=True)
    for part in folder.glob("study.db*"):
        part.unlink()
    saving = rng.random() < 0.5
    printed, message = stopped_at(save if saving else study, rng.uniform(0.01, 0.6), signal.SIGKILL)
    if "Traceback" in message:
        return message
    reported = int(printed.split()[-1]) if printed.split() else 0
    if saving:
        if not session.exists():
            return None if reported == 0 else f"{reported} reported, and no file"
        found = ActiveLearner.load(session).n_taught_
    else:
        if not store.exists() or reported == 0:
            return None
        found = read_store(store)["trial"].nunique()
    return None if found in (reported, reported + 1) else f"{reported} reported, {found} found"


def stopped_at(work: Callable[[], None], seconds: float, number: int) -> tuple[str, str]:
    """Do some work in a process of its own, send it a signal; give what it printed and told.

    Work that ends before is not waited for.

    A fork, since the imports would take longer than the work; tests/cli/test_processes.py
    interrupts those.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if child == 0:
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)
            sys.stdout = os.fdopen(1, "w")
            sys.stderr = os.fdopen(2, "w")
            code = 0
            try:
                signal.signal(signal.SIGINT, signal.default_int_handler)
                work()
            except SystemExit as stop:
                code = stop.code if isinstance(stop.code, int) else 1
            except BaseException:
                traceback.print_exc()
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
        started = time.monotonic()
        while not (has_ended := os.waitpid(child, os.WNOHANG) != (0, 0)):
            if time.monotonic() - started >= seconds:
                os.kill(child, number)
                break
            time.sleep(min(0.005, seconds))
        deadline = time.monotonic() + _PATIENCE
        while not has_ended and os.waitpid(child, os.WNOHANG) == (0, 0):
            if time.monotonic() > deadline:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                return "", f"Traceback: it did not end {_PATIENCE:.0f} s after the signal"
            time.sleep(0.005)
        out.seek(0)
        err.seek(0)
        return out.read().decode(errors="replace"), err.read().decode(errors="replace")


SUITES = {each.__name__: each for each in (tables, estimators, files, signals, kills)}


def run(name: str, *, seed: int, count: int | None, seconds: float | None) -> tuple[int, int]:
    """Run the cases of a suite; give how many there were and how many failed."""
    started, n_cases, n_failed = time.monotonic(), 0, 0
    logging.getLogger("leaven").setLevel(logging.CRITICAL)
    with tempfile.TemporaryDirectory() as folder, contextlib.suppress(KeyboardInterrupt):
        while count is None or n_cases < count:
            if seconds is not None and time.monotonic() - started > seconds:
                break
            case = seed + n_cases
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    failure = SUITES[name](random.Random(case), Path(folder))
                except Exception:
                    failure = "".join(traceback.format_exc().splitlines(keepends=True)[-7:])
            n_cases += 1
            if failure is not None:
                n_failed += 1
                print(f"{name} --seed {case}: {failure}", flush=True)
    print(f"{name}: {n_cases:,} cases from seed {seed}, {n_failed} failures", flush=True)
    return n_cases, n_failed


def main() -> int:
    """Run the suites that are named, or all."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("suites", nargs="*", help=f"of {', '.join(SUITES)} [default: all]")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--count", type=int, default=None, help="cases of each suite")
    parser.add_argument("--seconds", type=float, default=None, help="for all suites together")
    args = parser.parse_args()
    names = args.suites or list(SUITES)
    seed = random.SystemRandom().randrange(10**9) if args.seed is None else args.seed
    seconds = args.seconds if args.count is not None or args.seconds is not None else 60.0
    share = None if seconds is None else seconds / len(names)
    failed = [run(name, seed=seed, count=args.count, seconds=share)[1] for name in names]
    return int(sum(failed) > 0)


if __name__ == "__main__":
    sys.exit(main())
