"""Products into memory that is there already, against dense algebra."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from leaven.solvers import _products


@pytest.fixture(params=["in place", "without the function of SciPy"])
def products(request, monkeypatch):
    if request.param != "in place":
        monkeypatch.setattr(_products, "csr_matvecs", None)
    return _products


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n", "m", "k"), [(7, 5, 3), (4, 6, 1), (1, 1, 2), (30, 20, 17)])
def test_products_are_those_of_dense_algebra(products, n, m, k, dtype):
    rng = np.random.default_rng(n)
    dense = np.where(rng.random((n, m)) < 0.4, rng.normal(size=(n, m)), 0.0).astype(dtype)
    X, before = rng.normal(size=(m, k)).astype(dtype), rng.normal(size=(n, k)).astype(dtype)
    out = before.copy()
    products.add_product(sparse.csr_array(dense), X, out)
    assert_allclose(out, before + dense @ X, atol=1e-5)
    products.multiply(sparse.csr_array(dense), X, out)
    assert_allclose(out, dense @ X, atol=1e-5)


def test_any_order_and_dtype(products):
    """The function of SciPy would read such arrays wrongly, or write into a copy."""
    rng = np.random.default_rng(0)
    dense, X = rng.normal(size=(6, 5)), rng.normal(size=(5, 4))
    A = sparse.csr_array(dense)
    out = np.zeros((6, 8))[:, ::2]
    products.add_product(A, X, out)
    assert_allclose(out, dense @ X)
    out = np.zeros((6, 4), order="F")
    products.add_product(A, np.asfortranarray(X), out)
    assert_allclose(out, dense @ X)
    out = np.zeros((6, 4))
    products.add_product(A.astype(np.float32), X, out)
    assert_allclose(out, dense @ X, atol=1e-5)


def test_shapes_that_do_not_fit_are_refused(products):
    A = sparse.csr_array(np.ones((3, 5)))
    for X, out in ((np.ones((4, 2)), np.ones((3, 2))), (np.ones((5, 2)), np.ones((3, 3)))):
        with pytest.raises(ValueError, match=r"shape|dimension|broadcast|operand"):
            _products.add_product(A, X, out)
