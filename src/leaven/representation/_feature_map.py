"""The feature map of an image: which unit of a self-organizing map each field activates."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_random_state, gen_batches
from sklearn.utils.validation import check_is_fitted, validate_data

from leaven._compat import Interval, StrOptions, validate_params_of
from leaven.representation._som import SelfOrganizingMap, check_pair, find_winners

# Entries of the fields that are copied out of the images at a time.
_BLOCK_ENTRIES = 1 << 22


def square_shape(n_pixels: int) -> tuple[int, int]:
    """Return the sides of a square image, or say that ``image_shape`` is needed.

    Examples
    --------
    >>> from leaven.representation._feature_map import square_shape
    >>> square_shape(784)
    (28, 28)
    """
    side = math.isqrt(n_pixels)
    if side * side != n_pixels:
        raise ValueError(
            f"X has {n_pixels} features, which is not a square image. Give image_shape=(height, "
            f"width) with height * width = {n_pixels}."
        )
    return side, side


def receptive_fields(images: NDArray[Any], field: int, stride: int) -> NDArray[Any]:
    """Return a view of all square fields of the images, which overlap if the stride is small.

    Parameters
    ----------
    images : ndarray of shape (n_images, height, width)
    field : int
        Side of a field.
    stride : int
        Step from one field to the next, in rows and in columns.

    Returns
    -------
    fields : ndarray of shape (n_images, map_height, map_width, field, field)

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.representation._feature_map import receptive_fields
    >>> receptive_fields(np.arange(9).reshape(1, 3, 3), 2, 1)[0, 1, 0]
    array([[3, 4],
           [6, 7]])
    """
    axes: Any = (1, 2)  # the stubs of numpy 2.2 know one axis only
    windows: NDArray[Any] = sliding_window_view(images, (field, field), axis=axes)
    return windows[:, ::stride, ::stride]


class SOMFeatureMap(TransformerMixin, BaseEstimator):
    """Describe an image by the features that a self-organizing map finds in its fields.

    The map is trained on small square fields of all images, labeled or not. Each image is
    then scanned: for every field, which overlaps with the next, the winner among the units
    tells what feature is there. This is the feature mapping of Lefakis [1]_, an analog of a
    convolutional layer that needs no labels.

    ``transform`` gives the winners by their coordinates on the lattice, so that similar
    features are near each other; :func:`som_distance` compares images by them. Fields are
    taken as they are: pixels are not scaled (no factor changes the winners), and a blank
    field is a field like any other.

    Parameters
    ----------
    image_shape : (int, int), default=None
        Height and width of the images, which are rows of ``X``; None for square ones.
    field : int, default=5
        Side of a receptive field.
    stride : int, default=1
        Step from one field to the next.
    lattice : (int, int), default=(10, 10)
        Rows and columns of units.
    n_fields : int, default=100_000
        How many fields are drawn from all images to train the map; all if there are fewer.
    init : {"pca", "sample"}, default="pca"
        How the map begins; see :class:`SelfOrganizingMap`.
    max_iter : int, default=60
        Passes of the training.
    tol : float, default=1e-3
        When the training stops.
    random_state : int, RandomState or None, default=None
        Draws the fields, and the units of ``init="sample"``.
    verbose : int, default=0
        1 logs a line a pass of the training.

    Attributes
    ----------
    som_ : SelfOrganizingMap
        Trained on the fields.
    image_shape_ : (int, int)
    map_shape_ : (int, int)
        Fields in a column and in a row of the image.
    n_features_in_ : int

    See Also
    --------
    som_distance : The distance of two feature maps.
    ArchetypeSubsampling : Makes the maps coarser.

    References
    ----------
    .. [1] L. Lefakis, "Transductive learning for document classification and handwritten
       character recognition", Utrecht University, section 3.4.3.

    Examples
    --------
    >>> from leaven.datasets import load
    >>> from leaven.representation import SOMFeatureMap
    >>> X = load("digits").data
    >>> maps = SOMFeatureMap(field=3, lattice=(4, 4), random_state=0).fit(X)
    >>> maps.map_shape_, maps.transform(X).shape
    ((6, 6), (1797, 72))
    >>> maps.winners(X[:1]).shape
    (1, 6, 6)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "image_shape": [None, tuple, list],
        "field": [Interval(Integral, 1, None, closed="left")],
        "stride": [Interval(Integral, 1, None, closed="left")],
        "lattice": [tuple, list],
        "n_fields": [Interval(Integral, 1, None, closed="left")],
        "init": [StrOptions({"pca", "sample"})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        image_shape: tuple[int, int] | None = None,
        *,
        field: int = 5,
        stride: int = 1,
        lattice: tuple[int, int] = (10, 10),
        n_fields: int = 100_000,
        init: str = "pca",
        max_iter: int = 60,
        tol: float = 1e-3,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.image_shape = image_shape
        self.field = field
        self.stride = stride
        self.lattice = lattice
        self.n_fields = n_fields
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> SOMFeatureMap:
        """Train the map on fields of the images.

        Parameters
        ----------
        X : array-like of shape (n_images, height * width)
            One image a row, row of pixels after row of pixels.
        y : None
            Not used.

        Returns
        -------
        self
        """
        validate_params_of(self)
        X = validate_data(self, X, dtype=[np.float64, np.float32])
        self.image_shape_ = self._image_shape(X.shape[1])
        height, width = self.image_shape_
        if min(height, width) < self.field:
            raise ValueError(
                f"field={self.field} does not fit into images of {height} × {width} pixels. Give "
                "a smaller field."
            )
        self.map_shape_ = tuple(
            (side - self.field) // self.stride + 1 for side in self.image_shape_
        )
        rng = check_random_state(self.random_state)
        n_all = len(X) * self.map_shape_[0] * self.map_shape_[1]
        fields = self._fields(X)
        if n_all > self.n_fields:
            # Sorted, so that the copy reads the images in order.
            drawn = np.sort(rng.choice(n_all, size=self.n_fields, replace=False))
            fields = fields[np.unravel_index(drawn, fields.shape[:3])]
        self.som_ = SelfOrganizingMap(
            self.lattice,
            init=self.init,
            max_iter=self.max_iter,
            tol=self.tol,
            random_state=rng,
            verbose=self.verbose,
        ).fit(fields.reshape(-1, self.field**2))
        return self

    def _image_shape(self, n_pixels: int) -> tuple[int, int]:
        if self.image_shape is None:
            return square_shape(n_pixels)
        height, width = check_pair(self.image_shape, "image_shape")
        if height * width != n_pixels:
            raise ValueError(
                f"image_shape={self.image_shape!r} has {height * width} pixels, but X has "
                f"{n_pixels} features."
            )
        return height, width

    def _fields(self, X: NDArray[Any]) -> NDArray[Any]:
        return receptive_fields(X.reshape(-1, *self.image_shape_), self.field, self.stride)

    def winners(self, X: Any) -> NDArray[np.intp]:
        """Return the number of the unit that each field activates.

        Parameters
        ----------
        X : array-like of shape (n_images, height * width)

        Returns
        -------
        units : ndarray of shape (n_images, map_height, map_width)
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        fields = self._fields(X)
        units = np.empty(fields.shape[:3], dtype=np.intp)
        per_image = math.prod(fields.shape[1:])
        for rows in gen_batches(len(X), max(1, _BLOCK_ENTRIES // per_image)):
            block = fields[rows].reshape(-1, self.field**2)
            units[rows] = find_winners(block, self.som_.units_)[0].reshape(units[rows].shape)
        return units

    def transform(self, X: Any) -> NDArray[Any]:
        """Return the lattice coordinates of the unit that each field activates.

        Parameters
        ----------
        X : array-like of shape (n_images, height * width)

        Returns
        -------
        maps : ndarray of shape (n_images, map_height * map_width * 2)
            Row and column of the unit, field after field, in the order of the image. float32
            if ``X`` is, else float64.
        """
        units = self.winners(X)
        dtype = np.float32 if getattr(X, "dtype", None) == np.float32 else np.float64
        return self.som_.coordinates_.astype(dtype)[units].reshape(len(units), -1)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the columns, such as ``field_3_0_row``.

        Parameters
        ----------
        input_features : None
            Not used.

        Returns
        -------
        names : ndarray of str
        """
        check_is_fitted(self)
        height, width = self.map_shape_
        return np.array(
            [
                f"field_{row}_{column}_{part}"
                for row in range(height)
                for column in range(width)
                for part in ("row", "column")
            ],
            dtype=object,
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
