from __future__ import annotations

import os
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import precision_recall_fscore_support
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder, StandardScaler
from sklearn.semi_supervised import LabelSpreading
from sklearn.tree import DecisionTreeClassifier

from leaven.active import RandomSampling, SmallestMargin
from leaven.evaluation import aulc, class_scores, label_schedule, learning_curve
from leaven.evaluation._curve_bayes import bayes_plan
from leaven.evaluation._protocol import CurveProtocol, derived_seed, random_order
from leaven.evaluation._scores import macro_scores
from leaven.evaluation._trial import as_data, predictions
from leaven.generative import ClassPrior, SemiSupervisedCategoricalNB, SemiSupervisedGaussianNB
from leaven.graph import KNNGraph
from leaven.graph_based import HarmonicClassifier


def table(seed: int, n: int = 160, n_classes: int = 3, n_columns: int = 5) -> tuple[Any, Any]:
    """Categories that depend on the class; column j has j + 2 of them."""
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n)
    noise = rng.integers(0, 4, size=(n, n_columns))
    X = (y[:, None] + noise) % (np.arange(n_columns) + 2)
    return X, np.array(["c", "a", "b", "d", "e"])[y]


def categorical_nb(X: Any) -> CategoricalNB:
    return CategoricalNB(min_categories=X.max(axis=0) + 1)


def test_equals_a_loop_written_out() -> None:
    X, y = load_iris(return_X_y=True)
    curve = learning_curve(DecisionTreeClassifier(), X, y, n_trials=3, start=2, random_state=5)
    assert list(curve.columns) == ["trial", "n_labeled", "error"]
    expected = []
    for trial in range(3):
        rows = random_order(150, 5, trial, 0)
        test, train = rows[:38], rows[38:]
        first = np.concatenate([train[y[train] == c][:2] for c in range(3)])
        rest = [row for row in train if row not in first]
        order = np.array([*sorted(first, key=train.tolist().index), *rest])
        seed = np.random.RandomState(derived_seed(5, trial)).randint(np.iinfo(np.int32).max)
        for size in label_schedule(6, 112, include_n=True):
            tree = DecisionTreeClassifier(random_state=seed)
            tree.fit(X[order[:size]], y[order[:size]])
            expected.append((trial, size, np.mean(tree.predict(X[test]) != y[test])))
    assert_allclose(curve.to_numpy(), expected)


class Recorder(ClassifierMixin, BaseEstimator):
    """Predicts the first class, and keeps what it was given."""

    seen: ClassVar[list[tuple[Any, Any]]] = []

    def fit(self, X: Any, y: Any) -> Recorder:
        self.classes_ = np.unique(y)
        self.seen.append((X, y))
        return self

    def predict(self, X: Any) -> Any:
        return np.repeat(self.classes_[-1:], len(X))


def test_who_sees_unlabeled_rows() -> None:
    X, y = load_iris(return_X_y=True)
    Recorder.seen.clear()
    learning_curve(Recorder(), X, y, sizes=[7, 20], n_trials=1, start=2, random_state=0)
    assert [len(rows) for rows, _ in Recorder.seen] == [7, 20]
    Recorder.seen.clear()
    learning_curve(
        Recorder(), X, y, sizes=[7, 20], n_trials=1, start=2, semi_supervised=True, random_state=0
    )
    assert [(len(rows), int((given >= 0).sum())) for rows, given in Recorder.seen] == [
        (112, 7),
        (112, 20),
    ]


@pytest.mark.parametrize(
    "estimator",
    [
        HarmonicClassifier(KNNGraph(n_neighbors=5)),
        make_pipeline(StandardScaler(), HarmonicClassifier(KNNGraph(n_neighbors=5))),
        LabelSpreading(gamma=1.0),
    ],
    ids=["leaven", "pipeline", "scikit-learn"],
)
@pytest.mark.parametrize("names", [False, True])
def test_semi_supervised_estimators_see_all_training_rows(estimator: Any, names: bool) -> None:
    X, y = load_iris(return_X_y=True)
    labels = np.array(["u", "v", "w"])[y] if names else y
    options: dict[str, Any] = {"sizes": [9], "n_trials": 2, "random_state": 1}
    curve = learning_curve(estimator, X, labels, **options)
    errors = []
    for trial in range(2):
        split = CurveProtocol("x", seed=1, start=2, sizes=(9,)).split(y, trial)
        given = np.full(len(split.order), -1)
        given[:9] = y[split.order[:9]]
        model = clone(estimator).fit(X[split.order], given)
        errors.append(np.mean(model.predict(X[split.test]) != y[split.test]))
    assert_allclose(curve["error"], errors)


