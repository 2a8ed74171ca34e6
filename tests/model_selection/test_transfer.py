from __future__ import annotations

import statistics

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from leaven.model_selection import transfer_parameter

# Saeed (2018), table 5.4: the best slope of each data set, as log2.
BEST = {
    "blogger": -10,
    "breast_cancer": -1,
    "breastw": 5,
    "house_votes": -5,
    "kr_vs_kp": -10,
    "monk1": -2,
    "mushroom": -6,
    "promoters": 4,
    "slc": 5,
    "threeOf9": -2,
    "titanic": -10,
    "xd6": -10,
    "banknote": -10,
    "Blood_transfusion": -10,
    "bcc": 4,
    "CMSC": -10,
    "haberman": -10,
    "ionosphere": -10,
    "liver_disorder": -10,
    "magic04": -10,
    "musk1": -10,
    "arcene": -3,
    "gisette": -10,
    "madelon": 5,
    "sonar": -10,
    "spambase": 5,
    "Synthetic": -3,
    "vertebral": 5,
}


def test_published_slopes():
    # Table 5.5 prints 0.0156 for the 14 data sets whose own best slope is 2 ** -10: the median
    # of the 27 others is then 2 ** -6. For the other 14 the rule of the text gives 2 ** -10,
    # where the table prints 0.0078 (and 0.0156 for mushroom): no median of the printed values,
    # so these are checked against the rule.
    best = 2.0 ** pd.Series(BEST)
    chosen = transfer_parameter(best)
    at_bound = best == 2.0**-10
    assert at_bound.sum() == 14
    assert_allclose(chosen[at_bound], 0.0156, rtol=5e-3)
    assert_allclose(chosen[~at_bound], 2.0**-10)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(-40, 40), min_size=2, max_size=9))
def test_against_the_standard_library(exponents):
    values = [2.0 ** (e / 4) for e in exponents]
    log = transfer_parameter(dict(enumerate(values)))
    linear = transfer_parameter(dict(enumerate(values)), scale="linear")
    for i in range(len(values)):
        others = exponents[:i] + exponents[i + 1 :]
        assert log[i] == pytest.approx(2.0 ** (statistics.median(others) / 4))
        assert linear[i] == pytest.approx(statistics.median(values[:i] + values[i + 1 :]))


def test_frame_column_by_column():
    table = pd.DataFrame({"a": [1.0, 4.0, 16.0], "b": [3, 5, 11]}, index=["x", "y", "z"])
    before = table.copy()
    got = transfer_parameter(table)
    expected = pd.DataFrame(
        {"a": [8.0, 4.0, 2.0], "b": np.sqrt([55.0, 33.0, 15.0])}, index=["x", "y", "z"]
    )
    pd.testing.assert_frame_equal(got, expected)
    pd.testing.assert_frame_equal(table, before)


def test_series_keeps_its_name_and_a_weight_may_be_zero():
    weights = pd.Series([0.0, 0.2, 0.6], index=["x", "y", "z"], name="weight")
    got = transfer_parameter(weights, scale="linear")
    pd.testing.assert_series_equal(
        got, pd.Series([0.4, 0.3, 0.1], index=["x", "y", "z"], name="weight")
    )


def test_errors():
    with pytest.raises(ValueError, match=r"scale must be one of \('log', 'linear'\), got 'ln'"):
        transfer_parameter({"a": 1.0, "b": 2.0}, scale="ln")
    with pytest.raises(ValueError, match=r"above 0, but table has \{'a': 0.0\}"):
        transfer_parameter({"a": 0.0, "b": 2.0})
    with pytest.raises(ValueError, match=r"no finite value for \['b'\]"):
        transfer_parameter({"a": 1.0, "b": np.nan})
    with pytest.raises(ValueError, match=r"table holds 1 data set\(s\), but at least 2"):
        transfer_parameter({"a": 1.0})
    with pytest.raises(TypeError, match="got list"):
        transfer_parameter([1.0, 2.0])
