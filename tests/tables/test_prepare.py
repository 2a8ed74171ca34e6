"""Columns to features: scales, categories, texts, weights."""

from __future__ import annotations

import pickle
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from leaven._distinct import distinct_rows
from leaven.tables import TableError, TablePreparer
from leaven.tables import _columns as columns_module
from leaven.tables import _prepare as prepare_module
from leaven.tables._column_weights import (
    block_weights,
    category_weight,
    class_separation,
    column_weights,
    distance_spread,
)
from leaven.tables._columns import CategoryColumns, NumberColumns, TextColumn
from leaven.tables._kinds import ColumnKind


def mixed_table(n: int = 80) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    words = np.array(["bill", "refund", "crash", "error", "late", "parcel", "thanks", "please"])
    return pd.DataFrame(
        {
            "id": np.arange(n),
            "size": rng.normal(size=n),
            "gaps": np.where(rng.random(n) < 0.3, np.nan, rng.normal(size=n)),
            "color": rng.choice(["red", "green", "blue"], n),
            "when": pd.date_range("2024-01-01", periods=n, freq="7h").strftime("%Y-%m-%d %H:%M"),
            "note": [" ".join(rng.choice(words, 6)) for _ in range(n)],
            "same": "x",
        }
    )


def numbers(**columns: object) -> tuple[NumberColumns, pd.DataFrame]:
    table = pd.DataFrame(columns)
    return NumberColumns([ColumnKind(name, "number") for name in table]), table


# Numbers


def test_numbers_have_mean_zero_and_variance_one() -> None:
    rng = np.random.default_rng(1)
    transformer, table = numbers(a=rng.normal(5, 3, 200), b=rng.uniform(0, 1e-3, 200))
    Z = transformer.fit_transform(table)
    assert Z.dtype == np.float32
    assert_allclose(Z.mean(axis=0), 0, atol=1e-5)
    assert_allclose(Z.std(axis=0), 1, atol=1e-5)


def test_an_outlier_does_not_squeeze_the_others() -> None:
    values = np.append(np.arange(99.0), 1e9)
    transformer, table = numbers(a=values)
    Z = transformer.fit_transform(table)[:, 0]
    # Quartiles 24.75 and 74.25: three robust deviations above the median of 49.5 are
    # 49.5 + 3 * 49.5 / 1.349, and the outlier is moved there.
    clipped = np.append(np.arange(99.0), 49.5 + 3 * 49.5 / 1.349)
    assert_allclose(Z, (clipped - clipped.mean()) / clipped.std(), rtol=1e-5)


def test_a_column_of_mostly_zeros_keeps_its_spread() -> None:
    transformer, table = numbers(a=[0.0] * 90 + [5.0] * 10)
    Z = transformer.fit_transform(table)[:, 0]
    assert_allclose(Z.std(), 1, atol=1e-5)
    assert len(np.unique(Z)) == 2


def test_missing_numbers_are_the_median_and_marked() -> None:
    values = [1.0, 2.0, 4.0, 8.0, 3.0, None, None, 5.0]
    transformer, table = numbers(full=np.arange(8.0), a=values)
    Z = transformer.fit_transform(table)
    assert_array_equal(Z[:, 2], [0, 0, 0, 0, 0, 1, 1, 0])
    filled = np.array([1, 2, 4, 8, 3, 3.5, 3.5, 5])
    assert_allclose(Z[:, 1], (filled - filled.mean()) / filled.std(), rtol=1e-5)
    assert transformer.get_feature_names_out().tolist() == ["full", "a", "a_missing"]
    assert_array_equal(transformer.source_, [0, 1, 1])
    # Missing for the first time after fit: the median, without a mark.
    new = transformer.transform(pd.DataFrame({"full": [None], "a": [1.0]}))
    assert_allclose(new[0, 0], 0, atol=1e-6)


# Levels


def categories(*columns: list, max_categories: int = 50) -> tuple[CategoryColumns, pd.DataFrame]:
    table = pd.DataFrame({f"c{j}": column for j, column in enumerate(columns)})
    return CategoryColumns([ColumnKind(name, "category") for name in table], max_categories), table


