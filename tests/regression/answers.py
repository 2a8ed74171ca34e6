"""The answers of every public classifier and of ``leaven.label`` on ten small problems.

``python tests/regression/answers.py`` prints them, and ``--write`` stores them as
``answers.json``, which ``test_answers.py`` compares with. An answer that is meant to change is
stored again in the commit that changes it, with a line under "Changed results" in the changelog.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from leaven.datasets import load_example, make_three_bands, make_two_moons
from leaven.generative import (
    SemiSupervisedBernoulliNB,
    SemiSupervisedCategoricalNB,
    SemiSupervisedGaussianMixture,
    SemiSupervisedGaussianNB,
    SemiSupervisedHMM,
    SemiSupervisedMixedNB,
    SemiSupervisedMultinomialNB,
)
from leaven.graph import KNNGraph, SpanningTreeGraph
from leaven.graph_based import (
    BeliefPropagationClassifier,
    ConsistencyClassifier,
    HarmonicClassifier,
    LabelPropagationClassifier,
    LaplacianRLSClassifier,
    LaplacianSVC,
    MinCutClassifier,
    PoissonClassifier,
    RandomizedMinCutClassifier,
    SoftLabelPropagationClassifier,
    SpectralTransducer,
)
from leaven.low_density import (
    EntropyRegularizedLogisticRegression,
    ExpectationRegularizedLogisticRegression,
    TransductiveSVC,
)
from leaven.model_selection import SafeClassifier
from leaven.self_labeling import (
    ClusterThenLabel,
    CoEMClassifier,
    CoTrainingClassifier,
    SelfTrainingClassifier,
    SetredClassifier,
    TriTrainingClassifier,
)
from leaven.tables import label_table

STORED = Path(__file__).with_name("answers.json")
SHOWN = 6  # rows whose probabilities are stored, spread over the unlabeled ones

Problem = tuple[Any, NDArray[np.intp]]


def keep_labels(truth: NDArray[Any], per_class: int, seed: int) -> NDArray[np.intp]:
    """Keep so many labels per class, drawn at random; the others become -1."""
    rng = np.random.RandomState(seed)
    y: NDArray[np.intp] = np.full(len(truth), -1, dtype=np.intp)
    for name in np.unique(truth):
        rows = rng.permutation(np.flatnonzero(truth == name))[:per_class]
        y[rows] = name
    return y


def moons() -> Problem:
    X, truth = make_two_moons(120, random_state=3)
    return X, keep_labels(truth, 4, 0)


def bands() -> Problem:
    X, truth = make_three_bands(150, random_state=2)
    return X, keep_labels(truth, 5, 1)


def iris() -> Problem:
    X, truth = load_iris(return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), keep_labels(truth, 5, 2)


def wine() -> Problem:
    X, truth = load_wine(return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), keep_labels(truth, 3, 3)


def two_wines() -> Problem:
    X, y = wine()
    two = load_wine().target < 2
    return X[two], y[two]


def digits() -> Problem:
    X, truth = load_digits(n_class=5, return_X_y=True)
    return X[:250] / 16.0, keep_labels(truth[:250], 4, 4)


def presences() -> Problem:
    X, y = digits()
    return (X > 0.5).astype(float), y


def counts() -> Problem:
    X, y = digits()
    return sparse.csr_array(np.floor(4 * X)), y


def unequal() -> Problem:
    X, truth = load_iris(return_X_y=True)
    rows = np.r_[0:50, 50:70, 100:112]
    return X[rows], keep_labels(truth[rows], 4, 5)


def categories() -> Problem:
    X, y = iris()
    return np.digitize(X, [-1.0, 0.0, 1.0]), y


PROBLEMS: dict[str, Callable[[], Problem]] = {
    each.__name__: each
    for each in (
        moons,
        bands,
        iris,
        wine,
        two_wines,
        digits,
        presences,
        counts,
        unequal,
        categories,
    )
}

NUMBERS = ("moons", "bands", "iris", "wine", "digits", "unequal")

MODELS: dict[str, tuple[Callable[[], Any], tuple[str, ...]]] = {
    "harmonic": (lambda: HarmonicClassifier(prior=None), (*NUMBERS, "counts")),
    "harmonic, prior": (lambda: HarmonicClassifier(prior="labeled"), NUMBERS),
    "harmonic, noise": (lambda: HarmonicClassifier(prior=None, label_noise=0.2), ("moons", "iris")),
    "propagation": (LabelPropagationClassifier, NUMBERS),
    "soft propagation": (SoftLabelPropagationClassifier, NUMBERS),
    "consistency": (ConsistencyClassifier, NUMBERS),
    "poisson": (lambda: PoissonClassifier(prior="labeled"), NUMBERS),
    "min-cut": (lambda: MinCutClassifier(side="source", prior=None), ("moons", "iris")),
    "randomized min-cut": (
        lambda: RandomizedMinCutClassifier(prior=None, random_state=0),
        ("moons", "wine"),
    ),
    "belief propagation": (
        lambda: BeliefPropagationClassifier(SpanningTreeGraph()),
        ("moons", "iris"),
    ),
    "spectral": (lambda: SpectralTransducer(n_eigenvectors=20), NUMBERS),
    "laplacian rls": (
        lambda: LaplacianRLSClassifier(gamma_a=0.01, gamma_i=0.1, gamma=0.5, prior=None),
        ("moons", "iris", "digits"),
    ),
    "laplacian svc": (
        lambda: LaplacianSVC(gamma_a=0.01, gamma_i=0.1, gamma=0.5, prior=None),
        ("moons", "iris"),
    ),
    "multinomial": (SemiSupervisedMultinomialNB, ("counts", "presences")),
    "bernoulli": (SemiSupervisedBernoulliNB, ("presences",)),
    "categorical": (SemiSupervisedCategoricalNB, ("categories",)),
    "gaussian": (SemiSupervisedGaussianNB, ("iris", "wine", "unequal")),
    "gaussian, normalized": (
        lambda: SemiSupervisedGaussianNB(weighting="normalized", unlabeled_weight=0.5),
        ("iris", "wine"),
    ),
    "mixed": (SemiSupervisedMixedNB, ("iris", "wine")),
    "mixture": (
        lambda: SemiSupervisedGaussianMixture(covariance_type="tied", shrinkage=0.1),
        ("iris", "wine", "unequal"),
    ),
    "self-training": (
        lambda: SelfTrainingClassifier(LogisticRegression(), threshold=0.8),
        ("iris", "wine", "digits"),
    ),
    "setred": (lambda: SetredClassifier(GaussianNB(), random_state=0), ("iris", "wine")),
    "co-training": (
        lambda: CoTrainingClassifier(
            LogisticRegression(), views=(slice(0, 2), slice(2, 4)), random_state=0
        ),
        ("iris",),
    ),
    "co-em": (lambda: CoEMClassifier(GaussianNB(), views=([0, 1], [2, 3])), ("iris",)),
    "tri-training": (
        lambda: TriTrainingClassifier(GaussianNB(), random_state=0),
        ("iris", "wine"),
    ),
    "cluster": (lambda: ClusterThenLabel(random_state=0), ("iris", "wine")),
    "entropy": (EntropyRegularizedLogisticRegression, ("iris", "wine", "moons")),
    "expectation": (ExpectationRegularizedLogisticRegression, ("iris", "wine", "moons")),
    **{
        f"transductive svc, {solver}": (
            lambda solver=solver: TransductiveSVC(solver=solver, C_unlabeled=0.1),
            ("two_wines",),
        )
        for solver in ("switching", "annealing", "gradient", "continuation")
    },
    "safe": (
        lambda: SafeClassifier(
            ["logistic-regression", "naive-bayes", "harmonic", "self-training"], random_state=0
        ),
        ("moons", "iris", "wine"),
    ),
    "safe, all": (lambda: SafeClassifier(random_state=0), ("iris", "unequal")),
    "safe, graph": (
        lambda: SafeClassifier(
            {"lr": LogisticRegression(), "knn": HarmonicClassifier(KNNGraph(5), prior=None)},
            random_state=0,
        ),
        ("digits",),
    ),
}


def tables() -> dict[str, tuple[pd.DataFrame, str, dict[str, Any]]]:
    """Tables with few labels, the target, and the options."""
    tickets = load_example("support_tickets").head(300)
    found: dict[str, tuple[pd.DataFrame, str, dict[str, Any]]] = {
        "tickets": (tickets, "topic", {"text": "text"}),
        "tickets, harmonic": (tickets, "topic", {"text": "text", "method": "harmonic"}),
    }
    for name in ("iris", "wine", "unequal"):
        X, y = PROBLEMS[name]()
        table = pd.DataFrame(X, columns=[f"c{i}" for i in range(X.shape[1])])
        table["kind"] = np.where(y < 0, None, np.array(["a", "b", "c"])[y])
        table["size"] = np.where(X[:, 0] > np.median(X[:, 0]), "large", "small")
        found[name] = (table, "kind", {})
        found[f"{name}, consistency"] = (table, "kind", {"method": "consistency"})
    return found


def describe(probabilities: NDArray[Any], unlabeled: NDArray[np.bool_]) -> dict[str, Any]:
    """Give the class of every row as one string, and the probabilities of a few rows."""
    rows = np.flatnonzero(unlabeled)
    shown = rows[np.linspace(0, len(rows) - 1, SHOWN).astype(int)]
    return {
        "classes": "".join(map(str, probabilities.argmax(axis=1))),
        "probabilities": np.round(probabilities[shown].astype(float), 5).tolist(),
    }


def sequences() -> dict[str, Any]:
    rng = np.random.RandomState(0)
    states = [np.repeat(rng.randint(0, 2, 6), 5) for _ in range(6)]
    rows = [(2.0 * s + rng.normal(size=len(s)))[:, None] for s in states]
    labels = [np.where(rng.uniform(size=len(s)) < 0.3, s, -1) for s in states]
    model = SemiSupervisedHMM().fit(rows, labels)
    return {"classes": "".join(str(int(c)) for s in model.predict(rows) for c in s)}


def compute(name: str) -> dict[str, Any]:
    """Compute the answer of one case."""
    kind, _, rest = name.partition(": ")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if kind == "sequences":
            return sequences()
        if kind == "table":
            table, target, options = tables()[rest]
            result = label_table(table, target, details=False, random_state=0, **options)
            labeled = table[target].notna() & (table[target] != "")
            found = describe(result.probabilities.to_numpy(), ~labeled.to_numpy())
            return {"method": result.summary.method, **found}
        X, y = PROBLEMS[rest]()
        model = MODELS[kind][0]().fit(X, y)
        return describe(np.asarray(model.label_distributions_), y < 0)


def cases() -> list[str]:
    """List the names of all cases."""
    names = [f"{kind}: {problem}" for kind, (_, on) in MODELS.items() for problem in on]
    return [*names, *(f"table: {name}" for name in tables()), "sequences: hmm"]


if __name__ == "__main__":
    answers = {name: compute(name) for name in cases()}
    lines = [f"{json.dumps(name)}: {json.dumps(answer)}" for name, answer in answers.items()]
    text = "{\n" + ",\n".join(lines) + "\n}\n"
    if "--write" in sys.argv[1:]:
        STORED.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)
