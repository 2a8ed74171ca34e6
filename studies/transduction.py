"""Figures 8 to 22 and 25 to 45 of Lefakis: documents and digits with few labels a class.

The source prints curves, not numbers. What its text says in numbers is in
``published/stated.csv``; every other number here has nothing beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.naive_bayes import MultinomialNB
from sklearn.preprocessing import normalize
from sklearn.svm import SVC

from leaven.datasets import load, load_four_newsgroups
from leaven.evaluation import DrawProtocol
from leaven.generative import ClassPrior, SemiSupervisedGaussianMixture, SemiSupervisedMultinomialNB
from leaven.graph import Gaussian, Graph, KNNGraph
from leaven.graph_based import ConsistencyClassifier, MinCutClassifier, SpectralTransducer
from leaven.representation import (
    ArchetypeSubsampling,
    ClasswiseAutoencoder,
    LeNet5Classifier,
    RBMPretrainedClassifier,
    SOMFeatureMap,
    som_distance,
)
from leaven.self_labeling import ClusterThenLabel, SelfTrainingClassifier
from leaven.text import RelativeTfidf, StemmedCountVectorizer, TermSelector
from studies.estimators import random_order
from studies.prepared import OnRows, RememberedKMeans, RowGraph, prepared, row_numbers
from studies.published import read_published
from studies.registry import Outcome, Run, Table, is_installed, register

DIGIT_LABELS = (1, 2, 5, 10, 15)
DOCUMENT_LABELS = (1, 2, 5, 10, 20, 50, 100)

PER_DIGIT = 400
"""Images of each digit (section 3.2)."""

QUICK_PER_DIGIT = 100
SHRINKAGE = 0.8
"""β of section 3.4.1."""

N_TERMS = 6000
N_CLUSTERS = 100
"""Clusters of transductive clustering and of sub-sampling; the source gives no number."""

NEIGHBORS_KEPT = 100
"""Of the weights between all digits, so many of each row are kept: exp(-d² / 2 · 1.25²) of the
others is nothing beside them."""


def size_name(k: int) -> str:
    """Name of a row of the tables, which stands where others have a data set."""
    return f"{k} label{'s' if k > 1 else ''} a class"


SIZES = {size_name(k): k for k in DOCUMENT_LABELS + DIGIT_LABELS}


def stated(number: str) -> pd.DataFrame:
    """Numbers that the text of the source gives for one experiment."""
    frame = read_published("stated")
    rows = frame[(frame["source"] == "S4") & (frame["table"] == number)]
    return rows.set_index(["dataset", "method"])[["mean"]].assign(se=np.nan)


# Digits


@lru_cache(maxsize=2)
def digits(per_class: int) -> tuple[NDArray[np.float32], NDArray[Any]]:
    """Images of MNIST with pixels in [0, 1], as many of each digit, drawn without replacement."""
    bunch = load("mnist")
    y = np.asarray(bunch.target)
    rows = random_order(len(y), 0)
    kept = [rows[y[rows] == label][:per_class] for label in np.unique(y)]
    rows = np.sort(np.concatenate(kept))
    images = np.asarray(bunch.data)[rows].astype(np.float32)
    images /= 255
    return images, y[rows]


def pixels(per_class: int) -> NDArray[np.float32]:
    """Pixels of the digits."""
    return digits(per_class)[0]


def feature_maps(per_class: int) -> NDArray[Any]:
    """Which unit of a self-organizing map wins in each field of 5 × 5 pixels (section 3.4.3)."""
    X = prepared(pixels, per_class)
    return np.asarray(SOMFeatureMap(random_state=0).fit_transform(X))


def coarse_maps(per_class: int) -> NDArray[Any]:
    """The same after sub-sampling (section 3.4.3)."""
    maps = prepared(feature_maps, per_class)
    return np.asarray(ArchetypeSubsampling(N_CLUSTERS, random_state=0).fit_transform(maps))


def whitened_pixels(per_class: int) -> NDArray[np.float32]:
    """Pixels in which the shrunk covariance of all images is the unit matrix (section 3.4.1).

    The source takes Σ, common to all classes, from labeled and unlabeled images together, and
    shrinks it to (1 - β) Σ + β I. With it a Gaussian of each class is a spherical one here.
    """
    X = prepared(pixels, per_class)
    values, vectors = np.linalg.eigh(np.cov(X, rowvar=False))
    return (
        (X - X.mean(axis=0)) @ (vectors / np.sqrt((1 - SHRINKAGE) * values + SHRINKAGE))
    ).astype(np.float32)


VIEWS = {"pixels": pixels, "feature map": feature_maps, "sub-sampled": coarse_maps}


def digit_graph(view: str, per_class: int) -> Graph:
    """The five nearest neighbors of each digit (section 3.4.4)."""
    metric = "euclidean" if view == "pixels" else som_distance
    return KNNGraph(5, metric=metric).build(prepared(VIEWS[view], per_class))


def affinities(per_class: int) -> Graph:
    """Gaussian weights with σ = 1.25 (section 3.4.5)."""
    builder = KNNGraph(NEIGHBORS_KEPT, weight=Gaussian(bandwidth=1.25))
    return builder.build(prepared(pixels, per_class))


def digit_methods(per_class: int, *, small: bool = False) -> dict[str, Any]:
    """Methods of chapter 3, those with networks too; ``small`` makes the networks so."""
    images: dict[str, Any] = {"make": pixels, "arguments": (per_class,)}
    white: dict[str, Any] = {"make": whitened_pixels, "arguments": (per_class,)}
    # Two rounds and labels that are all or nothing, as in the source.
    em = SemiSupervisedGaussianMixture(covariance_type="tied-spherical", hard=True, max_iter=2)
    ten: dict[str, Any] = {"k_best": 1, "per_class": "always", "max_iter": 10}
    methods = {
        "consistency": OnRows(ConsistencyClassifier(RowGraph(affinities, (per_class,)))),
        **{
            f"spectral transducer, {view}": OnRows(
                SpectralTransducer(RowGraph(digit_graph, (view, per_class)))
            )
            for view in VIEWS
        },
        **{
            f"clustering, {view}": OnRows(
                ClusterThenLabel(
                    RememberedKMeans(N_CLUSTERS, n_init=1, random_state=0), rule="nearest"
                ),
                make,
                (per_class,),
            )
            for view, make in VIEWS.items()
        },
        "EM, shrunk": OnRows(em, **white),
        "EM, spherical": OnRows(em, **images),
        "self-training, Gaussian": OnRows(SelfTrainingClassifier(em, **ten), **white),
    }
    return methods | (network_methods(images, small=small) if is_installed("torch") else {})


def network_methods(images: Mapping[str, Any], *, small: bool) -> dict[str, Any]:
    """Methods that need PyTorch; the supervised ones see the labeled rows only."""
    network = RBMPretrainedClassifier(finetune="cg")
    autoencoder = ClasswiseAutoencoder(min_examples=1, finetune="cg")
    if small:
        network.set_params(hidden_layer_sizes=(100, 100), pretrain_epochs=20)
        autoencoder.set_params(hidden_layer_sizes=(30, 10), pretrain_epochs=5, finetune_iter=20)
    three = SelfTrainingClassifier(autoencoder, k_best=1, per_class="always", max_iter=3)
    return {
        "self-training, autoencoders": OnRows(three, **images),
        "pretrained network": OnRows(network, supervised=True, **images),
        "LeNet-5": OnRows(LeNet5Classifier(), supervised=True, **images),
    }


NETWORKS = ("self-training, autoencoders", "pretrained network", "LeNet-5")


def digits_run(table: Table, run: Run, datasets: list[str]) -> Outcome:
    """All methods on the same draws of labels."""
    per_class = QUICK_PER_DIGIT if run.quick else PER_DIGIT
    methods = digit_methods(per_class, small=run.quick)
    y = digits(per_class)[1]
    frames = [
        run.compare(
            methods,
            {name: (row_numbers(len(y)), y)},
            DrawProtocol(f"{table.id}-{SIZES[name]}-of-{per_class}", per_class=SIZES[name]),
        )
        for name in datasets
    ]
    return Outcome(pd.concat(frames, ignore_index=True), without_networks(datasets))


def without_networks(datasets: list[str]) -> dict[tuple[str, str], str]:
    """A note in every row where PyTorch is not there."""
    if is_installed("torch"):
        return {}
    note = "networks left out: PyTorch is not installed"
    return {(name, "consistency"): note for name in datasets}


# Documents


@lru_cache(maxsize=1)
def documents() -> tuple[Any, NDArray[Any]]:
    """Counts of stems in the documents of section 2.2, and their classes."""
    texts, y = load_four_newsgroups(return_X_y=True)
    return StemmedCountVectorizer(dtype=np.float64).fit_transform(texts), np.asarray(y)


def selected_counts() -> Any:
    """Counts of the terms with the largest mutual information.

    All labels are used for it, those of the tested rows too, as in the source. One is added to
    each count: without it the measure is largest for any term that is in one class only, and
    largest of all for those of the smaller class, which fill all 6,000 places.
    """
    counts, y = documents()
    selector = TermSelector("mutual-information", "max", N_TERMS, smoothing=1.0)
    return selector.fit_transform(counts, y)


def weighted_counts() -> Any:
    """Tf-idf as in section 2.2, in rows of length one, which leaves the cosines as they are."""
    return normalize(RelativeTfidf().fit_transform(documents()[0]))


def document_graph(n_neighbors: int, weight: str) -> Graph:
    """Nearest neighbors by the cosine of tf-idf."""
    X = prepared(weighted_counts)
    symmetrize = "mean" if weight == "normalized-cosine" else "union"
    builder = KNNGraph(n_neighbors, metric="cosine", weight=weight, symmetrize=symmetrize)
    return builder.build(X)


def document_methods() -> dict[str, Any]:
    """Methods of chapter 2."""
    em = SemiSupervisedMultinomialNB(prior=ClassPrior(smoothing=1.0), tol=1e-4)
    ten: dict[str, Any] = {"k_best": 1, "per_class": "always", "max_iter": 10}
    return {
        "NB": OnRows(MultinomialNB(), selected_counts, supervised=True),
        "SVM": OnRows(SVC(kernel="linear"), weighted_counts, supervised=True),
        "self-training": OnRows(SelfTrainingClassifier(MultinomialNB(), **ten), selected_counts),
        "EM": OnRows(em, selected_counts),
        "min-cut": OnRows(MinCutClassifier(RowGraph(document_graph, (3, "cosine")))),
        "spectral transducer": OnRows(
            SpectralTransducer(RowGraph(document_graph, (50, "normalized-cosine")))
        ),
        "consistency": OnRows(ConsistencyClassifier(RowGraph(document_graph, (100, "cosine")))),
    }


def documents_run(table: Table, run: Run, datasets: list[str]) -> Outcome:
    """All methods on the same draws of labels."""
    y = documents()[1]
    frames = [
        run.compare(
            document_methods(),
            {name: (row_numbers(len(y)), y)},
            DrawProtocol(f"{table.id}-{SIZES[name]}", per_class=SIZES[name]),
        )
        for name in datasets
    ]
    return Outcome(pd.concat(frames, ignore_index=True))


register(
    Table(
        "S4",
        "documents",
        "Documents with few labels (figures 8 to 22)",
        tuple(map(size_name, DOCUMENT_LABELS)),
        tuple(document_methods()),
        "3,930 documents of four newsgroups as two classes, k labels of each class drawn in each "
        "of 10 trials; the unlabeled documents are tested. Naive Bayes, self-training and EM see "
        "counts of the 6,000 stems with the largest mutual information with all labels (as in "
        "the source, where the labels of the tested documents help to select terms); the others "
        "see tf-idf of all stems. The measure has one added to each count, and consistency has the "
        "weights to the 100 nearest documents instead of all. The published numbers are those of "
        "the text, which has them rounded.",
        stated("documents"),
        documents_run,
        score="accuracy on the unlabeled documents",
        value="accuracy",
        higher_is_better=True,
        quick=tuple(map(size_name, (1, 2, 20, 100))),
        needs=lambda name: "20news-18828",
    )
)
register(
    Table(
        "S4",
        "digits",
        "Digits with few labels (figures 25 to 45)",
        tuple(map(size_name, DIGIT_LABELS)),
        tuple(digit_methods(PER_DIGIT)) + (() if is_installed("torch") else NETWORKS),
        "400 images of each digit of MNIST, k labels of each class drawn in each of 10 trials; "
        "the unlabeled images are tested. The source trains several maps and clusterings, here "
        "there is one of each. With --quick there are 100 images of each digit and "
        "small networks. The source prints "
        "curves only, so there are no published numbers but that LeNet-5 is little above 10 %.",
        stated("digits"),
        digits_run,
        score="accuracy on the unlabeled images",
        value="accuracy",
        higher_is_better=True,
        quick=tuple(map(size_name, (1, 5, 15))),
        needs=lambda name: "mnist",
    )
)