@pytest.mark.parametrize("share", [0.0, 0.001, 0.3])
def test_numbers_are_read_once_to_learn_and_transform(
    monkeypatch: pytest.MonkeyPatch, share: float
) -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(1000, 3)).round(3).astype(str)).add_prefix("x")
    table.loc[rng.random(1000) < share, "x1"] = "NA"
    columns = NumberColumns([ColumnKind(name, "number") for name in table.columns])
    expected = columns.fit(table).transform(table)
    calls = []
    read = columns_module.as_numbers

    def counted(values: pd.Series, kind: ColumnKind) -> np.ndarray:
        calls.append(kind.name)
        return read(values, kind)

    monkeypatch.setattr(columns_module, "as_numbers", counted)
    both = clone(columns)
    found = both.fit_transform(table)
    assert calls == ["x0", "x1", "x2"]
    assert found.dtype == np.float32
    assert_array_equal(found, expected)
    assert_array_equal(both.source_, columns.source_)
    assert_array_equal(both.transform(table), expected)


def test_different_categories_have_squared_distance_one() -> None:
    transformer, table = categories(["a", "b", "c"] * 4, ["x", "y"] * 6)
    Z = transformer.fit_transform(table).toarray()
    assert Z.shape == (12, 4)
    for i, j in combinations(range(12), 2):
        differ = (table.iloc[i] != table.iloc[j]).sum()
        assert_allclose(((Z[i] - Z[j]) ** 2).sum(), differ, rtol=1e-5)


def test_rare_categories_are_together_and_the_missing_ones_a_category() -> None:
    transformer, table = categories(["a"] * 5 + ["b"] * 4 + ["c", "d"] + [None] * 3)
    Z = transformer.fit_transform(table).toarray()
    names = transformer.get_feature_names_out().tolist()
    assert names == ["c0_(missing)", "c0_a", "c0_b", "c0_(other)"]
    assert_array_equal(Z.argmax(axis=1), [1] * 5 + [2] * 4 + [3] * 2 + [0] * 3)
    new = transformer.transform(pd.DataFrame({"c0": ["new", "a"]})).toarray()
    assert_array_equal(new.argmax(axis=1), [3, 1])


def test_most_frequent_categories_are_kept() -> None:
    column = [f"l{i}" for i in range(10) for _ in range(i + 2)]
    transformer, table = categories(column, max_categories=3)
    assert transformer.fit_transform(table).shape[1] == 4
    names = transformer.get_feature_names_out().tolist()
    assert names == ["c0_l7", "c0_l8", "c0_l9", "c0_(other)"]


def test_unknown_categories_without_rare_ones_are_none() -> None:
    transformer, table = categories(["a", "b", "c"] * 4)
    transformer.fit(table)
    assert transformer.transform(pd.DataFrame({"c0": ["new"]})).nnz == 0


def test_categories_that_all_occur_once_give_nothing() -> None:
    transformer, table = categories(["a", "b", "c"], ["x", "x", "y"])
    Z = transformer.fit_transform(table)
    assert Z.shape == (3, 1)
    assert transformer.get_feature_names_out().tolist() == ["c1_(other)"]


# Texts


def test_texts_are_unit_vectors_or_zero() -> None:
    note = mixed_table()["note"]
    note.iloc[3] = ""
    for n_components in (None, 5):
        Z = TextColumn(n_components=n_components, random_state=0).fit_transform(note)
        assert sparse.issparse(Z) == (n_components is None)
        assert Z.dtype == np.float32
        dense = Z.toarray() if sparse.issparse(Z) else Z
        norms = np.linalg.norm(dense, axis=1)
        assert_allclose(np.delete(norms, 3), 1, rtol=1e-5)
        assert norms[3] == 0


def test_two_texts_are_too_few_to_decompose() -> None:
    Z = TextColumn(n_components=5).fit_transform(pd.Series(["red apple", "green pear"]))
    assert_allclose(Z @ Z.T, np.eye(2), atol=1e-6)


@pytest.mark.parametrize(
    "texts",
    [
        ["alpha beta", "gamma delta"],  # no word twice
        ["same words", "same words"],  # every word in every text
        ["! ?", ". ;", "! !"],  # no words at all
        ["我爱你们吗", "我爱她们吗", "天气很好啊", "天气不好啊"],
    ],
)
def test_texts_that_are_hard_to_split(texts: list[str]) -> None:
    column = TextColumn().fit(pd.Series(texts))
    Z = column.transform(pd.Series(texts))
    assert Z.shape == (len(texts), len(column.get_feature_names_out()))
    assert Z.nnz > 0


