"""Compiled products against dense algebra and against SciPy's, and their absence."""

import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from leaven.solvers import _block_cg, _kernels, _products, solve_spd


@pytest.fixture
def everywhere(monkeypatch):
    """Blocks of any size are compiled."""
    pytest.importorskip("numba")
    monkeypatch.setattr(_kernels, "COMPILED_FROM", 0)
    used = []

    def counted(n_rows, n_columns, usual=_kernels.compiled):
        used.append(usual(n_rows, n_columns) is not None)
        return usual(n_rows, n_columns)

    for module in (_products, _block_cg):
        monkeypatch.setattr(module, "compiled", counted)
    return used


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n", "m", "k"), [(7, 5, 3), (4, 6, 1), (30, 20, 10)])
def test_products_are_those_of_dense_algebra(everywhere, n, m, k, dtype, index):
    rng = np.random.default_rng(n)
    dense = np.where(rng.random((n, m)) < 0.4, rng.normal(size=(n, m)), 0.0).astype(dtype)
    dense[n // 2] = 0.0  # a row without entries keeps what was there
    A = sparse.csr_array(dense)
    A.indices, A.indptr = A.indices.astype(index), A.indptr.astype(index)
    X, before = rng.normal(size=(m, k)).astype(dtype), rng.normal(size=(n, k)).astype(dtype)
    out = before.copy()
    _products.add_product(A, X, out)
    assert_allclose(out, before + dense @ X, atol=1e-5 if dtype == np.float32 else 1e-13)
    assert everywhere == [True]


def test_wide_blocks_and_other_orders_are_left_to_scipy(everywhere):
    rng = np.random.default_rng(1)
    dense = rng.normal(size=(6, 5)).astype(np.float32)
    A, X = sparse.csr_array(dense), rng.normal(size=(5, 17)).astype(np.float32)
    out = np.zeros((6, 17), dtype=np.float32)
    _products.add_product(A, X, out)
    assert_allclose(out, dense @ X, atol=1e-5)
    assert everywhere == [False]
    turned = np.zeros((6, 3), dtype=np.float32, order="F")
    _products.add_product(A, X[:, :3], turned)
    assert_allclose(turned, dense @ X[:, :3], atol=1e-5)
    assert everywhere == [False]


# One row, rows in pairs and in fours with a rest, and more than one chunk; fewer directions than
# columns are what Poisson learning has.
@pytest.mark.parametrize("n", [1, 2, 7, 1_030])
@pytest.mark.parametrize(("n_directions", "n_columns"), [(3, 3), (2, 3), (9, 10)])
def test_steps_are_those_of_dense_algebra(everywhere, n, n_directions, n_columns):
    rng = np.random.default_rng(n + n_directions)
    work = _block_cg._Workspace(n, n_directions, n_columns, np.float32)
    assert everywhere == [True]
    P, Q, AP = rng.normal(size=(3, n, n_directions)).astype(np.float32)
    x = rng.normal(size=(n, n_columns)).astype(np.float32)
    step, S = rng.normal(size=(2, n_directions, n_directions))
    S = np.triu(S) + 4 * np.eye(n_directions)
    weights = rng.normal(size=(n_directions, n_columns))
    close = {"rtol": 1e-4, "atol": 1e-4 * np.sqrt(n)}
    double = [np.array(each, dtype=np.float64) for each in (P, Q, AP, x)]
    assert_allclose(work.products(P, Q), double[0].T @ double[1], **close)
    gram = work.advance(x, Q, P, AP, step, weights)
    expected = double[1] - double[2] @ step
    assert_allclose(x, double[3] + double[0] @ weights, **close)
    assert_allclose(Q, expected, **close)
    assert_allclose(gram, expected.T @ expected, **close)
    work.turn(Q, P, S)
    turned = expected @ np.linalg.inv(S)
    assert_allclose(Q, turned, **close)
    assert_allclose(P, turned + double[0] @ S.T, **close)


def test_solutions_are_those_of_lapack_and_of_scipys_products(everywhere, monkeypatch):
    rng = np.random.default_rng(3)
    n = 400
    W = sparse.random_array((n, n), density=0.03, rng=rng)
    W = W + W.T
    A = sparse.csr_array(sparse.diags_array(W.sum(axis=0) + 0.3) - W)
    B = rng.normal(size=(n, 6))
    B[:, 5] = B[:, 0] - 2 * B[:, 1]  # dependent: fewer directions than columns
    ours = solve_spd(A, B, method="cg", tol=1e-9)
    assert any(everywhere)
    assert ours.converged
    assert_allclose(ours.x, np.linalg.solve(A.toarray(), B), atol=1e-7)
    monkeypatch.setattr(_kernels, "COMPILED_FROM", n + 1)
    assert_allclose(ours.x, solve_spd(A, B, method="cg", tol=1e-9).x, atol=1e-7)


class Refusing:
    """Fails where the compiled functions are imported, as numba does that can keep no file."""

    def find_spec(self, name, path=None, target=None):
        if name == "leaven.solvers._compiled":
            raise RuntimeError("cannot cache function")


@pytest.mark.parametrize(
    "why", ["numba is not there", "numba does not import", "numba can keep no file"]
)
def test_without_numba_scipy_multiplies(monkeypatch, why):
    if why == "numba is not there":
        monkeypatch.setattr(_kernels, "is_installed", lambda name: False)
    else:
        monkeypatch.setattr(_kernels, "is_installed", lambda name: True)
        monkeypatch.delattr("leaven.solvers._compiled", raising=False)
        monkeypatch.setitem(sys.modules, "leaven.solvers._compiled", None)
    if why == "numba can keep no file":
        monkeypatch.delitem(sys.modules, "leaven.solvers._compiled")
        monkeypatch.setattr(sys, "meta_path", [Refusing(), *sys.meta_path])
    monkeypatch.setattr(_kernels, "COMPILED_FROM", 0)
    _kernels._module.cache_clear()
    try:
        assert _kernels.compiled(10**6, 10) is None
        A, out = sparse.csr_array(np.array([[2.0, 3.0]], np.float32)), np.ones((1, 1), np.float32)
        _products.add_product(A, np.array([[5.0], [7.0]], np.float32), out)
        assert out.item() == 32.0
    finally:
        _kernels._module.cache_clear()


def test_small_problems_do_not_import_numba():
    code = (
        "import sys, numpy as np, leaven, leaven.graph_based\n"
        "X = np.random.default_rng(0).normal(size=(300, 2))\n"
        "y = np.full(300, -1); y[:2] = 0, 1\n"
        "leaven.graph_based.PoissonMBOClassifier().fit(X, y)\n"
        "print([name for name in ('numba', 'llvmlite') if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
