"""
Label a table
=============

A table of support tickets, of which a few have a topic. The command

.. code-block:: sh

    leaven label support_tickets.csv --target topic --text text

does what this script does in Python.
"""

# %%
# The table comes with leaven. Most of its topics are empty.

import matplotlib.pyplot as plt
import pandas as pd

from leaven.datasets import load_example
from leaven.tables import label_table

table = load_example("support_tickets")
print(table["topic"].value_counts(dropna=False))

# %%
# Every row gets a topic and a confidence; given topics stay as they are.

result = label_table(table, "topic", text="text")
columns = ["text", "topic_predicted", "topic_confidence", "topic_source"]
with pd.option_context("display.max_colwidth", 50):
    print(result.table[columns].head(8).to_string())

# %%
# The table is made up, so the true topics are known.

truth = load_example("support_tickets", with_truth=True)["topic_true"]
inferred = result.table["topic_source"] == "inferred"
right = result.table["topic_predicted"] == truth
print(f"{right[inferred].mean():.1%} of {inferred.sum()} inferred topics are right")

# %%
# What it learned from, and its confidence.

summary = result.summary
counts = pd.DataFrame(
    {
        "given": [c.given for c in summary.classes],
        "inferred": [c.inferred for c in summary.classes],
    },
    index=[c.name for c in summary.classes],
)

fig, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
counts.plot.barh(stacked=True, ax=axes[0], color=["0.25", "tab:orange"])
axes[0].set_xlabel("rows")
confidence = result.table["topic_confidence"]
axes[1].hist(
    [confidence[inferred & right], confidence[inferred & ~right]],
    bins=20,
    stacked=True,
    color=["tab:orange", "tab:red"],
    label=["right", "wrong"],
)
axes[1].legend()
axes[1].set_xlabel("confidence of the inferred topics")
axes[1].set_ylabel("rows")

# %%
# The least sure rows are the ones to look at, or to label next.

unsure = result.table[inferred].nsmallest(5, "topic_confidence")
print(unsure[["text", "topic_predicted", "topic_confidence"]].to_string())

plt.show()