def test_one_class_predicts_that_class() -> None:
    X, y = load_iris(return_X_y=True)
    for model in (LogisticRegression(), HarmonicClassifier(), SemiSupervisedGaussianNB()):
        curve = learning_curve(model, X, y, sizes=[1], n_trials=4, random_state=3)
        expected = []
        for trial in range(4):
            split = CurveProtocol("x", seed=3, sizes=(1,)).split(y, trial, continuous=True)
            expected.append(np.mean(y[split.test] != y[split.order[0]]))
        assert_allclose(curve["error"], expected)


PLANS = {
    "sklearn categorical": (categorical_nb, 0),
    "leaven categorical": (
        lambda X: SemiSupervisedCategoricalNB(
            unlabeled_weight=0, prior=ClassPrior(smoothing=1.0), min_categories=X.max(axis=0) + 1
        ),
        0,
    ),
    "sklearn gaussian": (lambda X: GaussianNB(var_smoothing=1e-7), 1),
    "leaven gaussian": (lambda X: SemiSupervisedGaussianNB(unlabeled_weight=0), 2),
}


@pytest.mark.parametrize("name", PLANS)
@given(st.integers(0, 10_000), st.integers(2, 5))
@settings(max_examples=8, deadline=None)
def test_growing_sums_equal_fits(name: str, seed: int, n_classes: int) -> None:
    make, start = PLANS[name]
    X, y = table(seed, n=120, n_classes=n_classes)
    if start:
        X = X + np.random.default_rng(seed).normal(size=X.shape) + 1e3 * np.arange(X.shape[1])
    estimator = make(X)
    data = as_data(X, y, needed_by="test")
    plan = bayes_plan(estimator, X)
    assert plan is not None
    split = CurveProtocol("x", seed=seed, start=start).split(data.codes, 0)
    quick = list(predictions(estimator, data, split, seed=0, plan=plan))
    plain = list(predictions(estimator, data, split, seed=0))
    assert [each.n_labeled for each in quick] == [each.n_labeled for each in plain]
    for a, b in zip(quick, plain, strict=True):
        assert_array_equal(a.codes, b.codes)


@pytest.mark.parametrize("name", PLANS)
def test_growing_sums_have_the_log_likelihoods_of_the_estimator(name: str) -> None:
    make, start = PLANS[name]
    X, y = table(4, n=200)
    if start:
        X = X + np.random.default_rng(1).normal(size=X.shape) + 1e3 * np.arange(X.shape[1])
    data = as_data(X, y, needed_by="test")
    estimator = make(X)
    plan = bayes_plan(estimator, X)
    assert plan is not None
    order, sizes, test = np.arange(100), (12, 40, 100), np.arange(100, 200)
    statistics = plan.collect(data.codes[order], 3, order, sizes)
    joint = plan.log_likelihood(statistics, np.arange(3), test)
    for s, size in enumerate(sizes):
        model = clone(estimator).fit(X[:size], y[:size])
        counts = np.bincount(data.codes[:size], minlength=3)[None]
        mine = joint[s] + plan.log_prior(counts.astype(float), counts > 0)
        if hasattr(model, "predict_joint_log_proba"):
            assert_allclose(mine, model.predict_joint_log_proba(X[test]), rtol=1e-9)
        mine -= np.logaddexp.reduce(mine, axis=1, keepdims=True)
        assert_allclose(np.exp(mine), model.predict_proba(X[test]), rtol=0, atol=1e-9)


def test_pandas_categories_are_known_before_they_are_seen() -> None:
    X, y = table(2)
    frame = pd.DataFrame({f"x{j}": pd.Categorical(X[:, j].astype(str)) for j in range(X.shape[1])})
    model = SemiSupervisedCategoricalNB(unlabeled_weight=0, prior=ClassPrior(smoothing=1.0))
    assert bayes_plan(model, frame) is not None
    least = clone(model).set_params(min_categories=X.max(axis=0) + 1)
    options: dict[str, Any] = {"n_trials": 3, "random_state": 0}
    assert learning_curve(model, frame, y, **options).equals(learning_curve(least, X, y, **options))


