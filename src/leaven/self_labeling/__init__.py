"""Classifiers that label rows for themselves, for each other, or by cluster."""

from leaven.self_labeling._calibrated_tree import CalibratedTreeClassifier
from leaven.self_labeling._cluster import ClusterThenLabel
from leaven.self_labeling._co_em import CoEMClassifier
from leaven.self_labeling._co_forest import CoForestClassifier
from leaven.self_labeling._co_training import CoTrainingClassifier
from leaven.self_labeling._democratic import DemocraticCoLearningClassifier
from leaven.self_labeling._seeded_kmeans import SeededKMeansClassifier
from leaven.self_labeling._self_training import SelfTrainingClassifier
from leaven.self_labeling._setred import SetredClassifier
from leaven.self_labeling._statistical import StatisticalCoLearningClassifier
from leaven.self_labeling._tri_training import TriTrainingClassifier

__all__ = [
    "CalibratedTreeClassifier",
    "ClusterThenLabel",
    "CoEMClassifier",
    "CoForestClassifier",
    "CoTrainingClassifier",
    "DemocraticCoLearningClassifier",
    "SeededKMeansClassifier",
    "SelfTrainingClassifier",
    "SetredClassifier",
    "StatisticalCoLearningClassifier",
    "TriTrainingClassifier",
]
