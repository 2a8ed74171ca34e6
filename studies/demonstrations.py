"""Small figures on made data: 3.6 and 3.7 of Nguyen (2019), 2 and 6 of Zhu et al. (2003)."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.neighbors import KNeighborsClassifier

from leaven.datasets import (
    make_chain,
    make_circle,
    make_grid,
    make_three_bands,
    make_two_spirals,
)
from leaven.exceptions import ConvergenceWarning, LeavenWarning
from leaven.graph import EpsilonGraph, GivenGraph, Graph
from leaven.graph_based import (
    BeliefPropagationClassifier,
    HarmonicClassifier,
    MinCutClassifier,
    learn_length_scales,
)
from studies.estimators import UNLABELED, encode
from studies.harmonic_fields import (
    EPSILON,
    N_LEARNED,
    QUICK_SCALES,
    QUICK_SHARE,
    SCALE_STEPS,
    SIDE,
    SIGMA,
    STAND_IN,
    RandomProtocol,
    digits,
    pixels,
    published_scales,
    scaled_graph,
)
from studies.prepared import OnRows, RowGraph, row_numbers
from studies.published import read_published
from studies.registry import Outcome, Run, Table, no_numbers, register

NOTHING: dict[str, Any] = {"needs": lambda name: "iris"}  # comes with scikit-learn


def one_value(
    dataset: str, method: str, value: float, trial: int = 0, *, name: str
) -> dict[str, Any]:
    """One row of results."""
    return {"dataset": dataset, "method": method, "trial": trial, "n_labeled": 0, name: value,
            "seconds": 0.0, "status": "ok", "message": ""}  # fmt: skip


def scatter(
    parts: dict[str, tuple[NDArray[Any], NDArray[Any], dict[str, NDArray[Any]]]], path: Path
) -> None:
    """A row of panels for each data set: its labels, and the answer of each method."""
    from matplotlib import pyplot as plt

    columns = 1 + max(len(answers) for _, _, answers in parts.values())
    figure, axes = plt.subplots(
        len(parts), columns, figsize=(3.0 * columns, 2.4 * len(parts)), squeeze=False,
        layout="constrained",
    )  # fmt: skip
    for row, (name, (X, given, answers)) in zip(axes, parts.items(), strict=True):
        for ax in row:
            ax.set_axis_off()
        for ax, (title, codes) in zip(row, {name: given, **answers}.items(), strict=False):
            known = codes != UNLABELED
            ax.scatter(*X[~known].T, c="lightgray", s=12)
            ax.scatter(*X[known].T, c=codes[known], cmap="tab10", vmax=9, vmin=0, s=18)
            ax.set_title(title, fontsize=9)
    metadata: Any = {"Software": None}
    figure.savefig(path, dpi=80, bbox_inches="tight", metadata=metadata)
    plt.close(figure)


def answers_of(
    X: NDArray[np.float64], given: NDArray[np.intp], methods: dict[str, Any]
) -> dict[str, NDArray[Any]]:
    """What each method says of all rows."""
    found = {}
    for name, method in methods.items():
        with warnings.catch_warnings():
            # Messages on a loop need not come to rest, which is what figure 3.7 is about.
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.simplefilter("ignore", LeavenWarning)
            found[name] = np.asarray(method.fit(X, given).transduction_)
    return found


# Figures 3.6 and 3.7 of Nguyen

LATTICES: dict[str, Callable[..., Any]] = {
    "chain of 10": make_chain,
    "grid of 3 × 9": make_grid,
    "circle of 14": make_circle,
}


def lattice_methods() -> dict[str, Any]:
    """The methods of both figures, on neighbors at distance one."""
    graph = EpsilonGraph(1.1)
    return {
        "min-cut": MinCutClassifier(graph, prior=None),
        "graphical model": BeliefPropagationClassifier(graph, influence=False),
        "influence index": BeliefPropagationClassifier(graph, influence=True),
    }


def lattices_run(table: Table, run: Run, datasets: list[str]) -> Outcome:
    """How far from the middle each method cuts."""
    rows, parts = [], {}
    for name in datasets:
        X, y, given = LATTICES[name](return_labeled=True)
        X = np.asarray(X, dtype=float)
        answers = answers_of(X, given, lattice_methods())
        parts[name] = (X, given, answers)
        rows += [
            one_value(name, method, float(np.mean(found == y)), name="share")
            for method, found in answers.items()
        ]
    return Outcome(pd.DataFrame(rows), draw=partial(scatter, parts))


# Figure 2 of Zhu et al.

SHAPES: dict[str, tuple[Callable[..., Any], float]] = {
    "three bands": (make_three_bands, 0.22),
    "two spirals": (make_two_spirals, 0.43),
}


def shapes_run(table: Table, run: Run, datasets: list[str]) -> Outcome:
    """Accuracy of the harmonic function and of nearest neighbors."""
    rows: list[dict[str, Any]] = []
    parts: dict[str, tuple[NDArray[Any], NDArray[Any], dict[str, NDArray[Any]]]] = {}
    for name in datasets:
        make, sigma = SHAPES[name]
        for trial in range(run.trials or 10):
            X, y, given = make(return_labeled=True, random_state=trial)
            graph = GivenGraph(scaled_graph(X, sigma))
            known = given != UNLABELED
            nearest = KNeighborsClassifier(1).fit(X[known], given[known])
            answers = {
                **answers_of(X, given, {"harmonic": HarmonicClassifier(graph, prior=None)}),
                "1NN": nearest.predict(X),
            }
            parts.setdefault(name, (X, given, answers))
            rows += [
                one_value(name, method, float(np.mean((found == y)[~known])), trial,
                          name="accuracy")
                for method, found in answers.items()
            ]  # fmt: skip
    return Outcome(pd.DataFrame(rows), draw=partial(scatter, parts))


# Table 1 of Zhu et al. with other length scales


def sigma_graph(problem: str, share: int, sigma: float) -> Graph:
    """The same with another σ."""
    return scaled_graph(pixels(problem, share), sigma)


SIGMAS = (150.0, 200.0, 250.0, 300.0, 380.0)


def sigma_methods(share: int) -> dict[str, Any]:
    """Both decisions with each σ."""
    found = {}
    for name, prior in (("CMN", "labeled"), ("thresh", None)):
        for sigma in SIGMAS:
            graph = RowGraph(sigma_graph, ("1 against 2", share, sigma))
            found[f"{name}, σ = {sigma:g}"] = OnRows(HarmonicClassifier(graph, prior=prior))
    return found


def sigmas_run(table: Table, run: Run, datasets: list[str]) -> Outcome:
    """The start of table 1 with other length scales."""
    share = QUICK_SHARE if run.quick else 1
    y = digits("1 against 2", share)[1]
    protocol = RandomProtocol(f"{table.id}-{share}", n_labeled=N_LEARNED)
    data = {datasets[0]: (row_numbers(len(y)), y)}
    return Outcome(run.compare(sigma_methods(share), data, protocol))


# Table 1 (entropy) and figure 6 of Zhu et al.


@lru_cache(maxsize=2)
def learned_scales(share: int, steps: int) -> Any:
    """The length scales of one draw, as in the source, with the entropy on the way."""
    X, y = digits("1 against 2", share)
    _, codes = encode(y)
    split = RandomProtocol("entropy", n_labeled=N_LEARNED).split(codes, 0)
    given = np.full(len(codes), UNLABELED)
    labeled = split.order[:N_LEARNED]
    given[labeled] = codes[labeled]
    return learn_length_scales(
        X, given, prior="labeled", smoothing=EPSILON, initial=SIGMA, max_iter=steps
    )


def scales_of(run: Run) -> tuple[int, Any]:
    """The share of the images and the scales learned from them."""
    share = QUICK_SHARE if run.quick else 1
    return share, learned_scales(share, QUICK_SCALES if run.quick else SCALE_STEPS)


def published_entropies() -> pd.DataFrame:
    """Entropies of table 1; "bits" there, but 0.6931 is ln 2: they are nats."""
    frame = read_published("f1")
    rows = frame[(frame["source"] == "S2") & (frame["metric"] == "entropy-bits")]
    methods = ["entropy"] * len(rows)
    index = pd.MultiIndex.from_arrays([rows["split"], methods], names=["dataset", "method"])
    return pd.DataFrame({"mean": rows["value"].to_numpy(), "se": np.nan}, index=index)


def entropy_run(table: Table, run: Run, datasets: list[str]) -> Outcome:
    """Mean entropy of the CMN probabilities of table 1, in nats."""
    _, found = scales_of(run)
    bits = {"start": found.entropy_trace[0], "end": found.entropy}
    rows = [
        one_value(name, "entropy", float(bits[name]) * np.log(2), name="entropy")
        for name in datasets
    ]
    return Outcome(pd.DataFrame(rows))


def pixels_run(table: Table, run: Run, datasets: list[str]) -> Outcome:
    """The smallest and the largest learned length scale, and all of them as an image."""
    share, found = scales_of(run)
    scales = np.asarray(found.length_scales)
    values = {"smallest": scales.min(), "largest": scales.max()}
    rows = [one_value(name, "σ", float(values[name]), name="scale") for name in datasets]
    X, y = digits("1 against 2", share)
    images = {
        "average 1": X[y == "1"].mean(axis=0),
        "average 2": X[y == "2"].mean(axis=0),
        "initial σ": np.full(len(scales), SIGMA),
        "learned σ": scales,
    }
    return Outcome(pd.DataFrame(rows), draw=partial(draw_images, images))


def draw_images(images: dict[str, NDArray[np.float64]], path: Path) -> None:
    """Gray images of 16 × 16 beside each other; both of σ on one scale."""
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, len(images), figsize=(2.4 * len(images), 2.6))
    scales = images["learned σ"]
    limits = {"vmin": min(scales.min(), SIGMA), "vmax": max(scales.max(), SIGMA)}
    for ax, (title, values) in zip(axes, images.items(), strict=True):
        options = limits if title.endswith("σ") else {}
        ax.imshow(values.reshape(SIDE, SIDE), cmap="gray", **options)
        ax.set_axis_off()
        ax.set_title(title, fontsize=9)
    metadata: Any = {"Software": None}
    figure.savefig(path, dpi=80, bbox_inches="tight", metadata=metadata)
    plt.close(figure)


def add_all() -> None:
    """Register the figures."""
    register(
        Table(
            "S0",
            "figures-3.6-3.7",
            "Cuts of a chain, a grid and a circle",
            tuple(LATTICES),
            tuple(lattice_methods()),
            "Unit distances, labels at both ends. The share of vertices on the side of the middle "
            "that they belong to: 1 is a cut in the middle. On a circle the messages of the "
            "graphical model are sent until they come to rest or 200 times.",
            no_numbers(),
            lattices_run,
            score="share of vertices on the right side of the middle",
            value="share",
            higher_is_better=True,
            quick=tuple(LATTICES),
            printed_figure="min-cut and the graphical model without the influence index cut beside "
            "one of the labeled groups (3.6b and c), or give all ties to the negative class "
            "(3.7c); with the index the cut is near the middle (3.6d and 3.7d).",
            **NOTHING,
        )
    )
    register(
        Table(
            "S2",
            "figure-2",
            "Harmonic functions on three bands and two spirals",
            tuple(SHAPES),
            ("harmonic", "1NN"),
            "One label per class, 181 and 186 rows, σ = 0.22 and 0.43 as in the source, weights "
            "between all rows; ten draws of the noise. The coordinates are ours.",
            no_numbers(),
            shapes_run,
            score="accuracy on the unlabeled rows",
            value="accuracy",
            higher_is_better=True,
            quick=tuple(SHAPES),
            printed_figure="the harmonic function follows the three bands and the two spirals, "
            "where nearest neighbors obviously fail, as the text says.",
            **NOTHING,
        )
    )
    printed = published_scales().xs("start", level="dataset")["mean"]
    numbers = {("start", name): printed[name.split(",")[0]] for name in sigma_methods(1)}
    index = pd.MultiIndex.from_tuples(list(numbers), names=["dataset", "method"])
    register(
        Table(
            "S2",
            "bandwidth",
            "The start of table 1 with other length scales",
            ("start",),
            tuple(sigma_methods(1)),
            "92 labels of 2,200 images, drawn at random in each of 10 trials. One length scale for "
            "all pixels. The published numbers are those of σ = 380 on the digits of the source.",
            pd.DataFrame({"mean": list(numbers.values()), "se": np.nan}, index=index),
            sigmas_run,
            quick=("start",),
            needs=lambda name: "mnist",
            score="accuracy on the unlabeled rows",
            value="accuracy",
            higher_is_better=True,
        )
    )
    register(
        Table(
            "S2",
            "1-entropy",
            "Entropy of the labels before and after learning the length scales",
            ("start", "end"),
            ("entropy",),
            f"One draw of 92 labels of 2,200 images, as in the source. {STAND_IN} The source "
            "prints bits, but its start is ln 2 = 0.6931, the most that two classes can have in "
            "nats.",
            published_entropies(),
            entropy_run,
            score="mean entropy of the unlabeled rows after class mass normalization, in nats",
            value="entropy",
            quick=("start", "end"),
            needs=lambda name: "mnist",
        )
    )
    index = pd.MultiIndex.from_product(
        [("smallest", "largest"), ("σ",)], names=["dataset", "method"]
    )
    register(
        Table(
            "S2",
            "figure-6",
            "Learned length scales of the pixels of digits 1 and 2",
            ("smallest", "largest"),
            ("σ",),
            f"One draw of 92 labels of 2,200 images, {SCALE_STEPS} steps from σ = 380. {STAND_IN}",
            pd.DataFrame({"mean": [181.0, 465.0], "se": np.nan}, index=index),
            pixels_run,
            score="length scale",
            value="scale",
            quick=("smallest", "largest"),
            needs=lambda name: "mnist",
            printed_figure="average 1, average 2, the initial σ, and the learned σ from 181 "
            "(black) to 465 (white), in which a black 1 and a white 2 can be discerned.",
        )
    )


add_all()
