"""Sub-sampling of feature maps: regions are replaced by archetypes of clusters."""

from __future__ import annotations

import math
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.cluster import KMeans
from sklearn.utils.validation import check_is_fitted, validate_data

from leaven._compat import Interval, validate_params_of
from leaven.representation._som import check_pair
from leaven.representation._som_distance import som_distance


def region_columns(
    map_shape: tuple[int, int], n_coordinates: int, region: int
) -> list[NDArray[np.intp]]:
    """List the columns of a flat map that belong to each square region, without overlap.

    At the right and the lower edge a region is smaller where the side is no multiple.

    Examples
    --------
    >>> from leaven.representation._archetypes import region_columns
    >>> [columns.tolist() for columns in region_columns((2, 3), 1, 2)]
    [[0, 1, 3, 4], [2, 5]]
    """
    height, width = map_shape
    number = np.arange(height * width * n_coordinates).reshape(height, width, n_coordinates)
    return [
        number[row : row + region, column : column + region].ravel()
        for row in range(0, height, region)
        for column in range(0, width, region)
    ]


def replace_regions(
    maps: NDArray[Any],
    archetypes: NDArray[Any],
    regions: list[NDArray[np.intp]],
    n_coordinates: int,
) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Put the nearest archetype in the place of every region of every map.

    Parameters
    ----------
    maps : ndarray of shape (n_maps, n_columns)
    archetypes : ndarray of shape (n_clusters, n_columns)
    regions : list of ndarray
        The columns of each region.
    n_coordinates : int
        The distance of two regions is :func:`som_distance`, with so many columns a field.

    Returns
    -------
    replaced : ndarray of shape (n_maps, n_columns)
    nearest : ndarray of shape (n_maps, n_regions)
        The cluster whose archetype each region got; of equals the first.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.representation._archetypes import replace_regions
    >>> replace_regions(
    ...     np.array([[1.0, 9.0]]), np.array([[0.0, 2.0], [8.0, 8.0]]),
    ...     [np.array([0]), np.array([1])], 1,
    ... )
    (array([[0., 8.]]), array([[0, 1]]))
    """
    replaced = np.empty_like(maps)
    nearest = np.empty((len(maps), len(regions)), dtype=np.intp)
    for number, columns in enumerate(regions):
        kinds = archetypes[:, columns]
        # The archetypes first: the longer side is then the one that is taken in blocks.
        distance = som_distance(kinds, maps[:, columns], n_coordinates=n_coordinates)
        nearest[:, number] = distance.argmin(axis=0)
        replaced[:, columns] = kinds[nearest[:, number]]
    return replaced, nearest


class ArchetypeSubsampling(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Replace each region of a feature map by the most similar archetype.

    The maps are put into K clusters. The archetype of a region in a cluster is the mean of
    that region over the maps of the cluster; each region of each map is then replaced by the
    archetype, of the K there are for this place, that it is nearest to [1]_. Small shifts and
    distortions are lost by it, as by the sub-sampling layer of a convolutional network.

    Similarity is that of :func:`som_distance`, in lattice distances. Clusters are those of
    k-means, which the source does not name.

    Parameters
    ----------
    n_clusters : int, default=10
    map_shape : (int, int), default=None
        Height and width of the maps, ``map_shape_`` of :class:`SOMFeatureMap`. None stands
        for square maps of one or two numbers a field.
    region : int, default=2
        Side of a region.
    random_state : int, RandomState or None, default=None
        Seeds k-means.

    Attributes
    ----------
    archetypes_ : ndarray of shape (n_clusters, n_features)
        The archetypes of all regions of a cluster, in their places: the center of the cluster.
    clusters_ : ndarray of shape (n_samples,)
        The cluster of each map.
    regions_ : list of ndarray
        The columns of each region.
    map_shape_ : (int, int)
    n_coordinates_ : int
        Columns of one field: 2 for lattice coordinates.
    n_features_in_ : int

    See Also
    --------
    SOMFeatureMap : Makes the maps.

    References
    ----------
    .. [1] L. Lefakis, "Transductive learning for document classification and handwritten
       character recognition", Utrecht University, section 3.4.3.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.representation import ArchetypeSubsampling
    >>> left = np.kron([[5, 0], [0, 0]], np.ones((2, 2))).ravel()
    >>> right = np.kron([[0, 5], [0, 0]], np.ones((2, 2))).ravel()
    >>> maps = np.array([left, left, right, right, left + right])
    >>> model = ArchetypeSubsampling(2, random_state=0).fit(maps[:4])
    >>> model.transform(maps[4:]).reshape(4, 4)
    array([[5., 5., 5., 5.],
           [5., 5., 5., 5.],
           [0., 0., 0., 0.],
           [0., 0., 0., 0.]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "map_shape": [None, tuple, list],
        "region": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_clusters: int = 10,
        *,
        map_shape: tuple[int, int] | None = None,
        region: int = 2,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.map_shape = map_shape
        self.region = region
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> ArchetypeSubsampling:
        """Cluster the maps and find the archetypes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Feature maps, one a row.
        y : None
            Not used.

        Returns
        -------
        self
        """
        validate_params_of(self)
        X = validate_data(self, X, dtype=[np.float64, np.float32])
        if len(X) < self.n_clusters:
            raise ValueError(
                f"n_clusters={self.n_clusters} needs as many maps, but X has n_samples={len(X)}. "
                "Give fewer clusters."
            )
        self.map_shape_, self.n_coordinates_ = self._shape(X.shape[1])
        self.regions_ = region_columns(self.map_shape_, self.n_coordinates_, self.region)
        means = KMeans(self.n_clusters, n_init=1, random_state=self.random_state).fit(X)
        self.clusters_ = means.labels_
        self.archetypes_ = means.cluster_centers_
        return self

    def _shape(self, n_columns: int) -> tuple[tuple[int, int], int]:
        if self.map_shape is not None:
            height, width = check_pair(self.map_shape, "map_shape")
            n_coordinates, rest = divmod(n_columns, height * width)
            if rest or not n_coordinates:
                raise ValueError(
                    f"map_shape={self.map_shape!r} has {height * width} fields, but X has "
                    f"{n_columns} features, which is no multiple of it."
                )
            return (height, width), n_coordinates
        # A number is never both a square and twice a square.
        for n_coordinates in (1, 2):
            side = math.isqrt(n_columns // n_coordinates)
            if side and side * side * n_coordinates == n_columns:
                return (side, side), n_coordinates
        raise ValueError(
            f"X has {n_columns} features, which is not a square map of one or two numbers a "
            "field. Give map_shape=(height, width), which SOMFeatureMap keeps as map_shape_."
        )

    def transform(self, X: Any) -> NDArray[Any]:
        """Replace the regions of the maps by archetypes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        maps : ndarray of shape (n_samples, n_features)
        """
        return self._replace(X)[0]

    def nearest_clusters(self, X: Any) -> NDArray[np.intp]:
        """Return the cluster whose archetype each region gets.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        clusters : ndarray of shape (n_samples, n_regions)
        """
        return self._replace(X)[1]

    def _replace(self, X: Any) -> tuple[NDArray[Any], NDArray[np.intp]]:
        check_is_fitted(self)
        X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        archetypes = self.archetypes_.astype(X.dtype, copy=False)
        return replace_regions(X, archetypes, self.regions_, self.n_coordinates_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
