"""Class proportions, estimated from the labels and the graph, with their standard errors.

Two questions are answered apart: how often the graph takes one class for another, by leaving
labels out, and which proportions explain the answer of the graph given these confusions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from leaven._labels import UNLABELED
from leaven.graph import Graph
from leaven.solvers import solve_dirichlet

# All numbers here were chosen on subsets of digits, MNIST and newsgroups by the distance of the
# estimate from the true proportions; benchmarks/shares.py measures what they are worth.

# How many draws of the classes one label is worth at the most, see draws_worth.
_DRAWS_PER_LABEL, _MOST_DRAWS = 8.0, 200.0
# Many tables have classes of exactly the same size: the prior probability of that where somebody
# chose as many labels of each class, and where the labels are a sample.
_BALANCED, _BALANCED_SAMPLE = 0.9, 0.5
# Concentrations of the Dirichlet prior that are averaged over, from rugged to nearly uniform.
_CONCENTRATIONS = 2.0 ** np.arange(-2, 7)
# Before any label is left out: 80% right, worth two labels left out in all and one per class.
_RIGHT, _RIGHT_OF, _PER_CLASS = 1.6, 2.0, 1.0
# Labels left out, and numbers in memory at the most: each label is a column of all rows.
_MOST_LEFT_OUT, _MOST_NUMBERS = 40, 20_000_000
_TOLERANCE = 1e-3  # which class is larger needs no more digits
# Scores that differ by rounding only are level.
_LEVEL = 1e-9
_TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True)
class ClassProportions:
    """Estimated class proportions of the unlabeled rows.

    Parameters
    ----------
    proportions : ndarray of shape (n_classes,)
        The posterior mean.
    standard_errors : ndarray of shape (n_classes,)
        The posterior standard deviation.
    probability_balanced : float
        The posterior probability that all classes have the same size.
    """

    proportions: NDArray[np.float64]
    standard_errors: NDArray[np.float64]
    probability_balanced: float

    @property
    def chosen(self) -> NDArray[np.float64]:
        """The proportions to aim at: equal ones if these are more likely than not.

        The posterior mean is next to equal proportions then, but not equal, and with few labels
        that is a difference: harmonic functions of texts differ by less than a percent from row to
        row, and classes of 49 and 51% leave the first with hardly any row.

        Examples
        --------
        >>> import numpy as np
        >>> from leaven.graph_based import ClassProportions
        >>> mean, error = np.array([0.49, 0.51]), np.array([0.04, 0.04])
        >>> ClassProportions(mean, error, probability_balanced=0.9).chosen
        array([0.5, 0.5])
        >>> ClassProportions(mean, error, probability_balanced=0.3).chosen
        array([0.49, 0.51])
        """
        if self.probability_balanced > 0.5:
            return np.full(len(self.proportions), 1.0 / len(self.proportions))
        return self.proportions


def estimate_proportions(
    graph: Graph, codes: NDArray[np.intp], n_classes: int, *, random_state: int = 0
) -> ClassProportions:
    r"""Estimate the class proportions from the labels and the harmonic function.

    Numbers of labels that are all equal say nothing about the classes: somebody chose them.
    Numbers that differ count as a sample. The graph is the other witness. Let ``r`` be the
    class shares of its answer after class mass normalization to equal masses, and ``C`` the
    probabilities with which it takes one class for another, estimated by leaving single labels
    out. The proportions q then have the likelihood

    .. math:: \prod_j \Big(\sum_c q_c C_{cj}\Big)^{n r_j} \prod_c q_c^{m_c} ,

    with the label counts m, or without them, and a number of draws n in proportion to the
    labels, or fewer where the confusions are uncertain: that three of five labels of a class are
    taken for another one says little about its other rows. This is the correction of class shares
    by a confusion matrix [1]_, found by expectation maximization. The prior is empirical: equal
    classes, or a Dirichlet distribution of unknown concentration, weighted by how well each
    explains the data.

    Parameters
    ----------
    graph : Graph
    codes : ndarray of shape (n_nodes,)
        Class of each node, -1 where unknown.
    n_classes : int
    random_state : int, default=0
        Draws the labels to leave out where there are more than 40.

    Returns
    -------
    ClassProportions

    References
    ----------
    .. [1] M. Saerens, P. Latinne and C. Decaestecker, "Adjusting the outputs of a classifier
       to new a priori probabilities", Neural Computation 14, 2002.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.graph import KNNGraph
    >>> from leaven.graph_based import estimate_proportions
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(0, 1, (270, 2)), rng.normal(8, 1, (30, 2))])
    >>> codes = np.full(300, -1)
    >>> codes[:10], codes[-10:] = 0, 1
    >>> graph = KNNGraph().build(X)
    >>> estimate_proportions(graph, codes, 2).proportions.round(1)
    array([0.9, 0.1])
    """
    counts = np.bincount(codes[codes != UNLABELED], minlength=n_classes)
    shares, confusions = graph_evidence(graph, codes, n_classes, random_state=random_state)
    return posterior_proportions(shares, confusions, counts)


def graph_evidence(
    graph: Graph, codes: NDArray[np.intp], n_classes: int, *, random_state: int = 0
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Class shares of the answer, and counts of classes taken for others, label by label.

    Every tested label is a column of its own in the Dirichlet problem, so that one solve
    yields the harmonic functions without each of them, see :func:`left_out_scores`.

    Parameters
    ----------
    graph : Graph
    codes : ndarray of shape (n_nodes,)
    n_classes : int
    random_state : int, default=0

    Returns
    -------
    shares : ndarray of shape (n_classes,)
        Of the unlabeled nodes that labels reach.
    confusions : ndarray of shape (n_classes, n_classes)
        Rows are the given classes, columns those of the answer.
    """
    given = codes != UNLABELED
    reached = graph.reached_from(given)
    part = graph if reached.all() else graph.subgraph(reached)
    codes, given = codes[reached], given[reached]
    tested = labels_to_leave_out(codes, n_classes, random_state=random_state)
    tested = tested[part.degree[tested] > 0]  # others have no neighbors to ask
    # Columns: one for each tested label, then the other labels class by class.
    column = np.where(given, len(tested) + codes, 0)
    column[tested] = np.arange(len(tested))
    boundary = np.zeros((int(given.sum()), len(tested) + n_classes))
    boundary[np.arange(len(boundary)), column[given]] = 1.0
    F, _ = solve_dirichlet(part.laplacian(), given, boundary, tol=_TOLERANCE)
    # The maximum principle. Duplicates that hang on the rest by edges of 1e-20 times the weight of
    # their own make the matrix singular up to rounding, and values far outside are what is left.
    F = np.clip(F, 0.0, 1.0)
    owner = np.concatenate([codes[tested], np.arange(n_classes)])
    Y = np.eye(n_classes)[owner]
    free = ~given
    scores = F[free] @ Y
    votes = shared_votes(scores / np.maximum(scores.sum(axis=0), _TINY))
    shares = votes.sum(axis=0) / max(len(votes), 1)
    confusions = np.zeros((n_classes, n_classes))
    if len(tested):
        means = (part.adjacency[tested] @ F) / part.degree[tested, None]
        answer = shared_votes(left_out_scores(means, F[free].sum(axis=0), Y))
        np.add.at(confusions, codes[tested], answer)
    return shares, confusions


