"""Length scales as an image."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from leaven.graph import AnisotropicGaussian
from leaven.graph_based import LengthScales
from leaven.plotting import plot_length_scales


def test_image_holds_the_scales():
    values = np.arange(1.0, 13.0)
    trace = np.array([1.0, 0.5])
    result = LengthScales(values, 0.5, trace, AnisotropicGaussian(values), 1, True)
    ax = plot_length_scales(result, (3, 4))
    assert_array_equal(ax.images[0].get_array(), values.reshape(3, 4))
    assert len(ax.figure.axes) == 2
    again = plot_length_scales(values[:9], ax=ax, colorbar=False)
    assert again is ax
    assert ax.images[-1].get_array().shape == (3, 3)


def test_wrong_shape():
    with pytest.raises(ValueError, match="12 length scales do not make an image"):
        plot_length_scales(np.ones(12))
