"""What the mixture classifiers share: parameters, the fit around EM, and prediction."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from leaven._base import TransductionMixin
from leaven._compat import HasMethods, Interval, StrOptions
from leaven._labels import UNLABELED, class_prior
from leaven._progress import progress_bar
from leaven.exceptions import ConvergenceWarning
from leaven.generative._components import (
    INITS,
    check_candidates,
    search_n_components,
    start_responsibilities,
)
from leaven.generative._mixture import Density, Mixture, MixtureEM, take_rows
from leaven.generative._weighting import WEIGHTINGS, row_weights
from leaven.solvers import EMResult, run_em

logger = logging.getLogger("leaven")

CHUNK_ELEMENTS = 1 << 22
"""Largest size of an array of rows of a chunk by columns, unless a model says otherwise."""


class MixtureClassifier(TransductionMixin, BaseEstimator):
    """Base of classifiers that fit a mixture to labeled and unlabeled rows by EM.

    A subclass lists all parameters in its own ``__init__`` (scikit-learn reads them there) and
    defines the ``_`` methods below that raise. Encoded rows, called ``rows``, are whatever the
    subclass's :class:`~leaven.generative._mixture.Density` reads.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "unlabeled_weight": [Interval(Real, 0, 1, closed="both")],
        "weighting": [StrOptions(set(WEIGHTINGS))],
        "n_components": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "init": [StrOptions(set(INITS))],
        "component_classes": [StrOptions({"fixed", "learned"})],
        "recalibration": [None, HasMethods("transform")],
        "hard": ["boolean"],
        "fit_prior": ["boolean"],
        "class_prior": [None, "array-like", dict],
        "prior_smoothing": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
        "progress": ["boolean"],
    }

    _start_softness: ClassVar[float] = 0.0
    """Share of a row that goes to the other components of its class at the start."""

    unlabeled_weight: float
    weighting: str
    n_components: Any
    init: str
    component_classes: str
    recalibration: Any
    hard: bool
    fit_prior: bool
    class_prior: Any
    prior_smoothing: float
    max_iter: int
    tol: float
    random_state: Any
    verbose: int
    progress: bool

    def _validate_training(self, X: Any, y: Any) -> tuple[Any, NDArray[np.intp]]:
        """Check parameters, X and y, by ``self._validate_fit``."""
        raise AssertionError(f"{type(self).__name__} must define _validate_training")

    def _learn_encoding(
        self, X: Any, codes: NDArray[np.intp], weights: NDArray[np.float64]
    ) -> tuple[Any, Density]:
        """Learn how to encode rows, and return the encoded rows and an empty density.

        Rows of weight 0 must have no influence on what is learned.
        """
        raise AssertionError(f"{type(self).__name__} must define _learn_encoding")

    def _validate_rows(self, X: Any) -> Any:
        """Check and encode rows to predict."""
        raise AssertionError(f"{type(self).__name__} must define _validate_rows")

    def _cluster_features(self, rows: Any) -> Any:
        """Encoded rows as one matrix in which distances and cosines make sense."""
        raise AssertionError(f"{type(self).__name__} must define _cluster_features")

    def _store_mixture(self, mixture: Mixture) -> Mixture:
        """Set the model's own attributes; return the mixture to predict with."""
        raise AssertionError(f"{type(self).__name__} must define _store_mixture")

    def _chunk_rows(self, rows: Any, n_components: int) -> int:
        width = n_components if sparse.issparse(rows) else max(n_components, rows.shape[1])
        return max(1, CHUNK_ELEMENTS // width)

    def fit(self, X: Any, y: Any) -> MixtureClassifier:
        """Fit on labeled and unlabeled rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Class of each row; -1 in integers, or None, NaN or pandas.NA, without a label.

        Returns
        -------
        self
        """
        X, codes = self._validate_training(X, y)
        prior = self._fixed_prior(codes)
        candidates = check_candidates(self.n_components)
        weights = row_weights(codes, self.unlabeled_weight, self.weighting)
        rows, density = self._learn_encoding(X, codes, weights)
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)

        def transduce(codes: NDArray[np.intp], n_components: int) -> NDArray[np.intp]:
            result = self._run(rows, codes, density, n_components, prior, seed)
            return self._posterior(result.parameters, rows, len(codes)).argmax(axis=1)

        n_components = candidates[0]
        if len(candidates) > 1:
            n_components, self.component_scores_ = search_n_components(
                candidates, codes, self.classes_, transduce, seed
            )
        self.n_components_ = n_components
        with self._reporter() as report:
            result = self._run(rows, codes, density, n_components, prior, seed, report)
        self._store_result(result)
        self._store_transduction(self._posterior(self._mixture, rows, len(codes)), codes)
        return self

    def _fixed_prior(self, codes: NDArray[np.intp]) -> NDArray[np.float64] | None:
        if self.class_prior is None and self.fit_prior:
            return None
        if self.component_classes == "learned":
            raise ValueError(
                "component_classes='learned' learns the class proportions with the components: "
                "class_prior must be None and fit_prior True."
            )
        prior = class_prior(
            "uniform" if self.class_prior is None else self.class_prior, codes, self.classes_
        )
        if (prior <= 0).any():
            raise ValueError(
                f"class_prior={prior.tolist()} holds a zero, but every class has labeled rows. "
                "Give each class a positive proportion."
            )
        return prior

    def _run(
        self,
        rows: Any,
        codes: NDArray[np.intp],
        density: Density,
        n_components: int,
        prior: NDArray[np.float64] | None,
        seed: int,
        report: Callable[[int, float], None] | None = None,
    ) -> EMResult[Mixture]:
        n_classes = len(self.classes_)
        owners = np.repeat(np.arange(n_classes), n_components)
        learn_labels = self.component_classes == "learned"
        steps = MixtureEM(
            rows,
            codes,
            owners,
            n_classes,
            row_weights=row_weights(codes, self.unlabeled_weight, self.weighting),
            class_prior=prior,
            smoothing=self.prior_smoothing,
            learn_labels=learn_labels,
            hard=self.hard,
            recalibrate=self._recalibrate(codes, n_classes),
            chunk_rows=self._chunk_rows(rows, len(owners)),
        )
        labeled = np.flatnonzero(codes != UNLABELED)
        features = None
        if n_components > 1 and self.init != "random":
            features = self._cluster_features(take_rows(rows, labeled))
        responsibilities = start_responsibilities(
            features,
            codes[labeled],
            self.classes_,
            n_components,
            self.init,
            np.random.RandomState(seed),
        )
        log_labels = None
        if n_components > 1 and self._start_softness:
            even = (owners == codes[labeled][:, None]) / n_components
            responsibilities *= 1 - self._start_softness
            responsibilities += self._start_softness * even
        if learn_labels:
            # Zeros would stay zero for ever: each component starts with a tenth of doubt.
            sure = np.arange(n_classes)[:, None] == owners
            log_labels = np.log(np.where(sure, 0.9, 0.0) + 0.1 / n_classes)
        return run_em(
            steps.expectation,
            steps.maximization,
            steps.start(density, responsibilities, rows=labeled, log_labels=log_labels),
            max_iter=self.max_iter,
            # Hard assignments are finitely many: stop at a partition that repeats.
            tol=0.0 if self.hard else self.tol,
            on_iteration=report,
        )

    def _recalibrate(
        self, codes: NDArray[np.intp], n_classes: int
    ) -> Callable[[NDArray[np.float64]], NDArray[np.float64]] | None:
        if self.recalibration is None:
            return None
        if self.component_classes == "learned":
            raise ValueError(
                "recalibration changes class probabilities, which do not say how to change "
                "components that belong to several classes: component_classes must be 'fixed'."
            )
        mean = getattr(self.recalibration, "mean", None)
        recalibration = self.recalibration
        if isinstance(mean, str) and mean == "labeled":
            counts = np.bincount(codes[codes != UNLABELED], minlength=n_classes)
            recalibration = clone(recalibration).set_params(mean=counts / counts.sum())
        return recalibration.transform

    @contextmanager
    def _reporter(self) -> Iterator[Callable[[int, float], None]]:
        """What is called after each iteration: a line in the log, a step of the bar."""
        name = type(self).__name__
        with progress_bar(name, self.max_iter, show=self.progress) as move:

            def report(iteration: int, objective: float) -> None:
                if self.verbose:
                    logger.info("%s: iteration %d, objective %.9g", name, iteration, objective)
                move(iteration)

            yield report

    def _store_result(self, result: EMResult[Mixture]) -> None:
        self.n_iter_ = result.n_iter
        self.converged_ = result.converged
        self.stop_reason_ = result.stop_reason
        self.objective_trace_ = result.objective_trace
        if not result.converged:
            what = (
                f"did not converge in max_iter={self.max_iter} iterations. Raise max_iter or tol"
                if result.stop_reason == "max_iter"
                else "met an objective that is not finite. Scale the features, or raise the "
                "smoothing"
            )
            warnings.warn(f"{type(self).__name__} {what}.", ConvergenceWarning, stacklevel=3)
        mixture = result.parameters
        self.component_log_weights_ = mixture.log_weights
        self.component_class_proba_ = np.exp(mixture.log_labels.T)
        with np.errstate(divide="ignore"):
            weights = np.exp(mixture.log_weights)
            self.class_log_prior_ = (
                mixture.log_weights.copy()
                if self.n_components_ == 1 and self.component_classes == "fixed"
                else np.log(weights @ self.component_class_proba_)
            )
        self._mixture = self._store_mixture(mixture)

    def _posterior(self, mixture: Mixture, rows: Any, n_rows: int) -> NDArray[np.float64]:
        """Class probabilities of encoded rows, chunk by chunk."""
        size = self._chunk_rows(rows, len(mixture.log_weights))
        result = np.empty((n_rows, len(mixture.log_labels)))
        for start in range(0, n_rows, size):
            chunk = slice(start, min(start + size, n_rows))
            result[chunk] = mixture.class_posterior(take_rows(rows, chunk))
        return result

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the class probabilities of the rows of ``X``.

        With several components a class these are the sums over its components.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            Columns in the order of ``classes_``.
        """
        check_is_fitted(self)
        rows = self._validate_rows(X)
        n_rows = (rows[0] if isinstance(rows, tuple) else rows).shape[0]
        return self._posterior(self._mixture, rows, n_rows)

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the logarithm of :meth:`predict_proba`; -inf where that has underflowed.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        log_proba : ndarray of shape (n_samples, n_classes)
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))