def test_scripts_without_spaces_are_split_into_signs() -> None:
    texts = pd.Series(["我爱你们吗", "我爱她们吗", "天气很好啊", "天气不好啊"])
    Z = TextColumn().fit_transform(texts).toarray()
    similar = Z @ Z.T
    assert similar[0, 1] > 0.3
    assert similar[2, 3] > 0.3
    assert similar[0, 2] == 0


# Weights


@settings(max_examples=25, deadline=None)
@given(
    arrays(np.float64, (12, 3), elements=st.sampled_from([0.0, 1.0, 2.5, -4.0])),
    arrays(np.intp, 12, elements=st.integers(-1, 2)),
    st.booleans(),
)
def test_class_separation_against_all_pairs(Z: np.ndarray, codes: np.ndarray, dense: bool) -> None:
    groups = np.array([0, 1, 0])
    distances: dict[tuple[int, int], list[np.ndarray]] = {}
    for i, j in combinations(range(12), 2):
        if codes[i] >= 0 and codes[j] >= 0:
            d = (Z[i] - Z[j]) ** 2
            pair = tuple(sorted((int(codes[i]), int(codes[j]))))
            distances.setdefault(pair, []).append(np.array([d[0] + d[2], d[1]]))
    same = [np.mean(d, axis=0) for (a, b), d in distances.items() if a == b]
    different = [d for (a, b), ds in distances.items() if a != b for d in ds]
    found = class_separation(Z if dense else sparse.csr_matrix(Z), codes, groups, 2)
    if not same or not different:
        assert found is None
    else:
        assert_allclose(found, np.mean(different, axis=0) - np.mean(same, axis=0), atol=1e-9)


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_matrix])
def test_distance_spread_of_a_normal_column(convert: type) -> None:
    Z = np.random.default_rng(0).normal(size=(3000, 2)) * [1, 3]
    spread = distance_spread(convert(Z), np.array([0, 1]), 2, np.random.RandomState(0))
    # (x - x')² is 2 σ² times chi-squared with one degree of freedom, of variance 2.
    assert_allclose(spread, np.array([1, 9]) * 2 * np.sqrt(2), rtol=0.1)


def test_more_labels_are_believed_more() -> None:
    few = column_weights(np.array([1.0, 0.0]), np.ones(2), 1.0)
    many = column_weights(np.array([1.0, 0.0]), np.ones(2), 50.0)
    assert_allclose([few.mean(), many.mean()], 1)
    assert many[0] - many[1] > few[0] - few[1] > 0
    assert_allclose(column_weights(np.array([-1.0, 0.0]), np.ones(2), 5.0), [1, 1])


def test_blocks_without_labels_have_equal_spread() -> None:
    spread = np.array([4.0, 0.5])
    weights = block_weights(None, spread)
    assert_allclose(weights * spread, [0.5, 0.5])
    useful = block_weights(np.array([0.0, 0.4]), spread)
    assert useful[0] < weights[0]


def test_the_useless_block_does_not_choose_the_neighbors() -> None:
    rng = np.random.default_rng(0)
    n = 120
    truth = np.arange(n) % 2
    topics = [["bill", "refund", "money", "charge"], ["crash", "error", "screen", "freeze"]]
    others = ["please", "today", "hello", "thanks", "team", "again"]
    note = [" ".join([*rng.choice(topics[t], 3), *rng.choice(others, 3)]) for t in truth]
    noise = [" ".join(rng.choice(others, 6)) for _ in truth]
    useful = truth + rng.normal(scale=0.2, size=n)
    numbers = {name: rng.normal(size=n) for name in "abcd"}
    tables = {
        "note": pd.DataFrame({"note": note, **numbers}),
        "a": pd.DataFrame({"note": noise, "a": useful}),
    }
    y = np.where(np.arange(n) < 12, truth, -1)
    for name, table in tables.items():
        preparer = TablePreparer(text=["note"], random_state=0)
        Z = preparer.fit_transform(table, y)
        distance = ((Z[:, None] - Z[None]) ** 2).sum(axis=-1)
        np.fill_diagonal(distance, np.inf)
        assert (truth[distance.argmin(axis=1)] == truth).mean() > 0.9, name
        plain = TablePreparer(text=["note"], random_state=0).fit(table).weights_
        weight = preparer.weights_
        assert weight[name] / max(weight.values()) >= plain[name] / max(plain.values())


