"""
Which method is better?
=======================

Learning curves of three classifiers on three data sets, and what statistics says of them.
"""

# %%
# Naive Bayes from the labeled rows alone, with the unlabeled rows by EM, and the harmonic
# function on a graph. Every method meets the same ten splits.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import StandardScaler

from leaven.evaluation import (
    friedman_test,
    learning_curve,
    nemenyi_test,
    summary_table,
    wilcoxon_table,
)
from leaven.generative import SemiSupervisedGaussianNB
from leaven.graph import KNNGraph
from leaven.graph_based import HarmonicClassifier
from leaven.plotting import (
    plot_class_proportions,
    plot_critical_difference,
    plot_learning_curves,
    plot_probability_histogram,
)

datasets = {
    "iris": load_iris(return_X_y=True),
    "wine": load_wine(return_X_y=True),
    "breast cancer": load_breast_cancer(return_X_y=True),
}
methods = {
    "NB": GaussianNB(),
    "SSNB": SemiSupervisedGaussianNB(),
    "harmonic": HarmonicClassifier(KNNGraph(10), prior="labeled"),
}
parts = []
for dataset, (X, y) in datasets.items():
    X = StandardScaler().fit_transform(X)
    for method, classifier in methods.items():
        curve = learning_curve(classifier, X, y, sizes=[6, 12, 30, 60], n_trials=10, random_state=0)
        parts.append(curve.assign(dataset=dataset, method=method))
results = pd.concat(parts)

# %%
# The axis is logarithmic, and the bands are one standard error of the mean.

plot_learning_curves(results)

# %%
# A curve is summed up by the area under it. The best one of a data set is bold, and what ten
# trials do not tell apart from it is italic.

table = summary_table(results)
print(table.to_markdown())

# %%
# The same comparison pair by pair, with p-values.

pairs = wilcoxon_table(results)
print(pairs[["dataset", "method_a", "method_b", "p_value", "better"]].head(6).to_string())

# %%
# Three data sets are too few to rank methods by: the critical difference is nearly as long as the
# axis. Friedman's test takes one number a data set.

print(friedman_test(table.means))
plot_critical_difference(table.means)

# %%
# With fifteen methods on forty data sets the figure is still readable. These scores are drawn
# at random, with methods that grow worse from the first to the last.

rng = np.random.default_rng(0)
scores = pd.DataFrame(
    rng.normal(size=(40, 15)) + np.linspace(0.0, 2.2, 15),
    columns=[f"method {letter}" for letter in "ABCDEFGHIJKLMNO"],
)
print(nemenyi_test(scores).groups[0])
plot_critical_difference(scores)

# %%
# Naive Bayes counts features that say the same as if each were evidence of its own. It is too
# sure of itself: nearly all probabilities are 0 or 1, also of rows that are on the wrong side, and
# in a few trials the shares of the classes are far off.

X, y = load_breast_cancer(return_X_y=True)
names = np.array(["malignant", "benign"])[y]
truth, answers, sizes = [], [], []
for trial in range(40):
    rows = np.random.default_rng(trial).permutation(len(y))
    first = np.concatenate([rows[y[rows] == c][:2] for c in (0, 1)])  # two of each class
    rows = np.concatenate([first, np.setdiff1d(rows, first, assume_unique=True)])
    n_labeled = [6, 12, 25, 50][trial % 4]
    hidden = rows[n_labeled:]
    y_part = names.astype(object)
    y_part[hidden] = None
    model = SemiSupervisedGaussianNB().fit(X, y_part)
    truth.append(names[hidden])
    answers.append(model.label_distributions_[hidden])
    sizes.append(n_labeled)

fig, axes = plt.subplots(1, 3, figsize=(14, 4), layout="constrained")
plot_class_proportions(truth, answers, ax=axes[0])
plot_class_proportions(truth, answers, n_labeled=sizes, ax=axes[1])
plot_probability_histogram(
    np.concatenate(answers), np.concatenate(truth), positive="malignant", ax=axes[2]
)

plt.show()
