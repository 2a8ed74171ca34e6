"""
Texts: where unlabeled ones help and where they do not
======================================================

The same 600 messages with two questions. Left: the topic, of which the words tell; graph and EM
learn from the other messages. Right: the channel by which a message came, which words hardly tell.
There the clusters of the messages are still topics, and following them is of no use.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from leaven.datasets import load_example
from leaven.generative import SemiSupervisedMultinomialNB
from leaven.graph import KNNGraph
from leaven.graph_based import HarmonicClassifier

tickets = load_example("support_tickets", with_truth=True)
tfidf = TfidfVectorizer(stop_words="english", sublinear_tf=True).fit_transform(tickets["text"])
counts = CountVectorizer(stop_words="english", min_df=2).fit_transform(tickets["text"])
methods = {
    "labels alone": (LogisticRegression(max_iter=1_000), tfidf),
    "harmonic, cosine": (HarmonicClassifier(KNNGraph(10, metric="cosine")), tfidf),
    "naive Bayes with EM": (SemiSupervisedMultinomialNB(), counts),
}
sizes = [2, 4, 8, 16]

_, axes = plt.subplots(1, 2, figsize=(8, 3.2), sharey=True, layout="constrained")
for ax, column, title in zip(axes, ["topic_true", "channel"], ["works: topic", "fails: channel"]):
    truth = tickets[column].astype("category").cat.codes.to_numpy(int)
    for name, (model, rows) in methods.items():
        mean = []
        for size in sizes:
            scores = []
            for seed in range(3):
                rng = np.random.default_rng(seed)
                y = np.full(len(truth), -1)
                for c in np.unique(truth):
                    y[rng.choice(np.flatnonzero(truth == c), size, replace=False)] = c
                free = y < 0
                if name == "labels alone":
                    found = model.fit(rows[~free], y[~free]).predict(rows[free])
                else:
                    found = model.fit(rows, y).transduction_[free]
                scores.append(np.mean(found == truth[free]))
            mean.append(np.mean(scores))
        ax.plot(sizes, mean, "o-", label=name)
    ax.axhline(np.bincount(truth).max() / len(truth), color="grey", lw=1, ls=":")
    ax.set_title(title)
    ax.set_xlabel("labels per class")
    ax.set_xscale("log", base=2)
axes[0].set_ylabel("accuracy")
axes[0].legend(fontsize=8)
plt.show()
