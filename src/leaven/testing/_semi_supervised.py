"""What every semi-supervised classifier promises."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Collection
from typing import Any

import numpy as np
import pandas as pd
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import get_tags

from leaven._labels import UNLABELED, mask_labels
from leaven.base import learns_from_unlabeled
from leaven.testing._run import Check, quiet, run_checks, seeded

# Difference of probabilities that is no difference: sums in another order, sparse products, and
# iterations that stop at a tolerance of 1e-4, which leaves differences of about as much. What is
# checked for is far larger.
TOLERANCE = 1e-3


def check_semi_supervised(
    estimator: Any, *, X: Any = None, y: Any = None, skip: Collection[str] = ()
) -> list[str]:
    """Check that a classifier treats labels and unlabeled rows as leaven promises.

    Each check fits clones on a small problem of two classes; the estimator itself is not
    changed. :func:`semi_supervised_checks` lists them one by one, for parametrized tests.

    Parameters
    ----------
    estimator : classifier
        With ``fit``, ``predict``, ``predict_proba``, and after ``fit`` ``classes_``,
        ``transduction_`` and ``label_distributions_``. Every ``random_state`` in it that is
        None is set.
    X : array-like of shape (n_samples, n_features), default=None
        Rows of your own, where the classifier needs a kind that the default, 60 rows of five
        positive numbers, is not. Dense.
    y : array-like of shape (n_samples,), default=None
        Classes 0 and 1, and -1 for an unlabeled row.
    skip : collection of str, default=()
        Names of checks that are not promised, such as ``"keeps_labels"`` of a method that may
        overrule labels.

    Returns
    -------
    names : list of str
        The checks that were run.

    Raises
    ------
    AssertionError
        With the name of the check and what went wrong.

    Examples
    --------
    >>> from leaven.graph_based import ConsistencyClassifier
    >>> from leaven.testing import check_semi_supervised
    >>> names = check_semi_supervised(ConsistencyClassifier())
    >>> names[:3]
    ['declares', 'attributes', 'keeps_labels']
    """
    if (X is None) != (y is None):
        raise ValueError("Give both X and y, or neither.")
    if X is None:
        X, y = default_problem()
    return run_checks(CHECKS, seeded(estimator), np.asarray(X), np.asarray(y), skip)


def semi_supervised_checks() -> dict[str, Check]:
    """Give the checks of :func:`check_semi_supervised` by name.

    Returns
    -------
    checks : dict from str to callable
        Each is called with the estimator, ``X`` and ``y``, and raises if it is not kept.

    Examples
    --------
    >>> from leaven.testing import semi_supervised_checks
    >>> sorted(semi_supervised_checks())[:4]
    ['attributes', 'data_frame', 'declares', 'exchange']
    """
    return dict(CHECKS)


def default_problem() -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Sixty rows of five numbers in two classes that overlap a little, eight of them labeled.

    They are not negative, so that every kind of classifier but that of categories takes them;
    and no two distances are equal, so that no answer depends on the order of ties.
    """
    rng = np.random.RandomState(7)
    truth = np.repeat([0, 1], 30)
    # About twenty, moved by six: one row in ten or so is nearer to the other class.
    X = rng.poisson(20, size=(60, 5)) + 6.0 * truth[:, None] * np.array([1, 0, 1, 0, 1])
    X = X + rng.random_sample(X.shape) / 8
    y = np.where(np.isin(np.arange(60) % 30, [0, 8, 15, 22]), truth, UNLABELED)
    return X, y.astype(np.intp)


def check_declares(estimator: Any, X: Any, y: Any) -> None:
    """``learns_from_unlabeled`` is True of it, before and after ``fit``."""
    assert learns_from_unlabeled(estimator), "it is taken for a supervised classifier"
    assert learns_from_unlabeled(_fit(estimator, X, y)), "once fitted, it is taken for another"


def check_attributes(estimator: Any, X: Any, y: Any) -> None:
    """After ``fit``: sorted classes, a class and a distribution for every row."""
    fitted = _fit(estimator, X, y)
    assert_array_equal(fitted.classes_, [0, 1])
    P = np.asarray(fitted.label_distributions_)
    assert P.shape == (len(X), 2), f"label_distributions_ has shape {P.shape}"
    assert np.isfinite(P).all(), "label_distributions_ holds NaN or infinity"
    assert (P >= 0).all(), "label_distributions_ holds a negative number"
    assert_allclose(P.sum(axis=1), 1.0, atol=TOLERANCE)
    assert_array_equal(fitted.transduction_, fitted.classes_[P.argmax(axis=1)])
    assert fitted.n_features_in_ == X.shape[1]


