"""
Digits from fifty labels
========================

1,797 images of handwritten digits, five labels per class. Which method labels the rest best, and
would we have known without the other labels?
"""

# %%
# The rows with a label are fifty; -1 marks the others.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from leaven.active import ActiveLearner, InformationDensity, SmallestMargin
from leaven.graph_based import HarmonicClassifier
from leaven.model_selection import SafeClassifier

X, truth = load_digits(return_X_y=True)
rng = np.random.default_rng(0)
y = np.full(len(truth), -1)
for digit in range(10):
    y[rng.choice(np.flatnonzero(truth == digit), 5, replace=False)] = digit
free = y == -1

# %%
# ``SafeClassifier`` holds out some of the fifty labels in turn, tests every candidate on them, and
# says whether the unlabeled images helped.

names = ["logistic-regression", "naive-bayes", "linear-svm"]
names += ["harmonic", "consistency", "spectral-transducer", "naive-bayes-em"]
model = SafeClassifier(names, random_state=0).fit(X, y)
print(model.report_)
print(f"\n{np.mean(model.transduction_[free] == truth[free]):.1%} of the other images are right")

# %%
# The estimates from fifty labels, beside the truth that we know here and users do not.

table = model.report_.candidates
real = {}
for name in names:
    alone = SafeClassifier([name], random_state=0).fit(X, y)
    real[name] = np.mean(alone.transduction_[free] == truth[free])
fig, ax = plt.subplots(figsize=(7, 3.2), layout="constrained")
shown = table[table["name"].isin(names)]
place = np.arange(len(shown))
low, high = shown["score"] - shown["low"], shown["high"] - shown["score"]
ax.errorbar(
    shown["score"],
    place,
    xerr=np.clip([low, high], 0, None),
    fmt="o",
    color="0.4",
    capsize=3,
    label="estimated from 50 labels",
)
ax.plot([real[n] for n in shown["name"]], place, "D", color="tab:orange", label="truth")
ax.set_yticks(place, shown["name"])
ax.invert_yaxis()
ax.set_xlabel("accuracy")
ax.legend()

# %%
# Which images to label next? Those that are near many others and hard to call.

strategy = InformationDensity(SmallestMargin(), similarity="gaussian")
learner = ActiveLearner(
    HarmonicClassifier(prior="labeled"), strategy, batch_size=10, diversity="kmeans", random_state=0
).fit(X, y)
asked = learner.query()
fig, axes = plt.subplots(1, 10, figsize=(9, 1.4), layout="constrained")
for ax, row in zip(axes, asked, strict=True):
    ax.imshow(X[row].reshape(8, 8), cmap="gray_r")
    ax.set_title(f"{learner.predict(X[[row]])[0]}?")
    ax.axis("off")
learner.teach(asked, truth[asked])
still = learner.labels_ == -1
print(f"with these ten labels: {np.mean(learner.predict(X[still]) == truth[still]):.1%}")
plt.show()
