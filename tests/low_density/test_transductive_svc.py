import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from leaven.exceptions import ConvergenceWarning, MemoryBoundError
from leaven.low_density import S4VM, TransductiveSVC
from leaven.low_density import _problem as low_density_problem
from leaven.low_density._margins import (
    margin_probabilities,
    ratio_probabilities,
    tied_classes,
)

SOLVERS = ["switching", "annealing", "gradient", "continuation", "branch-and-bound"]
HEURISTICS = SOLVERS[:4]


@pytest.mark.parametrize("solver", HEURISTICS)
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_objective_is_its_formula_at_the_returned_point(solver, kernel, moons):
    X, _, partial = moons(60, 4, noise=0.3)  # the signs need not hold the ratio here
    machine = TransductiveSVC(
        kernel=kernel, gamma=2.0, C=1.5, C_unlabeled=0.7, positive_fraction=0.4, solver=solver
    ).fit(X, partial)
    f = machine.decision_function(X)
    if kernel == "linear":
        norm2 = float((machine.coef_**2).sum())
    else:
        beta, rows = machine.dual_coef_[0], X[machine.support_]
        norm2 = float(beta @ rbf_kernel(rows, gamma=2.0) @ beta)
    labeled = partial >= 0
    signs = np.where(partial == 1, 1.0, -1.0)
    fixed = 0.5 * norm2 + 1.5 * np.maximum(0, 1 - signs * f)[labeled].sum()
    f = np.sort(f[~labeled])
    n_positive = round(0.4 * len(f))
    best = np.concatenate([np.full(len(f) - n_positive, -1.0), np.ones(n_positive)])
    assert_allclose(machine.objective_, fixed + 0.7 * np.maximum(0, 1 - best * f).sum())
    assert_allclose(machine.sign_objective_, fixed + 0.7 * np.maximum(0, 1 - np.abs(f)).sum())
    assert machine.sign_objective_ <= machine.objective_ + 1e-12
    assert_allclose(machine.objective_trace_[-1], machine.objective_)
    assert (machine.transduction_[~labeled] == 1).sum() == n_positive


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("case", ["moons", "clusters", "clusters, linear"])
def test_no_solver_below_the_optimum_and_all_near_it(case, seed, moons, clusters):
    X, _, partial = (moons if case == "moons" else clusters)(30, 5, seed)
    params = {"kernel": "linear" if "linear" in case else "rbf", "C": 10.0}
    exact = TransductiveSVC(solver="branch-and-bound", **params).fit(X, partial)
    assert exact.is_proven_optimal_
    for solver in HEURISTICS:
        machine = TransductiveSVC(solver=solver, **params).fit(X, partial)
        assert machine.objective_ >= exact.objective_ * (1 - 1e-7)
        assert machine.objective_ <= exact.objective_ * 1.05
        assert not machine.is_proven_optimal_


def test_two_moons_with_one_label_a_class(moons):
    for seed in range(2):
        X, y, partial = moons(200, 1, seed)
        unlabeled = partial < 0
        supervised = SVC(gamma=20.0).fit(X[~unlabeled], y[~unlabeled])
        assert supervised.score(X[unlabeled], y[unlabeled]) < 0.9
        for solver in ("annealing", "gradient", "continuation"):
            machine = TransductiveSVC(kernel="rbf", gamma=20.0, solver=solver).fit(X, partial)
            assert (machine.transduction_ == y)[unlabeled].mean() >= 0.98


@pytest.mark.parametrize("fraction", [0.3, 0.55])
def test_ratio_is_held(fraction, clusters):
    X, _, partial = clusters(29, 3)
    unlabeled = partial < 0
    for solver in HEURISTICS:
        machine = TransductiveSVC(positive_fraction=fraction, solver=solver).fit(X, partial)
        found = machine.transduction_[unlabeled].mean()
        assert abs(found - fraction) * unlabeled.sum() <= 1
        assert_array_equal(machine.transduction_[~unlabeled], partial[~unlabeled])
        if solver == "annealing":
            soft = machine.label_distributions_[unlabeled, 1]
            assert_allclose(soft.mean(), fraction, atol=1e-6)


def test_kernels_agree(moons):
    X, _, partial = moons(40, 3)
    new = X + 0.05

    def fit(**params):
        return TransductiveSVC(solver="gradient", **params).fit(X, partial)

    by_name = fit(kernel="rbf", gamma=3.0)
    by_function = fit(kernel=lambda A, B: rbf_kernel(A, B, gamma=3.0))
    scores = by_name.decision_function(new)
    assert_allclose(by_function.decision_function(new), scores, atol=1e-6)
    precomputed = TransductiveSVC(solver="gradient", kernel="precomputed")
    precomputed.fit(rbf_kernel(X, gamma=3.0), partial)
    K = rbf_kernel(new, X, gamma=3.0)
    assert_allclose(precomputed.decision_function(K), scores, atol=1e-6)
    poly = fit(kernel="poly", gamma=0.5, degree=2, coef0=1.0)
    same = fit(kernel=lambda A, B: polynomial_kernel(A, B, gamma=0.5, degree=2, coef0=1.0))
    assert_allclose(poly.decision_function(new), same.decision_function(new), atol=1e-6)


