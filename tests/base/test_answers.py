from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.linear_model import Perceptron, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import LabelSpreading
from sklearn.semi_supervised import SelfTrainingClassifier as PeerSelfTraining
from sklearn.svm import SVC

from leaven.base import (
    class_probabilities,
    normalize_rows,
    seeded_clone,
    take_rows,
    training_probabilities,
)


def fake(classes: Any, **methods: Any) -> Any:
    """Make a classifier that answers the same whatever it is asked."""

    def always(value: Any) -> Any:
        return lambda X: np.asarray(value)

    answers = {name: always(value) for name, value in methods.items()}
    return SimpleNamespace(classes_=np.asarray(classes), **answers)


def test_probabilities_come_first() -> None:
    P = [[0.2, 0.8], [0.7, 0.3]]
    model = fake(["a", "b"], predict_proba=P, decision_function=[5.0, 6.0], predict=["b", "b"])
    assert_array_equal(class_probabilities(model, [[0], [0]]), P)


def test_two_classes_by_the_logistic_function() -> None:
    model = fake(["a", "b"], decision_function=[math.log(3.0), -800.0], predict=["b", "b"])
    P = class_probabilities(model, [[0], [0]])
    assert_allclose(P, [[0.25, 0.75], [1.0, 0.0]], atol=1e-300)


def test_more_classes_by_the_softmax() -> None:
    scores = np.log([[2.0, 3.0, 5.0]]) + 40.0
    assert_allclose(
        class_probabilities(fake([4, 6, 9], decision_function=scores), [[0]]), [[0.2, 0.3, 0.5]]
    )


def test_predictions_are_certain() -> None:
    model = fake(["a", "b", "c"], predict=["c", "a"])
    assert_array_equal(class_probabilities(model, [[0], [0]]), [[0, 0, 1], [1, 0, 0]])


def test_sources_restrict_and_order() -> None:
    model = fake(["a", "b"], decision_function=[-2.0], predict=["b"])
    only = class_probabilities(model, [[0]], sources=("predict_proba", "predict"))
    assert_array_equal(only, [[0.0, 1.0]])
    with pytest.raises(TypeError, match="has none of the methods predict_proba, so nothing"):
        class_probabilities(model, [[0]], sources=("predict_proba",))
    with pytest.raises(ValueError, match="sources holds 'proba'"):
        class_probabilities(model, [[0]], sources=("proba",))


