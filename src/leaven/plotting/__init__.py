"""Pictures of graphs, classifiers and results; the only part of leaven that uses matplotlib.

matplotlib is imported when a function is called, and comes with the extra ``plot``. Every
function draws into the axes it is given, or into a new figure, and returns the axes.
"""

from __future__ import annotations

from leaven.plotting._class_proportions import plot_class_proportions
from leaven.plotting._critical_difference import plot_critical_difference
from leaven.plotting._graph import plot_graph
from leaven.plotting._learning_curves import plot_learning_curves
from leaven.plotting._probabilities import plot_probability_histogram
from leaven.plotting._regions import plot_decision_regions
from leaven.plotting._scales import plot_length_scales
from leaven.plotting._svg import as_svg

__all__ = [
    "as_svg",
    "plot_class_proportions",
    "plot_critical_difference",
    "plot_decision_regions",
    "plot_graph",
    "plot_learning_curves",
    "plot_length_scales",
    "plot_probability_histogram",
]