def test_a_few_categories_are_as_far_as_the_tenth_neighbor() -> None:
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(300, 6)).astype(np.float32)
    distance = np.sqrt(((numbers[:, None] - numbers[None]) ** 2).sum(axis=-1))
    tenth = np.median(np.sort(distance, axis=1)[:, 10]) ** 2
    scaled = numbers * np.float32(np.sqrt(0.5 / tenth))
    assert_allclose(category_weight(scaled, 1, np.random.RandomState(0)), 0.5, rtol=1e-3)
    near = category_weight(numbers * 1e-3, 3, np.random.RandomState(0))
    assert_allclose(near, 0.25)
    assert category_weight(numbers * 1e-3, 6, np.random.RandomState(0)) == 1.0
    assert category_weight(numbers * 100, 1, np.random.RandomState(0)) == 1.0
    assert category_weight(numbers[:, :0], 1, np.random.RandomState(0)) == 1.0


def test_a_useless_category_does_not_cut_the_table_into_pieces() -> None:
    rng = np.random.default_rng(0)
    n = 400
    plane = rng.normal(size=(n, 2)) @ rng.normal(size=(2, 8))
    table = pd.DataFrame(plane).rename(columns=str).assign(noise=rng.choice(["a", "b"], n))
    Z = TablePreparer(random_state=0).fit_transform(table)
    distance = ((Z[:, None] - Z[None]) ** 2).sum(axis=-1)
    nearest = np.argsort(distance, axis=1)[:, 1:11]
    level = table["noise"].to_numpy()
    mixed = (level[nearest] != level[:, None]).any(axis=1)
    assert mixed.mean() > 0.8


# Copies


@settings(max_examples=25, deadline=None)
@given(arrays(np.float32, (15, 3), elements=st.sampled_from([0.0, -0.0, 1.0, 2.0])), st.booleans())
def test_distinct_rows_against_numpy(Z: np.ndarray, dense: bool) -> None:
    first, inverse = distinct_rows(Z if dense else sparse.csr_matrix(Z))
    assert_array_equal(Z[first][inverse], Z)
    assert len(first) == len(np.unique(Z + 0.0, axis=0))
    assert (np.diff(first) > 0).all()


def test_rows_with_the_same_hash_stay_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    from leaven import _distinct

    monkeypatch.setattr(_distinct, "_row_hashes", lambda Z: np.zeros(Z.shape[0], dtype=np.uint64))
    Z = np.array([[1], [2], [1], [2]], dtype=np.float32)
    first, inverse = distinct_rows(Z)
    assert_array_equal(Z[first][inverse], Z)


# The whole


def test_mixed_table() -> None:
    table = mixed_table()
    before = table.copy(deep=True)
    preparer = TablePreparer(random_state=0)
    Z = preparer.fit_transform(table)
    assert isinstance(Z, np.ndarray)
    assert Z.dtype == np.float32
    assert np.isfinite(Z).all()
    assert preparer.metric_ == "euclidean"
    assert preparer.dropped_ == {"id": "an id: every value is distinct", "same": "constant"}
    assert set(preparer.weights_) == {"size", "gaps", "color", "when", "note"}
    assert len(preparer.get_feature_names_out()) == Z.shape[1]
    assert_allclose(preparer.transform(table), Z, atol=1e-6)
    pd.testing.assert_frame_equal(table, before)
    again = pickle.loads(pickle.dumps(preparer)).transform(table)
    assert_array_equal(again, preparer.transform(table))
    assert_array_equal(clone(preparer).fit_transform(table), Z)


def test_strings_and_types_give_the_same_features() -> None:
    table = mixed_table()
    typed = table.assign(
        when=pd.to_datetime(table["when"]), color=table["color"].astype("category")
    )
    text = table.astype({"id": str, "size": str}).assign(gaps=table["gaps"].astype(str))
    expected = TablePreparer(random_state=0).fit_transform(table)
    for other in (typed, text.replace({"gaps": {"nan": ""}})):
        assert_allclose(TablePreparer(random_state=0).fit_transform(other), expected, atol=1e-5)


