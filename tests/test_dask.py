"""Answers of a fitted model on Dask collections: lazy, by partition, and of the same kind."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from leaven._dask import apply_rows

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")


class Sums:
    """Sums and products of whole rows; it takes no empty table, as many models do not."""

    def predict(self, rows):
        assert rows.shape[0] > 0
        assert rows.shape[1] == 3
        return np.asarray(rows).sum(axis=1)

    def predict_proba(self, rows):
        sums = self.predict(rows)
        return np.column_stack([sums, 10 * sums])


ROWS = np.arange(21.0).reshape(7, 3)
SUMS = ROWS.sum(axis=1)


@pytest.mark.parametrize("chunks", [(3, 3), (3, 2), ((2, 0, 5), (1, 2))])
def test_arrays(chunks):
    X = da.from_array(ROWS, chunks=chunks)
    found = apply_rows(Sums(), "predict", X, dtype=np.float32)
    assert (found.dtype, found.shape, found.chunks) == (np.float32, (7,), X.chunks[:1])
    assert_array_equal(found.compute(), SUMS)
    found = apply_rows(Sums(), "predict_proba", X, dtype=np.float64, n_columns=2)
    assert (found.shape, found.chunks) == ((7, 2), (X.chunks[0], (2,)))
    assert_array_equal(found.compute(), np.column_stack([SUMS, 10 * SUMS]))


def test_data_frames_of_which_a_partition_is_empty():
    frame = dd.from_pandas(pd.DataFrame(ROWS, columns=list("abc")), npartitions=3)
    frame = frame[frame["a"] > 8.0]  # the first partition, and one of the three rows after it
    kept = SUMS[ROWS[:, 0] > 8.0]
    found = apply_rows(Sums(), "predict", frame, dtype=np.int16)
    assert (found.dtype, found.npartitions, found.ndim) == (np.int16, 3, 1)
    assert found.compute().dtype == np.int16
    assert_array_equal(found.compute(), kept)
    found = apply_rows(Sums(), "predict_proba", frame, dtype=np.float64, n_columns=2)
    assert found.shape[1] == 2
    assert_array_equal(found.compute(), np.column_stack([kept, 10 * kept]))


@pytest.mark.parametrize("shape", [(7,), (7, 3, 1)])
def test_arrays_of_other_dimensions_are_refused(shape):
    X = da.zeros(shape, chunks=3)
    with pytest.raises(TypeError, match="in a Dask array of two dimensions"):
        apply_rows(Sums(), "predict", X, dtype=np.float64)
