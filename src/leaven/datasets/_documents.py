"""Document experiments of the literature: groups of 20 Newsgroups as two classes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from leaven.datasets._loaders import load

FOUR_NEWSGROUPS = {
    "comp": ("comp.graphics", "comp.os.ms-windows.misc"),
    "sci": ("sci.crypt", "sci.electronics"),
}
PAIRS = {
    "pc-mac": {"pc": ("comp.sys.ibm.pc.hardware",), "mac": ("comp.sys.mac.hardware",)},
    "windows-mac": {"windows": ("comp.os.ms-windows.misc",), "mac": ("comp.sys.mac.hardware",)},
    "baseball-hockey": {"baseball": ("rec.sport.baseball",), "hockey": ("rec.sport.hockey",)},
}
OTHERS = ("rec", "sci", "talk")


def load_four_newsgroups(
    *,
    return_X_y: bool = False,
    version: str = "20news-18828",
    data_home: str | os.PathLike[str] | None = None,
    download: bool = False,
) -> Any:
    """Load the documents of Lefakis: two computer groups against two science groups.

    comp.graphics and comp.os.ms-windows.misc are the class "comp", sci.crypt and
    sci.electronics the class "sci". The default version has the 1958 and 1972 documents of
    the source [1]_.

    Parameters
    ----------
    return_X_y : bool, default=False
        Return ``(data, target)`` only.
    version : str, default="20news-18828"
        The data set to take them from; see :func:`load`. "20news-bydate" has 3 more in
        sci.electronics.
    data_home : path, default=None
        Where the files are, in the place of the environment variable ``LEAVEN_DATA``.
    download : bool, default=False
        Let scikit-learn download version "20news-bydate" if the file is not there.

    Returns
    -------
    Bunch
        As :func:`load` gives it, with ``data`` (texts), ``target`` (class names) and ``group``
        (newsgroups).

    References
    ----------
    .. [1] L. Lefakis, "Transductive learning for document classification and handwritten
       character recognition", Utrecht University, section 2.2.

    Examples
    --------
    >>> from leaven.datasets import load_four_newsgroups
    >>> texts, y = load_four_newsgroups(return_X_y=True)  # doctest: +SKIP
    >>> y.value_counts().to_dict()  # doctest: +SKIP
    {'sci': 1972, 'comp': 1958}
    """
    bunch = _load_classes("four-newsgroups", FOUR_NEWSGROUPS, version, data_home, download)
    return (bunch.data, bunch.target) if return_X_y else bunch


def load_comp_vs(
    other: str,
    *,
    return_X_y: bool = False,
    version: str = "20news-bydate",
    data_home: str | os.PathLike[str] | None = None,
    download: bool = False,
) -> Any:
    """Load the documents of Nguyen: all computer groups against another top-level group.

    The default version has the 8870, 8843 and 8144 documents of the source [1]_ for "rec",
    "sci" and "talk".

    Parameters
    ----------
    other : {"rec", "sci", "talk"}
        The second class; the first is "comp".
    return_X_y : bool, default=False
        Return ``(data, target)`` only.
    version : str, default="20news-bydate"
        The data set to take them from; see :func:`load`.
    data_home : path, default=None
        Where the files are, in the place of the environment variable ``LEAVEN_DATA``.
    download : bool, default=False
        Let scikit-learn download version "20news-bydate" if the file is not there.

    Returns
    -------
    Bunch
        As :func:`load` gives it, with ``data`` (texts), ``target`` (class names) and ``group``
        (newsgroups).

    References
    ----------
    .. [1] H. N. Nguyen, "Study on semi-supervised learning with the framework of generative
       model", Nagaoka University of Technology, 2019, section 2.4.

    Examples
    --------
    >>> from leaven.datasets import load_comp_vs
    >>> texts, y = load_comp_vs("talk", return_X_y=True)  # doctest: +SKIP
    >>> len(texts)  # doctest: +SKIP
    8144
    """
    if other not in OTHERS:
        raise ValueError(f"other must be one of {list(OTHERS)}, got {other!r}.")
    classes = {"comp": ("comp.",), other: (f"{other}.",)}
    bunch = _load_classes(f"comp-vs-{other}", classes, version, data_home, download)
    return (bunch.data, bunch.target) if return_X_y else bunch


def load_newsgroup_pair(
    name: str,
    *,
    return_X_y: bool = False,
    version: str = "20news-18828",
    data_home: str | os.PathLike[str] | None = None,
    download: bool = False,
) -> Any:
    """Load the documents of Zhu, Ghahramani and Lafferty: one newsgroup against another.

    The default version has the documents of the source [1]_: 982 of PC, 961 of Mac, 994 of
    baseball and 999 of hockey; of MS-Windows it has 985, where the source prints 958.

    Parameters
    ----------
    name : {"pc-mac", "windows-mac", "baseball-hockey"}
        The two classes are named by its two words.
    return_X_y : bool, default=False
        Return ``(data, target)`` only.
    version : str, default="20news-18828"
        The data set to take them from; see :func:`load`.
    data_home : path, default=None
        Where the files are, in the place of the environment variable ``LEAVEN_DATA``.
    download : bool, default=False
        Let scikit-learn download version "20news-bydate" if the file is not there.

    Returns
    -------
    Bunch
        As :func:`load` gives it, with ``data`` (texts), ``target`` (class names) and ``group``
        (newsgroups).

    References
    ----------
    .. [1] X. Zhu, Z. Ghahramani and J. Lafferty, "Semi-supervised learning using Gaussian
       fields and harmonic functions", ICML 2003, section 7.

    Examples
    --------
    >>> from leaven.datasets import load_newsgroup_pair
    >>> texts, y = load_newsgroup_pair("baseball-hockey", return_X_y=True)  # doctest: +SKIP
    >>> y.value_counts().to_dict()  # doctest: +SKIP
    {'hockey': 999, 'baseball': 994}
    """
    if name not in PAIRS:
        raise ValueError(f"name must be one of {list(PAIRS)}, got {name!r}.")
    bunch = _load_classes(name, PAIRS[name], version, data_home, download)
    return (bunch.data, bunch.target) if return_X_y else bunch


def _load_classes(
    name: str,
    classes: Mapping[str, tuple[str, ...]],
    version: str,
    data_home: str | os.PathLike[str] | None,
    download: bool,
) -> Bunch:
    """Load a version of 20 Newsgroups and keep the groups of the classes.

    A group is named in full, or by a beginning that ends with a dot.
    """
    try:
        news = load(version, data_home=data_home, download=download)
    except FileNotFoundError as error:
        if version == "20news-bydate":
            raise
        raise FileNotFoundError(
            f"{error} Nearly the same documents come without a file by version='20news-bydate', "
            "download=True."
        ) from error
    names = np.full(len(news.target), None, dtype=object)
    for class_name, groups in classes.items():
        for group in groups:
            is_part = group.endswith(".")
            found = news.target.str.startswith(group) if is_part else news.target == group
            if not found.any():
                raise ValueError(f"{news.source} has no document of the newsgroup {group!r}.")
            names[found.to_numpy(dtype=bool)] = class_name
    keep = np.array([one is not None for one in names], dtype=bool)
    group = news.target[keep].reset_index(drop=True).rename("group")
    target = group.copy().rename("target")
    target[:] = names[keep].astype(str)
    return Bunch(
        data=news.data[keep].reset_index(drop=True),
        target=target,
        group=group,
        feature_names=None,
        target_names=sorted(classes),
        kind="text",
        name=name,
        DESCR=f"{name}: {int(keep.sum())} documents of {version}, 2 classes.",
        source=news.source,
        subset=None if news.subset is None else news.subset[keep],
        image_shape=None,
    )
