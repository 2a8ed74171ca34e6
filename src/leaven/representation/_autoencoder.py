"""One autoencoder a class: a row belongs to the class that reconstructs it best."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from leaven._compat import Interval
from leaven.base import TransductionMixin, normalize_rows
from leaven.representation._finetune import finetune, warn_if_not_converged
from leaven.representation._rbm import Machine
from leaven.representation._rbm_network import (
    BLOCK,
    PRETRAINED_CONSTRAINTS,
    ROW_CHECKS,
    layer_sizes,
    pretrain,
    visible_scale,
)
from leaven.representation._torch import (
    load_torch,
    make_generator,
    reporting,
    to_arrays,
    to_tensor,
)


def unroll(machines: Sequence[Machine]) -> list[Any]:
    """Turn a stack of machines into an autoencoder: W, b of each layer, down and up again.

    The way up has the weights of the way down transposed, and the visible biases; from here
    on they are tuned apart from each other.
    """
    down = [each for machine in machines for each in (machine.weights, machine.hidden_bias)]
    up = [
        each
        for machine in reversed(machines)
        for each in (machine.weights.T.clone(), machine.visible_bias)
    ]
    return down + up


def reconstruct(parameters: Sequence[Any], V: Any, visible: str) -> Any:
    """Run rows through an autoencoder; the middle layer is linear, the output if Gaussian."""
    n_layers = len(parameters) // 2
    for layer, (W, b) in enumerate(zip(parameters[::2], parameters[1::2], strict=True), start=1):
        V = V @ W + b
        linear = layer == n_layers // 2 or (layer == n_layers and visible == "gaussian")
        V = V if linear else V.sigmoid()
    return V


def reconstruction_loss(parameters: Sequence[Any], V: Any, visible: str) -> Any:
    """Half the mean squared distance between the rows and their reconstructions."""
    return ((reconstruct(parameters, V, visible) - V) ** 2).sum() / (2 * len(V))


def error_probabilities(errors: NDArray[Any]) -> NDArray[Any]:
    """Turn reconstruction errors into ``p_i = E_i^-2 / Σ_j E_j^-2``; see the class.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.representation._autoencoder import error_probabilities
    >>> error_probabilities(np.array([[1.0, 2.0], [0.0, 3.0]]))
    array([[0.8, 0.2],
           [1. , 0. ]])
    """
    smallest = errors.min(axis=1, keepdims=True)
    # Relative to the smallest error nothing overflows, and an error of zero takes all.
    ratio = np.divide(smallest, errors, out=np.ones_like(errors), where=errors > 0)
    return normalize_rows(ratio**2)


class ClasswiseAutoencoder(TransductionMixin, BaseEstimator):
    """Train an autoencoder for each class, and choose the one that errs least.

    The autoencoder of a class sees the labeled rows of that class only. Its first half is
    pretrained as a stack of restricted Boltzmann machines whose last hidden layer, the
    bottleneck, is linear; it is then unrolled and tuned for the squared reconstruction error
    ([1]_, [2]_, section 3.4.2). A row gets the class with the smallest error
    ``E_i(x) = |o_i(x) - x|``.

    The classifier is supervised: unlabeled rows are labeled but teach nothing. Put it into
    :class:`leaven.self_labeling.SelfTrainingClassifier` to learn from them, as [2]_ does.

    Parameters
    ----------
    hidden_layer_sizes : sequence of int, default=(200, 100, 30)
        Units of each layer from the input to the bottleneck.
    min_examples : int, default=2
        Labeled rows that every class must have; fewer are an error. From one example an
        autoencoder learns to repeat that row, whatever it is shown, so that the classifier
        comes close to nearest neighbors. 1 allows it, as [2]_ does.
    visible : {"binary", "gaussian"}, default="binary"
        Kind of the input units. ``"binary"`` is for images: the range of the whole of ``X``
        is mapped to [0, 1]. ``"gaussian"`` is for any other table: each column is
        standardized, and the output is linear.
    pretrain_epochs : int, default=50
        Passes over the rows for each layer. With 0 the network starts at random.
    pretrain_learning_rate : float, default=0.1
        For machines of binary units.
    linear_learning_rate : float, default=0.001
        For machines with Gaussian units on one side, which a larger one makes diverge.
    momentum : pair of float, default=(0.5, 0.9)
        Share of the last move that is kept: at first, and after ``momentum_epochs`` epochs.
    momentum_epochs : int, default=5
    weight_cost : float, default=0.0002
        Pull of the weights towards zero in pretraining.
    batch_size : int, default=100
        Rows between two moves in pretraining.
    finetune : {"lbfgs", "cg"}, default="lbfgs"
        L-BFGS, or the conjugate gradients (Polak and Ribière) of [1]_ and [2]_.
    finetune_iter : int, default=200
        Iterations of fine-tuning at most.
    tol : float, default=0.1
        Fine-tuning ends when five iterations lower the error by a smaller share than this,
        or when the largest entry of the gradient falls to a tenth of this share. A smaller
        value fits the labeled rows more closely.
    random_state : int, RandomState instance or None, default=None
        For initial weights, the order of the rows and the sampling of hidden units.
    verbose : int, default=0
        1 logs a line for each epoch and iteration to the logger ``leaven``.
    progress : bool, default=False
        Whether to show a progress bar.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    autoencoders_ : list of list of ndarray
        For each class the weights and biases of its layers, alternating, in float32.
    pretraining_errors_ : list of list of ndarray of shape (pretrain_epochs,)
        For each class and pretrained layer, the mean squared distance between the layer's
        input and the reconstruction, by epoch.
    objective_traces_ : list of ndarray
        For each class, half the mean squared reconstruction error in fine-tuning, from
        before it on.
    objective_trace_ : ndarray of shape (n_iter_ + 1,)
        The sum of these; a class that has settled stays at its last value.
    n_iter_ : int
        Iterations of the class that took most.
    converged_ : bool
        Whether fine-tuning settled for every class.
    label_distributions_ : ndarray of shape (n_samples, n_classes)
    transduction_ : ndarray of shape (n_samples,)

    See Also
    --------
    RBMPretrainedClassifier : One network for all classes, pretrained on unlabeled rows too.

    Notes
    -----
    Errors become probabilities by ``p_i = E_i^-2 / Σ_j E_j^-2``, the membership of fuzzy
    c-means with the errors as distances: free of scale, largest where the error is smallest,
    and all equal where the errors are. It is a confidence, not a calibrated probability.

    Needs PyTorch: ``pip install "leaven[deep]"``. The fitted weights are arrays, so that a
    pickle is read without it.

    References
    ----------
    .. [1] G. E. Hinton and R. R. Salakhutdinov, "Reducing the dimensionality of data with
       neural networks", Science 313, 2006, with its supporting online material.
    .. [2] L. Lefakis, "Transductive learning for document classification and handwritten
       character recognition", Utrecht University, section 3.4.2.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from leaven.representation import ClasswiseAutoencoder
    >>> X, y = load_digits(n_class=3, return_X_y=True)
    >>> model = ClasswiseAutoencoder((30, 10), random_state=0).fit(X[:60], y[:60])
    >>> model.reconstruction_errors(X[60:]).shape
    (477, 3)
    >>> bool(model.score(X[60:], y[60:]) > 0.6)  # 1/3 by chance
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PRETRAINED_CONSTRAINTS,
        "min_examples": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        hidden_layer_sizes: Any = (200, 100, 30),
        *,
        min_examples: int = 2,
        visible: str = "binary",
        pretrain_epochs: int = 50,
        pretrain_learning_rate: float = 0.1,
        linear_learning_rate: float = 0.001,
        momentum: tuple[float, float] = (0.5, 0.9),
        momentum_epochs: int = 5,
        weight_cost: float = 0.0002,
        batch_size: int = 100,
        finetune: str = "lbfgs",
        finetune_iter: int = 200,
        tol: float = 0.1,
        random_state: Any = None,
        verbose: int = 0,
        progress: bool = False,
    ) -> None:
        self.hidden_layer_sizes = hidden_layer_sizes
        self.min_examples = min_examples
        self.visible = visible
        self.pretrain_epochs = pretrain_epochs
        self.pretrain_learning_rate = pretrain_learning_rate
        self.linear_learning_rate = linear_learning_rate
        self.momentum = momentum
        self.momentum_epochs = momentum_epochs
        self.weight_cost = weight_cost
        self.batch_size = batch_size
        self.finetune = finetune
        self.finetune_iter = finetune_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose
        self.progress = progress

    def fit(self, X: Any, y: Any) -> ClasswiseAutoencoder:
        """Fit an autoencoder on the rows of each class; unlabeled rows are labeled by them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Unlabeled rows are -1 among integers, and None, NaN or pandas.NA elsewhere.

        Returns
        -------
        self
        """
        X, codes = self._validate_fit(X, y, **ROW_CHECKS)
        members = [np.flatnonzero(codes == code) for code in range(len(self.classes_))]
        self._refuse_small_classes(members)
        torch = load_torch(self)
        generator = make_generator(torch, self.random_state)
        self._offset, self._scale = visible_scale(X[np.concatenate(members)], self.visible)
        n_layers = len(layer_sizes(self.hidden_layer_sizes))
        total = len(members) * (n_layers * self.pretrain_epochs + self.finetune_iter)
        self.autoencoders_, self.pretraining_errors_, self.objective_traces_ = [], [], []
        self.converged_ = True
        name = type(self).__name__
        with reporting(name, total, verbose=self.verbose, progress=self.progress) as report:
            for rows in members:
                V = to_tensor(torch, (X[rows] - self._offset) / self._scale)
                machines, errors = pretrain(
                    self, V, last_hidden="gaussian", generator=generator, report=report
                )
                tuned = finetune(
                    torch,
                    partial(reconstruction_loss, V=V, visible=self.visible),
                    unroll(machines),
                    method=self.finetune,
                    max_iter=self.finetune_iter,
                    tol=self.tol,
                    report=report,
                )
                self.autoencoders_.append(tuned.parameters)
                self.pretraining_errors_.append(errors)
                self.objective_traces_.append(tuned.objective_trace)
                self.converged_ = self.converged_ and tuned.converged
        self.n_iter_ = max(len(trace) for trace in self.objective_traces_) - 1
        self.objective_trace_ = np.sum(
            [
                np.pad(trace, (0, self.n_iter_ + 1 - len(trace)), mode="edge")
                for trace in self.objective_traces_
            ],
            axis=0,
        )
        warn_if_not_converged(self, self.converged_)
        self._store_transduction(error_probabilities(self._errors(X)), codes)
        return self

    def reconstruction_errors(self, X: Any) -> NDArray[Any]:
        """Return the distance of each row to its reconstruction by each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        errors : ndarray of shape (n_samples, n_classes)
            In the units to which ``visible`` scales the columns.
        """
        check_is_fitted(self)
        return self._errors(validate_data(self, X, reset=False, **ROW_CHECKS))

    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Return the class probabilities of each row of ``X``, by the rule in the notes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
        """
        return error_probabilities(self.reconstruction_errors(X))

    def _errors(self, X: NDArray[Any]) -> NDArray[np.float64]:
        torch = load_torch(self)
        errors = np.empty((len(X), len(self.classes_)))
        for code, autoencoder in enumerate(self.autoencoders_):
            # In 64 bits the answer for a row does not depend on the rows that come with it.
            parameters = [to_tensor(torch, array, torch.float64) for array in autoencoder]
            for start in range(0, len(X), BLOCK):
                rows = (X[start : start + BLOCK] - self._offset) / self._scale
                V = to_tensor(torch, rows, torch.float64)
                gaps = (reconstruct(parameters, V, self.visible) - V).norm(dim=1)
                errors[start : start + BLOCK, code] = to_arrays([gaps])[0]
        return errors

    def _refuse_small_classes(self, members: list[NDArray[np.intp]]) -> None:
        small = [
            f"{name!r} ({len(rows)})"
            for name, rows in zip(self.classes_.tolist(), members, strict=True)
            if len(rows) < self.min_examples
        ]
        if small:
            raise ValueError(
                f"Every class needs at least min_examples={self.min_examples} labeled rows for "
                f"its autoencoder; fewer have: {', '.join(small)}. Label more rows of these "
                "classes, or set min_examples=1 to learn from a single one."
            )
