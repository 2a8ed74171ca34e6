"""Loading from a small directory that is made here, and from scikit-learn."""

from __future__ import annotations

import gzip
import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.utils import Bunch

from leaven._labels import encode_labels
from leaven.datasets import _loaders, describe, list_available, load

ZOO = """fur,legs,color,target
True,4,none,mammal
False,2,?,bird
,0,NA,fish
"""
WINE = "alcohol,ash,target\n14,2.5,1\n13,,1\n12.5,2.25,3\n"
ADULT = "age,job,target\n39,clerk,<=50K\n50,,>50K\n"
ARCENE = "a,b,target\n1,2,-1\n3,4,1\n5,6,-1\n"


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode(), mtime=0))
    else:
        path.write_text(text, encoding="utf-8")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write(tmp_path / "uci-discrete" / "zoo.csv.gz", ZOO)
    write(tmp_path / "uci-discrete" / "car.csv", ZOO)  # known by name only, not compressed
    write(tmp_path / "uci-continuous" / "wine.csv.gz", WINE)
    write(tmp_path / "uci-continuous" / "adult.csv.gz", ADULT)
    write(tmp_path / "uci-continuous" / "arcene.csv.gz", ARCENE)
    write(tmp_path / "uci-continuous" / "my-own.csv.gz", WINE)
    (tmp_path / "uci-continuous" / ".hidden.csv").write_text("")
    (tmp_path / "uci-continuous" / "notes.txt").write_text("")
    (tmp_path / "digits").mkdir()
    images = (np.arange(5 * 28 * 28) % 251).astype(np.uint8).reshape(5, 28, 28)
    label = np.array([7, 2, 1, 0, 4], dtype=np.uint8)
    np.savez(
        tmp_path / "digits" / "mnist.npz",
        x_train=images[:3],
        y_train=label[:3],
        x_test=images[3:],
        y_test=label[3:],
    )
    np.savez(tmp_path / "digits" / "usps.npz", X=np.ones((4, 256)), y=np.array([3, 3, 8, 9]))
    monkeypatch.setenv("LEAVEN_DATA", str(tmp_path))
    return tmp_path


@pytest.fixture
def home_with_texts(home: Path) -> Path:
    pytest.importorskip("pyarrow", exc_type=ImportError)
    (home / "text").mkdir()
    news = pd.DataFrame(
        {
            "text": ["the game", "the motor", "the puck"],
            "group": ["sport", "autos", "sport"],
            "subset": ["train", "test", "test"],
            "doc_id": ["1", "2", "3"],
        }
    )
    news.to_parquet(home / "text" / "20news-bydate.parquet", compression="zstd")
    news.assign(subset="all").to_parquet(home / "text" / "20news-18828.parquet")
    pd.DataFrame({"words": ["a"]}).to_parquet(home / "text" / "bare-text.parquet")
    return home


@pytest.fixture
def no_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LEAVEN_DATA", raising=False)


def test_discrete_table(home: Path) -> None:
    zoo = load("zoo")
    assert isinstance(zoo, Bunch)
    assert zoo.kind == "discrete"
    assert zoo.feature_names == ["fur", "legs", "color"] == list(zoo.data.columns)
    # Only the empty cell is missing; words that pandas would take for missing are values.
    assert zoo.data["color"].tolist() == ["none", "?", "NA"]
    assert zoo.data["legs"].tolist() == ["4", "2", "0"]
    assert zoo.data["fur"].tolist()[:2] == ["True", "False"]
    assert zoo.data.isna().to_numpy().sum() == 1
    assert pd.isna(zoo.data.loc[2, "fur"])
    assert zoo.target.tolist() == ["mammal", "bird", "fish"]
    assert zoo.target_names == ["bird", "fish", "mammal"]
    assert zoo.source == str(home / "uci-discrete" / "zoo.csv.gz")
    assert zoo.DESCR == "zoo: 3 rows, 3 features, 3 classes; discrete. 1 missing values."


def test_continuous_table_is_float_and_its_classes_are_strings(home: Path) -> None:
    wine = load("wine")
    assert wine.kind == "continuous"
    assert (wine.data.dtypes == np.float64).all()
    np.testing.assert_array_equal(wine.data, [[14, 2.5], [13, np.nan], [12.5, 2.25]])
    assert wine.target.tolist() == ["1", "1", "3"]
    assert wine.subset is None
    assert wine.image_shape is None


def test_mixed_table(home: Path) -> None:
    adult = load("adult")
    assert adult.kind == "mixed"
    assert adult.data["age"].tolist() == [39.0, 50.0]
    assert adult.data["job"].tolist()[0] == "clerk"
    assert pd.isna(adult.data.loc[1, "job"])


