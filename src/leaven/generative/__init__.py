"""Generative models fitted by expectation-maximization on labeled and unlabeled rows."""

from leaven.generative._bernoulli import SemiSupervisedBernoulliNB
from leaven.generative._categorical import SemiSupervisedCategoricalNB
from leaven.generative._gaussian import SemiSupervisedGaussianNB
from leaven.generative._gaussian_mixture import SemiSupervisedGaussianMixture
from leaven.generative._hmm import SemiSupervisedHMM
from leaven.generative._mixed import SemiSupervisedMixedNB
from leaven.generative._multinomial import SemiSupervisedMultinomialNB
from leaven.generative._prior import ClassPrior
from leaven.generative._recalibration import LogOdds, RankSigmoid
from leaven.generative._weighting import label_weights

__all__ = [
    "ClassPrior",
    "LogOdds",
    "RankSigmoid",
    "SemiSupervisedBernoulliNB",
    "SemiSupervisedCategoricalNB",
    "SemiSupervisedGaussianMixture",
    "SemiSupervisedGaussianNB",
    "SemiSupervisedHMM",
    "SemiSupervisedMixedNB",
    "SemiSupervisedMultinomialNB",
    "label_weights",
]