@pytest.mark.parametrize(
    "estimator",
    [
        CategoricalNB(),  # categories depend on the labeled rows
        CategoricalNB(min_categories=2),
        CategoricalNB(min_categories=9, fit_prior=False),
        CategoricalNB(min_categories=9, class_prior=[0.5, 0.25, 0.25]),
        SemiSupervisedCategoricalNB(min_categories=9),
        SemiSupervisedCategoricalNB(min_categories=9, unlabeled_weight=0, n_components=2),
        GaussianNB(priors=[0.5, 0.25, 0.25]),
        GaussianNB(),  # X holds integers, and may overflow or not as it likes
        DecisionTreeClassifier(),
    ],
)
def test_where_growing_sums_do_not_apply(estimator: Any) -> None:
    X, _ = table(0)
    assert bayes_plan(estimator, X) is None


def test_equal_rows_of_two_classes_go_the_plain_way() -> None:
    X = np.ones((20, 2))
    X[:, 1] = np.arange(20) // 10
    data = as_data(X, np.arange(20) % 2, needed_by="test")
    plan = bayes_plan(GaussianNB(), X)
    assert plan is not None
    order, test = np.arange(10), np.arange(10, 20)
    assert plan.predict(data.codes, 2, order, (4, 6), test) is None


def test_all_classes_known_from_the_first_label() -> None:
    # Equation (2.8) of Saeed (2018), written out: (count + 1) / (total + number of values).
    X, y = table(18, n=80)
    data = as_data(X, y, needed_by="test")
    model = SemiSupervisedCategoricalNB(
        unlabeled_weight=0, prior=ClassPrior(smoothing=1.0), min_categories=X.max(axis=0) + 1
    )
    curve = learning_curve(model, X, y, n_trials=2, known_classes=True, random_state=9)
    expected = []
    for trial in range(2):
        split = CurveProtocol("x", seed=9).split(data.codes, trial)
        for size in split.sizes:
            rows, codes = X[split.order[:size]], data.codes[split.order[:size]]
            scores = np.zeros((len(split.test), 3))
            for c in range(3):
                scores[:, c] = np.log((np.sum(codes == c) + 1) / (size + 3))
                for j, values in enumerate(X.max(axis=0) + 1):
                    counts = np.bincount(rows[codes == c, j], minlength=values) + 1
                    scores[:, c] += np.log(counts / counts.sum())[X[split.test, j]]
            best = scores.max(axis=1, keepdims=True)
            sure = (scores > best - 1e-9).sum(axis=1) == 1
            expected.append((scores.argmax(axis=1) != data.codes[split.test], sure))
    for error, (wrong, sure) in zip(curve["error"], expected, strict=True):
        # Where two classes are equal up to rounding, either may be predicted.
        assert wrong[sure].sum() <= error * len(wrong) + 1e-9
        assert error * len(wrong) <= wrong[sure].sum() + (~sure).sum() + 1e-9
    labeled_only = learning_curve(model, X, y, n_trials=2, random_state=9)
    # More rows differ than are equal up to rounding, at six of the sizes.
    differ = np.abs(curve["error"] - labeled_only["error"]) * len(expected[0][0])
    assert (differ > [(~sure).sum() + 0.5 for _, sure in expected]).any()


class Told(Recorder):
    def __init__(self, classes: Any = None) -> None:
        self.classes = classes

    def fit(self, X: Any, y: Any) -> Told:
        self.classes_ = np.asarray(self.classes)
        return self


def test_an_estimator_with_the_parameter_is_told_all_classes() -> None:
    X, y = table(0)
    curve = learning_curve(Told(), X, y, sizes=[1], n_trials=1, known_classes=True, random_state=0)
    split = CurveProtocol("x").split(np.unique(y, return_inverse=True)[1], 0)
    assert_allclose(curve["error"], np.mean(y[split.test] != "c"))
    with pytest.raises(ValueError, match="DecisionTreeClassifier has no parameter 'classes'"):
        learning_curve(DecisionTreeClassifier(), X, y, n_trials=1, known_classes=True)


def test_the_same_with_one_and_two_jobs() -> None:
    X, y = load_iris(return_X_y=True)
    options: dict[str, Any] = {"sizes": [6, 20, 60], "n_trials": 5, "random_state": 2}
    for model in (DecisionTreeClassifier(max_features=1), GaussianNB()):
        one = learning_curve(model, X, y, n_jobs=1, **options)
        two = learning_curve(model, X, y, n_jobs=2, **options)
        assert one.equals(two)
        assert one.equals(learning_curve(model, X, y, **options))
        assert not one.equals(learning_curve(model, X, y, **{**options, "random_state": 3}))