@pytest.mark.parametrize("gamma", ["scale", "auto"])
@pytest.mark.parametrize("as_sparse", [False, True])
def test_gamma_is_that_of_svc(gamma, as_sparse, moons):
    X, y, _ = moons(40, 3)
    rows = sparse.csr_array(X) if as_sparse else X
    machine = TransductiveSVC(kernel="rbf", gamma=gamma).fit(rows, y)
    peer = SVC(gamma=gamma, tol=1e-7).fit(X, y)
    assert_allclose(machine.decision_function(rows), peer.decision_function(X), atol=1e-4)


@pytest.mark.parametrize("solver", HEURISTICS)
def test_sparse_equals_dense(solver, clusters):
    X, _, partial = clusters(40, 3)
    dense = TransductiveSVC(solver=solver).fit(X, partial)
    thin = TransductiveSVC(solver=solver).fit(sparse.csr_matrix(X), partial)
    assert_allclose(thin.decision_function(X), dense.decision_function(X), atol=1e-5)


def test_single_precision(clusters):
    X, _, partial = clusters(60, 3)
    double = TransductiveSVC().fit(X, partial)
    single = TransductiveSVC().fit(sparse.csr_matrix(X.astype(np.float32)), partial)
    assert_allclose(single.decision_function(X), double.decision_function(X), atol=1e-2)


def test_three_classes_with_consistent_ratios():
    X, y = make_blobs(96, centers=[[0, 0], [5, 0], [0, 5]], random_state=0)
    names = np.array(["ant", "bee", "cow"], dtype=object)[y]
    partial = np.where(np.arange(96) < 12, names, None)
    shares = {"cow": 0.3, "ant": 0.4, "bee": 0.3}
    machine = TransductiveSVC(positive_fraction=shares).fit(X, partial)
    assert_allclose(machine.positive_fraction_, [0.4, 0.3, 0.3])
    assert (machine.predict(X) == names).mean() > 0.9
    assert machine.decision_function(X).shape == (96, 3)
    p = machine.predict_proba(X)
    assert_allclose(p.sum(axis=1), 1.0)
    assert_array_equal(p.argmax(axis=1), machine.decision_function(X).argmax(axis=1))
    assert machine.objective_.shape == machine.n_iter_.shape == (3,)
    # Each of the three is the two-class machine with that share.
    bee = TransductiveSVC(positive_fraction=0.3).fit(
        X, [None if v is None else v == "bee" for v in partial]
    )
    assert_allclose(bee.decision_function(X), machine.decision_function(X)[:, 1], atol=1e-6)


def test_counts_sum_to_the_rows():
    rng = np.random.default_rng(0)
    for _ in range(50):
        fractions, n = rng.dirichlet(np.ones(4)), int(rng.integers(0, 60))
        tied, counts = tied_classes(fractions, n)
        assert not len(tied)
        assert counts.sum() == n
        assert (np.abs(counts - fractions * n) < 1).all()


def test_probabilities_are_monotone_in_the_margin():
    f = np.linspace(-40, 40, 401)
    p = margin_probabilities(np.column_stack([-f, f]))[:, 1]
    assert (np.diff(p)[np.abs(f[1:]) < 30] > 0).all()
    inside = np.array([-0.8, 0.0, 0.3])
    expected = 1 / (1 + np.exp(-2 * inside))
    assert_allclose(margin_probabilities(np.column_stack([-inside, inside]))[:, 1], expected)
    outside = 1 / (1 + np.exp(-(3.0 + 1.0)))
    assert_allclose(margin_probabilities(np.array([[-3.0, 3.0]]))[0, 1], outside)


def test_labels_that_hold_the_ratio_win_over_signs():
    f = np.array([0.2, 0.5, 0.9, 0.5])
    p = ratio_probabilities(f, np.array([-1.0, 1.0, 1.0, -1.0]))
    assert_array_equal(p > 0.5, [False, True, True, False])