def test_text_alone_is_sparse_and_cosine(monkeypatch: pytest.MonkeyPatch) -> None:
    table = mixed_table()[["id", "note"]]
    preparer = TablePreparer(random_state=0)
    Z = preparer.fit_transform(table)
    assert sparse.issparse(Z)
    assert preparer.metric_ == "cosine"
    assert preparer.weights_ == {"note": 1.0}
    monkeypatch.setattr(prepare_module, "_DENSE_TEXT_FROM", 50)
    assert isinstance(TablePreparer(text_components=4).fit_transform(table), np.ndarray)


def test_two_texts_are_weighed() -> None:
    table = mixed_table()[["note"]].assign(title=lambda t: t["note"].str[:12])
    y = np.arange(len(table)) % 2
    preparer = TablePreparer(text=["title"], random_state=0)
    Z = preparer.fit_transform(table, y)
    assert sparse.issparse(Z)
    assert max(preparer.weights_.values()) == 1.0
    assert_allclose(preparer.transform(table).toarray(), Z.toarray(), atol=1e-6)


def test_large_tables_have_fewer_categories_or_stay_sparse(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({c: rng.choice([f"l{i}" for i in range(30)], 400) for c in "ab"})
    assert TablePreparer().fit_transform(table).shape[1] == 60
    monkeypatch.setattr(prepare_module, "_MAX_DENSE_ENTRIES", 400 * 20)
    assert TablePreparer().fit_transform(table).shape[1] == 22
    monkeypatch.setattr(prepare_module, "_MAX_DENSE_ENTRIES", 400)
    Z = TablePreparer(random_state=0).fit_transform(table, np.arange(400) % 2)
    assert sparse.issparse(Z)
    assert Z.shape[1] == 12


def test_columns_in_which_the_classes_differ_count_more() -> None:
    rng = np.random.default_rng(0)
    truth = np.arange(60) % 3
    table = pd.DataFrame(
        {
            "useful": truth + rng.normal(scale=0.3, size=60),
            "noise": rng.normal(size=60),
            "level": np.array(["a", "b", "c"])[truth],
            "other": rng.choice(["x", "y"], 60),
        }
    )
    names = pd.Series(np.array(["p", "q", "r"])[truth]).where(np.arange(60) < 15)
    weights = TablePreparer(random_state=0).fit(table, names).weights_
    assert min(weights["useful"], weights["level"]) > 2 * max(weights["noise"], weights["other"])
    nothing = TablePreparer(random_state=0).fit(table, pd.Series([None] * 60)).weights_
    assert set(nothing.values()) == {1.0}
    with pytest.raises(ValueError, match="X has 60 rows, but y has 3"):
        TablePreparer().fit(table, [0, 1, -1])


def test_errors() -> None:
    with pytest.raises(TableError, match=r"no column to learn from; dropped: 'a' \(constant\)"):
        TablePreparer().fit(pd.DataFrame({"a": [1, 1]}))
    with pytest.raises(TableError, match="no value is frequent"):
        TablePreparer().fit(pd.DataFrame({"a": ["x", None], "b": [None, "y"]}))
    with pytest.raises(ValueError, match="max_categories"):
        TablePreparer(max_categories=1).fit(mixed_table())
    with pytest.raises(TableError, match="no text column 'nope'"):
        TablePreparer(text=["nope"]).fit(mixed_table())
    with pytest.raises(ValueError, match="0 sample"):
        TablePreparer().fit(mixed_table().iloc[:0])
    with pytest.raises(ValueError, match="feature names"):
        TablePreparer().fit(mixed_table()).transform(mixed_table().drop(columns="id"))


@parametrize_with_checks([TablePreparer(random_state=0)])
def test_sklearn_contract(estimator: TablePreparer, check: object) -> None:
    check(estimator)  # type: ignore[operator]


def test_the_former_name_of_max_categories() -> None:
    column = pd.DataFrame({"c": list("abcd") * 6 + list("e") * 9})
    new = TablePreparer(max_categories=2, random_state=0).fit_transform(column)
    with pytest.warns(FutureWarning, match="max_levels of TablePreparer is deprecated since"):
        old = TablePreparer(max_levels=2, random_state=0).fit_transform(column)
    np.testing.assert_array_equal(old, new)
    assert old.shape[1] == 3  # two categories and the rest