def test_columns_in_the_order_of_the_classes() -> None:
    model = fake(["a", "b"], predict_proba=[[0.2, 0.8]])
    P = class_probabilities(model, [[0]], classes=["z", "b", "a"])
    assert_array_equal(P, [[0.0, 0.8, 0.2]])
    with pytest.raises(ValueError, match="knows the class 'b', which is not among"):
        class_probabilities(model, [[0]], classes=["a", "z"])


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ([[0.2, np.nan], [0.5, 0.5]], "NaN or infinity as the class probabilities of 1 of 2 rows"),
        ([[1.2, -0.2], [0.5, 0.5]], "a negative class probability: -0.2"),
        ([[0.2, 0.3, 0.5], [0.2, 0.3, 0.5]], r"shape \(2, 3\) for 2 rows and 2 classes"),
        ([[0.2, 0.8]], r"shape \(1, 2\) for 2 rows"),
    ],
)
def test_what_is_no_distribution_is_refused(answer: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        class_probabilities(fake([0, 1], predict_proba=answer), [[0], [0]])


def test_rows_that_do_not_sum_to_one_are_scaled() -> None:
    model = fake([0, 1], predict_proba=[[1.0, 3.0], [0.0, 0.0]])
    assert_array_equal(class_probabilities(model, [[0], [0]]), [[0.25, 0.75], [0.5, 0.5]])
    # Rounding is no reason to touch them.
    exact = np.array([[0.1, 0.2, 0.7000000001]])
    assert_array_equal(class_probabilities(fake([0, 1, 2], predict_proba=exact), [[0]]), exact)


def test_half_precision_is_not_passed_on() -> None:
    # 0.763 and 0.2366 are the nearest numbers of float16: their sum is 0.9996.
    half = fake([0, 1], predict_proba=np.array([[0.763, 0.2366]], dtype=np.float16))
    P = class_probabilities(half, np.zeros((1, 1)))
    assert P.dtype == np.float64
    assert_allclose(P.sum(axis=1), 1.0, atol=1e-12)
    single = fake([0, 1], predict_proba=np.array([[0.25, 0.75]], dtype=np.float32))
    assert class_probabilities(single, np.zeros((1, 1))).dtype == np.float32


def test_one_vs_one_scores_are_refused() -> None:
    X = np.arange(8.0)[:, None]
    svc = SVC(decision_function_shape="ovo").fit(X, [0, 0, 1, 1, 2, 2, 3, 3])
    with pytest.raises(ValueError, match="6 columns for 4 classes"):
        class_probabilities(svc, X)


def test_agrees_with_real_classifiers() -> None:
    rng = np.random.default_rng(3)
    X = np.concatenate([rng.normal(size=(30, 2)) + 2 * c for c in range(3)])
    y = np.repeat(["x", "y", "z"], 30)
    for model in (GaussianNB(), SGDClassifier(random_state=0), Perceptron(random_state=0), SVC()):
        P = class_probabilities(model.fit(X, y), X)
        assert_allclose(P.sum(axis=1), 1.0)
        assert_array_equal(model.classes_[P.argmax(axis=1)], model.predict(X))


@pytest.fixture
def problem() -> tuple[Any, Any]:
    rng = np.random.default_rng(11)
    truth = np.repeat([0, 1], 20)
    return rng.normal(size=(40, 2)) + 2 * truth[:, None], np.where(np.arange(40) % 5, -1, truth)


def test_training_rows_of_a_semi_supervised_pipeline(problem: tuple[Any, Any]) -> None:
    X, y = problem
    model = make_pipeline(StandardScaler(), LabelSpreading(gamma=2.0, alpha=0.3)).fit(X, y)
    rows = np.array([3, 17, 30])
    P = training_probabilities(model, X, rows, classes=[1, 0])
    assert_allclose(P, model[-1].label_distributions_[rows][:, ::-1], atol=1e-6)
    assert np.abs(P - class_probabilities(model, X[rows], classes=[1, 0])).max() > 1e-3


def test_training_rows_of_a_transduction_without_probabilities() -> None:
    model = fake(["a", "b"], predict=["b", "b", "b"])
    model.transduction_ = np.array(["a", "b", "a"])
    assert_array_equal(training_probabilities(model, [[0]] * 3, [2, 1]), [[1, 0], [0, 1]])


def test_training_rows_of_a_supervised_one_are_predicted(problem: tuple[Any, Any]) -> None:
    X, y = problem
    model = GaussianNB().fit(X[y >= 0], y[y >= 0])
    assert_array_equal(training_probabilities(model, X, [5, 6]), model.predict_proba(X[[5, 6]]))


def test_rows_that_got_no_answer_are_predicted(problem: tuple[Any, Any]) -> None:
    X, y = problem
    model = PeerSelfTraining(GaussianNB(), threshold=0.999, max_iter=1).fit(X, y)
    rows = np.flatnonzero(model.transduction_ == -1)
    assert len(rows)
    assert_array_equal(training_probabilities(model, X, rows), model.predict_proba(X[rows]))


@given(arrays(float, (4, 3), elements=st.floats(0, 1e3, allow_subnormal=False)))
def test_normalized_rows_keep_their_ratios(scores: Any) -> None:
    P = normalize_rows(scores)
    assert_allclose(P.sum(axis=1), 1.0)
    total = scores.sum(axis=1)
    for row, given_row, weight in zip(P, scores, total, strict=True):
        assert_allclose(row * weight, given_row if weight else 0.0, rtol=1e-12, atol=1e-300)


X_NUMBERS = np.arange(12.0).reshape(4, 3)


@pytest.mark.parametrize("rows", [[2, 0], np.array([False, True, False, True]), slice(1, 3)])
@pytest.mark.parametrize(
    "convert",
    [
        np.asarray,
        lambda X: pd.DataFrame(X, index=[3, 2, 1, 0]),
        sparse.csr_array,
        sparse.csr_matrix,
        sparse.coo_array,
        sparse.csc_matrix,
        lambda X: [list(row) for row in X],
    ],
)
def test_take_rows(convert: Any, rows: Any) -> None:
    given_rows = convert(X_NUMBERS)
    taken = take_rows(given_rows, rows)
    plain = taken.toarray() if sparse.issparse(taken) else np.asarray(taken)
    assert_array_equal(plain, X_NUMBERS[rows])
    assert isinstance(taken, pd.DataFrame) == isinstance(given_rows, pd.DataFrame)
    assert isinstance(taken, sparse.sparray) == isinstance(given_rows, sparse.sparray)


def test_seeded_clone_sets_what_is_free() -> None:
    model = make_pipeline(StandardScaler(), SGDClassifier())
    one, same, other = (seeded_clone(model, seed) for seed in (5, 5, 6))
    state = "sgdclassifier__random_state"
    assert model.get_params()[state] is None
    assert one.get_params()[state] == same.get_params()[state] != other.get_params()[state]
    # By hand: the first draw of numpy's generator.
    assert one.get_params()[state] == np.random.RandomState(5).randint(2**31 - 1)
    assert seeded_clone(SGDClassifier(random_state=8), 5).random_state == 8
    rng = np.random.RandomState(0)
    assert (
        seeded_clone(model, rng).get_params()[state] != seeded_clone(model, rng).get_params()[state]
    )
