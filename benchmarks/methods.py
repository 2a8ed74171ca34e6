"""Accuracy of every public classifier on the tables and images that ``leaven.datasets`` finds.

    python benchmarks/methods.py run [--methods NAME ...] [--sets NAME ...] [--draws 2]
                                     [--rows 500] [--labels 5] [--limit 60] [--out methods.jsonl]
    python benchmarks/methods.py table [--out methods.jsonl]
    python benchmarks/methods.py rank [--out methods.jsonl]

``run`` fits each classifier with its defaults on 500 rows of each set, five labels per class, and
writes one JSON object per fit at once; fits that are there already are not repeated, so that a new
classifier costs its own fits alone. A fit that takes more than ``--limit`` seconds of processor
time is stopped and counts as an answer with the most frequent label. ``table`` writes the mean
accuracy per set to docs/data/methods.csv, where methods and sets that are not in the file stay as
they were; docs/figures/method_table.py fills the table of docs/guide/choose.md from it, and draws
the critical differences. ``rank`` prints mean accuracy and mean
rank of what is in the file, VARIANTS included, which only ``--methods`` runs.

Columns are prepared as in benchmarks/safe.py (one-hot, then standardized) but for the classifiers
in PREPARED. Classifiers that wrap another one get logistic regression. The hidden layers of the
networks are smaller than their defaults (MADE): 500 rows are few for millions of weights.
"""

from __future__ import annotations

import argparse
import importlib
import json
import pkgutil
import signal
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from safe import few_labels, prepare, read, set_names
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.semi_supervised import LabelSpreading
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import leaven
from leaven.base import TransductionMixin, learns_from_unlabeled
from leaven.graph_based import HarmonicClassifier, HeatKernelClassifier, MinCutClassifier
from leaven.self_labeling import CalibratedTreeClassifier, SelfTrainingClassifier

TABLE = Path(__file__).parents[1] / "docs" / "data" / "methods.csv"
KEY = ["method", "set", "draw"]
SECONDS = "(median seconds)"
MOST_COLUMNS = 1_000
"""Of a set with more (arcene) so many are drawn: full covariances need their square."""

ELSEWHERE = {
    "LeNet5Classifier": "images",
    "SemiSupervisedHMM": "sequences",
    "TableLabeler": "data frames; the choice is that of SafeClassifier",
}
"""Classifiers for rows that are not a matrix."""

BASE = LogisticRegression(max_iter=1_000)
MADE = {
    "SelfTrainingClassifier": {"estimator": BASE},
    "SetredClassifier": {"estimator": BASE},
    "CoTrainingClassifier": {"estimator": BASE},
    "CoEMClassifier": {"estimator": BASE},
    "TriTrainingClassifier": {"estimator": BASE},
    "RBMPretrainedClassifier": {"hidden_layer_sizes": (100, 100), "pretrain_epochs": 20},
    "ClasswiseAutoencoder": {
        "hidden_layer_sizes": (30, 10),
        "pretrain_epochs": 20,
        "finetune_iter": 50,
    },
}
"""Arguments of those that are not made with their defaults."""

BASELINES = {
    "logistic regression": BASE,
    "SVC(C=10)": SVC(C=10.0),
    "1-NN": KNeighborsClassifier(1),
    "extra-trees": ExtraTreesClassifier(200, random_state=0),
    "scikit-learn LabelSpreading": LabelSpreading(kernel="knn"),
}
"""What one would use instead; the first four see the labeled rows alone."""


TREES = {"k_best": 10, "per_class": True}
VARIANTS = {
    "tree": DecisionTreeClassifier(random_state=0),
    "self-trained tree": SelfTrainingClassifier(DecisionTreeClassifier(random_state=0), **TREES),
    "self-trained calibrated tree": SelfTrainingClassifier(
        CalibratedTreeClassifier(random_state=0), **TREES
    ),
    "HarmonicClassifier, threshold": HarmonicClassifier(decision="threshold"),
    "MinCutClassifier, prior=None": MinCutClassifier(prior=None),
    "MinCutClassifier, one-versus-rest": MinCutClassifier(prior=None, multiclass="one-versus-rest"),
    "HeatKernelClassifier, prior=None": HeatKernelClassifier(prior=None),
}
"""Other arguments of some classifiers, for a question of their own."""


def as_codes(X):
    """Columns cut into at most five categories at their quantiles."""
    cuts = np.quantile(X, [0.2, 0.4, 0.6, 0.8], axis=0)
    return np.column_stack(
        [np.searchsorted(np.unique(cut), column) for cut, column in zip(cuts.T, X.T, strict=True)]
    )


PREPARED = {
    "SemiSupervisedMultinomialNB": lambda X: MinMaxScaler().fit_transform(X),
    "SemiSupervisedCategoricalNB": as_codes,
    "RBMPretrainedClassifier": lambda X: MinMaxScaler().fit_transform(X),
    "ClasswiseAutoencoder": lambda X: MinMaxScaler().fit_transform(X),
    "SafeClassifier": lambda X: X,
}
"""Rows of another kind, where a classifier needs them: counts, categories, shares, and as they are
for the one that looks at the kind of values and scales them by itself."""