def shared_votes(scores: NDArray[Any]) -> NDArray[np.float64]:
    """One vote of each row for its best class; classes that are level share it.

    A single unlabeled row is level after class mass normalization, whatever it is near to.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.graph_based._shares import shared_votes
    >>> shared_votes(np.array([[0.2, 0.7, 0.1], [0.4, 0.2, 0.4]]))
    array([[0. , 1. , 0. ],
           [0.5, 0. , 0.5]])
    """
    top = scores.max(axis=1, keepdims=True)
    best = scores >= top - _LEVEL * np.abs(top)
    return np.asarray(best / best.sum(axis=1, keepdims=True), dtype=np.float64)


def labels_to_leave_out(
    codes: NDArray[np.intp], n_classes: int, *, random_state: int = 0
) -> NDArray[np.intp]:
    """Labeled nodes to leave out: their class has others, and there are not too many."""
    given = np.flatnonzero(codes != UNLABELED)
    counts = np.bincount(codes[given], minlength=n_classes)
    tested = given[counts[codes[given]] > 1]
    most = min(_MOST_LEFT_OUT, max(_MOST_NUMBERS // len(codes) - n_classes, n_classes))
    if len(tested) > most:
        rng = np.random.default_rng(random_state)
        tested = np.sort(rng.permutation(tested)[:most])
    return tested


def left_out_scores(
    means: NDArray[Any], masses: NDArray[Any], targets: NDArray[Any]
) -> NDArray[np.float64]:
    r"""Mass-normalized harmonic scores of labeled nodes, each without its own label.

    Let column i of F be the harmonic function that is 1 at label i and 0 at the others. Without
    label i the function is ``Σ_{j≠i} F_j y_j + F_i v``, and its value v at i the mean of its
    neighbors: ``v = Σ_{j≠i} m_j y_j / Σ_{j≠i} m_j`` with the means m of the columns there,
    because all columns together sum to one.

    Parameters
    ----------
    means : ndarray of shape (n_tested, n_columns)
        Means of the columns over the neighbors of each tested node, which owns the column of
        its own number.
    masses : ndarray of shape (n_columns,)
        Sums of the columns over the unlabeled nodes.
    targets : ndarray of shape (n_columns, n_classes)
        The class of each column, one-hot.

    Returns
    -------
    ndarray of shape (n_tested, n_classes)
        Each value divided by the mass of its class; the classes are level where no other label
        reaches.
    """
    t = np.arange(len(means))
    # Not 1 - m_i, of which nothing is left where all other labels are far away.
    others = np.maximum(means, 0.0)
    others[t, t] = 0.0
    total = others.sum(axis=1, keepdims=True)
    level = np.full((len(means), targets.shape[1]), 1.0 / targets.shape[1])
    value = np.divide(others @ targets, total, out=level, where=total > 0)
    mass = masses @ targets + masses[t, None] * (value - targets[t]) + value
    return np.asarray(value / np.maximum(mass, _TINY))


def posterior_proportions(
    shares: NDArray[np.float64],
    confusions: NDArray[np.float64],
    counts: NDArray[Any],
    *,
    draws_per_label: float = _DRAWS_PER_LABEL,
    balanced: float | None = None,
) -> ClassProportions:
    """Average the proportions over priors of different concentration, by Laplace's method.

    Parameters
    ----------
    shares : ndarray of shape (n_classes,)
        Class shares of the answer.
    confusions : ndarray of shape (n_classes, n_classes)
        How often a label left out (rows) got each class (columns).
    counts : ndarray of shape (n_classes,)
        Numbers of labels. Where all are equal, somebody chose them so, and they say nothing
        about the classes.
    draws_per_label : float, default=8.0
        How many draws of the classes the answer is worth for each label, at the most: fewer where
        the confusions are not known better, see :func:`draws_worth`.
    balanced : float, optional
        Prior probability that all classes have the same size; by default 0.9, and 0.5 where the
        numbers of labels differ and so are a sample.

    Returns
    -------
    ClassProportions

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.graph_based import posterior_proportions
    >>> answer = np.array([0.8, 0.2])
    >>> right = posterior_proportions(answer, np.diag([10.0, 10.0]), np.array([10, 10]))
    >>> right.proportions.round(2)
    array([0.79, 0.21])
    """
    k = len(shares)
    right = (np.trace(confusions) + _RIGHT) / (confusions.sum() + _RIGHT_OF)
    usual = np.full((k, k), (1.0 - right) / max(k - 1, 1))
    np.fill_diagonal(usual, right)
    # A class of which no label could be left out has the confusions of the others.
    C = confusions + _PER_CLASS * usual
    n = min(draws_per_label * float(counts.sum()), _MOST_DRAWS, draws_worth(C))
    C /= C.sum(axis=1, keepdims=True)
    # Equal counts were chosen by somebody; they are no sample of the classes.
    is_sample = len(np.unique(counts)) > 1
    sampled = counts.astype(float) if is_sample else np.zeros(k)
    if balanced is None:
        balanced = _BALANCED_SAMPLE if is_sample else _BALANCED

    equal = np.full(k, 1.0 / k)
    centers, spreads = [equal], [np.zeros(k)]
    # Equal classes are one point of the simplex: no volume, no spread.
    evidence = [_log_likelihood(equal, shares, C, n, sampled) + np.log(balanced)]
    for alpha in _CONCENTRATIONS:
        q, variance, log_volume = _mode(shares, C, n, sampled, alpha)
        prior = gammaln(k * alpha) - k * gammaln(alpha) + alpha * np.log(q).sum()
        prior += np.log((1.0 - balanced) / len(_CONCENTRATIONS))
        evidence.append(_log_likelihood(q, shares, C, n, sampled) + float(prior) + log_volume)
        centers.append(q)
        spreads.append(variance)
    weight = np.exp(np.array(evidence) - max(evidence))
    weight /= weight.sum()
    mean = weight @ np.array(centers)
    variance = weight @ (np.array(spreads) + (np.array(centers) - mean) ** 2)
    return ClassProportions(mean, np.sqrt(variance), float(weight[0]))


def draws_worth(counts: NDArray[Any]) -> float:
    r"""How many draws of the classes are as uncertain as an answer with uncertain confusions.

    With counts of confusions ``N_c C_cj`` the rows of C have Dirichlet distributions, and where all
    classes are equally frequent, the expected shares ``p = qC`` of the answer the variances

    .. math:: \sum_c q_c^2 \, C_{cj} (1 - C_{cj}) / (N_c + 1) .

    The shares of n draws have the variances ``p_j (1 - p_j) / n``. The sums over the classes are
    to be equal.

    Parameters
    ----------
    counts : ndarray of shape (n_classes, n_classes)
        Rows are the true classes; all are positive.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.graph_based._shares import draws_worth
    >>> round(draws_worth(np.array([[3.0, 3.0], [1.0, 5.0]])), 1)
    16.0
    """
    size = counts.sum(axis=1, keepdims=True)
    C = counts / size
    p = C.mean(axis=0)
    variance = (C * (1.0 - C) / (size + 1.0)).sum() / len(C) ** 2
    return float((p * (1.0 - p)).sum() / max(float(variance), _TINY))


def _log_likelihood(
    q: NDArray[Any], shares: NDArray[Any], C: NDArray[Any], n: float, sampled: NDArray[Any]
) -> float:
    return float(n * (shares @ np.log(np.maximum(q @ C, _TINY))) + sampled @ np.log(q))


def _mode(
    shares: NDArray[Any], C: NDArray[Any], n: float, sampled: NDArray[Any], alpha: float
) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Mode, variances and log volume of the posterior, as a density of ``log q``.

    In these coordinates (MacKay, 1998) the exponent of the Dirichlet prior is alpha, not
    alpha - 1, so that there is a mode inside the simplex for every alpha.
    """
    k = len(shares)
    q = np.full(k, 1.0 / k)
    for _ in range(500):  # converges linearly; 1e-7 takes some tens of steps
        blame = C * q[:, None]
        blame /= np.maximum(blame.sum(axis=0), _TINY)
        new = alpha + sampled + n * (blame @ shares)
        new /= new.sum()
        moved, q = float(np.abs(new - q).max()), new
        if moved < 1e-7:
            break
    total = k * alpha + sampled.sum() + n
    center = np.diag(q) - np.outer(q, q)
    hessian = total * center - np.diag(n * (blame @ shares)) + (blame * (n * shares)) @ blame.T
    values, vectors = np.linalg.eigh(hessian)
    # The smallest eigenvalue belongs to the constants, which change nothing.
    values, vectors = np.maximum(values[1:], 1e-9), vectors[:, 1:]
    spread = center @ vectors
    variance = (spread**2 / values).sum(axis=1)
    # The last term is the volume of the simplex in the coordinates log q.
    log_volume = 0.5 * ((k - 1) * np.log(2.0 * np.pi) - np.log(values).sum() + np.log(k))
    return q, variance, float(log_volume)