def test_booleans_in_a_mixed_table_stay_words(home: Path) -> None:
    write(home / "uci-continuous" / "flags.csv", "b,a,c,target\nTrue,1,True,x\nFalse,2,,y\n")
    flags = load("flags")
    assert flags.kind == "mixed"
    assert list(flags.data.columns) == flags.feature_names == ["b", "a", "c"]
    assert flags.data["b"].tolist() == ["True", "False"]
    assert flags.data["c"].tolist()[0] == "True"
    assert pd.isna(flags.data.loc[1, "c"])


def test_minus_one_is_not_a_class_name(home: Path) -> None:
    target = load("arcene").target
    assert target.tolist() == ["negative", "positive", "negative"]
    encode_labels(target)  # does not refuse it
    write(home / "uci-continuous" / "three.csv", "a,target\n1,-1\n2,0\n3,1\n4,\n")
    named = load("three").target
    assert named.tolist()[:3] == ["negative", "0", "1"]
    assert pd.isna(named[3])


def test_text(home_with_texts: Path) -> None:
    news = load("20news-bydate")
    assert news.kind == "text"
    assert news.data.tolist() == ["the game", "the motor", "the puck"]
    assert news.target.tolist() == ["sport", "autos", "sport"]
    assert news.target.name == "target"
    assert news.subset.tolist() == ["train", "test", "test"]
    assert news.feature_names is None
    assert load("20news-18828").subset is None
    test = load("20news-bydate", subset="test")
    assert test.data.tolist() == ["the motor", "the puck"]
    assert test.data.index.tolist() == [0, 1]
    with pytest.raises(ValueError, match=r"must have the column 'text'.*it has \['words'\]"):
        load("bare-text")
    table = list_available().set_index("name")
    assert table.loc["20news-bydate", "available"]


def test_images(home: Path) -> None:
    mnist = load("mnist")
    assert mnist.kind == "image"
    assert mnist.data.dtype == np.uint8
    assert mnist.data.shape == (5, 784)
    np.testing.assert_array_equal(mnist.data[1], np.arange(784, 2 * 784) % 251)
    assert mnist.target.dtype == np.int64
    assert mnist.target.tolist() == [7, 2, 1, 0, 4]
    assert mnist.image_shape == (28, 28)
    usps = load("usps")
    assert usps.data.shape == (4, 256)
    assert usps.image_shape == (16, 16)
    assert usps.target.tolist() == [3, 3, 8, 9]


def test_images_that_are_no_images(home: Path) -> None:
    np.savez(home / "digits" / "odd.npz", z=np.ones(3))
    with pytest.raises(ValueError, match=r"must hold the arrays x_train.*it holds \['z'\]"):
        load("odd")


def test_subset(home: Path) -> None:
    X, y = load("mnist", subset="test", return_X_y=True)
    assert len(X) == 2
    assert y.tolist() == [0, 4]
    with pytest.raises(ValueError, match=r"zoo has no part 'train'.*Use subset='all'"):
        load("zoo", subset="train")
    with pytest.raises(ValueError, match=r"subset must be one of \['all', 'train', 'test'\]"):
        load("zoo", subset="valid")
    # This adult.csv.gz is not the published one, of which the size of the train part is known.
    with pytest.raises(ValueError, match="has no part"):
        load("adult", subset="train")


def test_parts_by_position(home: Path) -> None:
    rows = "\n".join(f"{i},{i % 2}" for i in range(1250))
    write(home / "uci-continuous" / "synthetic.csv.gz", f"x,target\n{rows}\n")
    train, test = (load("synthetic", subset=part).data["x"] for part in ("train", "test"))
    assert train.tolist() == list(range(250))
    assert test.tolist() == list(range(250, 1250))
    assert test.index[0] == 0


def test_any_file_is_found_by_name(home: Path) -> None:
    assert load("my-own").kind == "continuous"
    assert load("car").data.shape == (3, 3)
    assert load("ZOO").name == "zoo"  # the case does not matter


def test_return_X_y(home: Path) -> None:
    X, y = load("zoo", return_X_y=True)
    assert X.shape == (3, 3)
    assert len(y) == 3


def test_data_home_goes_before_the_variable(home: Path, tmp_path_factory: Any) -> None:
    other = tmp_path_factory.mktemp("other")
    write(other / "uci-discrete" / "zoo.csv.gz", "a,target\n1,x\n")
    assert load("zoo", data_home=other).data.shape == (1, 1)
    assert load("zoo").data.shape == (3, 3)