def classifiers():
    """Make every public classifier; those that are in ELSEWHERE are left out."""
    found = {}
    for module in pkgutil.iter_modules(leaven.__path__):
        if module.name.startswith("_") or module.name in {"cli", "testing", "base"}:
            continue
        package = importlib.import_module(f"leaven.{module.name}")
        for name in getattr(package, "__all__", []):
            thing = getattr(package, name)
            if isinstance(thing, type) and issubclass(thing, TransductionMixin):
                found[name] = thing
    made = {}
    for name, thing in sorted(found.items()):
        if name not in ELSEWHERE:
            made[name] = thing(**MADE.get(name, {}))
            if "random_state" in made[name].get_params(deep=False):
                made[name].set_params(random_state=0)
    return made


class OutOfTimeError(Exception):
    pass


def _stop(number, frame):
    raise OutOfTimeError


def run(name, estimator, X, truth, y, limit):
    """Accuracy on the unlabeled rows, seconds, and what went wrong if something did."""
    free = y == -1
    if name == "SemiSupervisedMixedNB":
        two = np.array([len(np.unique(column)) <= 2 for column in X.T])
        estimator.set_params(categorical_features=two)
        Z = np.where(two, (X.min(axis=0) < X).astype(float), StandardScaler().fit_transform(X))
    else:
        Z = PREPARED.get(name, lambda X: StandardScaler().fit_transform(X))(X)
    note = ""
    started = time.process_time()
    signal.setitimer(signal.ITIMER_PROF, limit)
    try:
        if learns_from_unlabeled(estimator):
            answer = np.asarray(estimator.fit(Z, y).transduction_)[free]
        else:
            answer = estimator.fit(Z[~free], y[~free]).predict(Z[free])
    except OutOfTimeError:
        note, answer = "out of time", np.bincount(y[~free]).argmax()
    except ValueError as error:  # such as more than two classes where two are all it knows
        return {"accuracy": None, "seconds": None, "note": str(error)[:200]}
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    seconds = time.process_time() - started
    return {
        "accuracy": float((answer == truth[free]).mean()),
        "seconds": round(seconds, 3),
        "note": note,
    }


def run_all(options):
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGPROF, _stop)
    everything = BASELINES | classifiers()
    estimators = everything | VARIANTS
    done = {tuple(r[key] for key in KEY) for r in read(options.out)}
    with options.out.open("a", encoding="utf-8") as file:
        for draw in range(options.draws):  # outermost: a run that is stopped has whole draws
            for data in options.sets or set_names():
                todo = [
                    name for name in options.methods or everything if (name, data, draw) not in done
                ]
                if not todo:
                    continue
                X, truth = prepare(data, options.rows)
                if X.shape[1] > MOST_COLUMNS:
                    rng = np.random.default_rng(0)
                    X = X[:, rng.choice(X.shape[1], MOST_COLUMNS, replace=False)]
                y = few_labels(truth, options.labels, draw)
                for name in todo:
                    found = run(name, estimators[name], X, truth, y, options.limit)
                    record = {"method": name, "set": data, "draw": draw, "rows": len(y), **found}
                    file.write(json.dumps(record) + "\n")
                    file.flush()
                    print(name, data, draw, found["accuracy"], found["seconds"], flush=True)


def write_table(options):
    """Write the mean accuracy per set and method, and the median seconds in the last line."""
    results = pd.DataFrame(read(options.out))
    known = {*BASELINES, *classifiers()}
    results = results[results["method"].isin(known) & results["draw"].lt(options.draws)]
    wide = results.pivot_table(index="set", columns="method", values="accuracy", sort=True)
    wide.loc[SECONDS] = results.groupby("method")["seconds"].median()
    if TABLE.exists():  # a new classifier costs its own fits alone
        old = pd.read_csv(TABLE, index_col=0)
        wide = wide.combine_first(old[[name for name in old if name in known]])
    wide = wide.loc[[*sorted(set(wide.index) - {SECONDS}), SECONDS]]
    wide = wide[sorted(wide, key=lambda name: (name not in BASELINES, name.lower()))]
    TABLE.parent.mkdir(exist_ok=True)
    wide.round(4).to_csv(TABLE)
    slow = results[results["note"] == "out of time"].groupby("method").size()
    print(slow.to_string() if len(slow) else "no fit ran out of time")
    print(f"{len(wide) - 1} sets, {wide.shape[1]} methods, in {TABLE}")


def print_ranks(options):
    """Print mean accuracy and mean rank over the sets that all methods of the file have."""
    results = pd.DataFrame(read(options.out))
    results = results[results["draw"].lt(options.draws)]
    wide = results.pivot_table(index="set", columns="method", values="accuracy").dropna()
    ranks = wide.rank(axis=1, ascending=False)
    table = pd.DataFrame({"accuracy": 100 * wide.mean(), "rank": ranks.mean()})
    print(f"{len(wide)} sets, {results['draw'].nunique()} draws")
    print(table.sort_values("rank").round(2).to_string())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("command", choices=["run", "table", "rank"])
    parser.add_argument("--methods", nargs="*", default=None)
    parser.add_argument("--sets", nargs="*", default=None)
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--rows", type=int, default=500)
    parser.add_argument("--labels", type=int, default=5)
    parser.add_argument("--limit", type=float, default=60.0)
    parser.add_argument("--out", type=Path, default=Path("methods.jsonl"))
    chosen = parser.parse_args()
    {"run": run_all, "table": write_table, "rank": print_ranks}[chosen.command](chosen)
