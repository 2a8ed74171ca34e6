"""One answer for every wrapper; the oracle is what the wrapper hands to the estimator inside."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.feature_selection import RFE, SequentialFeatureSelector
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    HalvingGridSearchCV,
    RandomizedSearchCV,
    TunedThresholdClassifierCV,
)
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier, OutputCodeClassifier
from sklearn.multioutput import ClassifierChain
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.semi_supervised import LabelPropagation, LabelSpreading
from sklearn.semi_supervised import SelfTrainingClassifier as PeerSelfTraining
from sklearn.svm import SVC

from leaven.base import (
    TransductionMixin,
    final_step,
    learns_from_unlabeled,
    needs_integer_labels,
    rows_of_final_step,
)
from leaven.graph_based import HarmonicClassifier
from leaven.self_labeling import SelfTrainingClassifier, TriTrainingClassifier


class Witness(TransductionMixin, BaseEstimator):
    """Notes in every fit whether an unlabeled row came, and answers by the nearest mean."""

    seen: ClassVar[list[tuple[bool, int]]] = []

    def __init__(self, c: float = 1.0) -> None:
        self.c = c

    def fit(self, X: Any, y: Any) -> Witness:
        X, codes = self._validate_fit(X, y)
        self.seen.append((bool((codes < 0).any()), len(self.classes_)))
        k = len(self.classes_)
        self.coef_ = np.array([X[codes == c].mean(axis=0) for c in range(k)])
        self._store_transduction(self._proba(X), codes)
        return self

    def _proba(self, X: Any) -> Any:
        far = np.exp(-((X[:, None] - self.coef_) ** 2).sum(axis=2) / self.c)
        return far / far.sum(axis=1, keepdims=True)

    def predict_proba(self, X: Any) -> Any:
        return self._proba(np.asarray(X))


WITNESS = Witness()
GRID = {"c": [1.0, 2.0]}


def search(cls: type, **options: Any) -> Any:
    return cls(WITNESS, GRID, cv=2, **options)


WRAPPED = {
    "itself": WITNESS,
    "pipeline": make_pipeline(StandardScaler(), WITNESS),
    "nested pipeline": make_pipeline(StandardScaler(), make_pipeline(MinMaxScaler(), WITNESS)),
    "grid search": search(GridSearchCV),
    "random search": search(RandomizedSearchCV, n_iter=2, random_state=0),
    "halving search": search(HalvingGridSearchCV, min_resources=30, random_state=0),
    "search over a pipeline": GridSearchCV(
        Pipeline([("scale", StandardScaler()), ("w", WITNESS)]), {"w__c": [1.0, 2.0]}, cv=2
    ),
    "pipeline with a search": make_pipeline(StandardScaler(), search(GridSearchCV)),
    "feature elimination": RFE(WITNESS, n_features_to_select=1),
    "calibration": CalibratedClassifierCV(WITNESS, cv=2),
    "bagging": BaggingClassifier(WITNESS, n_estimators=2, random_state=0),
    "boosting": AdaBoostClassifier(WITNESS, n_estimators=2),
    "voting": VotingClassifier([("w", WITNESS), ("nb", GaussianNB())]),
    "stacking": StackingClassifier([("w", WITNESS), ("nb", GaussianNB())], cv=2),
    "one vs rest": OneVsRestClassifier(WITNESS),
    "one vs one": OneVsOneClassifier(WITNESS),
    "output codes": OutputCodeClassifier(WITNESS, random_state=0),
    "fixed threshold": FixedThresholdClassifier(WITNESS),
    "tuned threshold": TunedThresholdClassifierCV(WITNESS, cv=2),
    "frozen": FrozenEstimator(clone(WITNESS).fit([[0.0, 0.0], [1.0, 2.0]], [0, 1])),
    "pipeline with calibration": make_pipeline(
        StandardScaler(), CalibratedClassifierCV(WITNESS, cv=2)
    ),
}


@pytest.fixture
def problem() -> tuple[Any, Any]:
    rng = np.random.default_rng(7)
    truth = np.repeat([0, 1], 30)
    X = rng.normal(size=(60, 2)) + 3 * truth[:, None]
    y = np.where(np.arange(60) % 3 == 0, truth, -1)
    return X, y


@pytest.mark.parametrize("name", WRAPPED)
def test_the_answer_is_what_the_wrapper_does(name: str, problem: tuple[Any, Any]) -> None:
    X, y = problem
    wrapper = clone(WRAPPED[name])
    Witness.seen.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scores of unlabeled rows, classes with few members
        try:
            wrapper.fit(X, y)
        except (ValueError, TypeError):
            Witness.seen.clear()  # refuses a third "class": it cannot be given unlabeled rows
    # Used as unlabeled rows: some fit saw the mark, and nobody made a class of it.
    used = (
        any(mark for mark, _ in Witness.seen)
        and max(k for _, k in Witness.seen) == 2
        and list(getattr(wrapper, "classes_", [0, 1])) == [0, 1]
    )
    assert learns_from_unlabeled(WRAPPED[name]) is used
    assert learns_from_unlabeled(wrapper) is used, "the same when fitted"


@pytest.mark.parametrize(
    "supervised",
    [
        LogisticRegression(),
        SVC(),
        make_pipeline(StandardScaler(), GaussianNB()),
        GridSearchCV(SVC(), {"C": [1.0]}),
        CalibratedClassifierCV(GaussianNB()),
        SequentialFeatureSelector(GaussianNB()),
        ClassifierChain(GaussianNB()),
        FrozenEstimator(GaussianNB()),
        VotingClassifier([("nb", GaussianNB()), ("lda", LinearDiscriminantAnalysis())]),
    ],
    ids=lambda each: type(each).__name__,
)
def test_supervised_ones_do_not(supervised: Any) -> None:
    assert learns_from_unlabeled(supervised) is False


@pytest.mark.parametrize(
    "semi",
    [
        LabelPropagation(),
        LabelSpreading(),
        PeerSelfTraining(GaussianNB()),
        make_pipeline(StandardScaler(), LabelSpreading()),
        HarmonicClassifier(),
        SelfTrainingClassifier(GaussianNB()),
        SelfTrainingClassifier(CalibratedClassifierCV(GaussianNB())),
        TriTrainingClassifier(GaussianNB()),
        GridSearchCV(SelfTrainingClassifier(GaussianNB()), {"threshold": [0.7]}),
    ],
    ids=lambda each: type(each).__name__,
)
def test_semi_supervised_ones_do(semi: Any) -> None:
    assert learns_from_unlabeled(semi) is True


def test_a_class_from_elsewhere_declares_it() -> None:
    class Declared(ClassifierMixin, BaseEstimator):
        learns_from_unlabeled = True

    class Refused(LabelSpreading):
        learns_from_unlabeled = False

    class Delegating(BaseEstimator):
        def __init__(self, estimator: Any) -> None:
            self.estimator = estimator

        @property
        def learns_from_unlabeled(self) -> bool:
            return learns_from_unlabeled(self.estimator)

    class Silent(ClassifierMixin, BaseEstimator):
        """Known only by what its fit leaves."""

        def fit(self, X: Any, y: Any) -> Silent:
            self.transduction_ = np.zeros(len(y))
            return self

    class Wrong(BaseEstimator):
        learns_from_unlabeled = "yes"

    assert learns_from_unlabeled(Declared())
    assert learns_from_unlabeled(make_pipeline(StandardScaler(), Declared()))
    assert learns_from_unlabeled(Delegating(HarmonicClassifier()))
    assert not learns_from_unlabeled(Delegating(GaussianNB()))
    assert not learns_from_unlabeled(Refused())
    assert not learns_from_unlabeled(Silent())
    assert learns_from_unlabeled(Silent().fit([[1.0]], [0]))
    with pytest.raises(TypeError, match=r"Wrong\.learns_from_unlabeled must be True or False"):
        learns_from_unlabeled(Wrong())


def test_final_step() -> None:
    svc, frozen = SVC(), FrozenEstimator(SVC())
    inner = make_pipeline(MinMaxScaler(), svc)
    assert final_step(svc) is svc
    assert final_step(make_pipeline(StandardScaler(), inner)) is svc
    assert final_step(frozen) is frozen.estimator
    assert final_step(GridSearchCV(inner, {})) is svc
    bagging = BaggingClassifier(svc)
    assert final_step(bagging) is bagging
    threshold = TunedThresholdClassifierCV(svc)
    assert final_step(threshold) is threshold


def test_final_step_of_a_fitted_search_is_the_best(problem: tuple[Any, Any]) -> None:
    X, y = problem
    X, y = X[y >= 0], y[y >= 0]
    grid = GridSearchCV(make_pipeline(StandardScaler(), SVC()), {"svc__C": [1e-6, 1.0]}, cv=2)
    model = make_pipeline(MinMaxScaler(), grid).fit(X, y)
    best = final_step(model)
    assert best is model[-1].best_estimator_[-1]
    # By hand: both scalers, one after the other.
    expected = StandardScaler().fit_transform(MinMaxScaler().fit_transform(X))
    np.testing.assert_allclose(rows_of_final_step(model, X), expected)
    np.testing.assert_array_equal(
        best.predict(rows_of_final_step(model, X)), np.asarray(model.predict(X))
    )


def test_rows_of_a_plain_estimator_are_the_rows() -> None:
    X = np.ones((2, 2))
    assert rows_of_final_step(SVC(), X) is X


@pytest.mark.parametrize(
    "estimator",
    [
        LabelSpreading(gamma=1.0),
        PeerSelfTraining(GaussianNB()),
        make_pipeline(StandardScaler(), LabelPropagation(gamma=1.0)),
        HarmonicClassifier(),
        make_pipeline(StandardScaler(), SelfTrainingClassifier(GaussianNB())),
    ],
    ids=lambda each: type(each).__name__,
)
def test_needs_integer_labels_is_what_fit_takes(estimator: Any, problem: tuple[Any, Any]) -> None:
    X, y = problem
    words = np.array([None if c < 0 else "ab"[c] for c in y], dtype=object)
    try:
        # scikit-learn's self-training takes None for a class, and warns that nothing is unlabeled.
        clone(estimator).fit(X, words)
        refused = False
    except (TypeError, ValueError, UserWarning):
        refused = True
    assert needs_integer_labels(estimator) is refused


def test_a_class_from_elsewhere_declares_that_it_needs_integers() -> None:
    class OnlyMinusOne(BaseEstimator):
        needs_integer_labels = True

    assert needs_integer_labels(make_pipeline(StandardScaler(), OnlyMinusOne()))
