"""How much an unlabeled row counts: the three forms of the literature."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leaven._labels import UNLABELED

WEIGHTINGS = ("unlabeled", "convex", "normalized")


def row_weights(
    codes: NDArray[np.intp], unlabeled_weight: float, weighting: str
) -> NDArray[np.float64]:
    """Weight of each row in the log-likelihood, for one λ and one of three forms.

    With l labeled and m unlabeled rows, a labeled and an unlabeled row weigh

    ============== ============== ============ =================== ==================
    weighting      labeled        unlabeled    supervised at       plain EM at
    ============== ============== ============ =================== ==================
    "unlabeled"    1              λ            λ = 0               λ = 1
    "convex"       1 - λ          λ            λ = 0               λ = 1/2
    "normalized"   (1 - λ) / l    λ / m        λ = 0               λ = m / (l + m)
    ============== ============== ============ =================== ==================

    ``"convex"`` is equation (4.5) of Saeed (2018) as printed: pseudo-counts are not rescaled,
    so that at λ = 1/2, where every row weighs a half, the estimate is plain EM with twice the
    pseudo-counts. The weights of ``"normalized"``
    would be far below any pseudo-count; both are divided by the larger one, which makes the
    last column exactly plain EM, smoothing included. Without pseudo-counts (Gaussians) a common
    factor does not matter.

    Parameters
    ----------
    codes : int array of shape (n_samples,)
        -1 without a label.
    unlabeled_weight : float in [0, 1]
        λ.
    weighting : {"unlabeled", "convex", "normalized"}
        Nigam et al. (2000) and Lefakis, section 2.4.2; Saeed (2018), equations (4.1)-(4.7);
        the weighted likelihood of the course "Semi-supervised learning" (UTT OS14, 2013).

    Returns
    -------
    weights : ndarray of shape (n_samples,)
        1 for labeled rows if there is no unlabeled one.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.generative._weighting import row_weights
    >>> codes = np.array([0, 1, -1, -1, -1, -1])
    >>> row_weights(codes, 0.2, "convex")
    array([0.8, 0.8, 0.2, 0.2, 0.2, 0.2])
    >>> row_weights(codes, 4 / 6, "normalized")
    array([1., 1., 1., 1., 1., 1.])
    """
    unlabeled = codes == UNLABELED
    n_unlabeled = int(unlabeled.sum())
    n_labeled = len(codes) - n_unlabeled
    if not n_unlabeled:
        return np.ones(len(codes))
    if weighting == "unlabeled":
        return np.where(unlabeled, unlabeled_weight, 1.0)
    if weighting == "convex":
        return np.where(unlabeled, unlabeled_weight, 1.0 - unlabeled_weight)
    if weighting == "normalized":
        # Both times l m: at λ = m / (l + m) the two are then equal to the last bit or nearly.
        labeled_row = (1.0 - unlabeled_weight) * n_unlabeled
        unlabeled_row = unlabeled_weight * n_labeled
        larger = max(labeled_row, unlabeled_row)
        return np.where(unlabeled, unlabeled_row / larger, labeled_row / larger)
    raise ValueError(f"weighting={weighting!r} is not known. Use one of {WEIGHTINGS}.")
