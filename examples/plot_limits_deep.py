"""
Pretraining: where it works and where it fails
==============================================

A network that is pretrained on all rows, beside the same network without pretraining, from five
labels per class. Left: 800 images of digits, whose strokes can be learned without labels. Right:
100 images, half of which have a label already; there is nothing left to gain. It needs PyTorch.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from leaven.representation import RBMPretrainedClassifier

digits, digit = load_digits(return_X_y=True)
problems = [
    ("works: 800 images", digits[:800] / 16, digit[:800]),
    ("no gain: 100 images", digits[:100] / 16, digit[:100]),
]
_, axes = plt.subplots(1, 2, figsize=(8, 3), sharey=True, layout="constrained")
for ax, (title, X, truth) in zip(axes, problems):
    bars = {}
    for name, epochs in (("labels alone", 0), ("pretrained", 30)):
        scores = []
        for seed in range(3):
            y = np.full(len(truth), -1)
            draw = np.random.default_rng(seed)
            for c in np.unique(truth):
                y[draw.choice(np.flatnonzero(truth == c), 5, replace=False)] = c
            model = RBMPretrainedClassifier(
                (100, 100), pretrain_epochs=epochs, finetune_iter=50, random_state=seed
            ).fit(X, y)
            scores.append(np.mean(model.transduction_[y < 0] == truth[y < 0]))
        bars[name] = np.mean(scores)
    ax.bar(list(bars), list(bars.values()), color=["#b9bec5", "#3b6fb6"])
    for place, value in enumerate(bars.values()):
        ax.text(place, value, f"{value:.0%}", ha="center", va="bottom")
    ax.set_title(title)
    ax.set_ylim(0, 1.1)
axes[0].set_ylabel("accuracy")
plt.show()
