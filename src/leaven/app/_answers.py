"""From codes to answers: fit, calibrate, choose what to ask, test on held-out labels."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from leaven._labels import UNLABELED
from leaven.active import Progress, StablePredictions, margin
from leaven.app._calibration import fit_temperature, fold_numbers, sharpen
from leaven.app._engine import Engine, Named
from leaven.app._evidence import Evidence, weigh_evidence
from leaven.app._models import (
    AUTO,
    Blend,
    Harmonic,
    Linear,
    Model,
    Own,
    fit_each,
    fit_on_rows_or_points,
)
from leaven.app._orders import take_turns
from leaven.app._prepared import Prepared

_SHOWN = 3  # classes whose probability is sent to the page
_QUEUE = 400  # rows that are ranked: at twenty keys a second they last for twenty seconds
_FOLDS = 5  # the usual number: a fit on four fifths of the labels is close to the full one
_SLOW = 2.0  # seconds of a fit above which two folds must do
_FEWEST_TO_CALIBRATE = 20  # held-out labels; fewer would fit the temperature to noise
_STOP_SET = 1_000  # rows, as in Bloodgood and Vijay-Shanker (2009), who took 1,000 to 4,000
_STEP = 20  # labels between the models that the stopping rule compares
_FIRST_CONSULTED = 20  # labels: with fewer the engine has hardly any to hold out
_DOUBTED = 0.2  # a given label with a smaller held-out probability is suspicious


@dataclass(frozen=True, eq=False)
class Request:
    """What is known when a fit begins.

    Parameters
    ----------
    version : int
        Number of the last event.
    codes : int array of shape (n_rows,)
    n_classes : int
    sample : int array
        Rows that were drawn at random and have a label by hand, on which accuracy is
        estimated.
    """

    version: int
    codes: NDArray[np.intp]
    n_classes: int
    sample: NDArray[np.intp]

    @property
    def known(self) -> NDArray[np.intp]:
        """The rows with a label."""
        return np.flatnonzero(self.codes != UNLABELED)


@dataclass(frozen=True, eq=False)
class Answers:
    """What the newest model answers, for all rows.

    Parameters
    ----------
    version, n_labels : int
    top : int16 array of shape (n_rows, at most 3)
        The most probable classes.
    share : float32 array of shape (n_rows, at most 3)
        Their calibrated probabilities.
    useful, uncertain : int array
        Rows without a label, those to ask first in front.
    evidence : Evidence
    method : str
    seconds : float
    stop : str or None
        Why the stopping rule of :mod:`leaven.active` would stop.
    """

    version: int
    n_labels: int
    top: NDArray[np.int16]
    share: NDArray[np.float32]
    useful: NDArray[np.intp]
    uncertain: NDArray[np.intp]
    evidence: Evidence
    method: str
    seconds: float
    stop: str | None


@dataclass(frozen=True, eq=False)
class HeldOut:
    """What held-out labels say of the model.

    Parameters
    ----------
    version, n_labels : int
    n_right, n_tested : int
        Of the rows drawn at random.
    suspicious : list of tuple of (int, int, float)
        Rows whose label the model doubts when it does not know it: row, answer, and the
        probability of the label that it has.
    method : str
    """

    version: int
    n_labels: int
    n_right: int
    n_tested: int
    suspicious: list[tuple[int, int, float]]
    method: str


@dataclass(eq=False)
class Mind:
    """The model of a table, and what it remembers from fit to fit.

    Parameters
    ----------
    prepared : Prepared
    method : str, default="auto"
    estimator : classifier, optional
        Instead of a method by name.
    strategy : query strategy, optional
        Instead of the order "most useful next".
    seed : int, default=0
    """

    prepared: Prepared
    method: str = AUTO
    estimator: Any = None
    strategy: Any = None
    seed: int = 0
    temperature: float = 1.0
    _graph: Any = None
    _chosen: str | None = None
    _stopping: list[NDArray[Any]] = field(default_factory=list)
    _stopping_at: int = -_STEP
    _model: Any = None
    _engine: Engine | None = None
    _favorite: str | None = None
    _consult_at: int = _FIRST_CONSULTED

    def use_graph(self, graph: Any) -> None:
        """Take the similarity graph, which is ready later than the rows."""
        self._graph, self._model = graph, None

    def models(self) -> dict[str, Model]:
        """The models to choose from; made anew, they know of no label."""
        if self.estimator is not None:
            own = Own(self.estimator, self.prepared.rows, self.prepared.points)
            return {own.name: own}
        found: dict[str, Model] = {Linear.name: Linear(self.prepared.rows)}
        if self._graph is not None:
            found[Harmonic.name] = Harmonic(self._graph)
        if self.method in found:
            return {self.method: found[self.method]}
        if self.method != AUTO:
            named = Named(self.method, self._candidates())
            return {named.name: named}
        if len(found) > 1:
            found[Blend.name] = Blend(list(found.values()))
        if self._favorite is not None and self._favorite not in found:
            found[self._favorite] = Named(self._favorite, self._candidates())
        return found

    def _candidates(self) -> Engine:
        if self._engine is None:
            self._engine = Engine(self.prepared.rows, self.seed)
        return self._engine

    def consult(self, request: Request) -> None:
        """Ask the selection engine, each time that the labels have doubled."""
        n_labels = len(request.known)
        if self.method != AUTO or self.estimator is not None or n_labels < self._consult_at:
            return
        self._consult_at = 2 * n_labels
        self._favorite = self._candidates().best(request.codes)

    def answer(self, request: Request) -> Answers:
        """Fit on all labels and rank the rows without one."""
        start = time.perf_counter()
        model = self._current()
        raw = model.fit(request.codes, request.n_classes)
        shares = sharpen(raw, self.temperature)
        free = np.flatnonzero(request.codes == UNLABELED)
        order = np.argsort(-shares, axis=1, kind="stable")[:, :_SHOWN]
        stop = self._stop(request, shares, free)
        uncertainty = 1.0 - np.asarray(margin(shares[free])) if len(free) else np.empty(0)
        ranked = free[np.argsort(-uncertainty, kind="stable")]
        return Answers(
            version=request.version,
            n_labels=len(request.known),
            top=order.astype(np.int16),
            share=np.take_along_axis(shares, order, axis=1).astype(np.float32),
            useful=self._useful(request, free, uncertainty),
            uncertain=ranked[:_QUEUE],
            evidence=weigh_evidence(self.prepared.things, shares),
            method=model.name,
            seconds=time.perf_counter() - start,
            stop=stop,
        )

    def _current(self) -> Model:
        """The model in use, which starts its next solve where the last one ended."""
        found = self.models() if self._model is None else None
        if found is not None:
            name = self._chosen if self._chosen in found else list(found)[-1]
            self._model = found[name]
        model: Model = self._model
        return model

    def _useful(
        self, request: Request, free: NDArray[np.intp], uncertainty: NDArray[Any]
    ) -> NDArray[np.intp]:
        if self.strategy is not None and len(free):
            uncertainty = self._scores(request, free)
        return take_turns(free, uncertainty, self.prepared.cluster, _QUEUE)

    def _scores(self, request: Request, free: NDArray[np.intp]) -> NDArray[Any]:
        """Ask the query strategy of the user."""
        known = request.known
        estimator = LogisticRegression(max_iter=200) if self.estimator is None else self.estimator
        fitted, rows = fit_on_rows_or_points(
            estimator, self.prepared.rows, self.prepared.points, request.codes
        )
        return np.asarray(
            self.strategy.scores(fitted, rows[free], rows[known], request.codes[known])
        )

    def _stop(self, request: Request, shares: NDArray[Any], free: NDArray[Any]) -> str | None:
        """What the stopping rule says of the models of the last labels, one per 20 labels."""
        n_labels = len(request.known)
        if n_labels - self._stopping_at >= _STEP:
            rng = np.random.RandomState(self.seed)
            n_rows = len(shares)
            chosen = rng.choice(n_rows, min(_STOP_SET, n_rows), replace=False)
            self._stopping.append(shares[chosen].argmax(axis=1))
            self._stopping_at = n_labels
        progress = Progress(n_taught=n_labels, n_pool=len(free), predictions=self._stopping)
        reason: str | None = StablePredictions().reason(progress)
        return reason

    def test(
        self, request: Request, interrupted: Callable[[], bool] = lambda: False
    ) -> HeldOut | None:
        """Hold out labels in turn and answer them; None if it was interrupted or cannot be."""
        known = request.known
        counts = np.bincount(request.codes[known], minlength=request.n_classes)
        if (counts >= 2).sum() < 2:
            return None
        start = time.perf_counter()
        folds = fold_numbers(request.codes[known], _FOLDS, self.seed)
        models = self.models()
        held: dict[str, NDArray[Any]] = {
            name: np.zeros((len(known), request.n_classes)) for name in models
        }
        n_folds = _FOLDS
        for fold in range(_FOLDS):
            if interrupted():
                return None
            if fold == 1 and time.perf_counter() - start > _SLOW:
                n_folds = 2
            if fold >= n_folds:
                break
            hidden = folds == fold if n_folds == _FOLDS or fold == 0 else folds > 0
            codes = request.codes.copy()
            codes[known[hidden]] = UNLABELED
            if len(np.unique(codes[codes != UNLABELED])) < 2:
                return None
            # Made anew for every fold: a solve that starts at the last answer would know it.
            for name, shares in fit_each(self.models(), codes, request.n_classes).items():
                held[name][hidden] = shares[known[hidden]]
        return self._judge(request, known, held)

    def _judge(
        self, request: Request, known: NDArray[np.intp], held: dict[str, NDArray[Any]]
    ) -> HeldOut:
        truth = request.codes[known]
        rows = np.arange(len(known))
        losses = {
            name: -np.log(np.clip(shares[rows, truth], 1e-3, 1.0)).mean()
            for name, shares in held.items()
        }
        best = min(losses, key=lambda name: losses[name])
        if best != self._chosen:
            self._chosen, self._model = best, None
        shares = held[best]
        drawn = np.isin(known, request.sample)
        judged = drawn if drawn.sum() >= _FEWEST_TO_CALIBRATE else np.ones(len(known), dtype=bool)
        if judged.sum() >= _FEWEST_TO_CALIBRATE:
            self.temperature = fit_temperature(shares[judged], truth[judged])
        sharp = sharpen(shares, self.temperature)
        answers = sharp.argmax(axis=1)
        doubt = sharp[rows, truth]
        doubted = np.flatnonzero((answers != truth) & (doubt < _DOUBTED))
        doubted = doubted[np.argsort(doubt[doubted], kind="stable")]
        return HeldOut(
            version=request.version,
            n_labels=len(known),
            n_right=int((answers == truth)[drawn].sum()),
            n_tested=int(drawn.sum()),
            suspicious=[(int(known[i]), int(answers[i]), float(doubt[i])) for i in doubted],
            method=best,
        )
