"""Saved objects come back as they were, and files that are not ours run nothing."""

from __future__ import annotations

import json
import math
import zipfile
from datetime import date, datetime

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from pandas.testing import assert_frame_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC

from leaven.generative import SemiSupervisedGaussianNB
from leaven.graph import EpsilonGraph, KNNGraph
from leaven.graph_based import HarmonicClassifier, LaplacianRLSClassifier
from leaven.low_density import TransductiveSVC
from leaven.persistence import ModelFileError, load_object, read_header, save_object
from leaven.self_labeling import ClusterThenLabel, SelfTrainingClassifier


def there_and_back(value, tmp_path):
    path = tmp_path / "value.leaven"
    save_object(path, value, kind="value")
    return load_object(path, kind="value")


def rows(seed=0):
    rng = np.random.RandomState(seed)
    truth = np.repeat([0, 1, 2], 20)
    return rng.normal(size=(60, 3)) + 2.0 * truth[:, None], truth


SUPERVISED = [
    LogisticRegression(),
    GaussianNB(),
    LinearSVC(),
    SVC(),
    SVC(kernel="poly", C=7.0),
    LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"),
    ExtraTreesClassifier(n_estimators=7, random_state=0),
    RandomForestClassifier(n_estimators=5, random_state=np.random.RandomState(3)),
    KNeighborsClassifier(3),
    GaussianProcessClassifier(1.5 * RBF(2.0)),
    make_pipeline(StandardScaler(), FunctionTransformer(np.tanh), SVC()),
    CalibratedClassifierCV(LinearSVC(), cv=3),
    GridSearchCV(SVC(), {"C": [0.5, 2.0]}, cv=3),
]
SEMI_SUPERVISED = [
    HarmonicClassifier(prior="labeled"),
    HarmonicClassifier(EpsilonGraph(2.5), prior=None),
    HarmonicClassifier(KNNGraph(4, metric="manhattan"), prior=None),
    LaplacianRLSClassifier(prior=None),
    SemiSupervisedGaussianNB(),
    SelfTrainingClassifier(ExtraTreesClassifier(n_estimators=5, random_state=0), threshold=0.7),
    ClusterThenLabel(random_state=0),
    TransductiveSVC(),
    make_pipeline(StandardScaler(), HarmonicClassifier(prior=None)),
]


@pytest.mark.parametrize("model", SUPERVISED, ids=lambda model: str(model)[:40])
def test_supervised_model_predicts_the_same(model, tmp_path):
    X, truth = rows()
    model = clone(model).fit(X, np.array(["a", "b", "c"])[truth])
    again = there_and_back(model, tmp_path)
    new = rows(1)[0]
    assert_array_equal(again.predict(new), model.predict(new))
    if hasattr(model, "predict_proba"):
        assert_array_equal(again.predict_proba(new), model.predict_proba(new))
    assert again.get_params().keys() == model.get_params().keys()


@pytest.mark.parametrize("model", SEMI_SUPERVISED, ids=lambda model: str(model)[:40])
@pytest.mark.filterwarnings("ignore::leaven.exceptions.UnreachedWarning")
def test_semi_supervised_model_predicts_the_same(model, tmp_path):
    X, truth = rows()
    y = np.where(np.arange(60) % 4 == 0, truth, -1)
    model = clone(model).fit(X, y)
    again = there_and_back(model, tmp_path)
    new = rows(1)[0]
    assert_array_equal(again.predict_proba(new), model.predict_proba(new))


def test_tables_and_texts(tmp_path):
    table = pd.DataFrame(
        {"color": ["red", "blue", "red"], "note": ["old car", "new car", "new bus"]}
    )
    steps = make_column_transformer((OneHotEncoder(), ["color"]), (TfidfVectorizer(), "note"))
    expected = steps.fit_transform(table)
    found = there_and_back(steps, tmp_path).transform(table)
    assert_array_equal(np.asarray(found), np.asarray(expected))


@pytest.mark.parametrize("n_rows", [30, 3000])  # brute force, and a compiled tree
def test_neighbors_are_found_again(n_rows, tmp_path):
    X = np.random.RandomState(0).normal(size=(n_rows, 3))
    search = NearestNeighbors(n_neighbors=4, metric="minkowski", p=3).fit(X)
    again = there_and_back(search, tmp_path)
    for found, expected in zip(again.kneighbors(X[:9]), search.kneighbors(X[:9]), strict=True):
        assert_array_equal(found, expected)


def test_what_is_shared_stays_shared(tmp_path):
    graph = KNNGraph(3).fit(rows()[0])
    one, two = there_and_back([FrozenEstimator(graph), FrozenEstimator(graph)], tmp_path)
    assert one.estimator is two.estimator


