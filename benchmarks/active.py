"""Cost of active learning, against what else there is.

python benchmarks/active.py [eer | candidates] [--quick] [--out docs/data/candidates.csv]

- eer: one expected-error query over the 1,797 digits with ``GaussianNB``, 20 of them labeled,
  against ``MonteCarloEER`` of scikit-activeml (if it is installed) on the same candidates, the
  rows of the pool being the evaluation set of both. Bound: 20 times faster. Also the time for
  *all* rows as candidates, with the peak of extra memory.
- candidates: learning curves of expected error reduction that scores all rows of the pool, the 100
  of the default, a fifth of them chosen by ``max_candidates``, or a fifth at random, beside random
  questions: mean error over the curve, on iris, wine, breast cancer and 700 digits with
  ``GaussianNB``. ``--out`` keeps the curves, which ``docs/figures/candidates.py`` draws.
"""

from __future__ import annotations

import argparse
import time
import tracemalloc
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import spearmanr
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import StandardScaler

from leaven.active import ExpectedErrorReduction, RandomSampling
from leaven.evaluation import learning_curve

MEGABYTE = 1e6
BOUND = 20.0
MOST_ROWS = 700  # in the learning curves


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Processor seconds, which other work on the machine does not lengthen, and the result."""
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def peak_memory(work: Callable[[], Any]) -> float:
    tracemalloc.start()
    work()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return float(peak)


def peer_utilities(model: Any, X: Any, y: Any, labeled: Any, pool: Any, few: Any) -> Any:
    """Utilities by scikit-activeml for the candidates ``few``, as a function to be timed."""
    from skactiveml.classifier import SklearnClassifier
    from skactiveml.pool import MonteCarloEER

    hidden = np.full(len(y), np.nan)
    hidden[labeled] = y[labeled]
    classifier = SklearnClassifier(model, classes=np.unique(y))
    strategy = MonteCarloEER(method="misclassification_loss", random_state=0)

    def query() -> Any:
        _, utilities = strategy.query(
            X, hidden, classifier, candidates=few, X_eval=X[pool], return_utilities=True
        )
        return utilities[0][few]

    return query


def eer(quick: bool) -> None:
    X, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    labeled = np.concatenate(
        [rng.choice(np.flatnonzero(y == c), 2, replace=False) for c in range(10)]
    )
    pool = np.setdiff1d(np.arange(len(y)), labeled)
    # Two rows a class leave pixels without variance; smoothing keeps the model from certainty.
    model = GaussianNB(var_smoothing=0.1).fit(X[labeled], y[labeled])
    strategy = ExpectedErrorReduction()

    def query_all() -> Any:
        return strategy.scores(model, X[pool], X[labeled], y[labeled])

    seconds, scores = timed(query_all)
    assert strategy.path_ == "naive-bayes"
    memory = peak_memory(query_all)
    print(
        f"eer   all {len(pool)} candidates: {seconds:6.2f} s, "
        f"{memory / MEGABYTE:.0f} MB of extra memory"
    )
    n_few = 10 if quick else 50
    few = ExpectedErrorReduction(n_candidates=n_few, random_state=0)

    def query_few() -> Any:
        return few.scores(model, X[pool], X[labeled], y[labeled])

    own_seconds, chosen = min((timed(query_few) for _ in range(3)), key=lambda pair: pair[0])
    places = np.flatnonzero(np.isfinite(chosen))
    own = chosen[places]
    np.testing.assert_allclose(own, scores[places], atol=1e-12)
    try:
        query_peer = peer_utilities(model, X, y, labeled, pool, pool[places])
    except ImportError:
        print("eer   scikit-activeml is not installed: no comparison (pip install scikit-activeml)")
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer_seconds, theirs = timed(query_peer)
    ratio = peer_seconds / own_seconds
    print(
        f"eer   {n_few} candidates: leaven {own_seconds:.3f} s, scikit-activeml "
        f"{peer_seconds:.2f} s, ratio {ratio:.0f} (bound {BOUND:g})"
        f"{'' if ratio >= BOUND else '   TOO SLOW'}"
    )
    # The peer counts the candidate itself, so the order may differ a little.
    rank = int((theirs > theirs[own.argmax()]).sum()) + 1
    print(
        f"eer   rank correlation of the scores {spearmanr(own, theirs).statistic:.4f}; leaven's "
        f"choice is number {rank} of {n_few} by scikit-activeml"
    )


def candidates(quick: bool, out: Path | None = None) -> None:
    n_trials = 4 if quick else 20
    curves = []
    for load in (load_iris, load_wine, load_breast_cancer, load_digits):
        X, y = load(return_X_y=True)
        chosen = np.random.default_rng(0).permutation(len(X))[:MOST_ROWS]
        X, y = X[chosen], y[chosen]
        fifth = len(X) * 3 // 4 // 5
        strategies = {
            "all rows": ExpectedErrorReduction(max_candidates=None, random_state=0),
            "100 rows": ExpectedErrorReduction(max_candidates=100, random_state=0),
            "a fifth": ExpectedErrorReduction(max_candidates=fifth, random_state=0),
            "random fifth": ExpectedErrorReduction(n_candidates=fifth, random_state=0),
            "random questions": RandomSampling(random_state=0),
        }
        n_classes = len(np.unique(y))
        sizes = [2 * n_classes, 3 * n_classes, 5 * n_classes, 8 * n_classes]
        X = StandardScaler().fit_transform(X)
        # Two rows per class leave next to no variance; smoothing keeps the model from certainty.
        model = GaussianNB(var_smoothing=0.1)
        found, base = [], None
        for name, strategy in strategies.items():
            curve = learning_curve(
                model, X, y, strategy=strategy, sizes=sizes, n_trials=n_trials, random_state=0
            )
            curves.append(curve.assign(strategy=name, dataset=load.__name__[5:]))
            means = curve.groupby("trial")["error"].mean()
            base = means if base is None else base
            more = means - base
            found.append(f"{name} {means.mean():.4f} ({more.mean():+.4f} ± {more.sem():.4f})")
        print(f"candidates   {load.__name__[5:]}: {', '.join(found)}", flush=True)
    if out is not None:
        table = pd.concat(curves).groupby(["dataset", "strategy", "n_labeled"], sort=False)
        errors = table["error"].agg(["mean", "sem", "count"]).round(5)
        errors.to_csv(out, lineterminator="\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", nargs="?", choices=["candidates", "eer"], help="all if not named")
    parser.add_argument("--quick", action="store_true", help="a fifth of the candidates")
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    if options.part != "candidates":
        eer(options.quick)
    if options.part != "eer":
        candidates(options.quick, options.out)


if __name__ == "__main__":
    main()
