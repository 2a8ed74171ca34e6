"""A network pretrained layer by layer on all rows, fine-tuned on the labeled ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from leaven._compat import Interval, StrOptions
from leaven._labels import UNLABELED
from leaven.base import TransductionMixin
from leaven.representation._finetune import METHODS, finetune, warn_if_not_converged
from leaven.representation._rbm import Machine, hidden_mean, train_rbm
from leaven.representation._torch import (
    load_torch,
    make_generator,
    reporting,
    to_arrays,
    to_tensor,
)

ROW_CHECKS: dict[str, Any] = {"dtype": [np.float32, np.float64]}
# Rows that go through a network at once when it predicts.
BLOCK = 1000

# What every network with pretrained layers has; table of scikit-learn's parameter checks.
PRETRAINED_CONSTRAINTS: dict[str, list[Any]] = {
    "hidden_layer_sizes": ["array-like"],
    "visible": [StrOptions({"binary", "gaussian"})],
    "pretrain_epochs": [Interval(Integral, 0, None, closed="left")],
    "pretrain_learning_rate": [Interval(Real, 0, None, closed="neither")],
    "linear_learning_rate": [Interval(Real, 0, None, closed="neither")],
    "momentum": ["array-like"],
    "momentum_epochs": [Interval(Integral, 0, None, closed="left")],
    "weight_cost": [Interval(Real, 0, None, closed="left")],
    "batch_size": [Interval(Integral, 1, None, closed="left")],
    "finetune": [StrOptions(set(METHODS))],
    "finetune_iter": [Interval(Integral, 1, None, closed="left")],
    "tol": [Interval(Real, 0, None, closed="left")],
    "random_state": ["random_state"],
    "verbose": ["verbose"],
    "progress": ["boolean"],
}


def visible_scale(X: NDArray[Any], visible: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """Choose offset and scale with which ``(X - offset) / scale`` suits the visible units.

    Binary units take numbers from 0 to 1: the range of the whole table is mapped there, so
    that the pixels of an image keep their proportions. Gaussian units have variance one:
    each column is standardized. What does not vary is not scaled.
    """
    if visible == "binary":
        offset, scale = X.min(), X.max() - X.min()
        varies = scale > 0
    else:
        offset, scale = X.mean(axis=0, dtype=np.float64), X.std(axis=0, dtype=np.float64)
        # The deviation of a constant column may be a rounding error instead of zero.
        varies = np.ptp(X, axis=0) > 0
    return np.asarray(offset), np.where(varies, scale, 1.0)


def layer_sizes(sizes: Any) -> list[int]:
    """Check ``hidden_layer_sizes``."""
    found = np.atleast_1d(np.asarray(sizes))
    if not found.size or found.ndim > 1 or found.dtype.kind not in "iu" or found.min() < 1:
        raise ValueError(
            "hidden_layer_sizes must hold one positive integer for each hidden layer, such as "
            f"(500, 500, 2000); got {sizes!r}."
        )
    return [int(size) for size in found]


def momentum_pair(momentum: Any) -> tuple[float, float]:
    """Check ``momentum``."""
    pair = np.atleast_1d(np.asarray(momentum))
    if pair.shape != (2,) or pair.dtype.kind not in "iuf" or not ((pair >= 0) & (pair < 1)).all():
        raise ValueError(
            "momentum must hold two numbers of [0, 1), for the first momentum_epochs epochs and "
            f"for the rest, such as (0.5, 0.9); got {momentum!r}."
        )
    return float(pair[0]), float(pair[1])


def pretrain(
    model: Any, V: Any, *, last_hidden: str, generator: Any, report: Callable[..., None]
) -> tuple[list[Machine], list[NDArray[np.float64]]]:
    """Train a stack of machines by the parameters of ``model``; give them and their errors.

    Each machine takes the mean hidden units of the one below as its data. The units of the
    last layer are of the kind ``last_hidden``, all others between are binary.
    """
    sizes = layer_sizes(model.hidden_layer_sizes)
    momentum = momentum_pair(model.momentum)
    machines, errors = [], []
    visible = model.visible
    for place, size in enumerate(sizes):
        hidden = last_hidden if place == len(sizes) - 1 else "binary"
        binary = visible == hidden == "binary"
        machine, error = train_rbm(
            V,
            size,
            visible=visible,
            hidden=hidden,
            epochs=model.pretrain_epochs,
            learning_rate=model.pretrain_learning_rate if binary else model.linear_learning_rate,
            momentum=momentum,
            momentum_epochs=model.momentum_epochs,
            weight_cost=model.weight_cost,
            batch_size=model.batch_size,
            generator=generator,
            report=report,
        )
        machines.append(machine)
        errors.append(error)
        if place < len(sizes) - 1:
            V = hidden_mean(V, machine)
        visible = "binary"
    return machines, errors


def logits(parameters: Sequence[Any], V: Any) -> Any:
    """Run rows through sigmoid layers and a linear one; parameters are W, b, W, b, ..."""
    for W, b in zip(parameters[:-2:2], parameters[1:-2:2], strict=True):
        V = (V @ W + b).sigmoid()
    return V @ parameters[-2] + parameters[-1]


class RBMPretrainedClassifier(TransductionMixin, BaseEstimator):
    """Pretrain a network on all rows, layer by layer, then fine-tune it on the labeled ones.

    Each pair of layers is first trained as a restricted Boltzmann machine, by contrastive
    divergence and without labels, on the output of the layers below ([1]_; [2]_, section
    3.3.2). A softmax layer is put on top, and all weights are tuned on the labeled rows for
    the mean cross-entropy. In [2]_ only labeled rows are used; here pretraining sees the
    unlabeled rows as well, which is what lets few labels suffice.

    Parameters
    ----------
    hidden_layer_sizes : sequence of int, default=(500, 500, 2000)
        Units of each hidden layer, from the input up; the default is that of [1]_ for digits.
    visible : {"binary", "gaussian"}, default="binary"
        Kind of the input units. ``"binary"`` is for images: the range of the whole of ``X``
        is mapped to [0, 1], taken as probabilities. ``"gaussian"`` is for any other table:
        each column is standardized, and modeled as linear with unit variance.
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
        L-BFGS, or the conjugate gradients (Polak and Ribière) of [1]_ and [2]_. Both take all
        labeled rows at once.
    finetune_iter : int, default=200
        Iterations of fine-tuning at most.
    tol : float, default=1e-3
        Fine-tuning ends when five iterations lower the loss by a smaller share than this, or
        when the largest entry of the gradient falls to a tenth of this share.
    random_state : int, RandomState instance or None, default=None
        For initial weights, the order of the rows and the sampling of hidden units.
    verbose : int, default=0
        1 logs a line for each epoch and iteration to the logger ``leaven``.
    progress : bool, default=False
        Whether to show a progress bar.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    coefs_ : list of ndarray
        Weights of each layer, the softmax layer last, in float32.
    intercepts_ : list of ndarray
        Biases of each layer.
    reconstruction_errors_ : list of ndarray of shape (pretrain_epochs,)
        For each pretrained layer, the mean squared distance between its input and the
        reconstruction, by epoch.
    objective_trace_ : ndarray of shape (n_iter_ + 1,)
        Mean cross-entropy of the labeled rows, from before fine-tuning on.
    n_iter_ : int
        Iterations of fine-tuning.
    converged_ : bool
    label_distributions_ : ndarray of shape (n_samples, n_classes)
    transduction_ : ndarray of shape (n_samples,)

    See Also
    --------
    LeNet5Classifier : A convolutional network, for images with many labels.
    sklearn.neural_network.BernoulliRBM : One layer, as a transformer.

    Notes
    -----
    Needs PyTorch: ``pip install "leaven[deep]"``. The fitted weights are arrays, so that a
    pickle is read without it. A pass over the rows costs time in proportion to the number of
    weights, and memory holds the output of one layer for all rows.

    References
    ----------
    .. [1] G. E. Hinton and R. R. Salakhutdinov, "Reducing the dimensionality of data with
       neural networks", Science 313, 2006, with its supporting online material.
    .. [2] L. Lefakis, "Transductive learning for document classification and handwritten
       character recognition", Utrecht University, section 3.3.2.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from leaven.representation import RBMPretrainedClassifier
    >>> X, truth = load_digits(return_X_y=True)
    >>> y = np.where(np.arange(len(truth)) < 50, truth, -1)
    >>> model = RBMPretrainedClassifier((60, 60), pretrain_epochs=20, random_state=0)
    >>> pretrained = np.mean(model.fit(X, y).transduction_ == truth)
    >>> at_random = np.mean(model.set_params(pretrain_epochs=0).fit(X, y).transduction_ == truth)
    >>> bool(pretrained > at_random + 0.05)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = PRETRAINED_CONSTRAINTS

    def __init__(
        self,
        hidden_layer_sizes: Any = (500, 500, 2000),
        *,
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
        tol: float = 1e-3,
        random_state: Any = None,
        verbose: int = 0,
        progress: bool = False,
    ) -> None:
        self.hidden_layer_sizes = hidden_layer_sizes
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

    def fit(self, X: Any, y: Any) -> RBMPretrainedClassifier:
        """Pretrain on all rows of ``X`` and fine-tune on those with a label in ``y``.

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
        torch = load_torch(self)
        n_layers = len(layer_sizes(self.hidden_layer_sizes))
        total = n_layers * self.pretrain_epochs + self.finetune_iter
        generator = make_generator(torch, self.random_state)
        self._offset, self._scale = visible_scale(X, self.visible)
        V = to_tensor(torch, (X - self._offset) / self._scale)
        given = codes != UNLABELED
        rows, targets = V[torch.tensor(given)], torch.tensor(codes[given].astype(np.int64))
        name = type(self).__name__
        with reporting(name, total, verbose=self.verbose, progress=self.progress) as report:
            machines, self.reconstruction_errors_ = pretrain(
                self, V, last_hidden="binary", generator=generator, report=report
            )
            start = [
                each for machine in machines for each in (machine.weights, machine.hidden_bias)
            ]
            # The softmax layer starts at zero: of random weights, the part that few labels do
            # not reach would stay in the answers as noise.
            start += [V.new_zeros((start[-1].numel(), len(self.classes_)))]
            start += [V.new_zeros(len(self.classes_))]
            tuned = finetune(
                torch,
                lambda p: torch.nn.functional.cross_entropy(logits(p, rows), targets),
                start,
                method=self.finetune,
                max_iter=self.finetune_iter,
                tol=self.tol,
                report=report,
            )
        self.coefs_, self.intercepts_ = tuned.parameters[::2], tuned.parameters[1::2]
        self.objective_trace_ = tuned.objective_trace
        self.n_iter_, self.converged_ = tuned.n_iter, tuned.converged
        warn_if_not_converged(self, tuned.converged)
        self._store_transduction(self._probabilities(X), codes)
        return self

    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Return the class probabilities of each row of ``X``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        return self._probabilities(validate_data(self, X, reset=False, **ROW_CHECKS))

    def _probabilities(self, X: NDArray[Any]) -> NDArray[np.float64]:
        torch = load_torch(self)
        # In 64 bits the answer for a row does not depend on the rows that come with it.
        parameters = [
            to_tensor(torch, array, torch.float64)
            for pair in zip(self.coefs_, self.intercepts_, strict=True)
            for array in pair
        ]
        blocks = []
        for start in range(0, len(X), BLOCK):
            rows = (X[start : start + BLOCK] - self._offset) / self._scale
            blocks += to_arrays([logits(parameters, to_tensor(torch, rows, torch.float64))])
        return np.asarray(softmax(np.concatenate(blocks), axis=1))
