"""Hidden Markov models on sequences of which some positions are labeled."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from leaven._compat import Interval, StrOptions, validate_params_of
from leaven._labels import UNLABELED, encode_labels, one_hot
from leaven.exceptions import ConvergenceWarning
from leaven.generative._categorical import CategoricalDensity, table_of_probabilities
from leaven.generative._covariance import COVARIANCE_TYPES, TIED, CovarianceDensity
from leaven.generative._encoding import distinct_values, learn_table
from leaven.generative._gaussian import check_rows_for_variance
from leaven.generative._mixture import Density
from leaven.generative._multinomial import MIN_ALPHA
from leaven.generative._weighting import WEIGHTINGS, row_weights
from leaven.solvers import forward_backward, pad_sequences, run_em, sequence_batches, viterbi

logger = logging.getLogger("leaven")

# Added to the first counts of transitions: a transition that the few labels do not show must
# stay possible, or EM could never find it.
_DOUBT = 0.1


@dataclass(frozen=True)
class Chain:
    """Parameters of a hidden Markov model with one state per class."""

    density: Density
    start: NDArray[np.float64]
    transition: NDArray[np.float64]


@dataclass
class ChainStatistics:
    """Expected counts behind an M-step."""

    density: Any
    start: NDArray[np.float64]
    transition: NDArray[np.float64]


class ChainEM:
    """E-step (forward-backward) and M-step (Baum-Welch) on partly labeled sequences.

    The objective is the log-likelihood of what was seen, observations and labels, each
    sequence times its weight, plus ``alpha`` times the sum of the logarithms of all first and
    transition probabilities, plus the log prior of the density.

    Parameters
    ----------
    rows : encoded observations of all sequences, one after the other
    codes : int array of shape (n_rows,)
    lengths : int array of shape (n_sequences,)
    n_states : int
    weights : array of shape (n_sequences,)
        In the likelihood.
    alpha : float
    start_weights : array of shape (n_sequences,), default=None
        In the first M-step; None means 1.
    """

    def __init__(
        self,
        rows: Any,
        codes: NDArray[np.intp],
        lengths: NDArray[np.intp],
        n_states: int,
        weights: NDArray[np.float64],
        alpha: float,
        start_weights: NDArray[np.float64] | None = None,
    ) -> None:
        self.rows, self.codes, self.lengths = rows, codes, lengths
        self.starts = np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.intp)
        self.n_states, self.weights, self.alpha = n_states, weights, alpha
        self.start_weights = np.ones(len(lengths)) if start_weights is None else start_weights

    def first(self, density: Density) -> Chain:
        """First M-step, from the labeled positions alone."""
        given = np.flatnonzero(self.codes != UNLABELED)
        weights = np.repeat(self.start_weights, self.lengths)
        known_states = one_hot(self.codes[given], self.n_states) * weights[given][:, None]
        statistics = density.collect(self.rows[given], known_states)
        start = np.full(self.n_states, _DOUBT)
        heads = self.starts[self.lengths > 0]
        heads = heads[self.codes[heads] != UNLABELED]
        np.add.at(start, self.codes[heads], weights[heads])
        transition = np.full((self.n_states, self.n_states), _DOUBT)
        follows = np.ones(len(self.codes), dtype=bool)
        follows[self.starts[self.lengths > 0]] = False
        later = np.flatnonzero(follows)
        later = later[(self.codes[later] != UNLABELED) & (self.codes[later - 1] != UNLABELED)]
        np.add.at(transition, (self.codes[later - 1], self.codes[later]), weights[later])
        return Chain(density.update(statistics), _proportions(start), _proportions(transition))

    def log_emission(self, density: Density, *, clamp: bool = True) -> NDArray[np.float64]:
        """``log p(x | state)`` of every row; -inf for states that a label rules out."""
        log_emission = density.log_likelihood(self.rows)
        if clamp:
            given = np.flatnonzero(self.codes != UNLABELED)
            kept = log_emission[given, self.codes[given]]
            log_emission[given] = -np.inf
            log_emission[given, self.codes[given]] = kept
        return log_emission

    def posterior(
        self, chain: Chain, *, clamp: bool = True
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
        """State posteriors of every row, expected transitions, and the weighted evidence."""
        log_emission = self.log_emission(chain.density, clamp=clamp)
        gamma = np.zeros_like(log_emission)
        transitions = np.zeros((self.n_states, self.n_states))
        total = 0.0
        for group in sequence_batches(self.lengths, self.n_states):
            lengths, starts = self.lengths[group], self.starts[group]
            part, steps, evidence = forward_backward(
                pad_sequences(log_emission, starts, lengths, 0.0),
                lengths,
                chain.start,
                chain.transition,
                self.weights[group],
            )
            inside = np.arange(part.shape[1]) < lengths[:, None]
            gamma[(starts[:, None] + np.arange(part.shape[1]))[inside]] = part[inside]
            transitions += steps
            used = self.weights[group] > 0
            total += float(self.weights[group][used] @ evidence[used])
        return gamma, transitions, total

    def expectation(self, chain: Chain) -> tuple[ChainStatistics, float]:
        """Expected counts, and the objective at ``chain``."""
        gamma, transitions, objective = self.posterior(chain)
        row_weight = np.repeat(self.weights, self.lengths)
        weighted = gamma * row_weight[:, None]
        statistics = ChainStatistics(
            chain.density.collect(self.rows, weighted),
            weighted[self.starts[self.lengths > 0]].sum(axis=0),
            transitions,
        )
        objective += chain.density.log_prior()
        if self.alpha > 0:
            objective += self.alpha * float(np.log(chain.start).sum())
            objective += self.alpha * float(np.log(chain.transition).sum())
        return statistics, objective

    def maximization(self, statistics: ChainStatistics, chain: Chain) -> Chain:
        """Baum-Welch: probabilities in proportion to the expected counts."""
        density = chain.density.update(statistics.density)
        start = _proportions(statistics.start + self.alpha, chain.start)
        transition = _proportions(statistics.transition + self.alpha, chain.transition)
        return Chain(density, start, transition)


def _proportions(
    counts: NDArray[np.float64], otherwise: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Divide by the sum over the last axis; a row without any count stays what it was."""
    total = counts.sum(axis=-1, keepdims=True)
    shares = counts / np.where(total > 0, total, 1.0)
    return shares if otherwise is None else np.where(total > 0, shares, otherwise)