def test_rows_in_another_order_and_other_names(clusters):
    X, _, partial = clusters(40, 3)
    machine = TransductiveSVC(kernel="rbf").fit(X, partial)
    order = np.random.default_rng(0).permutation(40)
    shuffled = TransductiveSVC(kernel="rbf").fit(X[order], partial[order])
    assert_array_equal(shuffled.transduction_, machine.transduction_[order])
    table = pd.DataFrame(X, columns=["height", "width"])
    named = pd.Series(partial).map({0: "no", 1: "yes"})
    renamed = TransductiveSVC(kernel="rbf").fit(table, named)
    assert_array_equal(renamed.transduction_ == "yes", machine.transduction_ == 1)


def test_in_a_pipeline(clusters):
    X, y, partial = clusters(40, 3)
    model = make_pipeline(StandardScaler(), TransductiveSVC()).fit(X * [1, 1000], partial)
    assert model.score(X * [1, 1000], y) > 0.95


def test_matrix_that_is_not_a_kernel():
    rng = np.random.default_rng(0)
    K = rng.normal(size=(20, 20))
    K = K + K.T
    y = np.where(np.arange(20) < 8, np.arange(20) % 2, -1)
    machine = TransductiveSVC(kernel="precomputed").fit(K, y)
    values, vectors = np.linalg.eigh(K)
    repaired = (vectors * np.maximum(values, 0)) @ vectors.T
    same = TransductiveSVC(kernel="precomputed").fit(repaired, y)
    scores = same.decision_function(repaired)
    assert_allclose(machine.decision_function(K), scores, atol=1e-5)


def test_few_iterations_warn(moons):
    X, _, partial = moons(60, 1, noise=0.3)
    with pytest.warns(ConvergenceWarning, match="max_iter=2 iterations"):
        TransductiveSVC(solver="gradient", max_iter=2).fit(X, partial)


def test_verbose_goes_to_the_logger(caplog, clusters):
    X, _, partial = clusters(30, 3)
    with caplog.at_level("INFO", logger="leaven"):
        TransductiveSVC().fit(X, partial)
        assert not caplog.records
        TransductiveSVC(verbose=1).fit(X, partial)
    assert "switching: C*=1e-05" in caplog.text


@pytest.mark.parametrize(
    ("params", "y", "message"),
    [
        ({"positive_fraction": 0.0}, [0, 1, -1], r"range \(0.0, 1.0\)"),
        ({"positive_fraction": [0.5, 0.6]}, [0, 1, -1], "sums to 1.1"),
        ({"positive_fraction": [1.0, 0.0]}, [0, 1, -1], "above 0 and below 1"),
        ({"positive_fraction": 0.3}, [0, 1, 2], "3 classes: give one fraction for each"),
        ({"positive_fraction": {0: 0.5, 7: 0.5}}, [0, 1, -1], r"unknown: \[7\]"),
        ({"kernel": "cosine"}, [0, 1, -1], "'kernel' parameter"),
        ({"kernel": lambda A, B: np.ones(3)}, [0, 1, -1], "kernel function gave shape"),
        ({"kernel": lambda A, B: np.full((3, 3), np.nan)}, [0, 1, -1], "NaN"),
    ],
)
def test_bad_input(params, y, message):
    with pytest.raises(ValueError, match=message):
        TransductiveSVC(**params).fit(np.arange(6.0).reshape(3, 2), y)


def test_bad_precomputed_matrices():
    machine = TransductiveSVC(kernel="precomputed")
    with pytest.raises(ValueError, match="must be symmetric"):
        machine.fit([[1.0, 0.5, 0.2], [0.1, 1.0, 0.3], [0.2, 0.3, 1.0]], [0, 1, -1])
    machine.fit(np.eye(3), [0, 1, -1])
    with pytest.raises(ValueError, match="2 features"):
        machine.predict(np.ones((4, 2)))


def test_memory_bound(monkeypatch):
    monkeypatch.setattr("leaven.low_density._kernels.MAX_GRAM_BYTES", 50)
    with pytest.raises(MemoryBoundError, match=r"kernel matrix of 3 rows.*kernel='linear'"):
        TransductiveSVC(kernel="rbf").fit(np.arange(6.0).reshape(3, 2), [0, 1, -1])


