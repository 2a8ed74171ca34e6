"""How much an unlabeled row counts: the three forms of the literature."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leaven._labels import UNLABELED

WEIGHTINGS = ("unlabeled", "convex", "normalized")


def label_weights(
    labeled: float, unlabeled: float, unlabeled_weight: float, weighting: str
) -> tuple[float, float]:
    """Weights of a labeled and of an unlabeled row, for one λ and one of three forms.

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
    pseudo-counts. The weights of ``"normalized"`` would be far below any pseudo-count; both are
    divided by the larger one, which makes the last column exactly plain EM, smoothing included.
    Without pseudo-counts (Gaussians) a common factor does not matter.

    Parameters
    ----------
    labeled, unlabeled : float
        l and m: numbers of rows, or sums of their sample weights.
    unlabeled_weight : float in [0, 1]
        λ.
    weighting : {"unlabeled", "convex", "normalized"}
        Nigam et al. (2000) and Lefakis, section 2.4.2; Saeed (2018), equations (4.1)-(4.7);
        the weighted likelihood of the course "Semi-supervised learning" (UTT OS14, 2013).

    Returns
    -------
    labeled_row, unlabeled_row : float
        1 and 1 if there is no unlabeled row.

    Examples
    --------
    >>> from leaven.generative import label_weights
    >>> label_weights(2, 4, 0.2, "convex")
    (0.8, 0.2)
    >>> label_weights(2, 6, 6 / 8, "normalized")
    (1.0, 1.0)
    """
    if not unlabeled:
        return 1.0, 1.0
    if weighting == "unlabeled":
        return 1.0, unlabeled_weight
    if weighting == "convex":
        return 1.0 - unlabeled_weight, unlabeled_weight
    if weighting == "normalized":
        # Both times l m: at λ = m / (l + m) the two are then equal to the last bit or nearly.
        labeled_row = (1.0 - unlabeled_weight) * unlabeled
        unlabeled_row = unlabeled_weight * labeled
        larger = max(labeled_row, unlabeled_row)
        return labeled_row / larger, unlabeled_row / larger
    raise ValueError(f"weighting={weighting!r} is not known. Use one of {WEIGHTINGS}.")


def row_weights(
    codes: NDArray[np.intp],
    unlabeled_weight: float,
    weighting: str,
    sample_weight: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Weight of each row in the log-likelihood: :func:`label_weights` times ``sample_weight``.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.generative._weighting import row_weights
    >>> row_weights(np.array([0, 1, -1, -1]), 0.2, "convex", np.array([1.0, 2.0, 3.0, 4.0]))
    array([0.8, 1.6, 0.6, 0.8])
    """
    own = np.ones(len(codes)) if sample_weight is None else sample_weight
    unlabeled = codes == UNLABELED
    sums = float(own[~unlabeled].sum()), float(own[unlabeled].sum())
    labeled_row, unlabeled_row = label_weights(*sums, unlabeled_weight, weighting)
    return np.where(unlabeled, unlabeled_row, labeled_row) * own
