from __future__ import annotations

import logging
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.semi_supervised import LabelSpreading
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from leaven.active import (
    ActiveLearner,
    BudgetSpent,
    ExpectedErrorReduction,
    InformationDensity,
    LeastConfident,
    OverallUncertainty,
    QueryByCommittee,
    RandomSampling,
    SmallestMargin,
    StablePredictions,
)
from leaven.active._batch import as_points, choose_batch, spread_by_core_set, top_rows
from leaven.active._start import start_rows
from leaven.datasets import make_two_gaussians
from leaven.exceptions import NotFittedError
from leaven.generative import SemiSupervisedGaussianNB
from leaven.graph_based import HarmonicClassifier


class Told(BaseEstimator):
    """Scores are the first column; what it was given is kept."""

    def scores(self, estimator, X_pool, X=None, y=None):
        Told.seen = (estimator, X_pool, X, y)
        return np.asarray(X_pool, dtype=float)[:, 0]


def problem(seed=0, n=60, n_known=6):
    X, truth = make_two_gaussians(n, n_labeled=1, random_state=seed)
    y = np.full(n, -1)
    rows = np.concatenate([np.flatnonzero(truth == c)[: n_known // 2] for c in (0, 1)])
    y[rows] = truth[rows]
    return X, truth, y


def state_of(learner):
    """All that a user can see of a learner."""
    return (
        learner.labels_.tolist(),
        learner.pool_.tolist(),
        learner.history_.to_dict("list"),
        learner.n_taught_,
        learner.classes_.tolist(),
        learner.query(min(4, len(learner.pool_))).tolist() if len(learner.pool_) else None,
    )


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_undo_restores_exactly(data):
    X, truth, y = problem(data.draw(st.integers(0, 5)), n=25)
    strategy = data.draw(st.sampled_from([SmallestMargin(), RandomSampling()]))
    learner = ActiveLearner(GaussianNB(), strategy, random_state=0)
    learner.fit(X, y if data.draw(st.booleans()) else None)
    states = [state_of(learner)]
    for _ in range(data.draw(st.integers(1, 4))):
        if data.draw(st.booleans()) and len(learner.pool_):
            rows = learner.query(data.draw(st.integers(1, min(3, len(learner.pool_)))))
            states[-1] = state_of(learner)
            labels = truth[rows]
        else:  # any rows, known ones and new classes among them
            rows = data.draw(st.lists(st.integers(0, 24), min_size=1, max_size=4, unique=True))
            labels = [data.draw(st.integers(0, 3)) for _ in rows]
        assert learner.teach(rows, labels) is learner
        assert_array_equal(learner.labels_[rows], labels)
        states.append(state_of(learner))
    for state in reversed(states[:-1]):
        learner.undo()
        assert state_of(learner) == state
    with pytest.raises(ValueError, match="nothing to undo"):
        learner.undo()


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 20),
    n=st.integers(1, 12),
    diversity=st.sampled_from([None, "kmeans", "core-set"]),
    start=st.booleans(),
    kind=st.sampled_from(["array", "sparse", "frame"]),
)
def test_queries_name_distinct_unlabeled_rows(seed, n, diversity, start, kind):
    X, _, y = problem(seed, n=30)
    make = {"array": np.asarray, "sparse": sparse.csr_array, "frame": pd.DataFrame}[kind]
    learner = ActiveLearner(LogisticRegression(), diversity=diversity, random_state=seed)
    learner.fit(make(X), None if start else y)
    rows = learner.query(n)
    assert len(rows) == len(set(rows.tolist())) == n
    assert set(rows) <= set(learner.pool_)
    assert_array_equal(rows, learner.query(n))
    again = clone(learner).fit(make(X), None if start else y)
    assert_array_equal(again.query(n), rows)


def test_top_scorers_first_and_larger_batches_start_with_smaller():
    X, _, y = problem()
    learner = ActiveLearner(GaussianNB(), Told(), batch_size=3, random_state=0).fit(X, y)
    pool = learner.pool_
    expected = pool[np.argsort(-X[pool, 0])]
    assert_array_equal(learner.query(), expected[:3])
    assert_array_equal(learner.query(10), expected[:10])
    estimator, X_pool, X_train, y_train = Told.seen
    assert_array_equal(X_pool, X[pool])
    assert_array_equal(X_train, X[y >= 0])
    assert_array_equal(y_train, y[y >= 0])
    assert estimator is learner.estimator_


def test_ties_are_broken_at_random():
    X, _, y = problem()
    X[:, 0] = 0.5
    first = {
        int(ActiveLearner(GaussianNB(), Told(), random_state=seed).fit(X, y).query()[0])
        for seed in range(20)
    }
    assert len(first) > 5


def test_rows_not_evaluated_come_last():
    rng = np.random.RandomState(0)
    scores = np.array([-np.inf, 0.3, -np.inf, 0.7, -5.0])
    assert top_rows(scores, 3, rng).tolist() == [3, 1, 4]
    assert set(top_rows(scores, 5, rng)[3:]) == {0, 2}
    with pytest.raises(ValueError, match="NaN as the score of 1 of 2"):
        top_rows(np.array([1.0, np.nan]), 1, rng)


def test_fits_are_those_of_the_estimator_alone():
    X, truth, y = problem()
    learner = ActiveLearner(GaussianNB(), random_state=0).fit(X, y)
    rows = learner.query(5)
    learner.teach(rows, truth[rows])
    y[rows] = truth[rows]
    expected = GaussianNB().fit(X[y >= 0], y[y >= 0])
    assert_allclose(learner.predict_proba(X), expected.predict_proba(X))
    assert_array_equal(learner.predict(X), expected.predict(X))
    assert learner.score(X, truth) == expected.score(X, truth)


@pytest.mark.parametrize(
    "estimator",
    [
        SemiSupervisedGaussianNB(),
        HarmonicClassifier(),
        LabelSpreading(),
        make_pipeline(StandardScaler(), SemiSupervisedGaussianNB()),
    ],
    ids=lambda each: type(each).__name__,
)
@pytest.mark.parametrize("names", [False, True])
def test_semi_supervised_estimators_see_the_pool(estimator, names):
    X, truth, y = problem()
    given_y = np.array([None, "no", "yes"], dtype=object)[y + 1] if names else y
    learner = ActiveLearner(estimator, LeastConfident(), random_state=0).fit(X, given_y)
    rows = learner.query(4)
    learner.teach(rows, np.where(truth[rows], "yes", "no") if names else truth[rows])
    y[rows] = truth[rows]
    expected = clone(estimator).fit(X, y)
    assert_allclose(learner.predict_proba(X), expected.predict_proba(X), atol=1e-9)
    predicted = expected.predict(X)
    assert_array_equal(learner.predict(X), np.where(predicted, "yes", "no") if names else predicted)
    assert learner.score(X, np.where(truth, "yes", "no") if names else truth) > 0.5


def test_sees_pool_can_be_set():
    X, _, y = problem()
    known = y >= 0
    learner = ActiveLearner(SemiSupervisedGaussianNB(), sees_pool=False).fit(X, y)
    expected = SemiSupervisedGaussianNB().fit(X[known], y[known])
    assert_allclose(learner.predict_proba(X), expected.predict_proba(X))


@pytest.mark.parametrize(
    "strategy",
    [
        QueryByCommittee(),
        ExpectedErrorReduction(),
        InformationDensity(),
        RandomSampling(),
    ],
    ids=lambda each: type(each).__name__,
)
@pytest.mark.parametrize("kind", ["array", "sparse", "frame"])
def test_every_strategy_works(strategy, kind):
    X, truth, y = problem(n=24)
    make = {"array": np.asarray, "sparse": sparse.csr_array, "frame": pd.DataFrame}[kind]
    learner = ActiveLearner(LogisticRegression(), strategy, random_state=0).fit(make(X), y)
    for _ in range(2):
        rows = learner.query(2)
        learner.teach(rows, truth[np.asarray(rows)])
    assert learner.n_taught_ == 4


def test_without_any_label_typical_and_different_rows_come_first():
    rng = np.random.RandomState(0)
    centers = np.array([[0.0, 0.0], [20.0, 0.0], [0.0, 20.0]])
    X = np.repeat(centers, 30, axis=0) + rng.randn(90, 2)
    X[7] = [60.0, 60.0]  # an outlier is not typical
    firsts, groups = set(), []
    for seed in range(10):
        learner = ActiveLearner(GaussianNB(), random_state=seed).fit(X)
        rows = learner.query(9)
        firsts.add(int(rows[0]))
        groups.append(len(set(rows[:6] // 30)))
        assert 7 not in rows[:6]
    assert len(firsts) > 1
    assert np.mean(groups) > 2.5


def test_the_start_goes_on_until_two_classes_are_known():
    X, truth, _ = problem()
    learner = ActiveLearner(LogisticRegression(), random_state=0).fit(X, np.full(60, -1))
    with pytest.raises(NotFittedError, match="0 classes known, at least 2"):
        learner.predict(X)
    zeros = np.flatnonzero(truth == 0)[:3]
    learner.teach(zeros, truth[zeros])
    with pytest.raises(NotFittedError, match="1 class known"):
        _ = learner.estimator_
    rows = learner.query(5)
    assert not set(rows) & set(zeros)
    learner.teach(rows, truth[rows])
    learner.teach([int(np.flatnonzero(truth == 1)[-1])], [1])
    assert learner.score(X, truth) > 0.5


def test_start_covers_clusters_without_a_label_first():
    points = np.repeat(np.arange(10.0) * 100, 10)[:, None] + np.random.RandomState(0).rand(100, 1)
    known = np.zeros(100, dtype=bool)
    known[[5, 15, 25]] = True
    rows = start_rows(points, known, 7, np.random.RandomState(0))
    assert len(set(rows // 10)) >= 6
    assert not set(rows // 10) & {0, 1, 2} or len(set(rows // 10) - {0, 1, 2}) >= 5


def test_identical_rows_are_no_problem():
    learner = ActiveLearner(GaussianNB(), random_state=0).fit(np.zeros((12, 2)))
    assert len(set(learner.query(12).tolist())) == 12


@pytest.mark.parametrize("diversity", ["kmeans", "core-set"])
def test_diverse_batches_spread_over_the_candidates(diversity):
    # 30 rows score alike, in three groups; without diversity a batch may fall into one.
    points = np.repeat([[0.0], [50.0], [100.0]], 10, axis=0) + np.arange(30)[:, None] / 100
    scores = np.ones(30) - np.arange(30) / 1e6
    rows = choose_batch(
        scores, 3, np.random.RandomState(0), diversity=diversity, points=points, known=points[:0]
    )
    assert sorted(rows // 10) == [0, 1, 2]


def test_core_set_by_hand():
    points = np.array([[1.0], [2.0], [7.0], [10.0]])
    assert spread_by_core_set(points, 3, np.array([[0.0]])).tolist() == [3, 2, 1]
    assert spread_by_core_set(np.zeros((3, 1)), 3).tolist() == [0, 1, 2]
    assert spread_by_core_set(sparse.csr_array(points), 2, sparse.csr_array([[9.0]])).tolist() == [
        0,
        2,
    ]


def test_data_frames_speak_their_own_index():
    X, truth, y = problem()
    names = pd.Index([f"row {i}" for i in range(60)], name="id")
    frame = pd.DataFrame(X, index=names, columns=["a", "b"])
    learner = ActiveLearner(make_pipeline(StandardScaler(), GaussianNB()), random_state=0)
    learner.fit(frame, pd.Series(y, index=names))
    rows = learner.query(3)
    assert isinstance(rows, pd.Index)
    assert rows.name == "id"
    answers = pd.Series(truth, index=names)
    learner.teach(rows, answers.loc[rows])
    assert learner.history_["index"].tolist() == rows.tolist()
    by_place = ActiveLearner(make_pipeline(StandardScaler(), GaussianNB()), random_state=0)
    places = by_place.fit(X, y).query(3)
    assert rows.tolist() == [f"row {i}" for i in places]
    learner.teach("row 59", 1)
    assert learner.labels_[59] == 1
    with pytest.raises(ValueError, match=r"\['row 99'\], which are not in the index"):
        learner.teach(["row 99"], [1])
    with pytest.raises(ValueError, match="index of labels is not that of indices"):
        learner.teach(rows, answers.loc[rows[::-1]])
    with pytest.raises(ValueError, match=r"index of y is not the index of X.*reindex"):
        learner.fit(frame, pd.Series(y, index=names[::-1]))


def test_duplicates_in_the_index_are_refused():
    X, _, y = problem(n=10)
    with pytest.raises(ValueError, match=r"index of X is not unique.*reset_index"):
        ActiveLearner(GaussianNB()).fit(pd.DataFrame(X, index=[0, 1, 2, 3, 4] * 2), y)


def test_a_multi_index_names_rows_by_tuples():
    X, _, y = problem(n=12)
    names = pd.MultiIndex.from_product([["a", "b"], range(6)])
    learner = ActiveLearner(GaussianNB(), random_state=0).fit(pd.DataFrame(X, index=names), y)
    rows = learner.query(2)
    learner.teach(rows, [0, 1])
    learner.teach(("b", 5), 1)
    assert learner.labels_[11] == 1


def test_an_index_for_rows_that_have_none():
    texts = ["good fun", "bad luck", "fun fun", "luck", "bad", "good luck"]
    names = [f"t{i}" for i in range(6)]
    counts = CountVectorizer().fit_transform(texts)
    learner = ActiveLearner(MultinomialNB(), random_state=0).fit(counts, index=names)
    learner.teach(["t0", "t1"], ["good", "bad"])
    assert set(learner.query(2)) <= set(names[2:])
    raw = ActiveLearner(make_pipeline(CountVectorizer(), MultinomialNB()), random_state=0)
    raw.fit(texts).teach(raw.query(2), ["good", "bad"])
    assert raw.predict(["fun"]).shape == (1,)
    with pytest.raises(ValueError, match="strings or integers"):
        learner.fit(counts, index=[0.5] * 6)
    with pytest.raises(ValueError, match="X has its own index"):
        learner.fit(pd.DataFrame(counts.toarray()), index=names)


def test_data_frames_of_mixed_columns():
    rng = np.random.RandomState(0)
    frame = pd.DataFrame(
        {"size": rng.randn(40), "color": rng.choice(["red", "blue", None], 40), "n": range(40)}
    )
    frame.loc[3, "size"] = np.nan
    columns = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["color"]), (StandardScaler(), ["n"])
    )
    learner = ActiveLearner(
        make_pipeline(columns, LogisticRegression()), diversity="core-set", random_state=0
    ).fit(frame)
    for _ in range(3):
        rows = learner.query(4)
        learner.teach(rows, (frame.loc[rows, "n"] > 20).to_numpy())
    assert learner.classes_.dtype == bool
    assert learner.predict(frame).dtype == bool
    assert np.isfinite(as_points(frame)).all()


def test_what_is_taught_is_noted():
    X, _, y = problem()
    learner = ActiveLearner(GaussianNB(), random_state=0).fit(X, y)
    asked = int(learner.query()[0])
    not_asked = int(learner.pool_[learner.pool_ != asked][0])
    known = int(np.flatnonzero(y == 0)[0])
    learner.teach([asked, not_asked, known], [1, 0, 2])
    history = learner.history_
    assert history["asked"].tolist() == [True, False, False]
    assert history["replaced"].tolist() == [None, None, 0]
    assert history["new_class"].tolist() == [False, False, True]
    # A new class takes part at once.
    assert_array_equal(learner.classes_, [0, 1, 2])
    assert learner.predict_proba(X).shape == (60, 3)


def test_bad_input():
    X, truth, y = problem(n=10, n_known=4)
    learner = ActiveLearner(GaussianNB(), random_state=0)
    with pytest.raises(NotFittedError):
        learner.query()
    learner.fit(X, y)
    with pytest.raises(ValueError, match="n=7 rows were asked for, but 6 are left in the pool"):
        learner.query(7)
    assert len(learner.set_params(batch_size=50).query()) == 6
    for n in (0, -1, 1.5, True):
        with pytest.raises(ValueError, match="n must be an integer"):
            learner.query(n)
    before = state_of(learner)
    for indices, labels, message in (
        ([1, 2], [0], "2 indices and 1 labels"),
        ([], [], "got no row"),
        ([5, 5], [0, 1], "a row twice"),
        ([5], [-1], "mark of an unlabeled row"),
        ([5, 6], [0, None], "mark of an unlabeled row"),
        ([5], ["spam"], "different types"),
        ([10], [0], "positions are 0 to 9"),
        ([-1], [0], "positions are 0 to 9"),
        (["a"], [0], "must be row positions"),
        ([True, False], [0, 0], "must be row positions"),
    ):
        with pytest.raises(ValueError, match=message):
            learner.teach(indices, labels)
        assert state_of(learner) == before
    learner.teach(learner.pool_, truth[learner.pool_])
    with pytest.raises(ValueError, match="The pool is empty: all 10 rows have a label"):
        learner.query()
    assert learner.should_stop() == "the pool is empty: every row has a label"
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        learner.fit(X, y[:-1])
    with pytest.raises(ValueError, match="'diversity' parameter of ActiveLearner"):
        ActiveLearner(GaussianNB(), diversity="any").fit(X, y)
    with pytest.raises(ValueError, match="is no stopping rule"):
        ActiveLearner(GaussianNB(), stopping=[3]).fit(X, y)


def test_scores_of_the_wrong_shape_are_refused():
    class Wrong(BaseEstimator):
        def scores(self, estimator, X_pool, X=None, y=None):
            return np.zeros(3)

    X, _, y = problem()
    with pytest.raises(ValueError, match=r"shape \(3,\) for 54 rows"):
        ActiveLearner(GaussianNB(), Wrong()).fit(X, y).query()


def test_the_budget_ends_the_queries():
    X, truth, y = problem()
    learner = ActiveLearner(GaussianNB(), batch_size=3, budget=5, random_state=0).fit(X, y)
    sizes = []
    while learner.should_stop() is None:
        rows = learner.query()
        sizes.append(len(rows))
        learner.teach(rows, truth[rows])
    assert sizes == [3, 2]
    assert learner.stopped_ == "the budget is spent: 5 of 5 labels were taught"
    with pytest.raises(ValueError, match="budget of 5 labels is spent"):
        learner.query()
    learner.undo()
    assert learner.stopped_ is None
    with pytest.raises(ValueError, match="2 are left of the budget of 5"):
        learner.query(3)


def test_the_last_label_of_a_budget_is_asked_for():
    X, truth, y = problem()
    learner = ActiveLearner(GaussianNB(), batch_size=3, budget=4, random_state=0).fit(X, y)
    for size in (3, 1):
        rows = learner.query()
        assert len(rows) == size
        learner.teach(rows, truth[rows])
    assert learner.should_stop() == "the budget is spent: 4 of 4 labels were taught"


def test_rules_stop_the_loop():
    rng = np.random.RandomState(0)
    X = np.concatenate([rng.randn(40, 2), rng.randn(40, 2) + 8])
    truth = np.repeat(["a", "b"], 40)
    for rule, word in (
        (StablePredictions(window=2), "stable"),
        ([BudgetSpent(70), OverallUncertainty(0.1)], "entropy"),
    ):
        learner = ActiveLearner(
            LogisticRegression(), batch_size=2, stopping=rule, random_state=0
        ).fit(X)
        n_rounds = 0
        while learner.should_stop() is None:
            rows = learner.query()
            learner.teach(rows, truth[rows])
            n_rounds += 1
        assert word in learner.stopped_
        assert n_rounds < 30
        reason = learner.stopped_
        learner.undo()
        assert learner.should_stop() is None
        learner.teach(rows, truth[rows])
        assert learner.should_stop() == reason


def test_nothing_is_fitted_before_it_is_needed():
    class Counting(GaussianNB):
        n_fits = 0

        def fit(self, X, y):
            Counting.n_fits += 1
            return super().fit(X, y)

    X, truth, y = problem()
    learner = ActiveLearner(Counting(), random_state=0).fit(X, y)
    for row in learner.pool_[:5]:
        learner.teach(int(row), int(truth[row]))
    assert Counting.n_fits == 1  # by fit itself
    learner.query()
    learner.predict(X)
    learner.query(3)
    assert Counting.n_fits == 2


def test_inputs_and_the_given_objects_stay_untouched():
    X, truth, y = problem()
    before_X, before_y = X.copy(), y.copy()
    estimator, strategy = GaussianNB(), RandomSampling()
    learner = ActiveLearner(estimator, strategy, random_state=0).fit(X, y)
    rows = learner.query(4)
    learner.teach(rows, truth[rows])
    learner.predict(X)
    assert_array_equal(X, before_X)
    assert_array_equal(y, before_y)
    assert not hasattr(estimator, "classes_")
    assert strategy.random_state is None


def test_estimators_without_probabilities_and_pickling():
    X, truth, y = problem()
    learner = ActiveLearner(LinearSVC(), random_state=0).fit(X, y)
    assert_allclose(learner.predict_proba(X).sum(axis=1), 1)
    again = pickle.loads(pickle.dumps(learner))
    assert_array_equal(again.query(5), learner.query(5))
    assert again.score(X, truth) == learner.score(X, truth)


EXPECTED = {
    "check_supervised_y_no_nan": "NaN marks an unlabeled row, and no label is needed to start",
    "check_classifiers_classes": "-1 marks an unlabeled row, not a class",
    "check_classifiers_one_label": "with one class known there is no model yet",
}


@parametrize_with_checks(
    [ActiveLearner(LogisticRegression(), random_state=0)],
    expected_failed_checks=lambda estimator: EXPECTED,
)
def test_contract(estimator, check):
    check(estimator)


def test_verbose_logs(caplog):
    X, truth, y = problem()
    with caplog.at_level(logging.INFO, logger="leaven"):
        learner = ActiveLearner(GaussianNB(), verbose=1, random_state=0).fit(X, y)
        row = int(learner.query()[0])
        learner.teach([row, 59], truth[[row, 59]])
    text = caplog.text
    assert "query of 1 rows of 54 by SmallestMargin" in text
    assert "taught 2 labels, 1 not asked, 0 known" in text