PLAIN = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(allow_nan=False),
        st.text(),
        st.binary(max_size=9),
        st.dates(),
        st.datetimes(),
        st.builds(slice, st.integers(-3, 9), st.none(), st.none()),
        st.builds(range, st.integers(0, 9)),
        st.sampled_from([np.float32(0.1), np.int8(-3), np.str_("ab"), np.log1p, np.float64, str]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(st.one_of(st.text(), st.integers()), inner, max_size=3),
        st.frozensets(st.text(), max_size=3),
        st.sets(st.integers(), max_size=3),
    ),
    max_leaves=12,
)


@given(PLAIN)
def test_plain_values_come_back_with_their_types(tmp_path_factory, value):
    again = there_and_back(value, tmp_path_factory.mktemp("plain"))
    assert again == value
    assert type(again) is type(value)
    assert repr(again) == repr(value) or isinstance(value, (set, frozenset, dict, list, tuple))


@pytest.mark.parametrize(
    "array",
    [
        np.array([[1.5, math.nan], [-math.inf, 4.0]]),
        np.arange(6, dtype=np.int16).reshape(2, 3).T,
        np.array(["ä", "long"]),
        np.array(["2024-05-06", "NaT"], dtype="datetime64[D]"),
        np.array([(1, 2.5)], dtype=[("a", "i4"), ("b", "f8", (1,))]),
        np.array(3.5),
        np.empty((0, 4)),
        np.array([None, "a", 2.5, pd.NA, date(2020, 3, 4)], dtype=object),
    ],
    ids=lambda array: str(array.dtype),
)
def test_arrays(array, tmp_path):
    again = there_and_back(array, tmp_path)
    assert again.dtype == array.dtype
    assert again.shape == array.shape
    assert again.tolist() == array.tolist() or np.isnan(array.astype(float)).any()
    assert again.flags.writeable


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_array, sparse.csr_matrix])
def test_sparse(kind, tmp_path):
    matrix = kind(np.array([[0.0, 2.5, 0.0], [3.5, 0.0, 4.5]]))
    again = there_and_back(matrix, tmp_path)
    assert type(again) is type(matrix)
    assert_array_equal(again.toarray(), matrix.toarray())


def test_frame(tmp_path):
    frame = pd.DataFrame(
        {
            "number": [1.5, None],
            "whole": pd.array([3, pd.NA], dtype="Int64"),
            "word": pd.array(["a", pd.NA], dtype="string"),
            "category": pd.Categorical(["x", None], categories=["y", "x"], ordered=True),
            "when": pd.to_datetime(["2024-01-02", None]),
            "zone": pd.to_datetime(["2024-01-02", "2024-07-02"]).tz_localize("Europe/Rome"),
            "mixed": ["a", 2],
        },
        index=pd.Index(["r", "s"], name="row"),
    )
    assert_frame_equal(there_and_back(frame, tmp_path), frame)
    assert there_and_back([pd.NaT, datetime(2020, 1, 2, 3)], tmp_path)[0] is pd.NaT


class Foreign:
    pass


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"f": lambda x: x}, r"value\['f'\] is the function"),
        ([0, FunctionTransformer(len)], r"value\[1\].func is the function 'len'"),
        (Foreign(), "is a .*Foreign, which cannot be saved"),
        (pd.MultiIndex.from_tuples([(1, 2)]), "more than one part"),
        (Foreign, "is the class .*Foreign"),
    ],
)
def test_what_cannot_be_saved_is_named(value, message, tmp_path):
    path = tmp_path / "value.leaven"
    with pytest.raises(ModelFileError, match=message):
        save_object(path, value, kind="value")
    assert not list(tmp_path.iterdir())


def rewritten(path, change):
    """Write a file again with another header, objects or arrays, and a fingerprint that fits."""
    import hashlib

    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    header, objects = json.loads(parts["header.json"]), json.loads(parts["objects.json"])
    change(header, objects)
    parts["objects.json"] = json.dumps(objects).encode()
    digest = hashlib.sha256(parts["objects.json"] + parts["arrays.bin"]).hexdigest()
    header["fingerprint"] = digest
    parts["header.json"] = json.dumps(header).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return path


@pytest.fixture
def forest(tmp_path):
    X, truth = rows()
    model = ExtraTreesClassifier(n_estimators=2, random_state=0).fit(X, truth)
    save_object(tmp_path / "forest.leaven", model, kind="forest", about={"n_rows": 60})
    return tmp_path / "forest.leaven"


@pytest.mark.parametrize("more", [0, 1])
def test_a_header_has_four_mebibytes_at_most(forest, tmp_path, more):
    path = tmp_path / "long.leaven"
    with zipfile.ZipFile(forest) as old, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            content = old.read(name)
            new.writestr(
                name, content.ljust(4 * 2**20 + more) if name == "header.json" else content
            )
    if more:
        with pytest.raises(ModelFileError, match="the header is too long"):
            read_header(path)
    else:
        assert read_header(path).kind == "forest"


