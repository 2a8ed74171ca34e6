"""LeNet-5, the convolutional network for images of characters."""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from leaven._compat import Interval
from leaven._labels import UNLABELED
from leaven.base import TransductionMixin
from leaven.representation._feature_map import square_shape
from leaven.representation._som import check_pair
from leaven.representation._torch import (
    load_torch,
    make_generator,
    reporting,
    to_arrays,
    to_tensor,
)

# The squashing function is AMPLITUDE * tanh(SLOPE * a), which keeps ±1 at ±1.
AMPLITUDE, SLOPE = 1.7159, 2.0 / 3.0

# Values of the darkest and lightest pixel, for inputs of mean about zero, variance one.
BACKGROUND, FOREGROUND = -0.1, 1.175

# Side of a receptive field, pixels added on each side, and least side after that.
FIELD, BORDER, SMALLEST = 5, 2, 16

# Table I of LeCun et al. (1998): the maps of S2 that each map of C3 sees. That they see
# different ones forces them to find different features.
C3_SEES = (
    *[(k, (k + 1) % 6, (k + 2) % 6) for k in range(6)],
    *[(k, (k + 1) % 6, (k + 2) % 6, (k + 3) % 6) for k in range(6)],
    (0, 1, 3, 4),
    (1, 2, 4, 5),
    (0, 2, 3, 5),
    (0, 1, 2, 3, 4, 5),
)


def image_shape_of(image_shape: Any, n_pixels: int) -> tuple[int, int]:
    """Check ``image_shape`` against the columns, or take them for a square image."""
    if image_shape is None:
        return square_shape(n_pixels)
    height, width = check_pair(image_shape, "image_shape")
    if height * width != n_pixels:
        raise ValueError(
            f"image_shape={image_shape!r} has {height * width} pixels, but X has {n_pixels} "
            "features."
        )
    return height, width


def padded_side(side: int) -> int:
    """Side of an image with its border, such that both sub-samplings come out even.

    28 pixels become 32, as in the paper: the border lets a stroke that ends at the edge be
    in the middle of a receptive field.
    """
    return max(SMALLEST, 4 * math.ceil((side + 2 * BORDER) / 4))


def pad_images(X: NDArray[Any], shape: tuple[int, int]) -> NDArray[np.float32]:
    """Put rows, scaled already, into the middle of images with a background border."""
    height, width = (padded_side(side) for side in shape)
    top, left = (height - shape[0]) // 2, (width - shape[1]) // 2
    images = np.full((len(X), 1, height, width), BACKGROUND, dtype=np.float32)
    images[:, 0, top : top + shape[0], left : left + shape[1]] = X.reshape(-1, *shape)
    return images


def connections() -> NDArray[np.float32]:
    """Give C3's table as a mask of shape (16, 6, 1, 1) for its weights."""
    mask = np.zeros((len(C3_SEES), 6, 1, 1), dtype=np.float32)
    for row, seen in enumerate(C3_SEES):
        mask[row, list(seen)] = 1.0
    return mask


