"""Solvers of the transductive SVM: objective, accuracy and time, and the cost on large text.

    python benchmarks/s3vm.py [table] [text] [--rows 20000] [--terms 50000]

``table``: every solver on the same small problems. ``text``: switching on sparse rows that look
like text, beside one ``LinearSVC`` fit on all rows with the true labels (goal: at most 15 times).
Seconds are of processor time, so that other work on the machine does not count.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits, make_blobs, make_moons
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from leaven.low_density import TransductiveSVC

warnings.simplefilter("ignore")
SOLVERS = ("switching", "annealing", "gradient", "continuation")
EXACT_ROWS = 40
"""Up to this many rows branch-and-bound is in the table too."""


def few_labels(truth, per_class, seed=0):
    rng = np.random.default_rng(seed)
    y = np.full(len(truth), -1)
    for c in np.unique(truth):
        y[rng.choice(np.flatnonzero(truth == c), per_class, replace=False)] = c
    return y


def problems():
    X, t = make_moons(36, noise=0.05, random_state=0)
    yield "two moons, 36", X, t, {"kernel": "rbf", "C": 10.0}, 3
    X, t = make_blobs(36, centers=[[-2, -2], [2, 2]], random_state=0)
    yield "two clusters, 36", X, t, {"kernel": "linear"}, 3
    yield "two clusters", *make_blobs(200, centers=2, random_state=0), {"kernel": "linear"}, 1
    X, t = make_moons(200, noise=0.06, random_state=0)
    rbf = {"kernel": "rbf", "gamma": 5.0, "C": 10.0, "C_unlabeled": 10.0}
    yield "two moons", X, t, rbf, 1
    X, t = load_breast_cancer(return_X_y=True)
    yield "breast cancer", StandardScaler().fit_transform(X), t, {"kernel": "linear"}, 5
    X, t = load_digits(return_X_y=True)
    some = np.isin(t, [3, 8])
    yield "digits 3 / 8", X[some] / 16, (t[some] == 8).astype(int), {"kernel": "rbf"}, 5


def table():
    print("| data | solver | objective | accuracy | seconds |\n|---|---|---|---|---|")
    for name, X, truth, params, per_class in problems():
        y = few_labels(truth, per_class)
        free = y < 0
        kernel = {k: v for k, v in params.items() if k in ("kernel", "gamma", "C")}
        alone = SVC(**kernel).fit(X[~free], y[~free]).score(X[free], truth[free])
        print(f"| {name} | supervised SVC | | {alone:.3f} | |")
        for solver in SOLVERS + (("branch-and-bound",) if len(X) <= EXACT_ROWS else ()):
            start = time.process_time()
            model = TransductiveSVC(solver=solver, **params).fit(X, y)
            seconds = time.process_time() - start
            accuracy = (model.transduction_ == truth)[free].mean()
            print(
                f"| {name} | {solver} | {model.objective_:.4g} | {accuracy:.3f} | {seconds:.2f} |",
                flush=True,
            )


def text_like(n_rows, n_terms, words=80, seed=0):
    """Rows of Zipf-distributed words, of which a few hundred tell two classes apart."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n_rows) % 2
    rank = 1.0 / np.arange(1, n_terms + 1)
    tilt = np.where(rng.random(n_terms) < 0.02, rng.normal(0, 1.5, n_terms), 0.0)
    row, col = [], []
    for c in (0, 1):
        p = rank * np.exp(tilt if c else -tilt)
        rows = np.flatnonzero(truth == c)
        row.append(np.repeat(rows, words))
        col.append(rng.choice(n_terms, size=len(rows) * words, p=p / p.sum()))
    row, col = np.concatenate(row), np.concatenate(col)
    X = sparse.csr_array((np.ones(len(row)), (row, col)), shape=(n_rows, n_terms))
    X.sum_duplicates()
    X = X.multiply(1 / np.sqrt(X.multiply(X).sum(axis=1))[:, None])
    X = sparse.csr_array(X)
    # liblinear takes 32-bit indices only.
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X, truth


def text(n_rows, n_terms):
    X, truth = text_like(n_rows, n_terms)
    y = few_labels(truth, 50)
    start = time.process_time()
    LinearSVC().fit(X, truth)
    peer = time.process_time() - start
    start = time.process_time()
    model = TransductiveSVC(solver="switching").fit(X, y)
    ours = time.process_time() - start
    free = y < 0
    alone = SVC(kernel="linear").fit(X[~free], y[~free]).score(X[free], truth[free])
    accuracy = (model.transduction_ == truth)[free].mean()
    print(
        f"{n_rows:,} x {n_terms:,}: switching {ours:.1f} s, LinearSVC {peer:.2f} s, ratio "
        f"{ours / peer:.1f} (goal <= 15); accuracy {accuracy:.3f}, supervised {alone:.3f}"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("parts", nargs="*", default=["table", "text"])
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--terms", type=int, default=50_000)
    options = parser.parse_args()
    if "table" in options.parts:
        table()
    if "text" in options.parts:
        text(options.rows, options.terms)
