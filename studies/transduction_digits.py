"""Figures 25 to 45 of Lefakis: digits with few labels per class.

The source prints curves, not numbers. What its text says in numbers is in
``published/stated.csv``; every other number here has nothing beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leaven.datasets import load
from leaven.evaluation import DrawProtocol
from leaven.generative import SemiSupervisedGaussianMixture
from leaven.graph import Gaussian, Graph, KNNGraph
from leaven.graph_based import ConsistencyClassifier, SpectralTransducer
from leaven.representation import (
    ArchetypeSubsampling,
    ClasswiseAutoencoder,
    LeNet5Classifier,
    RBMPretrainedClassifier,
    SOMFeatureMap,
    som_distance,
)
from leaven.self_labeling import ClusterThenLabel, SelfTrainingClassifier
from studies.estimators import random_order
from studies.prepared import (
    OnRows,
    RememberedAnswers,
    RememberedKMeans,
    RowGraph,
    prepared,
    row_numbers,
)
from studies.registry import Outcome, Run, Table, is_installed, no_numbers, register
from studies.transduction_documents import ACCURACY, ALPHA, COST, size_name, stated

DIGIT_LABELS = (1, 2, 5, 10, 15)

PER_DIGIT = 400
"""Images of each digit (section 3.2)."""

QUICK_PER_DIGIT = 100
SHRINKAGE = 0.8
"""β of section 3.4.1."""

N_CLUSTERS = 100
"""Clusters of transductive clustering and of sub-sampling; the source gives no number."""

NEIGHBORS_KEPT = 100
"""Of the weights between all digits, the largest 100 of each row are kept: on pixels the graph of
all weights gives accuracies within 0.003."""

SIGMAS = {"pixels": 1.25, "feature map": 3.16, "sub-sampled": 0.5**0.5}
"""Bandwidths of section 3.4.5."""

SIGMA_GRID = (0.5, 1.0, 2.0, 3.16, 5.0, 10.0)
"""Bandwidths of figure 39; the text names 3.16 as the best."""

STEPS = (1, 2, 3, 5, 10)

SIZES = {size_name(k): k for k in DIGIT_LABELS}


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
    return np.asarray(
        ((X - X.mean(axis=0)) @ (vectors / np.sqrt((1 - SHRINKAGE) * values + SHRINKAGE))).astype(
            np.float32
        )
    )


VIEWS = {"pixels": pixels, "feature map": feature_maps, "sub-sampled": coarse_maps}


def map_distances(view: str, per_class: int) -> NDArray[np.float64]:
    """Distances between all maps, which take longer than all that is done with them."""
    return np.asarray(som_distance(prepared(VIEWS[view], per_class)))


def digit_graph(view: str, per_class: int) -> Graph:
    """The five nearest neighbors of each digit (section 3.4.4)."""
    if view == "pixels":
        return KNNGraph(5).build(prepared(pixels, per_class))
    return KNNGraph(5, metric="precomputed").build(prepared(map_distances, view, per_class))


def affinities(view: str, sigma: float, per_class: int) -> Graph:
    """Gaussian weights (section 3.4.5).

    The distance of two maps stands where the square of that of two images stands. It is a sum over
    576 fields: with its square all weights underflow at the bandwidths of the source.
    """
    builder = KNNGraph(NEIGHBORS_KEPT, weight=Gaussian(bandwidth=sigma))
    if view == "pixels":
        return builder.build(prepared(pixels, per_class))
    builder.set_params(metric="precomputed")
    return builder.build(np.sqrt(prepared(map_distances, view, per_class)))


def consistency(view: str, sigma: float, alpha: float, per_class: int) -> OnRows:
    """Learning with local and global consistency on one representation."""
    graph = RowGraph(affinities, (view, sigma, per_class))
    return OnRows(ConsistencyClassifier(graph, alpha=alpha))


def spectral(view: str, n_eigenvectors: int, per_class: int) -> OnRows:
    """The spectral transducer on one representation."""
    graph = RowGraph(digit_graph, (view, per_class))
    return OnRows(SpectralTransducer(graph, c=COST, n_eigenvectors=n_eigenvectors))


def em(max_iter: int = 2) -> SemiSupervisedGaussianMixture:
    """EM with labels that are all or nothing, in two rounds, as in the source."""
    return SemiSupervisedGaussianMixture(
        covariance_type="tied-spherical", hard=True, max_iter=max_iter
    )


def self_training(rounds: int) -> SelfTrainingClassifier:
    """One image per class in each round."""
    return SelfTrainingClassifier(em(), k_best=1, per_class="always", max_iter=rounds)


def digit_methods(per_class: int) -> dict[str, Any]:
    """Methods of chapter 3, but for those with networks."""
    images: dict[str, Any] = {"make": pixels, "arguments": (per_class,)}
    white: dict[str, Any] = {"make": whitened_pixels, "arguments": (per_class,)}
    sigma = SIGMAS["pixels"]
    return {
        "consistency": consistency("pixels", sigma, ALPHA, per_class),
        "consistency, α = 0.99": consistency("pixels", sigma, 0.99, per_class),
        **{f"spectral transducer, {view}": spectral(view, 20, per_class) for view in VIEWS},
        **{
            f"spectral transducer, pixels, d = {d}": spectral("pixels", d, per_class)
            for d in (5, 10, 80)
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
        "EM, shrunk": OnRows(em(), **white),
        "EM, spherical": OnRows(em(), **images),
        "self-training, Gaussian": OnRows(self_training(10), **white),
    }


def network_methods(per_class: int, *, small: bool = False) -> dict[str, Any]:
    """Methods that need PyTorch; the supervised ones see the labeled rows only."""
    images: dict[str, Any] = {"make": pixels, "arguments": (per_class,)}
    network = RBMPretrainedClassifier(finetune="cg")
    if small:
        network.set_params(hidden_layer_sizes=(100, 100), pretrain_epochs=20)
    three = autoencoders(3, small=small)
    return {
        "self-training, autoencoders": OnRows(three, **images),
        "pretrained network": OnRows(network, supervised=True, **images),
        "LeNet-5": OnRows(LeNet5Classifier(), supervised=True, **images),
    }


def autoencoders(rounds: int, *, small: bool) -> SelfTrainingClassifier:
    """Self-training of one autoencoder per class."""
    autoencoder = ClasswiseAutoencoder(min_examples=1, finetune="cg")
    if small:
        autoencoder.set_params(hidden_layer_sizes=(30, 10), pretrain_epochs=5, finetune_iter=20)
    return SelfTrainingClassifier(
        RememberedAnswers(autoencoder), k_best=1, per_class="always", max_iter=rounds
    )


def step_methods(per_class: int) -> dict[str, Any]:
    """EM and self-training by their number of steps (figures 26, 28 and 29)."""
    white: dict[str, Any] = {"make": whitened_pixels, "arguments": (per_class,)}
    images: dict[str, Any] = {"make": pixels, "arguments": (per_class,)}
    return {
        **{f"EM, shrunk, {n} steps": OnRows(em(n), **white) for n in STEPS},
        **{f"EM, spherical, {n} steps": OnRows(em(n), **images) for n in STEPS},
        **{f"self-training, {n} steps": OnRows(self_training(n), **white) for n in STEPS},
    }


def autoencoder_methods(per_class: int, *, small: bool = False) -> dict[str, Any]:
    """Self-training of autoencoders by its number of steps (figure 32)."""
    images: dict[str, Any] = {"make": pixels, "arguments": (per_class,)}
    return {
        f"self-training, autoencoders, {n} steps": OnRows(autoencoders(n, small=small), **images)
        for n in (1, 3, 5)
    }


def lenet_methods(per_class: int, *, small: bool = False) -> dict[str, Any]:
    """LeNet-5 as in S4-networks, and with steps too small for so few images."""
    images: dict[str, Any] = {"make": pixels, "arguments": (per_class,), "supervised": True}
    # The rate that LeCun et al. (1998) begin with, without their scaling of it for each weight.
    slow = LeNet5Classifier(epochs=20, learning_rate=0.0005, momentum=0.0)
    return {
        "LeNet-5": OnRows(LeNet5Classifier(), **images),
        "LeNet-5, small steps": OnRows(slow, **images),
    }


def bandwidth_methods(per_class: int) -> dict[str, Any]:
    """Consistency on the feature map by bandwidth, and on the sub-sampled one."""
    return {
        "pixels, σ = 1.25": consistency("pixels", SIGMAS["pixels"], ALPHA, per_class),
        **{
            f"feature map, σ = {sigma:g}": consistency("feature map", sigma, ALPHA, per_class)
            for sigma in SIGMA_GRID
        },
        **{
            f"sub-sampled, σ = {sigma:.3g}": consistency("sub-sampled", sigma, ALPHA, per_class)
            for sigma in (SIGMAS["sub-sampled"], SIGMAS["feature map"])
        },
    }


def draws_run(
    table: Table, run: Run, datasets: list[str], *, methods: Callable[..., dict[str, Any]]
) -> Outcome:
    """All methods on the same draws of labels."""
    per_class = QUICK_PER_DIGIT if run.quick else PER_DIGIT
    y = digits(per_class)[1]
    frames = [
        run.compare(
            methods(per_class),
            {name: (row_numbers(len(y)), y)},
            DrawProtocol(f"S4-digits-{SIZES[name]}-of-{per_class}", per_class=SIZES[name]),
        )
        for name in datasets
    ]
    return Outcome(pd.concat(frames, ignore_index=True))


def networks_run(
    table: Table, run: Run, datasets: list[str], *, methods: Callable[..., dict[str, Any]]
) -> Outcome:
    """The same for networks, which --quick makes small; nothing without PyTorch."""
    if not is_installed("torch"):
        raise ValueError(f"Table {table.id} needs PyTorch: install leaven[deep].")
    # Small networks are other methods: they must not meet those of a full run in a store.
    return draws_run(table, run, datasets, methods=partial(methods, small=run.quick))


def add(
    number: str,
    title: str,
    methods: Callable[..., dict[str, Any]],
    protocol: str,
    run: Callable[..., Outcome] = draws_run,
    published: pd.DataFrame | None = None,
    *,
    printed_figure: str = "",
) -> None:
    """Register a target of chapter 3."""
    register(
        Table(
            "S4",
            number,
            title,
            tuple(map(size_name, DIGIT_LABELS)),
            tuple(methods(PER_DIGIT)),
            "400 images of each digit of MNIST, k labels per class drawn in each of 10 trials; the "
            f"unlabeled images are tested. {protocol} With --quick there are 100 images of each "
            "digit.",
            no_numbers() if published is None else published,
            partial(run, methods=methods),
            score="accuracy on the unlabeled images",
            quick=tuple(map(size_name, (1, 15))),
            printed_figure=printed_figure,
            needs=lambda name: "mnist",
            **ACCURACY,
        )
    )


add(
    "digits",
    "Digits with few labels (figures 27, 36 to 38 and 42 to 45)",
    digit_methods,
    "The source trains several maps and clusterings, here there is one of each. α of consistency "
    "is 0.503, from μ = 0.99 in section 2.4.5, and 0.99. The source does not say how many "
    "eigenvectors the spectral transducer has: here d = 20, and on pixels 5, 10 and 80 beside it.",
    printed_figure="figure 44 has consistency on top by a large margin, then the spectral "
    "transducer and clustering, 2 to 5 points above EM and self-training; the pretrained network "
    "is lowest.",
)
add(
    "networks",
    "Networks on digits with few labels (figures 25, 33 and 44)",
    network_methods,
    "The supervised networks see the labeled images only. With --quick they are small. Needs "
    "PyTorch.",
    networks_run,
    stated("digits"),
    printed_figure="by its text LeNet-5 has little more than 10 % with any number of labels, and "
    "the self-training of autoencoders is above the pretrained network but not high.",
)
add(
    "lenet",
    "LeNet-5 with small steps",
    lenet_methods,
    "LeNet-5 as in S4-networks (10 passes, learning rate 0.02, momentum 0.9), and with 20 passes, "
    "learning rate 0.0005 and no momentum. The source does not say how it trains it. Needs "
    "PyTorch.",
    networks_run,
    pd.concat(
        {name: stated("digits").xs("LeNet-5", level="method") for name in lenet_methods(PER_DIGIT)},
        names=["method"],
    ).swaplevel(),
    printed_figure="by its text LeNet-5 has little more than 10 % with any number of labels.",
)
add(
    "figures-26-29",
    "EM and self-training by number of steps (figures 26, 28 and 29)",
    step_methods,
    "The covariance is that of all images, shrunk by β = 0.8, or one variance for all pixels.",
    printed_figure="with the shrunk covariance one or two steps help and more do harm (26); with "
    "one variance steps help with one or two labels only (28); self-training does not help (29).",
)
add(
    "figure-32",
    "Self-training of autoencoders by number of steps",
    autoencoder_methods,
    "With --quick the autoencoders are small. Needs PyTorch.",
    networks_run,
    printed_figure="three steps are best, and more do harm as the labels become more.",
)
add(
    "figures-39-41",
    "Consistency on feature maps by bandwidth",
    bandwidth_methods,
    "α = 0.503. One feature map, where the source has five. The weight of two maps is "
    "exp(-d / 2σ²) with their distance d, not its square: with the square all weights underflow "
    "at the bandwidths of the source.",
    printed_figure="σ = 3.16 is best on the feature map (39) and a little above pixels (40); the "
    "sub-sampled map is worse than both (41).",
)