def check_keeps_labels(estimator: Any, X: Any, y: Any) -> None:
    """Labeled rows keep their label, with certainty."""
    fitted = _fit(estimator, X, y)
    labeled = y != UNLABELED
    assert_array_equal(fitted.transduction_[labeled], y[labeled])
    assert_array_equal(fitted.label_distributions_[labeled], np.eye(2)[y[labeled]])


def check_predicts(estimator: Any, X: Any, y: Any) -> None:
    """``predict`` is the most probable class of ``predict_proba``, whose rows sum to one."""
    fitted = _fit(estimator, X, y)
    P = fitted.predict_proba(X)
    assert P.shape == (len(X), 2), f"predict_proba gave shape {P.shape}"
    assert_allclose(P.sum(axis=1), 1.0, atol=TOLERANCE)
    assert_array_equal(fitted.predict(X), fitted.classes_[P.argmax(axis=1)])
    assert_allclose(fitted.predict_proba(X[:1]), P[:1], atol=TOLERANCE)


def check_permutation(estimator: Any, X: Any, y: Any) -> None:
    """Permuting the rows permutes the answer."""
    order = np.random.RandomState(3).permutation(len(X))
    P = _fit(estimator, X, y).label_distributions_
    other = _fit(estimator, X[order], y[order]).label_distributions_
    assert_allclose(other, P[order], atol=TOLERANCE)


def check_renaming(estimator: Any, X: Any, y: Any) -> None:
    """Renaming the classes, in their order, renames the answer."""
    plain = _fit(estimator, X, y)
    for names in (np.array([3, 8]), np.array(["no", "yes"]), np.array([False, True])):
        named = _fit(estimator, X, mask_labels(names[y], y == UNLABELED))
        assert_array_equal(named.classes_, names)
        assert_allclose(named.label_distributions_, plain.label_distributions_, atol=TOLERANCE)
        assert_array_equal(named.transduction_, names[plain.transduction_])
        assert_array_equal(named.predict(X[:3]), names[plain.predict(X[:3])])


def check_exchange(estimator: Any, X: Any, y: Any) -> None:
    """Exchanging the names of the classes exchanges their probabilities."""
    P = _fit(estimator, X, y).label_distributions_
    other = _fit(estimator, X, np.where(y == UNLABELED, y, 1 - y)).label_distributions_
    assert_allclose(other[:, ::-1], P, atol=TOLERANCE)


def check_marks(estimator: Any, X: Any, y: Any) -> None:
    """-1, None, NaN and pandas.NA mark an unlabeled row alike."""
    P = _fit(estimator, X, y).label_distributions_
    hidden = y == UNLABELED
    words = np.array(["a", "b"], dtype=object)[y]
    floats = np.where(hidden, np.nan, y.astype(float))
    integers = pd.Series(y, dtype="Int64").mask(pd.Series(hidden))
    given: dict[str, Any] = {
        "None among strings": [None if h else w for h, w in zip(hidden, words, strict=True)],
        "NaN among strings": [np.nan if h else w for h, w in zip(hidden, words, strict=True)],
        "NaN among floats": floats,
        "pandas.NA in a nullable column": integers,
        "None in a categorical column": pd.Series(pd.Categorical(mask_labels(words, hidden))),
        "-1 in a list": y.tolist(),
    }
    for name, labels in given.items():
        found = _fit(estimator, X, labels).label_distributions_
        assert_allclose(found, P, atol=TOLERANCE, err_msg=name)


def check_no_unlabeled_row(estimator: Any, X: Any, y: Any) -> None:
    """Without unlabeled rows it is supervised, with no error and no warning."""
    rows = np.flatnonzero(y != UNLABELED)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted = clone(estimator).fit(X[rows], y[rows])
    assert len(fitted.transduction_) == len(rows)
    assert set(fitted.predict(X)) <= {0, 1}


def check_inputs_untouched(estimator: Any, X: Any, y: Any) -> None:
    """``X``, ``y`` and the parameters are as they were, also if they may not be written to."""
    rows, labels = X.copy(), y.copy()
    rows.flags.writeable = labels.flags.writeable = False
    fitted = clone(estimator)
    before = repr(fitted.get_params())
    quiet(fitted.fit, rows, labels)
    quiet(fitted.predict_proba, rows)
    assert_array_equal(rows, X)
    assert_array_equal(labels, y)
    assert repr(fitted.get_params()) == before, "fit changed a parameter"


