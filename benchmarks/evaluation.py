"""Speed of the learning curves, and what the harness costs.

python benchmarks/evaluation.py [--quick]

First part: learning curves of categorical naive Bayes on the mushroom data (75/25, from one
label), by ``learning_curve`` and by a plain loop that fits scikit-learn's ``CategoricalNB`` at
each number of labels. The plain loop runs for fewer trials, and its time a trial is compared.
Without the file of the data (``LEAVEN_DATA``) a table of the same shape is made.

Second part: ``learning_curve`` and ``compare`` against a bare loop that makes the same fits, for
estimators without a short cut. The time is that of the processor, the smallest of three runs.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import BernoulliNB, CategoricalNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder, StandardScaler

from leaven.datasets import load
from leaven.evaluation import CurveProtocol, aulc, compare, learning_curve
from leaven.generative import SemiSupervisedGaussianNB


def mushroom() -> tuple[str, Any, Any]:
    if os.environ.get("LEAVEN_DATA"):
        X, y = load("mushroom", return_X_y=True)
        codes = OrdinalEncoder().fit_transform(X.astype(object).fillna("?"))
        return "mushroom", codes.astype(int), y.to_numpy()
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=8124)
    X = np.minimum(rng.poisson(1 + y[:, None] * rng.random(22), size=(8124, 22)), 8)
    return "made table", X, y


def seconds(work: Callable[[], Any]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def bare_loop(model: Any, X: Any, y: Any, protocol: CurveProtocol, semi: bool = False) -> Any:
    """Errors of each trial and size, with nothing but the fits and predictions."""
    codes = np.unique(y, return_inverse=True)[1]
    errors = []
    for trial in range(protocol.n_trials):
        split = protocol.split(codes, trial, continuous=X.dtype.kind == "f")
        X_train, y_train = X[split.order], y[split.order]
        X_test, y_test = X[split.test], y[split.test]
        for size in split.sizes:
            if (y_train[:size] == y_train[0]).all():
                predicted = np.repeat(y_train[:1], len(y_test))
            elif semi:
                given = np.where(np.arange(len(y_train)) < size, y_train, -1)
                predicted = clone(model).fit(X_train, given).predict(X_test)
            else:
                predicted = clone(model).fit(X_train[:size], y_train[:size]).predict(X_test)
            errors.append(np.mean(predicted != y_test))
    return errors


def short_cut(n_trials: int, n_plain: int) -> None:
    name, X, y = mushroom()
    model = CategoricalNB(min_categories=X.max(axis=0) + 1)
    curves: dict[str, Any] = {}

    def ours() -> None:
        curves["ours"] = learning_curve(model, X, y, n_trials=n_trials, random_state=0)

    def plain() -> None:
        protocol = CurveProtocol("plain", n_trials=n_plain)
        curves["plain"] = bare_loop(model, X, y, protocol)

    quick, slow = seconds(ours) / n_trials, seconds(plain) / n_plain
    curve = curves["ours"]
    same = np.array_equal(curve["error"][: len(curves["plain"])], curves["plain"])
    areas = [aulc(one["n_labeled"], one["error"]) for _, one in curve.groupby("trial")]
    print(f"naive Bayes on {name}, {len(X)} rows, {len(curve) // n_trials} sizes a trial")
    print(f"  learning_curve  {1e3 * quick:8.1f} ms a trial, {n_trials} trials")
    print(f"  plain loop      {1e3 * slow:8.1f} ms a trial, {n_plain} trials")
    print(f"  ratio           {slow / quick:8.1f}")
    print(f"  same errors     {same!s:>8}")
    error = np.std(areas, ddof=1) / np.sqrt(n_trials)
    print(f"  AULC            {np.mean(areas):8.3f} ± {error:.4f}")


def overhead(n_trials: int, repeats: int) -> None:
    X, y = load_breast_cancer(return_X_y=True)
    binary = (mushroom()[1] > 0).astype(int)
    protocol = CurveProtocol("overhead", n_trials=n_trials, start=2)
    cases: list[tuple[str, Any, Any, Any, bool]] = [
        ("BernoulliNB, mushroom", BernoulliNB(), binary, mushroom()[2], False),
        (
            "LogisticRegression, breast cancer",
            make_pipeline(StandardScaler(), LogisticRegression()),
            X,
            y,
            False,
        ),
        ("SemiSupervisedGaussianNB, breast cancer", SemiSupervisedGaussianNB(), X, y, True),
    ]
    print(f"\noverhead against a bare loop, {n_trials} trials")
    print(f"{'':42}{'bare':>9}{'curve':>9}{'compare':>9}{'store':>9}")
    for name, *case in cases:
        least, *others = times_of(*case, protocol, repeats)
        shares = "".join(f"{time / least - 1:9.1%}" for time in others)
        print(f"{name:42}{least:8.2f}s{shares}")


def times_of(
    model: Any, X: Any, y: Any, semi: bool, protocol: CurveProtocol, repeats: int
) -> list[float]:
    def curve() -> None:
        learning_curve(model, X, y, n_trials=protocol.n_trials, start=2, random_state=0)

    def with_store() -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "s.sqlite"
            compare({"m": model}, {"x": (X, y)}, protocol=protocol, store=path)

    work = [
        lambda: bare_loop(model, X, y, protocol, semi),
        curve,
        lambda: compare({"m": model}, {"x": (X, y)}, protocol=protocol),
        with_store,
    ]
    # In turn, so that a busy machine slows all of them.
    return np.min([[seconds(each) for each in work] for _ in range(repeats)], axis=0).tolist()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a few trials")
    few = parser.parse_args().quick
    short_cut(n_trials=10 if few else 100, n_plain=2 if few else 5)
    overhead(n_trials=2 if few else 5, repeats=2 if few else 3)
