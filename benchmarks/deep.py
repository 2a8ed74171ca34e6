"""Accuracy and cost of the networks: LeNet-5 with all labels, all of them with few.

python benchmarks/deep.py [--quick]

First part: LeNet-5 on 10,000 images of MNIST, all labels, 10 epochs; accuracy on the 10,000
test images against the bound of 97.5 %.

Second part: 400 images a class, 5 labels a class, one draw, as in Lefakis, chapter 3: accuracy
on the unlabeled images, with the floor (labeled images only) of two plain classifiers.

MNIST is read from the directory that LEAVEN_DATA names. Without it, or with --quick, the 8 × 8
digits of scikit-learn stand in, with smaller networks and without the bound. Seconds are of the
processor, with one thread.
"""

from __future__ import annotations

import argparse
import os
import time
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from leaven._optional import is_installed
from leaven.datasets import load
from leaven.representation import (
    ClasswiseAutoencoder,
    LeNet5Classifier,
    RBMPretrainedClassifier,
)
from leaven.self_labeling import SelfTrainingClassifier

BOUND = 0.975


def images(quick: bool) -> tuple[Any, Any, Any, Any]:
    """Give training images in random order and their labels, and the same for testing."""
    if quick:
        X, y = load_digits(return_X_y=True)
        order = np.random.default_rng(0).permutation(len(X))
        X, y = X[order], y[order]
        return X[:1200], y[:1200], X[1200:], y[1200:]
    X, y = load("mnist", subset="train", return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    return X[order], y[order], *load("mnist", subset="test", return_X_y=True)


def all_labels(quick: bool) -> None:
    X, y, X_test, y_test = images(quick)
    X, y = X[:10_000], y[:10_000]
    start = time.process_time()
    model = LeNet5Classifier(epochs=10, random_state=0).fit(X, y)
    spent = time.process_time() - start
    right = model.score(X_test, y_test)
    print(f"LeNet-5, {len(X)} images, all labels, 10 epochs: accuracy {right:.4f} on the test")
    print(f"images, {spent:.0f} s; loss by epoch {model.objective_trace_.round(4).tolist()}")
    if not quick:
        print(f"bound {BOUND}: {'reached' if right >= BOUND else 'MISSED'}")


def few_labels(quick: bool, per_class: int = 5) -> None:
    X, truth, _, _ = images(quick)
    size = 100 if quick else 400
    rows = np.concatenate([np.flatnonzero(truth == label)[:size] for label in range(10)])
    X, truth = X[rows], truth[rows]
    y = np.full(len(truth), -1)
    for label in range(10):
        y[np.flatnonzero(truth == label)[:per_class]] = label
    hidden = y == -1
    layers, epochs = ((100, 100), 30) if quick else ((500, 500, 2000), 10)
    code = (30, 10) if quick else (200, 100, 30)
    plain = {
        "logistic regression, floor": make_pipeline(
            MaxAbsScaler(), LogisticRegression(max_iter=1000)
        ),
        "nearest neighbor, floor": KNeighborsClassifier(1),
    }
    autoencoder = ClasswiseAutoencoder(code, random_state=0)
    networks = {
        "LeNet-5": LeNet5Classifier(random_state=0),
        "LeNet-5, 100 epochs": LeNet5Classifier(epochs=100, random_state=0),
        "network, random start": RBMPretrainedClassifier(layers, pretrain_epochs=0, random_state=0),
        f"network, pretrained {epochs} epochs": RBMPretrainedClassifier(
            layers, pretrain_epochs=epochs, random_state=0
        ),
        "autoencoders": autoencoder,
        "autoencoders, 3 rounds of self-training": SelfTrainingClassifier(
            autoencoder, k_best=1, per_class="always", max_iter=3
        ),
    }
    print(f"\n{len(X)} images, {per_class} labels a class: accuracy on the unlabeled, seconds")
    for name, model in {**plain, **networks}.items():
        start = time.process_time()
        if name in plain:
            answers = model.fit(X[~hidden], y[~hidden]).predict(X[hidden])
        else:
            answers = model.fit(X, y).transduction_[hidden]
        spent = time.process_time() - start
        print(f"{name:42}{np.mean(answers == truth[hidden]):8.3f}{spent:8.1f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="the digits of scikit-learn")
    quick = parser.parse_args().quick or "LEAVEN_DATA" not in os.environ
    if not is_installed("torch"):
        print('The networks need PyTorch. Install it with: pip install "leaven[deep]"')
        return
    import torch

    torch.set_num_threads(1)
    all_labels(quick)
    few_labels(quick)


if __name__ == "__main__":
    main()
