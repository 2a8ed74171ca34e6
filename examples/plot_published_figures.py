"""
Figures of the literature
=========================

Small problems from two sources, drawn with leaven: the three bands, two spirals and two grids of
Zhu, Ghahramani and Lafferty (2003, figures 2 and 5), and the overlapping Gaussians of Nguyen
(2019, figures 3.8 and 3.9). The chain, grid and circle of Nguyen's figures 3.6 and 3.7 are in
:ref:`sphx_glr_auto_examples_plot_graph_methods.py`.
"""

# %%
# Harmonic functions follow the bands and the spirals from one label each.

import matplotlib.pyplot as plt
import numpy as np

from leaven.datasets import make_three_bands, make_two_gaussians, make_two_grids, make_two_spirals
from leaven.graph import AnisotropicGaussian, FullGraph, KNNGraph
from leaven.graph_based import (
    BeliefPropagationClassifier,
    HarmonicClassifier,
    MinCutClassifier,
    learn_length_scales,
)
from leaven.graph_based._length_scales import _DenseField, label_entropy
from leaven.plotting import plot_graph

fig, axes = plt.subplots(1, 2, figsize=(10, 4.5), layout="constrained")
for ax, (make, sigma) in zip(axes, [(make_three_bands, 0.22), (make_two_spirals, 0.43)]):
    X, truth, y = make(random_state=0, return_labeled=True)
    model = HarmonicClassifier(FullGraph(weight=AnisotropicGaussian(sigma)), prior=None).fit(X, y)
    plot_graph(KNNGraph(2).build(X), X, y, inferred=model.transduction_, ax=ax, legend=False)
    ax.set_title(f"σ = {sigma}: {np.mean(model.transduction_ == truth):.0%} right")

# %%
# Two grids, of which the upper is slightly tighter. Without smoothing the entropy of the labels
# falls to zero with the length scale, and the tighter grid invades the other; with smoothing it
# has a minimum inside, at which both grids are found.

X, truth, y = make_two_grids(return_labeled=True)
sigmas = np.geomspace(0.1, 1.5, 40)
fig, axes = plt.subplots(1, 3, figsize=(14, 4.2), layout="constrained")
for epsilon in (0.1, 0.05, 0.01, 0.001, 0.0):
    entropy = [
        label_entropy(_DenseField(X), y, 2, np.full(2, sigma), smoothing=epsilon)[0]
        for sigma in sigmas
    ]
    axes[2].plot(sigmas, entropy, label=f"ε = {epsilon:g}")
axes[2].set(xlabel="σ", ylabel="label entropy (bits)", title="smoothing makes a minimum")
axes[2].legend()
learned = learn_length_scales(X, y, tied=True)
for ax, sigma in zip(axes, [0.1, learned.length_scales[0]]):
    model = HarmonicClassifier(FullGraph(weight=AnisotropicGaussian(sigma)), prior=None).fit(X, y)
    plot_graph(KNNGraph(4).build(X), X, y, inferred=model.transduction_, ax=ax, legend=False)
    ax.set_title(f"σ = {sigma:.2f}")

# %%
# With a scale for each direction the horizontal one grows without bound: it does not matter.

free = learn_length_scales(X, y)
print(
    f"tied: {learned.entropy:.3f} bits at {learned.length_scales[0]:.2f}  (published 0.898, 0.67)"
)
print(f"free: {free.entropy:.3f} bits at {free.length_scales.round(2)}  (published 0.619, 0.65)")

# %%
# Two Gaussians that overlap, 7 labels of 75 each: the truth, the minimum cut, and belief
# propagation with the influence index.

fig, axes = plt.subplots(2, 3, figsize=(13, 8), layout="constrained")
for row, std in zip(axes, [0.6, 0.8]):
    X, truth, y = make_two_gaussians(std=std, random_state=0, return_labeled=True)
    graph = KNNGraph(5, weight="inverse-distance")
    answers = {
        "truth": truth,
        "min-cut": MinCutClassifier(graph, prior=None).fit(X, y).transduction_,
        "belief propagation": BeliefPropagationClassifier(graph, damping=0.3)
        .fit(X, y)
        .transduction_,
    }
    for ax, (name, answer) in zip(row, answers.items()):
        plot_graph(graph.build(X), X, y, inferred=answer, ax=ax, legend=False, edge_width=0.4)
        ax.set_title(f"{name}, σ = {std}: {np.mean(answer == truth):.0%} right")
