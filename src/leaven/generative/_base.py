"""What the mixture classifiers share: parameters, the fit around EM, and prediction."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from inspect import signature
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from leaven._compat import HasMethods, Interval, StrOptions, validate_params_of
from leaven._labels import class_prior
from leaven._progress import progress_bar
from leaven.base import TransductionMixin
from leaven.exceptions import ConvergenceWarning
from leaven.generative import _partitioned as parts
from leaven.generative._chunks import take_rows
from leaven.generative._components import (
    INITS,
    check_candidates,
    search_n_components,
    start_responsibilities,
)
from leaven.generative._mixture import Density, Mixture, MixtureEM
from leaven.generative._prior import (
    ClassPrior,
    accept_former_names,
    as_class_prior,
    translate_former_names,
)
from leaven.generative._weighting import WEIGHTINGS, label_weights
from leaven.partitions import (
    LocalPartitions,
    Partitions,
    answers,
    as_partitions,
    is_partitioned,
    stack_rows,
    survey,
)
from leaven.solvers import EMResult, run_em

logger = logging.getLogger("leaven")

# Largest size of an array of rows of a chunk by columns, unless a model says otherwise: 32 MB,
# which is small against the rows and large against the cost of a call.
CHUNK_ELEMENTS = 1 << 22

# Where the classes of components are learned, the probability that a component shares among
# all classes at the start; a zero would stay zero for ever (Miller and Uyar start at random).
START_DOUBT = 0.1


class MixtureClassifier(TransductionMixin, BaseEstimator):
    """Base of classifiers that fit a mixture to labeled and unlabeled rows by EM.

    A subclass lists all parameters in its own ``__init__`` (scikit-learn reads them there) and
    defines the ``_`` methods below that raise. Encoded rows, called ``rows``, are whatever the
    subclass's :class:`~leaven.generative._mixture.Density` reads. What it learns of the data to
    encode them goes through a summary that adds up over partitions, and stays in the attributes
    that ``_encoding_attributes`` lists.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "unlabeled_weight": [Interval(Real, 0, 1, closed="both")],
        "weighting": [StrOptions(set(WEIGHTINGS))],
        "n_components": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "init": [StrOptions(set(INITS))],
        "component_classes": [StrOptions({"fixed", "learned"})],
        "recalibration": [None, HasMethods("transform")],
        "hard": ["boolean"],
        "prior": [None, ClassPrior, StrOptions({"labeled", "uniform"}), dict, "array-like"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
        "progress": ["boolean"],
    }

    _start_softness: ClassVar[float] = 0.0
    """Share of a row that goes to the other components of its class at the start."""

    _encoding_attributes: ClassVar[tuple[str, ...]] = ()

    unlabeled_weight: float
    weighting: str
    n_components: Any
    init: str
    component_classes: str
    recalibration: Any
    hard: bool
    prior: Any
    max_iter: int
    tol: float
    random_state: Any
    verbose: int
    progress: bool

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "__init__" in cls.__dict__:
            cls.__init__ = accept_former_names(cls.__init__)  # type: ignore[method-assign]

    def set_params(self, **params: Any) -> MixtureClassifier:
        """Set parameters by name.

        Parameters
        ----------
        **params : dict

        Returns
        -------
        self
        """
        translate_former_names(params, type(self).__name__, getattr(self, "prior", None))
        super().set_params(**params)
        return self

    def _array_checks(self, X: Any) -> dict[str, Any]:
        """What to ask of ``validate_data`` about rows such as ``X``."""
        raise AssertionError(f"{type(self).__name__} must define _array_checks")

    def _check_values(self, X: Any) -> None:
        """Refuse checked rows whose values the model cannot take."""

    def _column_kinds(self, X: Any) -> Any:
        """What columns of ``X`` are, in a form that adds up over partitions by ``|``."""

    def _check_counts(self, counts: parts.LabelCounts) -> None:
        """Refuse labels that are too few."""

    def _summarize(
        self, X: Any, codes: NDArray[np.intp], weights: NDArray[np.float64], n_classes: int
    ) -> Any:
        """What the encoding must know of checked rows, as an object with ``+=``, or None.

        Rows of weight 0 must have no influence.
        """

    def _learn(self, summary: Any) -> Density:
        """Set the attributes that encode rows, and return an empty density."""
        raise AssertionError(f"{type(self).__name__} must define _learn")

    def _encode(self, X: Any) -> Any:
        """Encode checked rows."""
        raise AssertionError(f"{type(self).__name__} must define _encode")

    def _cluster_features(self, rows: Any) -> Any:
        """Encoded rows as one matrix in which distances and cosines make sense."""
        raise AssertionError(f"{type(self).__name__} must define _cluster_features")

    def _store_mixture(self, mixture: Mixture) -> Mixture:
        """Set the model's own attributes; return the mixture to predict with."""
        raise AssertionError(f"{type(self).__name__} must define _store_mixture")

    def _chunk_rows(self, rows: Any, n_components: int) -> int:
        width = n_components if sparse.issparse(rows) else max(n_components, rows.shape[1])
        return max(1, CHUNK_ELEMENTS // width)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> MixtureClassifier:
        """Fit on labeled and unlabeled rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Or partitions of such rows: a Dask array or DataFrame, or an iterable of tables. The
            answer is the same as on all rows at once, but for rounding. ``transduction_`` and
            ``label_distributions_`` are then lazy Dask arrays, or lists with one array per
            partition; for an iterable that is not a list, iterables that compute them.
        y : array-like of shape (n_samples,)
            Class of each row; -1 in integers, or None, NaN or pandas.NA, without a label. One
            array per partition where X comes in partitions.
        sample_weight : array-like of shape (n_samples,), default=None
            A row of weight 2 counts as two equal rows.

        Returns
        -------
        self
        """
        partitioned = is_partitioned(X)
        if partitioned:
            checked = self._open_partitions(as_partitions(X, y, sample_weight))
        else:
            checked = self._open_rows(X, y, sample_weight)
        n_classes = len(self.classes_)
        counts = checked.reduce(parts.count_labels, parts.add, n_classes)
        self._check_all_counts(counts)
        pair = self._weight_pair(counts)
        shared = self._reader(), pair, n_classes
        density = self._learn(checked.reduce(parts.summarize, parts.add, *shared))
        encoded = checked.prepare(parts.encode, self._reader())
        run = partial(self._run, density=density, prior=self._fixed_prior(counts))
        candidates = check_candidates(self.n_components)
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        n_components = candidates[0]
        if len(candidates) > 1:
            n_components, self.component_scores_ = self._search(encoded, candidates, seed, run)
        self.n_components_ = n_components
        with self._reporter() as report:
            result = run(encoded, counts, n_components=n_components, seed=seed, report=report)
        self._store_result(result)
        distributions = encoded.prepare(parts.class_posterior, self._reader(), self._mixture)
        self._store_distributions(distributions, partitioned)
        return self

    def _open_rows(self, X: Any, y: Any, sample_weight: Any) -> LocalPartitions:
        """Check rows that are one table."""
        X, codes = self._validate_fit(X, y, **self._array_checks(X))
        self._check_values(X)
        self._set_kinds(self._column_kinds(X))
        return LocalPartitions([parts.with_weights(X, codes, sample_weight)], named=False)

    def _open_partitions(self, source: Partitions) -> Partitions:
        """Look at all partitions, learn classes and columns; rows are checked in each pass."""
        validate_params_of(self)
        found = survey(source, type(self).__name__, self._reader()._column_kinds)
        validate_data(self, found.head, **self._array_checks(found.head))
        self.classes_ = found.classes
        kinds = [note for note in found.notes if note is not None]
        self._set_kinds(np.logical_or.reduce(kinds) if kinds else None)
        self._partition_sizes = found.sizes
        return source.prepare(parts.check_block, self._reader(), self.classes_)

    def _set_kinds(self, kinds: Any) -> None:
        """Keep what :meth:`_column_kinds` gave for all rows."""

    def _reader(self) -> MixtureClassifier:
        """An estimator that has learned nothing but the encoding: what other processes need."""
        reader: MixtureClassifier = clone(self)
        for name in ("n_features_in_", "feature_names_in_", *self._encoding_attributes):
            if name in self.__dict__:
                setattr(reader, name, getattr(self, name))
        return reader

    def _check_all_counts(self, counts: parts.LabelCounts) -> None:
        for name, count in zip(self.classes_.tolist(), counts.rows, strict=True):
            if not count:
                raise ValueError(
                    f"The labeled rows of class {name!r} all have sample weight zero. Give one of "
                    "them a positive weight, or remove the class from y."
                )
        self._check_counts(counts)

    def _weight_pair(self, counts: parts.LabelCounts) -> tuple[float, float]:
        return label_weights(
            float(counts.weights.sum()), counts.unlabeled, self.unlabeled_weight, self.weighting
        )

    def _fixed_prior(self, counts: parts.LabelCounts) -> NDArray[np.float64] | None:
        given = as_class_prior(self.prior)
        if given.proportions is None:
            return None
        if self.component_classes == "learned":
            raise ValueError(
                "component_classes='learned' learns the class proportions with the components: "
                "prior must be None, or ClassPrior(smoothing=...)."
            )
        proportions = given.proportions
        if isinstance(proportions, str) and proportions == "labeled":
            proportions = counts.weights + given.smoothing
            proportions = proportions / proportions.sum()
        prior = class_prior(proportions, np.empty(0, dtype=np.intp), self.classes_)
        if (prior <= 0).any():
            raise ValueError(
                f"prior={prior.tolist()} holds a zero, but every class has labeled rows. "
                "Give each class a positive proportion."
            )
        return prior

    def _search(
        self, encoded: Partitions, candidates: list[int], seed: int, run: Callable[..., Any]
    ) -> tuple[int, dict[int, float]]:
        """Choose the number of components by the accuracy on labels that are held out."""
        by_partition = encoded.map(parts.labeled_codes)
        cuts = np.cumsum([len(codes) for codes in by_partition])[:-1]

        def transduce(partly: NDArray[np.intp], n_components: int) -> NDArray[np.intp]:
            hidden = encoded.prepare(parts.relabel, each=np.split(partly, cuts))
            counts = hidden.reduce(parts.count_labels, parts.add, len(self.classes_))
            mixture = run(hidden, counts, n_components=n_components, seed=seed).parameters
            found = encoded.map(parts.labeled_posterior, self._reader(), mixture)
            return np.asarray(np.concatenate(found).argmax(axis=1))

        codes = np.concatenate(by_partition)
        return search_n_components(candidates, codes, self.classes_, transduce, seed)

    def _run(
        self,
        encoded: Partitions,
        counts: parts.LabelCounts,
        *,
        density: Density,
        prior: NDArray[np.float64] | None,
        n_components: int,
        seed: int,
        report: Callable[[int, float], None] | None = None,
    ) -> EMResult[Mixture]:
        n_classes = len(self.classes_)
        owners = np.repeat(np.arange(n_classes), n_components)
        learn_labels = self.component_classes == "learned"
        make = partial(
            MixtureEM,
            component_classes=owners,
            n_classes=n_classes,
            class_prior=prior,
            smoothing=float(as_class_prior(self.prior).smoothing),
            learn_labels=learn_labels,
            hard=self.hard,
        )
        nothing: NDArray[np.intp] = np.empty(0, dtype=np.intp)
        steps = encoded.prepare(parts.make_steps, make, self._reader(), self._weight_pair(counts))
        em = parts.PartitionedEM(steps, make(None, nothing), self._recalibrate(counts))
        log_labels = None
        if learn_labels:
            sure = np.arange(n_classes)[:, None] == owners
            log_labels = np.log(np.where(sure, 1 - START_DOUBT, 0.0) + START_DOUBT / n_classes)
        if n_components == 1:
            start = em.start(density, log_labels)
        else:
            start = self._spread(encoded, make, density, n_components, seed, log_labels)
            em.collect_clamped(density)
        return run_em(
            em.expectation,
            em.maximization,
            start,
            max_iter=self.max_iter,
            # Hard assignments are finitely many: stop at a partition that repeats.
            tol=0.0 if self.hard else self.tol,
            on_iteration=report,
        )

    def _spread(
        self,
        encoded: Partitions,
        make: Callable[..., MixtureEM],
        density: Density,
        n_components: int,
        seed: int,
        log_labels: NDArray[np.float64] | None,
    ) -> Mixture:
        """First M-step with several components per class, from the labeled rows of all."""
        found = [part for part in encoded.map(parts.labeled_rows) if part is not None]
        rows = stack_rows([part.X for part in found]) if len(found) > 1 else found[0].X
        codes = np.concatenate([part.codes for part in found])
        weights = np.concatenate([part.sample_weight for part in found])
        responsibilities = start_responsibilities(
            None if self.init == "random" else self._cluster_features(rows),
            codes,
            self.classes_,
            n_components,
            self.init,
            np.random.RandomState(seed),
            None if (weights == 1).all() else weights,
        )
        steps = make(rows, codes, start_weights=weights)
        steps.chunk_rows = self._chunk_rows(rows, steps.n_components)
        if self._start_softness:
            even = (steps.component_classes == codes[:, None]) / n_components
            responsibilities *= 1 - self._start_softness
            responsibilities += self._start_softness * even
        return steps.start(density, responsibilities, log_labels=log_labels)

    def _recalibrate(self, counts: parts.LabelCounts) -> Callable[..., NDArray[np.float64]] | None:
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
            shares = counts.weights / counts.weights.sum()
            recalibration = clone(recalibration).set_params(mean=shares)

        def recalibrate(
            q: NDArray[np.float64], weights: NDArray[np.float64]
        ) -> NDArray[np.float64]:
            if (weights == 1).all():
                return np.asarray(recalibration.transform(q), dtype=np.float64)
            if "sample_weight" not in signature(recalibration.transform).parameters:
                raise ValueError(
                    f"sample_weight was given, but transform of recalibration={recalibration!r} "
                    "takes none. Give it a parameter sample_weight, or fit without weights."
                )
            new = recalibration.transform(q, sample_weight=weights)
            return np.asarray(new, dtype=np.float64)

        return recalibrate

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

    def _store_distributions(self, distributions: Partitions, partitioned: bool) -> None:
        """Set ``label_distributions_`` and ``transduction_``: one array, a list, or lazy ones."""
        if partitioned:
            found = answers(distributions, self.classes_, self._partition_sizes)
            self.label_distributions_, self.transduction_ = found
            return
        (self.label_distributions_,) = distributions.map(np.asarray)
        best = self.label_distributions_.argmax(axis=1)
        self.transduction_ = np.asarray(self.classes_[best])

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

        With several components per class these are the sums over its components.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            Columns in the order of ``classes_``.
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, **self._array_checks(X))
        self._check_values(X)
        return self._posterior(self._mixture, self._encode(X), X.shape[0])

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