def test_header(forest):
    header = read_header(forest)
    assert header.kind == "forest"
    assert header.about == {"n_rows": 60}
    assert header.versions["numpy"] == np.__version__
    assert datetime.fromisoformat(header.created).year >= 2024


@pytest.mark.parametrize(
    "name",
    [
        "os.system",
        "subprocess.Popen",
        "builtins.eval",
        "leaven._files.atomic_output",
        "leaven.persistence._file.save_object",
        "sklearn.utils.os.system",
        "sklearn.os",
        "sklearn.ensemble",
        "leaven..x",
    ],
)
def test_other_classes_are_refused(name, forest):
    def change(header, objects):
        objects["root"]["class"] = name

    with pytest.raises(ModelFileError, match="The file asks for"):
        load_object(rewritten(forest, change), kind="forest")


def test_wrong_numbers_in_a_tree_are_refused(forest):
    # The compiled code would read outside of the tree.
    def find(node):
        if isinstance(node, dict) and node.get("is") == "tree":
            return node
        for inner in node.values() if isinstance(node, dict) else node:
            found = find(inner) if isinstance(inner, (dict, list)) else None
            if found:
                return found
        return None

    def change(header, objects):
        find(objects["root"])["n_features"] = 1

    with pytest.raises(ModelFileError, match="missing column"):
        load_object(rewritten(forest, change), kind="forest")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda header, objects: header.update(format=2), r"has format 2.*Install that version"),
        (lambda header, objects: header.update(format=0), r"has format 0.*Label the table again"),
        (lambda header, objects: header.update(magic="x"), "not a model file of leaven"),
        (lambda header, objects: header.pop("kind"), "not a model file of leaven"),
        (lambda header, objects: header.update(kind="a"), "holds a a, not a forest"),
        (lambda header, objects: objects.update(root={"is": "?"}), "unknown kind"),
        (lambda header, objects: objects.update(root={"is": "same", "id": 9}), "before it"),
        (lambda header, objects: objects.update(arrays=[["<f8", [9**9], 0]]), "shorter than"),
        (lambda header, objects: objects.update(arrays=[["|O", [1], 0]]), "Python objects"),
        (lambda header, objects: objects.pop("root"), "is damaged"),
    ],
)
def test_foreign_and_newer_files_are_refused_in_one_line(change, message, forest):
    with pytest.raises(ModelFileError, match=message) as caught:
        load_object(rewritten(forest, change), kind="forest")
    assert "\n" not in str(caught.value)


def test_every_truncation_and_bit_flip_is_noticed(forest, tmp_path):
    content = forest.read_bytes()
    rng = np.random.RandomState(0)
    damaged = tmp_path / "damaged.leaven"
    expected = load_object(forest, kind="forest").predict_proba(rows(1)[0])
    for cut in rng.randint(0, len(content), 60):
        damaged.write_bytes(content[:cut])
        with pytest.raises(ModelFileError):
            load_object(damaged, kind="forest")
    for place in rng.randint(0, len(content), 150):
        flipped = bytearray(content)
        flipped[place] ^= 1 << rng.randint(8)
        damaged.write_bytes(flipped)
        try:
            again = load_object(damaged, kind="forest")
        except ModelFileError:
            continue
        # Some bits of a zip file carry nothing, such as a date.
        assert_array_equal(again.predict_proba(rows(1)[0]), expected)


def test_a_bit_that_says_encrypted_is_damage(forest, tmp_path):
    content = bytearray(forest.read_bytes())
    place = content.find(b"PK\x01\x02")
    while place >= 0:  # of every file in the directory at the end
        content[place + 8] |= 1
        place = content.find(b"PK\x01\x02", place + 1)
    damaged = tmp_path / "damaged.leaven"
    damaged.write_bytes(content)
    with pytest.raises(ModelFileError):
        load_object(damaged, kind="forest")


def test_paths(tmp_path):
    for path in (tmp_path / "no.leaven", tmp_path, "a\0b"):
        with pytest.raises(ModelFileError, match="cannot be opened"):
            read_header(path)
    (tmp_path / "text.leaven").write_text("plain text")
    with pytest.raises(ModelFileError, match="not a model file of leaven"):
        read_header(tmp_path / "text.leaven")


def test_a_file_that_points_before_its_beginning_is_damaged(forest, tmp_path):
    # zipfile seeks to a negative offset, and the system says "Invalid argument".
    content = bytearray(forest.read_bytes())
    end = content.rindex(b"PK\5\6")
    content[end + 16 : end + 20] = (2**32 - 2).to_bytes(4, "little")
    (tmp_path / "damaged.leaven").write_bytes(content)
    for read in (read_header, lambda path: load_object(path, kind="forest")):
        with pytest.raises(ModelFileError, match="damaged"):
            read(tmp_path / "damaged.leaven")
