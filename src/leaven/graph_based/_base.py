"""What the graph classifiers share: building the graph, and labeling new rows."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from leaven._compat import check_feature_names, num_features, num_samples, validate_params_of
from leaven._labels import UNLABELED, EncodedLabels, class_prior, encode_labels
from leaven.base import TransductionMixin, normalize_rows
from leaven.exceptions import UnreachedWarning
from leaven.graph import Cosine, ExponentialCosine, Graph, KNNGraph, NormalizedCosine
from leaven.graph_based._class_mass import class_mass_factors
from leaven.graph_based._shares import ClassProportions, estimate_proportions


class GraphClassifier(TransductionMixin, BaseEstimator):
    """Base of the classifiers that label the nodes of a graph.

    A subclass calls :meth:`_fit_graph` for the graph and the codes of the labels, computes
    non-negative scores (n × classes), and hands them to :meth:`_store_scores`.
    """

    graph: Any
    graph_builder_: Any
    graph_: Graph
    scores_: NDArray[Any]
    n_unreached_: int
    class_proportions_: ClassProportions
    _blank_share: NDArray[np.float64]
    _unreached: NDArray[np.intp]

    def _fit_graph(self, X: Any, y: Any) -> tuple[Graph, NDArray[np.intp]]:
        """Check parameters and data, build the graph, and encode the labels."""
        if hasattr(self, "_parameter_constraints") and not isinstance(y, EncodedLabels):
            validate_params_of(self)
        builder = clone(KNNGraph() if self.graph is None else self.graph)
        if getattr(builder, "uses_features", True):
            X, codes = self._validate_fit(X, y, accept_sparse="csr", dtype=[np.float64, np.float32])
        else:
            codes = self._validate_without_features(X, y)
        self.graph_builder_ = builder.fit(X, codes)
        self.graph_ = self.graph_builder_.graph_
        self._blank_share = class_prior("labeled", codes, self.classes_, smoothing=0.0)
        blank = self._blank(X)
        if blank.any():
            # Which rows an empty document was joined to is an accident of their order.
            kept = sparse.diags_array((~blank).astype(self.graph_.adjacency.dtype), format="csr")
            self.graph_ = Graph(kept @ self.graph_.adjacency @ kept)
        if self.graph_.n_nodes != len(codes):
            raise ValueError(
                f"The graph has {self.graph_.n_nodes} nodes, but y has {len(codes)} rows."
            )
        return self.graph_, codes

    def _blank(self, X: Any) -> NDArray[np.bool_]:
        """Tell which rows have no direction: zeros, where the metric or weight is cosine."""
        builder = self.graph_builder_
        by_angle = getattr(builder, "metric", None) == "cosine" or isinstance(
            getattr(builder, "weight_", None), (Cosine, ExponentialCosine, NormalizedCosine)
        )
        if not by_angle or not getattr(builder, "uses_features", True):
            return np.zeros(num_samples(X), dtype=bool)
        if sparse.issparse(X) and not X.has_canonical_format:
            X = X.copy()  # SciPy would sort the rows in place, and these are not ours
        return np.asarray(abs(X).sum(axis=1) == 0, dtype=np.bool_).ravel()

    def _validate_without_features(self, X: Any, y: Any) -> NDArray[np.intp]:
        """With a graph that is given, ``X`` is only counted."""
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        self.classes_, codes = encode_labels(y, min_classes=2)
        check_consistent_length(X, codes)
        check_feature_names(self, X, reset=True)
        self.n_features_in_ = num_features(X) if np.ndim(X) == 2 else 1
        return codes

    def _reached(self, graph: Graph, codes: NDArray[np.intp]) -> tuple[NDArray[np.bool_], Graph]:
        """Tell which rows have a path to a label, and return their part of the graph."""
        reached = graph.reached_from(codes != UNLABELED)
        self._note_unreached(reached)
        return reached, graph if reached.all() else graph.subgraph(reached)

    def _note_unreached(self, reached: NDArray[np.bool_]) -> None:
        """Set ``n_unreached_``, and warn if it is not zero."""
        self.n_unreached_ = int((~reached).sum())
        if self.n_unreached_:
            n_parts = len(np.unique(self.graph_.components()[~reached]))
            warnings.warn(
                f"{self.n_unreached_} of {len(reached)} rows, in {n_parts} components of the "
                "graph, have no path to a labeled row and get the class proportions of the "
                "labeled rows. Use more neighbors, KNNGraph(include_labeled=True), or label one "
                "row in each component.",
                UnreachedWarning,
                stacklevel=4,
            )

    def _fill_unreached(
        self, scores: NDArray[Any], codes: NDArray[np.intp], reached: NDArray[np.bool_]
    ) -> None:
        """Give rows without a path to a label the proportions of the labeled rows."""
        scores[~reached] = class_prior("labeled", codes, self.classes_, smoothing=0.0)

    def _store_scores(
        self,
        scores: NDArray[Any],
        codes: NDArray[np.intp],
        prior: Any = None,
        *,
        reached: NDArray[np.bool_] | None = None,
        keep_given: bool = True,
    ) -> None:
        """Keep the scores, and derive distributions and transduction from them.

        With a ``prior`` the scores of the unlabeled rows are brought to these class
        proportions first (class mass normalization). Rows that are not ``reached`` say
        nothing about the classes and do not count there.
        """
        self.scores_ = scores
        self.class_factors_: NDArray[Any] = np.ones(len(self.classes_))
        if prior is not None:
            free = codes == UNLABELED
            counted = free if reached is None else free & reached
            if counted.any():
                proportions = self._proportions(prior, codes)
                mass = self._nonnegative(scores[counted])
                self.class_factors_ = class_mass_factors(mass, proportions)
        self._labeled_proportions = class_prior("labeled", codes, self.classes_, smoothing=0.0)
        self._unreached = np.empty(0, np.intp) if reached is None else np.flatnonzero(~reached)
        distributions = self._distributions(scores)
        distributions[self._unreached] = self._plain(scores[self._unreached])
        self._store_transduction(distributions, codes, keep_given=keep_given)

    def _proportions(self, prior: Any, codes: NDArray[np.intp]) -> NDArray[np.float64]:
        """Class proportions that a ``prior`` stands for; ``"auto"`` estimates them."""
        if isinstance(prior, str) and prior == "auto":
            self.class_proportions_ = estimate_proportions(self.graph_, codes, len(self.classes_))
            return self.class_proportions_.chosen
        return class_prior(prior, codes, self.classes_)

    def _distributions(self, scores: NDArray[Any]) -> NDArray[Any]:
        factors = self.class_factors_.astype(scores.dtype)
        return normalize_rows(self._nonnegative(scores) * factors)

    def _plain(self, scores: NDArray[Any]) -> NDArray[Any]:
        """Distributions without the prior, for rows that have no path to a label."""
        return normalize_rows(self._nonnegative(scores))

    def _nonnegative(self, scores: NDArray[Any]) -> NDArray[Any]:
        """Bring scores into the form of masses; most methods have no negative ones."""
        return scores

    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Class probabilities of new rows, from the rows of ``fit`` that they resemble.

        The scores of the training rows are averaged with the weights of the edges that
        would join the new row to them. A row equal to a training row gets its scores. An empty
        row under a cosine metric or weight gets the class proportions of the labeled rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        if getattr(self.graph_builder_, "uses_features", True):
            X = validate_data(
                self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False
            )
        else:
            num_samples(X)
        weights = self.graph_builder_.weights_to(X)
        total = np.asarray(weights.sum(axis=1)).reshape(-1, 1)
        scores = (weights @ self.scores_) / np.where(total == 0, 1.0, total)
        distributions = self._distributions(scores)
        if len(self._unreached):
            apart = weights[:, self._unreached].sum(axis=1)
            alone = np.flatnonzero(np.isclose(np.ravel(apart), total[:, 0], rtol=1e-9, atol=0.0))
            distributions[alone] = self._plain(scores[alone])
        # A new row that resembles no row of fit (an empty document) is like an unreached one.
        distributions[total[:, 0] == 0] = self._labeled_proportions
        return distributions

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