def test_methods_meet_the_same_rows() -> None:
    X, y = load_iris(return_X_y=True)
    options: dict[str, Any] = {"sizes": [7, 20], "n_trials": 2, "random_state": 4}
    seen = []
    for width in (2, 4):
        Recorder.seen.clear()
        learning_curve(Recorder(), np.column_stack([np.arange(150.0), X[:, :width]]), y, **options)
        seen.append([rows[:, 0].tolist() for rows, _ in Recorder.seen])
    assert seen[0] == seen[1]
    assert seen[0][0] == seen[0][1][:7]  # labels stay known


def test_active_learning_shares_the_start() -> None:
    X, y = load_iris(return_X_y=True)
    options: dict[str, Any] = {"sizes": [6, 12, 24, 112], "n_trials": 4, "random_state": 0}
    passive = learning_curve(GaussianNB(), X, y, **options)
    assert passive.equals(learning_curve(GaussianNB(), X, y, strategy=RandomSampling(), **options))
    active = learning_curve(GaussianNB(), X, y, strategy=SmallestMargin(), **options)
    same = passive["n_labeled"].isin([6, 112])
    assert_allclose(active["error"][same], passive["error"][same])
    assert not np.allclose(active["error"][~same], passive["error"][~same])
    again = learning_curve(GaussianNB(), X, y, strategy=SmallestMargin(), n_jobs=2, **options)
    assert active.equals(again)
    assert aulc([6, 12, 24, 112], active["error"].to_numpy().reshape(4, 4)).shape == (4,)


def test_texts_and_frames_with_names() -> None:
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.naive_bayes import MultinomialNB

    texts = ["sun sea sand", "sea sand", "snow ice", "ice cold snow"] * 10
    y = ["summer", "summer", "winter", "winter"] * 10
    model = make_pipeline(CountVectorizer(), MultinomialNB())
    curve = learning_curve(model, texts, y, sizes=[4, 20], start=1, n_trials=3, random_state=0)
    assert (curve["error"][curve["n_labeled"] == 20] == 0).all()


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([0] * 5 + [1] * 4 + [-1], "y has 1 unlabeled rows, but learning_curve hides"),
        ([0] * 10, "1 class only"),
        ([0] * 5 + [1] * 4, "X has 10 rows, but y has 9"),
    ],
)
def test_bad_labels(y: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        learning_curve(GaussianNB(), np.arange(20.0).reshape(10, 2), y)


def test_progress_bar_goes_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    X, y = load_iris(return_X_y=True)
    learning_curve(GaussianNB(), X, y, sizes=[6], n_trials=2, random_state=0, progress=True)
    out, err = capsys.readouterr()
    assert not out
    assert "learning curve" in err
    assert "2/2" in err


labels = st.lists(st.integers(0, 4), min_size=1, max_size=30)


@given(labels, st.data())
@settings(max_examples=50, deadline=None)
def test_scores_agree_with_scikit_learn(truth: list[int], data: st.DataObject) -> None:
    said = data.draw(st.lists(st.integers(0, 4), min_size=len(truth), max_size=len(truth)))
    precision, recall, f1, _ = precision_recall_fscore_support(
        truth, said, average="macro", zero_division=0.0
    )
    scores = macro_scores(np.array(truth), np.array(said))
    expected = {
        "error": np.mean(np.array(truth) != said),
        "accuracy": np.mean(np.array(truth) == said),
        "f1": f1,
        "precision": precision,
        "recall": recall,
    }
    assert list(scores) == list(expected)
    assert_allclose(list(scores.values()), list(expected.values()), atol=1e-12)
    average = class_scores(truth, said).loc["average"]
    assert_allclose(average[["precision", "recall", "f1"]], [precision, recall, f1], atol=1e-12)
    assert average["support"] == len(truth)


@pytest.mark.skipif("LEAVEN_DATA" not in os.environ, reason="needs the data files")
def test_mushroom_as_the_plain_loop() -> None:
    from leaven.datasets import load

    X, y = load("mushroom", return_X_y=True)
    codes = OrdinalEncoder().fit_transform(X.astype(object).fillna("?")).astype(int)
    model = categorical_nb(codes)
    data = as_data(codes, y, needed_by="test")
    split = CurveProtocol("x", start=0).split(data.codes, 0)
    quick = predictions(model, data, split, seed=0, plan=bayes_plan(model, codes))
    plain = predictions(model, data, split, seed=0)
    for a, b in zip(quick, plain, strict=True):
        assert_array_equal(a.codes, b.codes)