def test_the_manifest_of_the_directory_is_read(home: Path) -> None:
    write(home / "elsewhere" / "extra.csv", "a,target\n1,x\n2,y\n")
    before = list_available().set_index("name").loc["adult", "source"]
    text = "name,file,kind,rows,features,classes,sha256,source\n"
    text += "extra,elsewhere/extra.csv,discrete,2,1,2,,mine\nadult,uci-continuous/adult.csv.gz,"
    text += "continuous,2,2,2,,mine\n"
    write(home / "manifest.csv", text)
    extra = load("extra")
    assert extra.data["a"].tolist() == ["1", "2"]
    table = list_available().set_index("name")
    assert table.loc["extra", "rows"] == 2
    assert table.loc["adult", "rows"] == 2
    assert table.loc["adult", "kind"] == "mixed"
    assert table.loc[["extra", "adult"], "source"].tolist() == ["mine", before]
    assert before != "mine"


@pytest.mark.parametrize("outside", ["../secret.csv", "/etc/passwd", "a/../../b.csv"])
def test_the_manifest_stays_inside(home: Path, outside: str) -> None:
    write(home / "manifest.csv", f"name,file\nextra,{outside}\n")
    with pytest.raises(ValueError, match="'extra' lies outside the directory"):
        load("extra")


def test_a_manifest_without_names(home: Path) -> None:
    write(home / "manifest.csv", "file\na.csv\n")
    with pytest.raises(ValueError, match="must have the columns name and file"):
        list_available()


def test_verify(home: Path) -> None:
    with pytest.raises(ValueError, match="is not the file that is known as 'zoo'"):
        load("zoo", verify=True)
    with pytest.raises(ValueError, match="There is no checksum of"):
        load("my-own", verify=True)
    path = home / "uci-continuous" / "my-own.csv.gz"
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    manifest = f"name,file,kind,sha256\nmy-own,uci-continuous/my-own.csv.gz,continuous,{digest}\n"
    write(home / "manifest.csv", manifest)
    assert load("my-own", verify=True).data.shape == (3, 2)


def test_the_checksum_is_of_the_listed_file_only(home: Path) -> None:
    write(home / "uci-continuous" / "glass.csv", WINE)  # the list has glass.csv.gz
    with pytest.raises(ValueError, match="There is no checksum of"):
        load("glass", verify=True)


def test_no_target(home: Path) -> None:
    write(home / "uci-discrete" / "bare.csv", "a,b\n1,2\n")
    with pytest.raises(ValueError, match="has no column 'target'"):
        load("bare")


def test_unknown_name(no_home: None) -> None:
    with pytest.raises(ValueError, match=r"no data set 'irsi'. Did you mean 'iris'"):
        load("irsi")
    with pytest.raises(ValueError, match=r"no data set 'qqqq'. list_available\(\) lists"):
        load("qqqq")
    with pytest.raises(TypeError, match="name must be a string, got 3"):
        load(3)  # type: ignore[arg-type]


def test_missing_file(no_home: None, tmp_path: Path) -> None:
    message = (
        "The data set 'car' needs the file uci-discrete/car.csv.gz, and LEAVEN_DATA is not set. "
        "Set the environment variable LEAVEN_DATA (or pass data_home=) to a directory with "
        "uci-discrete/car.csv.gz."
    )
    with pytest.raises(FileNotFoundError) as caught:
        load("car")
    assert str(caught.value) == message
    with pytest.raises(FileNotFoundError, match="does not hold it"):
        load("zoo", data_home=tmp_path)
    with pytest.raises(FileNotFoundError, match=r"download=True to fetch it with scikit-learn\."):
        load("mnist")


def test_a_directory_that_is_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LEAVEN_DATA", str(tmp_path / "none"))
    with pytest.raises(NotADirectoryError, match=r"LEAVEN_DATA is .*none', which is not a dir"):
        load("iris")
    with pytest.raises(NotADirectoryError, match="data_home is"):
        list_available(data_home=tmp_path / "none")


@pytest.mark.parametrize(
    ("name", "shape", "kind", "classes"),
    [
        ("iris", (150, 4), "continuous", ["setosa", "versicolor", "virginica"]),
        ("wine", (178, 13), "continuous", ["class_0", "class_1", "class_2"]),
        ("breast_cancer", (569, 30), "continuous", ["benign", "malignant"]),
        ("digits", (1797, 64), "image", list(range(10))),
    ],
)
def test_what_comes_with_scikit_learn(
    no_home: None, name: str, shape: tuple[int, int], kind: str, classes: list[Any]
) -> None:
    bunch = load(name)
    assert bunch.data.shape == shape
    assert bunch.kind == kind
    assert bunch.target_names == classes
    assert bunch.source == f"sklearn.datasets.load_{name}"
    assert len(bunch.feature_names) == shape[1]


def test_digits_are_those_of_scikit_learn(no_home: None) -> None:
    from sklearn.datasets import load_digits

    digits = load("digits")
    X, y = load_digits(return_X_y=True)
    np.testing.assert_array_equal(digits.data, X)
    np.testing.assert_array_equal(digits.target, y)
    assert digits.image_shape == (8, 8)