def initial_weights(
    torch: Any, shape: tuple[int, int], n_classes: int, generator: Any
) -> dict[str, Any]:
    """Draw weights uniformly, with standard deviation ``1 / sqrt(fan-in)``.

    So a unit's input has variance about one in every layer (LeCun et al., "Efficient
    BackProp", 1998, equation 16). The paper's ±2.4 / fan-in makes signals shrink a
    hundredfold up to C5: in three epochs on 10,000 digits the network learns nothing.
    C5 sees all that is left of the image, which for 28 × 28 pixels is a receptive field of
    5 × 5. Sub-sampling starts as the plain mean.
    """
    rest = tuple(padded_side(side) // 4 - 3 for side in shape)
    sizes = {
        "C1": (6, 1, FIELD, FIELD),
        "C3": (16, 6, FIELD, FIELD),
        "C5": (120, 16, *rest),
        "F6": (84, 120),
        "output": (n_classes, 84),
    }
    weights = {}
    for layer, size in sizes.items():
        drawn = torch.empty(size).uniform_(-math.sqrt(3), math.sqrt(3), generator=generator)
        weights[f"{layer}_weight"] = drawn / math.sqrt(math.prod(size[1:]))
        weights[f"{layer}_bias"] = torch.zeros(size[0])
    seen = torch.tensor(connections())
    weights["C3_weight"] *= seen * (6 / seen.sum(dim=1, keepdim=True)).sqrt()
    for layer, maps in (("S2", 6), ("S4", 16)):
        weights[f"{layer}_weight"] = torch.ones(maps, 1, 1)
        weights[f"{layer}_bias"] = torch.zeros(maps, 1, 1)
    return weights


def lenet_logits(torch: Any, weights: dict[str, Any], seen: Any, images: Any) -> Any:
    """Run padded images through the seven layers; ``seen`` is the mask of C3."""
    functions = torch.nn.functional

    def squash(a: Any) -> Any:
        return AMPLITUDE * torch.tanh(SLOPE * a)

    def sub_sample(a: Any, layer: str) -> Any:
        mean = functions.avg_pool2d(a, 2)
        return squash(weights[f"{layer}_weight"] * mean + weights[f"{layer}_bias"])

    a = squash(functions.conv2d(images, weights["C1_weight"], weights["C1_bias"]))
    a = sub_sample(a, "S2")
    a = squash(functions.conv2d(a, weights["C3_weight"] * seen, weights["C3_bias"]))
    a = sub_sample(a, "S4")
    a = squash(functions.conv2d(a, weights["C5_weight"], weights["C5_bias"])).flatten(1)
    a = squash(functions.linear(a, weights["F6_weight"], weights["F6_bias"]))
    return functions.linear(a, weights["output_weight"], weights["output_bias"])


def train_lenet(
    torch: Any,
    weights: dict[str, Any],
    images: Any,
    targets: Any,
    *,
    epochs: int,
    learning_rate: float,
    momentum: float,
    batch_size: int,
    generator: Any,
    report: Callable[..., None],
) -> NDArray[np.float64]:
    """Minimize the cross-entropy by gradient descent with momentum; change ``weights``.

    The learning rate falls to zero in a straight line, where the paper takes a table of
    decreasing ones. Returns the mean loss while each epoch ran.
    """
    seen = torch.tensor(connections())
    moves = {name: torch.zeros_like(weight) for name, weight in weights.items()}
    for weight in weights.values():
        weight.requires_grad_(True)
    starts = range(0, len(images), batch_size)
    losses = np.zeros(epochs)
    for epoch in range(epochs):
        order = torch.randperm(len(images), generator=generator)
        for number, start in enumerate(starts):
            batch = order[start : start + batch_size]
            output = lenet_logits(torch, weights, seen, images[batch])
            loss = torch.nn.functional.cross_entropy(output, targets[batch])
            gradients = torch.autograd.grad(loss, list(weights.values()))
            rate = learning_rate * (1.0 - (epoch + number / len(starts)) / epochs)
            with torch.no_grad():
                for name, gradient in zip(weights, gradients, strict=True):
                    moves[name].mul_(momentum).sub_(rate * gradient)
                    weights[name].add_(moves[name])
            losses[epoch] += float(loss.detach()) * len(batch) / len(images)
        report("epoch %d: loss %.6g", epoch + 1, losses[epoch])
    return losses


class LeNet5Classifier(TransductionMixin, BaseEstimator):
    """Classify images by the convolutional network LeNet-5.

    Three layers of feature maps with receptive fields of 5 × 5 (C1, C3, C5), two of trainable
    sub-sampling (S2, S4), a full layer (F6) and a softmax layer; units squash their input by
    ``1.7159 tanh(2a/3)`` ([1]_; [2]_, section 3.3.1). For images of 28 × 28 pixels there are
    60,000 weights below the output, which is why few labels are not enough for it: it is the
    yardstick for many. It is supervised: unlabeled rows are labeled but teach nothing.

    Parameters
    ----------
    image_shape : pair of int, default=None
        Height and width of the images whose pixels are the columns, row by row. None takes
        them for square images. Every image gets a border of two pixels, and more up to a
        multiple of four and at least 16.
    epochs : int, default=10
        Passes over the labeled rows.
    learning_rate : float, default=0.02
        At the beginning; it falls to zero at the end.
    momentum : float, default=0.9
        Share of the last move that is kept.
    batch_size : int, default=32
        Images between two moves.
    random_state : int, RandomState instance or None, default=None
        For initial weights and the order of the images.
    verbose : int, default=0
        1 logs a line for each epoch to the logger ``leaven``.
    progress : bool, default=False
        Whether to show a progress bar.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    image_shape_ : tuple of int
        Height and width.
    weights_ : dict of str to ndarray
        ``C1_weight``, ``C1_bias`` and so on for S2, C3, S4, C5, F6 and output, in float32.
    objective_trace_ : ndarray of shape (n_iter_,)
        Mean cross-entropy while each epoch ran.
    n_iter_ : int
        Epochs.
    converged_ : bool
        Whether the last epoch lowered the loss by less than a tenth. There is no warning
        when it is False, for ``epochs`` is a budget.
    label_distributions_ : ndarray of shape (n_samples, n_classes)
    transduction_ : ndarray of shape (n_samples,)

    See Also
    --------
    RBMPretrainedClassifier : A network that learns from unlabeled rows too.

    Notes
    -----
    The darkest pixel of the labeled images becomes -0.1 and the lightest 1.175, as in [1]_;
    the output is a softmax as in [2]_ instead of radial basis functions, and training is
    gradient descent with momentum instead of a diagonal Levenberg-Marquardt method.

    Needs PyTorch: ``pip install "leaven[deep]"``. The fitted weights are arrays, so that a
    pickle is read without it.

    References
    ----------
    .. [1] Y. LeCun, L. Bottou, Y. Bengio and P. Haffner, "Gradient-based learning applied to
       document recognition", Proceedings of the IEEE 86(11), 1998, section II.B.
    .. [2] L. Lefakis, "Transductive learning for document classification and handwritten
       character recognition", Utrecht University, section 3.3.1.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from leaven.representation import LeNet5Classifier
    >>> X, y = load_digits(n_class=3, return_X_y=True)
    >>> model = LeNet5Classifier(random_state=0).fit(X[:300], y[:300])
    >>> model.image_shape_
    (8, 8)
    >>> bool(model.score(X[300:], y[300:]) > 0.7)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "image_shape": [None, tuple, list],
        "epochs": [Interval(Integral, 1, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "momentum": [Interval(Real, 0, 1, closed="left")],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
        "progress": ["boolean"],
    }

    def __init__(
        self,
        image_shape: tuple[int, int] | None = None,
        *,
        epochs: int = 10,
        learning_rate: float = 0.02,
        momentum: float = 0.9,
        batch_size: int = 32,
        random_state: Any = None,
        verbose: int = 0,
        progress: bool = False,
    ) -> None:
        self.image_shape = image_shape
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.momentum = momentum
        self.batch_size = batch_size
        self.random_state = random_state
        self.verbose = verbose
        self.progress = progress

    def fit(self, X: Any, y: Any) -> LeNet5Classifier:
        """Fit on the images of ``X`` that have a label in ``y``, and label the others.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_pixels)
        y : array-like of shape (n_samples,)
            Unlabeled rows are -1 among integers, and None, NaN or pandas.NA elsewhere.

        Returns
        -------
        self
        """
        X, codes = self._validate_fit(X, y, dtype=[np.float32, np.float64])
        self.image_shape_ = self._shape(X.shape[1])
        torch = load_torch(self)
        given = codes != UNLABELED
        labeled = X[given]
        span = labeled.max() - labeled.min()
        self._darkest, self._span = labeled.min(), span if span > 0 else 1.0
        generator = make_generator(torch, self.random_state)
        weights = initial_weights(torch, self.image_shape_, len(self.classes_), generator)
        name = type(self).__name__
        with reporting(name, self.epochs, verbose=self.verbose, progress=self.progress) as report:
            self.objective_trace_ = train_lenet(
                torch,
                weights,
                to_tensor(torch, self._images(labeled)),
                torch.tensor(codes[given].astype(np.int64)),
                epochs=self.epochs,
                learning_rate=self.learning_rate,
                momentum=self.momentum,
                batch_size=self.batch_size,
                generator=generator,
                report=report,
            )
        if not np.isfinite(self.objective_trace_[-1]):
            raise ValueError(
                f"Training diverged with learning_rate={self.learning_rate:g}. Set learning_rate "
                "ten times smaller."
            )
        self.n_iter_ = self.epochs
        last = self.objective_trace_[-2:]
        self.converged_ = bool(len(last) == 2 and last[1] > 0.9 * last[0])
        self.weights_ = dict(zip(weights, to_arrays(weights.values()), strict=True))
        self._store_transduction(self._probabilities(X), codes)
        return self

    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Return the class probabilities of each row of ``X``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_pixels)

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=[np.float32, np.float64])
        return self._probabilities(X)

    def _shape(self, n_pixels: int) -> tuple[int, int]:
        return image_shape_of(self.image_shape, n_pixels)

    def _images(self, X: NDArray[Any]) -> NDArray[np.float32]:
        share = (X - self._darkest) / self._span
        return pad_images(BACKGROUND + (FOREGROUND - BACKGROUND) * share, self.image_shape_)

    def _probabilities(self, X: NDArray[Any]) -> NDArray[np.float64]:
        torch = load_torch(self)
        weights = {name: to_tensor(torch, array) for name, array in self.weights_.items()}
        seen = torch.tensor(connections())
        blocks = []
        for start in range(0, len(X), 500):
            images = to_tensor(torch, self._images(X[start : start + 500]))
            blocks += to_arrays([lenet_logits(torch, weights, seen, images)])
        return np.asarray(softmax(np.concatenate(blocks).astype(np.float64), axis=1))