def check_repeatable(estimator: Any, X: Any, y: Any) -> None:
    """The same fit gives the same bits, again and on a second object."""
    fitted = _fit(estimator, X, y)
    P, Q = np.array(fitted.label_distributions_), np.array(fitted.predict_proba(X))
    other = _fit(estimator, X, y)
    assert_array_equal(other.label_distributions_, P)
    assert_array_equal(other.predict_proba(X), Q)
    quiet(fitted.fit, X, y)
    assert_array_equal(fitted.label_distributions_, P)
    assert_array_equal(fitted.predict_proba(X), Q)


def check_pickles(estimator: Any, X: Any, y: Any) -> None:
    """It pickles when fitted, and answers the same."""
    fitted = _fit(estimator, X, y)
    other = pickle.loads(pickle.dumps(fitted))
    # Not to the bit: arrays that lie elsewhere in memory may be summed in another order.
    assert_allclose(other.predict_proba(X), fitted.predict_proba(X), rtol=1e-9, atol=1e-12)
    assert_array_equal(other.transduction_, fitted.transduction_)


def check_data_frame(estimator: Any, X: Any, y: Any) -> None:
    """A data frame, with any index, gives what an array gives."""
    names = [f"column {j}" for j in range(X.shape[1])]
    frame = pd.DataFrame(X, columns=names, index=np.arange(len(X))[::-1])
    plain, fitted = _fit(estimator, X, y), _fit(estimator, frame, pd.Series(y, index=frame.index))
    assert list(fitted.feature_names_in_) == names
    assert_allclose(fitted.label_distributions_, plain.label_distributions_, atol=TOLERANCE)
    assert_allclose(fitted.predict_proba(frame), plain.predict_proba(X), atol=TOLERANCE)


def check_sparse(estimator: Any, X: Any, y: Any) -> None:
    """CSR rows give what dense ones give, if the tags say that sparse rows are taken."""
    if not get_tags(estimator).input_tags.sparse:
        return
    plain, fitted = _fit(estimator, X, y), _fit(estimator, sparse.csr_array(X), y)
    assert_allclose(fitted.label_distributions_, plain.label_distributions_, atol=TOLERANCE)
    assert_allclose(
        fitted.predict_proba(sparse.csr_matrix(X)), plain.predict_proba(X), atol=TOLERANCE
    )


def check_sparse_untouched(estimator: Any, X: Any, y: Any) -> None:
    """CSR rows stay as they are: in no order of columns, and where they may not be written to."""
    if not get_tags(estimator).input_tags.sparse:
        return
    plain = sparse.csr_array(X)
    columns, values = plain.indices.copy(), plain.data.copy()
    for start, stop in zip(plain.indptr[:-1], plain.indptr[1:], strict=True):
        columns[start:stop] = columns[start:stop][::-1]
        values[start:stop] = values[start:stop][::-1]
    rows = sparse.csr_array((values, columns, plain.indptr), shape=plain.shape)
    before = columns.copy()
    for part in (rows.data, rows.indices, rows.indptr):
        part.flags.writeable = False
    quiet(_fit(estimator, rows, y).predict_proba, rows)
    assert_array_equal(rows.indices, before)


def check_refuses_no_label(estimator: Any, X: Any, y: Any) -> None:
    """Without any label, or with -1 among strings, it raises a ValueError."""
    _refuses(estimator, X, np.full(len(X), UNLABELED), "no labeled row")
    words = np.where(y == UNLABELED, str(UNLABELED), np.array(["a", "b"])[y])
    _refuses(estimator, X, words, "'-1' among strings")


CHECKS: dict[str, Check] = {
    "declares": check_declares,
    "attributes": check_attributes,
    "keeps_labels": check_keeps_labels,
    "predicts": check_predicts,
    "permutation": check_permutation,
    "renaming": check_renaming,
    "exchange": check_exchange,
    "marks": check_marks,
    "no_unlabeled_row": check_no_unlabeled_row,
    "inputs_untouched": check_inputs_untouched,
    "repeatable": check_repeatable,
    "pickles": check_pickles,
    "data_frame": check_data_frame,
    "sparse": check_sparse,
    "sparse_untouched": check_sparse_untouched,
    "refuses_no_label": check_refuses_no_label,
}


def _fit(estimator: Any, X: Any, y: Any) -> Any:
    return quiet(clone(estimator).fit, X, y)


def _refuses(estimator: Any, X: Any, y: Any, what: str) -> None:
    try:
        _fit(estimator, X, y)
    except ValueError:
        return
    raise AssertionError(f"{what} was taken without an error")
