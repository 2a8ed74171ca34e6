"""What the networks share: PyTorch when it is needed, its random numbers, reports."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from leaven._optional import import_optional
from leaven._progress import progress_bar

LOGGER = logging.getLogger("leaven")


def load_torch(caller: Any) -> Any:
    """Import PyTorch, or say how to install it for the class of ``caller``."""
    return import_optional("torch", extra="deep", needed_by=type(caller).__name__)


def make_generator(torch: Any, random_state: Any) -> Any:
    """Give a generator of its own, so that the global state of PyTorch stays as it is."""
    seed = int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
    return torch.Generator().manual_seed(seed)


def to_tensor(torch: Any, array: NDArray[Any], dtype: Any = None) -> Any:
    """Copy an array into a tensor, of 32-bit floats if not told otherwise."""
    return torch.tensor(array, dtype=torch.float32 if dtype is None else dtype)


def to_arrays(tensors: Any) -> list[NDArray[Any]]:
    """Copy tensors into arrays, which are pickled and read without PyTorch."""
    return [np.array(tensor.detach().numpy()) for tensor in tensors]


@contextmanager
def reporting(
    name: str, total: int, *, verbose: int, progress: bool
) -> Iterator[Callable[..., None]]:
    """Give a function to be called after each of ``total`` steps.

    It takes a line as :mod:`logging` does, logs it if ``verbose``, and moves the bar on.
    """
    with progress_bar(name, total, show=progress) as move:

        def report(line: str, *values: Any) -> None:
            if verbose:
                LOGGER.info(f"%s: {line}", name, *values)
            move()

        yield report