class SemiSupervisedHMM(BaseEstimator):
    r"""A hidden Markov model whose states are the classes, on partly labeled sequences.

    A sequence of observations :math:`x_1, \dots, x_T` has the probability

    .. math:: \sum_{s} \pi_{s_1} \prod_t a_{s_{t-1} s_t} \prod_t p(x_t \mid s_t) ,

    where the sum runs over the state paths that agree with the labels that are given. EM
    (Baum-Welch) maximizes it over labeled, partly labeled and unlabeled sequences.

    Parameters
    ----------
    emission : {"auto", "gaussian", "categorical"}, default="auto"
        What an observation is: a row of numbers, or one or more symbols. ``"auto"`` is
        Gaussian for floating-point numbers and categorical for everything else.
    covariance_type : {"full", "tied", "diag", "spherical", "tied-spherical"}, default="diag"
        Of Gaussian emissions.
    reg_covar : float, default=1e-3
        Added to the variances of Gaussian emissions.
    alpha : float, default=1.0
        Pseudo-count of each first state, each transition, and each symbol.
    unlabeled_weight : float in [0, 1], default=1.0
        λ, the weight of a sequence without any label; 0 leaves them out.
    weighting : {"unlabeled", "convex", "normalized"}, default="unlabeled"
        What λ means, see :class:`SemiSupervisedMultinomialNB`.
    decoder : {"viterbi", "posterior"}, default="viterbi"
        Predict the most probable path, or at each position the most probable state.
    max_iter : int, default=200
    tol : float, default=1e-6
        EM stops when the objective changes by at most this fraction of itself.
    verbose : int, default=0
        1 logs one line an iteration to the logger ``leaven``.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    start_proba_ : ndarray of shape (n_classes,)
    transition_proba_ : ndarray of shape (n_classes, n_classes)
    means_, covariances_ : ndarray
        Of Gaussian emissions.
    feature_log_prob_ : list of ndarray of shape (n_classes, n_symbols)
        Of categorical emissions.
    transduction_ : list of ndarray
        A class for every position of the training sequences; given labels are kept.
    label_distributions_ : list of ndarray of shape (length, n_classes)
    objective_trace_ : ndarray of shape (n_iter_ + 1,)
    n_iter_ : int
    converged_ : bool
    stop_reason_ : {"converged", "max_iter", "not_finite"}

    Notes
    -----
    Sequences are lists, so this is not an estimator for scikit-learn's pipelines. With
    ``reg_covar`` EM climbs the objective of :class:`SemiSupervisedGaussianMixture`.

    References
    ----------
    L. R. Rabiner, "A tutorial on hidden Markov models and selected applications in speech
    recognition", Proceedings of the IEEE 77, 1989.

    M. Inoue and N. Ueda, "Exploitation of unlabeled sequences in hidden Markov models", IEEE
    Transactions on Pattern Analysis and Machine Intelligence 25, 2003.

    Examples
    --------
    >>> from leaven.generative import SemiSupervisedHMM
    >>> walks = [list("aaabbb"), list("aabbb"), list("aaaab")]
    >>> labels = [["up", None, None, None, None, "down"], None, ["up", "up", None, None, None]]
    >>> [path.tolist() for path in SemiSupervisedHMM().fit(walks, labels).predict(["aab"])]
    [['up', 'up', 'down']]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "emission": [StrOptions({"auto", "gaussian", "categorical"})],
        "covariance_type": [StrOptions(set(COVARIANCE_TYPES))],
        "reg_covar": [Interval(Real, 0, None, closed="left")],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "unlabeled_weight": [Interval(Real, 0, 1, closed="both")],
        "weighting": [StrOptions(set(WEIGHTINGS))],
        "decoder": [StrOptions({"viterbi", "posterior"})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        *,
        emission: str = "auto",
        covariance_type: str = "diag",
        reg_covar: float = 1e-3,
        alpha: float = 1.0,
        unlabeled_weight: float = 1.0,
        weighting: str = "unlabeled",
        decoder: str = "viterbi",
        max_iter: int = 200,
        tol: float = 1e-6,
        verbose: int = 0,
    ) -> None:
        self.emission = emission
        self.covariance_type = covariance_type
        self.reg_covar = reg_covar
        self.alpha = alpha
        self.unlabeled_weight = unlabeled_weight
        self.weighting = weighting
        self.decoder = decoder
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose

    def fit(
        self, sequences: Sequence[Any], label_sequences: Sequence[Any], sample_weight: Any = None
    ) -> SemiSupervisedHMM:
        """Fit on sequences of which some positions are labeled.

        Parameters
        ----------
        sequences : list of array-like of shape (length, n_features) or (length,)
        label_sequences : list of array-like of shape (length,), or None
            The labels of each sequence, with -1 among integers and None, NaN or pandas.NA
            elsewhere at unlabeled positions. None stands for a sequence without any label.
        sample_weight : array-like of shape (n_sequences,), default=None
            Positive; a sequence of weight 2 counts as two equal sequences.

        Returns
        -------
        self
        """
        validate_params_of(self)
        X, lengths = self._stack(sequences, reset=True)
        self.classes_, codes = encode_labels(_flat_labels(label_sequences, lengths), min_classes=2)
        labeled_sequences = np.array(
            [(part != UNLABELED).any() for part in np.split(codes, np.cumsum(lengths)[:-1])]
        )
        own = _sequence_weights(sample_weight, len(lengths))
        weights = row_weights(
            np.where(labeled_sequences, 0, UNLABELED), self.unlabeled_weight, self.weighting, own
        )
        rows, density = self._encode_training(X, codes, np.repeat(weights, lengths) > 0)
        steps = ChainEM(rows, codes, lengths, len(self.classes_), weights, float(self.alpha), own)
        result = run_em(
            steps.expectation,
            steps.maximization,
            steps.first(density),
            max_iter=int(self.max_iter),
            tol=float(self.tol),
            on_iteration=self._report,
        )
        self.n_iter_, self.converged_ = result.n_iter, result.converged
        self.stop_reason_, self.objective_trace_ = result.stop_reason, result.objective_trace
        if not result.converged:
            warnings.warn(
                f"SemiSupervisedHMM stopped with {result.stop_reason!r} after {result.n_iter} "
                "iterations. Raise max_iter or tol, or use alpha > 0.",
                ConvergenceWarning,
                stacklevel=2,
            )
        self._store(result.parameters)
        gamma = steps.posterior(self._chain)[0]
        cuts = np.cumsum(lengths)[:-1]
        self.label_distributions_ = np.split(gamma, cuts)
        # The best path that agrees with the given labels keeps them.
        self.transduction_ = self._decode(steps, gamma, clamp=True)
        return self

    def _report(self, iteration: int, objective: float) -> None:
        if self.verbose:
            logger.info("SemiSupervisedHMM: iteration %d, objective %.9g", iteration, objective)

    def _stack(self, sequences: Sequence[Any], *, reset: bool) -> tuple[Any, NDArray[np.intp]]:
        """Put all observations into one array of two dimensions."""
        if not len(sequences):
            raise ValueError("There is no sequence.")
        parts = [_observations(sequence, n) for n, sequence in enumerate(sequences)]
        widths = {part.shape[1] for part in parts}
        if len(widths) > 1:
            raise ValueError(
                f"Sequences have different widths: {sorted(widths)}. Every observation needs "
                "the same number of features."
            )
        if reset:
            self.n_features_in_ = widths.pop()
        elif widths != {self.n_features_in_}:
            raise ValueError(
                f"Sequences have width {widths.pop()}, but the model was fitted with "
                f"{self.n_features_in_}."
            )
        return np.concatenate(parts), np.array([len(part) for part in parts], dtype=np.intp)

    def _encode_training(
        self, X: NDArray[Any], codes: NDArray[np.intp], used: NDArray[np.bool_]
    ) -> tuple[Any, Density]:
        kind = self.emission
        if kind == "auto":
            kind = "gaussian" if X.dtype.kind == "f" else "categorical"
        self.emission_ = kind
        if kind == "categorical":
            self._table = learn_table(distinct_values(X, used), missing="category")
            pseudo_count = max(float(self.alpha), MIN_ALPHA)
            return self._table.encode(X), CategoricalDensity(pseudo_count, self._table.offsets)
        rows = _numbers(X)
        if self.covariance_type not in TIED:
            counts = np.bincount(codes[codes != UNLABELED], minlength=len(self.classes_))
            check_rows_for_variance(counts, self.classes_)
        return rows, CovarianceDensity(self.covariance_type, 0.0, float(self.reg_covar))

    def _store(self, chain: Chain) -> None:
        self.start_proba_, self.transition_proba_ = chain.start, chain.transition
        density: Any = chain.density
        if self.emission_ == "categorical":
            self.feature_log_prob_ = table_of_probabilities(density, self._table.n_categories)
        else:
            self.means_, self.covariances_ = density.mean, density.covariance
            density = density.sharp()
        self._chain = Chain(density, chain.start, chain.transition)

    def _new_steps(self, sequences: Sequence[Any]) -> ChainEM:
        check_is_fitted(self)
        X, lengths = self._stack(sequences, reset=False)
        rows = self._table.encode(X) if self.emission_ == "categorical" else _numbers(X)
        codes = np.full(len(rows), UNLABELED, dtype=np.intp)
        ones = np.ones(len(lengths))
        return ChainEM(rows, codes, lengths, len(self.classes_), ones, 0.0)

    def predict_proba(self, sequences: Sequence[Any]) -> list[NDArray[np.float64]]:
        """Return the class probabilities at every position.

        Parameters
        ----------
        sequences : list of array-like of shape (length, n_features) or (length,)

        Returns
        -------
        list of ndarray of shape (length, n_classes)
        """
        steps = self._new_steps(sequences)
        return np.split(steps.posterior(self._chain)[0], np.cumsum(steps.lengths)[:-1])

    def predict(self, sequences: Sequence[Any]) -> list[NDArray[Any]]:
        """Return the class of every position, by ``decoder``.

        Parameters
        ----------
        sequences : list of array-like of shape (length, n_features) or (length,)

        Returns
        -------
        list of ndarray of shape (length,)
        """
        steps = self._new_steps(sequences)
        gamma = steps.posterior(self._chain)[0] if self.decoder == "posterior" else None
        return self._decode(steps, gamma, clamp=False)

    def _decode(
        self, steps: ChainEM, gamma: NDArray[np.float64] | None, *, clamp: bool
    ) -> list[NDArray[Any]]:
        cuts = np.cumsum(steps.lengths)[:-1]
        if self.decoder == "posterior":
            assert gamma is not None
            return np.split(self.classes_[gamma.argmax(axis=1)], cuts)
        log_emission = steps.log_emission(self._chain.density, clamp=clamp)
        states = np.zeros(len(log_emission), dtype=np.intp)
        with np.errstate(divide="ignore"):
            log_start, log_step = np.log(self._chain.start), np.log(self._chain.transition)
        for group in sequence_batches(steps.lengths, len(self.classes_)):
            lengths, starts = steps.lengths[group], steps.starts[group]
            path = viterbi(
                pad_sequences(log_emission, starts, lengths, 0.0), lengths, log_start, log_step
            )
            inside = path >= 0
            states[(starts[:, None] + np.arange(path.shape[1]))[inside]] = path[inside]
        return np.split(self.classes_[states], cuts)

    def score(self, sequences: Sequence[Any], label_sequences: Sequence[Any]) -> float:
        """Return the accuracy over all positions that have a label.

        Parameters
        ----------
        sequences : list of array-like of shape (length, n_features) or (length,)
        label_sequences : list of array-like of shape (length,), or None

        Returns
        -------
        float
        """
        predicted = np.concatenate(self.predict(sequences))
        lengths = np.array([len(sequence) for sequence in sequences], dtype=np.intp)
        names, codes = encode_labels(_flat_labels(label_sequences, lengths))
        given = codes != UNLABELED
        return float((names[codes[given]] == predicted[given]).mean())


def _sequence_weights(sample_weight: Any, n_sequences: int) -> NDArray[np.float64]:
    if sample_weight is None:
        return np.ones(n_sequences)
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (n_sequences,) or not np.isfinite(weights).all() or (weights <= 0).any():
        raise ValueError(
            f"sample_weight has shape {weights.shape}; give one positive finite number for each "
            f"of the {n_sequences} sequences."
        )
    return weights


def _observations(sequence: Any, number: int) -> NDArray[Any]:
    values = np.asarray(list(sequence) if isinstance(sequence, str) else sequence)
    if values.ndim == 1:
        values = values[:, None]
    if values.ndim != 2 or not len(values):
        raise ValueError(
            f"Sequence {number} has shape {np.shape(sequence)}; it must hold at least one "
            "observation, of one or more features."
        )
    return values


def _numbers(X: NDArray[Any]) -> NDArray[np.float64]:
    rows = np.asarray(X, dtype=np.float64)
    if not np.isfinite(rows).all():
        raise ValueError("Sequences with Gaussian emissions must not contain NaN or infinity.")
    return rows


def _flat_labels(label_sequences: Sequence[Any], lengths: NDArray[np.intp]) -> NDArray[Any]:
    if len(label_sequences) != len(lengths):
        raise ValueError(
            f"There are {len(lengths)} sequences, but {len(label_sequences)} label sequences."
        )
    flat: list[Any] = []
    for number, (labels, length) in enumerate(zip(label_sequences, lengths, strict=True)):
        if labels is None:
            flat.extend([None] * int(length))
            continue
        if len(labels) != length:
            raise ValueError(
                f"Sequence {number} has {length} observations, but {len(labels)} labels."
            )
        flat.extend(np.asarray(labels, dtype=object).tolist())
    return np.array([*flat, None], dtype=object)[:-1]