@pytest.mark.parametrize("solver", ["switching", "annealing"])
def test_outliers_beyond_rounding_end(solver, monkeypatch):
    # Values that differ by twelve orders of magnitude leave the Newton system no digits; the
    # trainings went on for hours. How much work is done is counted, not timed.
    steps = []
    solve = low_density_problem.solve_svm

    def counted(*args, **options):
        solution = solve(*args, **options)
        steps.append(solution.n_iter)
        return solution

    monkeypatch.setattr(low_density_problem, "solve_svm", counted)
    X = np.random.RandomState(0).normal(size=(16, 3))
    X[::7] *= 1e12
    y = np.where(np.arange(16) < 6, np.arange(16) % 2, -1)
    with pytest.warns(ConvergenceWarning):
        machine = TransductiveSVC(solver=solver).fit(X, y)
    assert not machine.converged_
    assert np.isfinite(machine.label_distributions_).all()
    assert max(steps) <= low_density_problem.MAX_STEPS
    assert sum(steps) < 20_000


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
@pytest.mark.parametrize("cls", [TransductiveSVC, S4VM])
def test_values_whose_squares_overflow_are_refused(cls, kernel):
    X = [[0.0, 1e200], [1.0, -1e200], [2.0, 1e100]]
    if cls is S4VM and kernel == "poly":
        pytest.skip("S4VM has no such kernel")
    with pytest.raises(ValueError, match=rf"{cls.__name__}.*column 1 are too large.*1e\+200"):
        cls(kernel=kernel).fit(X, [0, 1, -1])


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("seed", range(6))
def test_names_do_not_decide_who_gets_the_odd_row(n_classes, seed):
    # Two labels per class and one row too many for equal shares: it went to the later class.
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(3 * n_classes + 1, 3))
    codes = np.concatenate([np.repeat(np.arange(n_classes), 2), np.full(n_classes + 1, -1)])
    turned = np.where(codes < 0, -1, n_classes - 1 - codes)
    P = TransductiveSVC().fit(X, codes).predict_proba(X)
    assert_allclose(TransductiveSVC().fit(X, turned).predict_proba(X)[:, ::-1], P, atol=1e-6)


def test_the_odd_row_goes_where_its_score_is():
    # Two labels per class, three rows: two are clear, and the third is nearer to one of them.
    for odd, counts in ((-0.5, [2, 1]), (0.5, [1, 2])):
        X = np.array([[-2.0], [-2.1], [2.0], [2.1], [-1.9], [1.9], [odd]])
        machine = TransductiveSVC().fit(X, [0, 0, 1, 1, -1, -1, -1])
        assert_array_equal(np.bincount(machine.transduction_[4:]), counts)


@pytest.mark.parametrize(
    ("fractions", "n_rows", "tied", "counts"),
    [
        ([0.5, 0.5], 5, [0, 1], [2, 2]),
        ([0.5, 0.5], 6, [], [3, 3]),
        ([1.0, 0.0], 4, [], [4, 0]),
        ([0.25, 0.35, 0.4], 10, [0, 1], [2, 3, 4]),
        ([3 / 7, 2 / 7, 2 / 7], 5, [1, 2], [2, 1, 1]),
        ([0.6, 0.2, 0.2], 4, [], [2, 1, 1]),  # remainders 0.4, 0.8, 0.8: both get one
        ([0.55, 0.225, 0.225], 6, [1, 2], [3, 1, 1]),
    ],
)
def test_ties_of_whole_rows(fractions, n_rows, tied, counts):
    found, sure = tied_classes(np.array(fractions), n_rows)
    assert_array_equal(found, tied)
    assert_array_equal(sure, counts)


def test_order_of_rows_does_not_decide_where_the_supervised_machine_gives_up():
    rng = np.random.default_rng(3)
    labeled = np.array([[-1.0, 0.2], [1.1, -0.3], [-0.4, -1.0], [0.3, 1.2], [0.25, 0.1]])
    y_labeled = np.array([0, 0, 0, 0, 1])
    # The one positive row is in the midst of the others: w = 0, and all scores are the same.
    supervised = SVC(kernel="linear", C=1.0, tol=1e-9).fit(labeled, y_labeled)
    assert_allclose(supervised.coef_, 0.0, atol=1e-6)
    X = np.vstack([labeled, rng.normal(size=(12, 2))])
    y = np.append(y_labeled, np.full(12, -1))
    first = TransductiveSVC().fit(X, y).decision_function(X)
    for _ in range(5):
        order = rng.permutation(len(X))
        other = TransductiveSVC().fit(X[order], y[order])
        assert_allclose(other.decision_function(X), first, atol=1e-4)


def test_names_do_not_decide_where_two_machines_give_up():
    # Two classes of one label each, in the midst of a third: all their supervised scores are -1,
    # and eight unlabeled rows leave open which of the two gets the odd one.
    X = np.array([[-0.1], [0.3], [-1.0], [1.2], [0.6], [-0.7], [0.9], [-0.4], [0.15], [1.7]])
    X = np.vstack([X, [[-1.6], [0.45], [-0.2]]])
    codes = np.array([0, 2, 1, 1, 1] + [-1] * 8)
    turned = np.where(codes < 0, -1, 2 - codes)
    P = TransductiveSVC().fit(X, codes).predict_proba(X)
    assert_allclose(TransductiveSVC().fit(X, turned).predict_proba(X)[:, ::-1], P, atol=1e-5)