def test_download(no_home: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def openml(name: str, **settings: Any) -> Bunch:
        assert name == "mnist_784"
        return Bunch(data=np.zeros((60_002, 784), dtype=np.int8), target=np.array(["5"] * 60_002))

    def newsgroups(subset: str, **settings: Any) -> Bunch:
        texts = {"train": ["a", "b"], "test": ["c"]}[subset]
        return Bunch(data=texts, target=[1] * len(texts), target_names=["x", "y"])

    monkeypatch.setattr(_loaders.sklearn_datasets, "fetch_openml", openml)
    monkeypatch.setattr(_loaders.sklearn_datasets, "fetch_20newsgroups", newsgroups)
    mnist = load("mnist", download=True, subset="test")
    assert mnist.data.dtype == np.uint8
    assert mnist.data.shape == (2, 784)
    assert mnist.target.tolist() == [5, 5]
    news = load("20news-bydate", download=True)
    assert news.data.tolist() == ["a", "b", "c"]
    assert news.target.tolist() == ["y", "y", "y"]
    assert news.subset.tolist() == ["train", "train", "test"]


def test_download_without_a_network(no_home: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: Any, **settings: Any) -> Bunch:
        raise OSError("no route")

    monkeypatch.setattr(_loaders.sklearn_datasets, "fetch_openml", fail)
    with pytest.raises(FileNotFoundError, match="could not download mnist: no route"):
        load("mnist", download=True)
    with pytest.raises(FileNotFoundError, match=r"needs the file uci-discrete/car\.csv\.gz"):
        load("car", download=True)


def test_list_available(home: Path) -> None:
    table = list_available()
    assert list(table.columns) == [
        "name",
        "kind",
        "rows",
        "features",
        "classes",
        "available",
        "where",
        "source",
        "licence",
        "file",
        "sha256",
    ]
    assert table["name"].is_unique
    by_name = table.set_index("name")
    assert by_name.loc["zoo", "available"]
    assert by_name.loc["zoo", "where"] == str(home / "uci-discrete" / "zoo.csv.gz")
    assert by_name.loc["my-own", "available"]
    assert pd.isna(by_name.loc["my-own", "rows"])
    assert by_name.loc["usps", "kind"] == "image"
    assert not by_name.loc["mushroom", "available"]
    assert by_name.loc["mushroom", "where"] == "uci-discrete/mushroom.csv.gz"
    assert by_name.loc["mushroom", "rows"] == 8124
    assert by_name.loc["digits", "where"] == "scikit-learn"
    assert by_name.loc["wine", "where"] == str(home / "uci-continuous" / "wine.csv.gz")
    assert "notes" not in by_name.index
    assert ".hidden" not in by_name.index


def test_list_available_without_files(no_home: None) -> None:
    table = list_available().set_index("name")
    assert set(table.index[table["available"]]) == {"iris", "wine", "breast_cancer", "digits"}
    assert {"car", "nursery", "sonar", "webkb", "usps", "titanic"} <= set(table.index)
    assert table["kind"].isin(["discrete", "continuous", "mixed", "text", "image"]).all()
    assert table["rows"].dtype == "Int64"


def test_every_data_set_says_where_it_comes_from_and_how_to_get_it(monkeypatch):
    monkeypatch.delenv("LEAVEN_DATA", raising=False)
    table = list_available().set_index("name")
    assert table["source"].notna().all()
    assert table["licence"].notna().all()
    # What the UCI repository publishes has its licence, and nothing else claims that licence.
    of_uci = table["source"].str.startswith(("UCI", "made from monk"))
    assert (table["licence"] == "CC BY 4.0 (UCI)").equals(of_uci)
    assert set(table["licence"][~of_uci]) == {
        "not stated",
        "not stated (the collection is MIT)",
        "free for research purposes only, by its README",
        "CC BY-SA 3.0",
    }
    # Missing where a set comes with scikit-learn, or no file of it was at hand.
    assert table["sha256"].dropna().str.fullmatch("[0-9a-f]{64}").all()
    assert table["sha256"].notna().sum() > 40
    zoo = describe("Zoo")  # the case of a name does not matter
    assert zoo["source"] == "UCI Machine Learning Repository (copy: renatopp/arff-datasets)"
    assert not zoo["available"]
    assert "$LEAVEN_DATA/uci-discrete/zoo.csv.gz: CSV with a header row" in zoo["how"]
    assert describe("digits")["how"] == "Comes with scikit-learn."
    assert describe("mnist")["how"].startswith("load('mnist', download=True)")
    assert "npz with x_train" in describe("usps")["how"]
    with pytest.raises(ValueError, match=r"There is no data set 'zo'\. Did you mean"):
        describe("zo")
