"""Carrying a parameter over from other data sets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

_SCALES = ("log", "linear")


def leave_one_out_median(values: NDArray[np.float64], scale: str = "log") -> NDArray[np.float64]:
    """Median of all entries but one, for each entry in turn.

    On the log scale the median of an even number of values is the geometric mean of the two
    in the middle.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.model_selection._transfer import leave_one_out_median
    >>> leave_one_out_median(np.array([0.25, 2.0, 8.0]))
    array([4.        , 1.41421356, 0.70710678])
    """
    scaled = np.log2(values) if scale == "log" else values
    medians = np.array([np.median(np.delete(scaled, i)) for i in range(len(scaled))])
    return np.exp2(medians) if scale == "log" else medians


def transfer_parameter(
    table: pd.Series | pd.DataFrame | dict[Any, float], *, scale: str = "log"
) -> pd.Series | pd.DataFrame:
    r"""Choose a parameter for each data set from what was best on the others.

    With few labels a parameter can hardly be chosen on the data set itself. Section 5.4.3 of
    [1]_ takes for each data set the median of the best values of all other data sets on the
    log scale ("leave one data set out"):

    .. math:: \log_2 \alpha_d = \operatorname{median}_{e \ne d} \log_2 \alpha_e^*

    Parameters
    ----------
    table : Series, DataFrame or dict
        The best value of each data set: data sets are the index (or the keys). In a DataFrame
        each column is a parameter (or a method) of its own.
    scale : {"log", "linear"}, default="log"
        Scale on which the median is taken. They differ if the number of other data sets is
        even. "log" needs values above 0; use "linear" for a weight that may be 0.

    Returns
    -------
    chosen : Series or DataFrame
        With the index (and columns) of ``table``.

    See Also
    --------
    tune : Chooses a parameter on the data set itself.

    References
    ----------
    .. [1] A. A. Saeed, "Empirical evaluation of semi-supervised naïve Bayes for active
       learning", PhD thesis, University of East Anglia, 2018, section 5.4.3.

    Examples
    --------
    >>> import pandas as pd
    >>> from leaven.model_selection import transfer_parameter
    >>> best = pd.Series({"iris": 0.5, "wine": 32.0, "zoo": 0.125, "glass": 0.25})
    >>> transfer_parameter(best)
    iris     0.25
    wine     0.25
    zoo      0.50
    glass    0.50
    dtype: float64
    """
    if scale not in _SCALES:
        raise ValueError(f"scale must be one of {_SCALES}, got {scale!r}.")
    if isinstance(table, dict):
        table = pd.Series(table)
    if isinstance(table, pd.DataFrame):
        columns = {name: _transfer_column(table[name], scale) for name in table.columns}
        return pd.DataFrame(columns, index=table.index, columns=table.columns)
    if not isinstance(table, pd.Series):
        raise TypeError(
            "table must be a Series, a DataFrame or a dict from data set to best value, got "
            f"{type(table).__name__}."
        )
    return _transfer_column(table, scale)


def _transfer_column(best: pd.Series, scale: str) -> pd.Series:
    if len(best) < 2:
        raise ValueError(
            f"table holds {len(best)} data set(s), but at least 2 are needed to carry a value "
            "from one to another."
        )
    values = best.to_numpy(dtype=np.float64, na_value=np.nan)
    refused = ~np.isfinite(values)
    if refused.any():
        raise ValueError(
            f"table has no finite value for {best.index[refused].tolist()}. Drop these data sets "
            "first."
        )
    if scale == "log" and (values <= 0).any():
        raise ValueError(
            "scale='log' needs values above 0, but table has "
            f"{best[values <= 0].to_dict()}. Use scale='linear'."
        )
    return pd.Series(leave_one_out_median(values, scale), index=best.index, name=best.name)
