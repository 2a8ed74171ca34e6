"""Pictures of graphs and of classifiers; the only part of leaven that uses matplotlib.

matplotlib is imported when a function is called, and comes with the extra ``plot``. Every
function draws into the axes it is given, or into a new figure, and returns the axes.
"""

from __future__ import annotations

from leaven.plotting._graph import plot_graph
from leaven.plotting._regions import plot_decision_regions
from leaven.plotting._scales import plot_length_scales

__all__ = ["plot_decision_regions", "plot_graph", "plot_length_scales"]
