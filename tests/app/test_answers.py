"""Answers, ranks and tests of the learner, computed again by hand."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from leaven._labels import UNLABELED
from leaven.active import LeastConfident
from leaven.app import _engine
from leaven.app._answers import Mind, Request
from leaven.app._calibration import fold_numbers
from leaven.app._engine import Engine, Named, sample_rows
from leaven.app._models import Harmonic, Linear
from leaven.app._prepared import neighbors, prepare


@pytest.fixture(scope="module")
def blobs():
    """Ninety rows of three kinds in two columns, and their kinds."""
    rng = np.random.default_rng(11)
    kind = np.arange(90) % 3
    centers = np.array([[0.0, 0.0], [4.0, 1.0], [1.0, 5.0]])
    points = centers[kind] + rng.normal(scale=1.1, size=(90, 2))
    return pd.DataFrame(points, columns=["a", "b"]), kind


@pytest.fixture(scope="module")
def prepared(blobs):
    return prepare(blobs[0], [])


def request(kind, rows, version=7, sample=()):
    codes = np.full(len(kind), UNLABELED, dtype=np.intp)
    codes[list(rows)] = kind[list(rows)]
    return Request(version, codes, 3, np.asarray(sample, dtype=np.intp))


def linear(prepared, codes):
    known = codes != UNLABELED
    model = LogisticRegression(C=10.0, max_iter=200).fit(prepared.rows[known], codes[known])
    return model.predict_proba(prepared.rows)


def test_answers_are_the_best_classes_with_their_probabilities(blobs, prepared):
    asked = request(blobs[1], range(12))
    P = linear(prepared, asked.codes)
    found = Mind(prepared, method="logistic-regression").answer(asked)
    assert (found.version, found.n_labels, found.method) == (7, 12, "logistic-regression")
    assert (found.top[:, 0] == P.argmax(axis=1)).all()
    assert_allclose(found.share, np.sort(P, axis=1)[:, ::-1], rtol=1e-5)


def test_uncertain_rows_are_those_with_the_smallest_margin(blobs, prepared):
    asked = request(blobs[1], range(12))
    P = np.sort(linear(prepared, asked.codes), axis=1)
    margins = P[:, -1] - P[:, -2]
    found = Mind(prepared, method="logistic-regression").answer(asked)
    expected = sorted(range(12, 90), key=lambda row: margins[row])
    assert found.uncertain.tolist() == expected
    # The useful ones are the same rows, one cluster after the other.
    assert sorted(found.useful) == sorted(expected)
    first = found.useful[: len(set(prepared.cluster[expected]))]
    assert len(set(prepared.cluster[first])) == len(first)


def test_a_strategy_of_the_user_chooses_the_useful_rows(blobs, prepared):
    asked = request(blobs[1], range(12))
    model = LogisticRegression(max_iter=200).fit(prepared.rows[:12], asked.codes[:12])
    confidence = model.predict_proba(prepared.rows).max(axis=1)
    found = Mind(prepared, method="logistic-regression", strategy=LeastConfident()).answer(asked)
    by_cluster = {}
    for row in sorted(range(12, 90), key=lambda row: confidence[row]):
        by_cluster.setdefault(prepared.cluster[row], row)
    firsts = sorted(by_cluster.values(), key=lambda row: confidence[row])
    assert found.useful[: len(firsts)].tolist() == firsts


def held_out_by_hand(prepared, asked, seed=0):
    known = asked.known
    folds = fold_numbers(asked.codes[known], 5, seed)
    P = np.zeros((len(known), 3))
    for fold in range(5):
        codes = asked.codes.copy()
        codes[known[folds == fold]] = UNLABELED
        P[folds == fold] = linear(prepared, codes)[known[folds == fold]]
    return P


def test_held_out_labels_are_counted_at_random_rows_only(blobs, prepared):
    rows, drawn = range(30), [1, 4, 9, 16, 25]
    asked = request(blobs[1], rows, sample=drawn)
    P = held_out_by_hand(prepared, asked)
    right = P.argmax(axis=1) == asked.codes[:30]
    mind = Mind(prepared, method="logistic-regression")
    found = mind.test(asked)
    assert (found.n_labels, found.n_tested) == (30, 5)
    assert found.n_right == int(right[drawn].sum())
    # Five random labels are too few to calibrate on: all thirty are taken.
    assert mind.temperature != 1.0


def test_doubted_labels_are_those_with_a_small_held_out_probability(blobs, prepared):
    kind = blobs[1].copy()
    kind[[3, 14]] = (kind[[3, 14]] + 1) % 3  # two slips
    asked = request(kind, range(40))
    mind = Mind(prepared, method="logistic-regression")
    found = mind.test(asked)
    doubted = [row for row, _, _ in found.suspicious]
    assert {3, 14} <= set(doubted)
    shares = [share for _, _, share in found.suspicious]
    assert shares == sorted(shares)
    assert max(shares) < 0.2
    for row, answer, _ in found.suspicious:
        assert answer != kind[row]


def test_auto_takes_the_model_with_the_smallest_held_out_loss(blobs, prepared):
    mind = Mind(prepared)
    mind.use_graph(neighbors(prepared))
    asked = request(blobs[1], range(24))
    losses = {}
    known, folds = asked.known, fold_numbers(asked.codes[asked.known], 5, 0)
    for name in mind.models():
        total = 0.0
        for fold in range(5):
            codes = asked.codes.copy()
            hidden = known[folds == fold]
            codes[hidden] = UNLABELED
            P = mind.models()[name].fit(codes, 3)[hidden]
            total -= np.log(np.clip(P[np.arange(len(hidden)), asked.codes[hidden]], 1e-3, 1)).sum()
        losses[name] = total
    assert set(losses) == {"logistic-regression", "harmonic", "blend"}
    best = min(losses, key=losses.get)
    assert mind.test(asked).method == best
    assert mind.answer(asked).method == best


def test_too_few_labels_are_not_tested(blobs, prepared):
    assert Mind(prepared).test(request(blobs[1], [0, 1, 2])) is None
    interrupted = Mind(prepared, method="logistic-regression")
    assert interrupted.test(request(blobs[1], range(20)), lambda: True) is None


def test_advice_to_stop_comes_when_answers_no_longer_change(blobs, prepared):
    class Same:
        name = "same"

        def fit(self, codes, n_classes):
            return np.eye(3)[(blobs[1] + self.shift) % 3] * 0.8 + 0.1

    mind = Mind(prepared)
    mind._model = model = Same()
    advice = []
    for n_labels, model.shift in [(20, 0), (40, 1), (60, 2), (80, 2), (85, 2)]:
        advice.append(mind.answer(request(blobs[1], range(n_labels))).stop)
    assert advice == [None] * 5  # two models that agree are not enough
    mind._stopping_at = 60  # as if twenty more labels had come
    for n_labels in (80, 90):
        mind._stopping_at -= 20
        advice.append(mind.answer(request(blobs[1], range(n_labels))).stop)
    assert advice[-1] is not None


def test_the_engine_is_asked_again_when_labels_have_doubled(blobs, prepared, monkeypatch):
    asked = []

    def best(self, codes):
        asked.append(int((codes != UNLABELED).sum()))
        return "naive-bayes"

    monkeypatch.setattr(Engine, "best", best)
    mind = Mind(prepared)
    for n_labels in range(10, 90, 5):
        mind.consult(request(blobs[1], range(n_labels)))
    assert asked == [20, 40, 80]
    assert "naive-bayes" in mind.models()
    named = Mind(prepared, method="harmonic")
    named.consult(request(blobs[1], range(80)))
    assert len(asked) == 3


def test_large_tables_are_answered_from_a_sample(blobs, prepared, monkeypatch):
    kind = blobs[1]
    asked = request(kind, range(0, 60, 2))
    whole = Named("naive-bayes", Engine(prepared.rows)).fit(asked.codes, 3)
    monkeypatch.setattr(_engine, "_MOST_ROWS", 80)
    monkeypatch.setattr(_engine, "_SAMPLE", 66)
    engine = Engine(prepared.rows)
    task = engine.task(asked.codes)
    assert len(task.rows) == 66
    assert set(asked.known) <= set(task.rows.tolist())
    # Naive Bayes learns from labeled rows alone: the sample changes nothing but rounding.
    assert_allclose(Named("naive-bayes", engine).fit(asked.codes, 3), whole, atol=1e-6)
    harmonic = Named("harmonic", engine).fit(asked.codes, 3)
    assert_allclose(harmonic.sum(axis=1), 1.0)
    assert np.mean(harmonic.argmax(axis=1) == kind) > 0.8
    assert engine.best(asked.codes) is not None


def test_a_sample_holds_labels_but_not_only_labels():
    codes = np.full(1000, UNLABELED)
    codes[::2] = 1
    rows = sample_rows(codes, 100, seed=3)
    assert len(set(rows.tolist())) == 100
    assert (codes[rows] != UNLABELED).sum() == 50
    assert (sample_rows(codes, 100, seed=3) == rows).all()
    assert (np.diff(rows) > 0).all()


def test_held_out_labels_are_answered_by_one_fit_per_model_and_fold(blobs, prepared, monkeypatch):
    fits = []
    for model in (Linear, Harmonic):
        fit = model.fit

        def counted(self, *args, fit=fit):
            fits.append(self.name)
            return fit(self, *args)

        monkeypatch.setattr(model, "fit", counted)
    mind = Mind(prepared)
    mind.use_graph(neighbors(prepared))
    mind.test(request(blobs[1], range(30)))
    assert sorted(fits) == ["harmonic"] * 5 + ["logistic-regression"] * 5


def test_a_strategy_asks_a_model_that_takes_no_sparse_rows(fruit):
    prepared = prepare(fruit[["text"]], ["text"])
    kind = np.arange(40) % 2
    mind = Mind(prepared, estimator=GaussianNB(), strategy=LeastConfident())
    codes = np.full(40, UNLABELED, dtype=np.intp)
    codes[:10] = kind[:10]
    found = mind.answer(Request(1, codes, 2, np.empty(0, dtype=np.intp)))
    model = GaussianNB().fit(prepared.points[:10], codes[:10])
    doubt = 1.0 - model.predict_proba(prepared.points[10:]).max(axis=1)
    assert_allclose(found.share[:, 0], model.predict_proba(prepared.points).max(axis=1), atol=1e-5)
    assert found.useful[0] == 10 + int(doubt.argmax())
