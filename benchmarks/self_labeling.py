"""Memory of self-training, and accuracy of the self-labeling family.

python benchmarks/self_labeling.py [--quick]

First part: the peak of extra memory of ``SelfTrainingClassifier`` in multiples of X, by the
number of rounds, beside scikit-learn's class of the same name, for dense and sparse X. The
estimator is one that allocates next to nothing, so that what is measured is the loop.

Second part: accuracy on the unlabeled rows, means over seeds, with the floor (the labeled rows
alone), on data for which the assumption of one method or another holds.
"""

from __future__ import annotations

import argparse
import time
import tracemalloc
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_digits, make_moons
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.semi_supervised import SelfTrainingClassifier as Peer
from sklearn.tree import DecisionTreeClassifier

from leaven.self_labeling import (
    ClusterThenLabel,
    CoEMClassifier,
    CoTrainingClassifier,
    SelfTrainingClassifier,
    SetredClassifier,
    TriTrainingClassifier,
)


class NearestMean(ClassifierMixin, BaseEstimator):
    """A classifier whose own memory is a few numbers a row."""

    def fit(self, X: Any, y: Any) -> NearestMean:
        self.classes_, codes = np.unique(y, return_inverse=True)
        pick = np.eye(len(self.classes_))[codes] / np.bincount(codes)[codes][:, None]
        self.means_ = np.asarray((X.T @ pick).T)
        return self

    def predict_proba(self, X: Any) -> Any:
        score = np.asarray(X @ self.means_.T) - (self.means_**2).sum(axis=1) / 2
        score = np.exp(score - score.max(axis=1, keepdims=True))
        return score / score.sum(axis=1, keepdims=True)

    def predict(self, X: Any) -> Any:
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def peak(work: Callable[[], Any]) -> float:
    tracemalloc.start()
    work()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return float(most)


def size_of(X: Any) -> int:
    return int(X.data.nbytes + X.indices.nbytes if sparse.issparse(X) else X.nbytes)


def memory(n_rows: int) -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=n_rows)
    dense = truth[:, None] + rng.normal(size=(n_rows, 100))
    words = sparse.random_array((n_rows, 20_000), density=0.005, format="csr", random_state=rng)
    y = np.where(np.arange(n_rows) < 100, truth, -1)
    print(f"peak of extra memory in multiples of X, {n_rows} rows")
    print(f"{'X':8}{'rounds':>8}{'leaven':>10}{'scikit-learn':>14}")
    for name, X in (("dense", dense), ("sparse", words)):
        for rounds in (1, 2, 5, 10):
            k = (n_rows - 100) // 10 + 1
            ours = SelfTrainingClassifier(NearestMean(), k_best=k, max_iter=rounds)
            theirs = Peer(NearestMean(), criterion="k_best", k_best=k, max_iter=rounds)
            # scikit-learn's class cannot index the new sparse arrays with its mask.
            other = sparse.csr_matrix(X) if sparse.issparse(X) else X
            a = peak(lambda m=ours, X=X: m.fit(X, y)) / size_of(X)
            b = peak(lambda m=theirs, X=other: m.fit(X, y)) / size_of(X)
            print(f"{name:8}{rounds:8d}{a:10.2f}{b:14.2f}")


def independent_views(seed: int) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    truth = rng.integers(2, size=500)
    X = 0.9 * rng.normal(size=(2, 10))[truth] + rng.normal(size=(500, 10))
    return X, truth, hide(truth, 3, rng)


def moons(seed: int) -> tuple[Any, Any, Any]:
    X, truth = make_moons(400, noise=0.08, random_state=seed)
    return X, truth, hide(truth, 3, np.random.default_rng(seed))


def digits(seed: int) -> tuple[Any, Any, Any]:
    X, truth = load_digits(return_X_y=True)
    X = PCA(20, random_state=0).fit_transform(X)
    return X, truth, hide(truth, 5, np.random.default_rng(seed))


def hide(truth: Any, per_class: int, rng: Any) -> Any:
    y = np.full(len(truth), -1)
    for label in np.unique(truth):
        chosen = rng.choice(np.flatnonzero(truth == label), per_class, replace=False)
        y[chosen] = label
    return y


def models(base: Any, n_features: int) -> dict[str, Any]:
    half = (slice(0, n_features // 2), slice(n_features // 2, None))
    nearest = KNeighborsClassifier(1)
    return {
        "self-training, threshold": SelfTrainingClassifier(base),
        "self-training, k best per class": SelfTrainingClassifier(base, k_best=5, per_class=True),
        "self-training, weighted": SelfTrainingClassifier(
            base, k_best=5, per_class=True, weighted=True
        ),
        "self-training, 1-NN by distance": SelfTrainingClassifier(nearest, confidence="distance"),
        "SETRED": SetredClassifier(base, per_round=30),
        "SETRED, kNN graph, exact": SetredClassifier(base, per_round=30, graph="knn", test="exact"),
        "co-training, cross": CoTrainingClassifier(base, views=half),
        "co-training, shared": CoTrainingClassifier(base, views=half, teaching="shared"),
        "co-EM": CoEMClassifier(base, views=half),
        "tri-training": TriTrainingClassifier(base),
        "tri-training, trees": TriTrainingClassifier(DecisionTreeClassifier()),
        "cluster-then-label": ClusterThenLabel(),
        "cluster-then-label, nearest": ClusterThenLabel(rule="nearest"),
    }


def accuracy(n_seeds: int) -> None:
    makers = {"independent views": independent_views, "two moons": moons, "digits": digits}
    rows: dict[str, list[str]] = {}
    for make in makers.values():
        results: dict[str, list[tuple[float, float]]] = {}
        for seed in range(n_seeds):
            X, truth, y = make(seed)
            hidden = y == -1
            start = time.perf_counter()
            floor = GaussianNB().fit(X[~hidden], y[~hidden]).score(X[hidden], truth[hidden])
            results.setdefault("labeled rows only", []).append((floor, time.perf_counter() - start))
            for name, model in models(GaussianNB(), X.shape[1]).items():
                model = clone(model)
                if "random_state" in model.get_params():
                    model.set_params(random_state=seed)
                start = time.perf_counter()
                model.fit(X, y)
                spent = time.perf_counter() - start
                right = np.mean(model.transduction_[hidden] == truth[hidden])
                results.setdefault(name, []).append((float(right), spent))
        for name, pairs in results.items():
            mean, spent = np.mean(pairs, axis=0)
            rows.setdefault(name, []).append(f"{mean:12.3f}{spent:8.2f} s")
    print(f"\naccuracy on the unlabeled rows and seconds, means of {n_seeds} seeds; GaussianNB")
    print(f"{'':34}" + "".join(f"{name:>22}" for name in makers))
    for name, cells in rows.items():
        print(f"{name:34}" + "".join(cells))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller data, fewer seeds")
    quick = parser.parse_args().quick
    warnings.simplefilter("ignore", ConvergenceWarning)
    memory(10_000 if quick else 50_000)
    accuracy(2 if quick else 10)


if __name__ == "__main__":
    main()
