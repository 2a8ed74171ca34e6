"""Representations that are learned from all rows, labeled or not."""

from leaven.representation._archetypes import ArchetypeSubsampling
from leaven.representation._autoencoder import ClasswiseAutoencoder
from leaven.representation._feature_map import SOMFeatureMap
from leaven.representation._lenet import LeNet5Classifier
from leaven.representation._rbm_network import RBMPretrainedClassifier
from leaven.representation._som import SelfOrganizingMap
from leaven.representation._som_distance import som_distance

__all__ = [
    "ArchetypeSubsampling",
    "ClasswiseAutoencoder",
    "LeNet5Classifier",
    "RBMPretrainedClassifier",
    "SOMFeatureMap",
    "SelfOrganizingMap",
    "som_distance",
]
