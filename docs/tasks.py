"""Tasks of the reference: heading, one sentence, and the names or packages that serve it.

A package stands for all of its public names that no earlier task took. The build fails while a
public name has no task.
"""

from __future__ import annotations

TASKS: list[tuple[str, str, list[str]]] = [
    (
        "Label a table",
        "A data frame or a file in, the same with labels out.",
        [
            "leaven.label",
            "leaven.annotate",
            "leaven.load",
            "leaven.tables.label_table",
            "leaven.tables.compare_table",
            "leaven.tables.label_files",
            "leaven.tables.LabelingResult",
            "leaven.tables.LabelingOptions",
            "leaven.tables.TableModel",
            "leaven.report",
        ],
    ),
    (
        "Choose a method, and know what to expect",
        "Several methods on held-out labels, splits and tuning for few labels.",
        ["leaven.model_selection"],
    ),
    ("Build a similarity graph", "Which rows are neighbors, and how near.", ["leaven.graph"]),
    ("Classify on a graph", "Labels travel along the edges.", ["leaven.graph_based"]),
    (
        "Fit a model of the classes by EM",
        "Naive Bayes, mixtures, sequences.",
        ["leaven.generative"],
    ),
    (
        "Let a classifier label for itself or for others",
        "Self-training, views, committees, clusters.",
        ["leaven.self_labeling"],
    ),
    (
        "Put the boundary where few rows are",
        "Transductive and safe SVMs, entropy and expectation regularization.",
        ["leaven.low_density"],
    ),
    ("Turn texts into columns", "Counts, stems, chosen terms.", ["leaven.text"]),
    (
        "Learn a representation",
        "Maps of images; networks, with PyTorch.",
        ["leaven.representation"],
    ),
    (
        "Ask for labels",
        "Learners, query strategies and rules that say when to stop.",
        ["leaven.active"],
    ),
    (
        "Compare methods",
        "Learning curves, studies that resume, tests, tables.",
        ["leaven.evaluation"],
    ),
    ("Draw figures", "They need the extra plot.", ["leaven.plotting"]),
    ("Load or make data", "Example tables, loaders, generators.", ["leaven.datasets"]),
    ("Save and load", "Model files that execute nothing.", ["leaven.persistence"]),
    (
        "Write your own method or tool",
        "The questions that leaven asks of an estimator, checks, and the engine of the choice.",
        ["leaven.base", "leaven.testing", "leaven.selection"],
    ),
    (
        "Serve the labeling page, read and write tables",
        "The parts under the commands.",
        ["leaven.app", "leaven.tables"],
    ),
    ("Work on more rows than fit", "Rows in partitions.", ["leaven.partitions"]),
    (
        "Compute",
        "Solvers and statistics that know of no estimator.",
        ["leaven.solvers", "leaven.statistics"],
    ),
    ("Catch warnings and errors", "Those that you may want to catch.", ["leaven.exceptions"]),
]
