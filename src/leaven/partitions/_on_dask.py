"""Partitions as tasks of Dask: one task per partition and pass, merged by a tree of tasks."""

from __future__ import annotations

import copy
import sys
import uuid
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, TypeVar

from leaven._optional import import_optional
from leaven.partitions._steps import Step, run_steps

# Partial results that one task merges: Dask's own default for reductions of dataframes.
SPLIT_EVERY = 8

T = TypeVar("T")


class DaskPartitions:
    """Partitions as Dask tasks, for whichever scheduler is active.

    The methods are those of :class:`LocalPartitions`; functions must be importable by name, since
    they may run in another process. Nothing is kept between two passes that was not persisted
    by whoever made the tasks: memory is bounded by the partitions being worked on, and a lost
    worker's tasks run again.

    Parameters
    ----------
    blocks : list of dask.delayed.Delayed

    Examples
    --------
    >>> from operator import add
    >>> import dask
    >>> from leaven.partitions import DaskPartitions
    >>> DaskPartitions([dask.delayed([1, 2]), dask.delayed([3])]).reduce(sum, add)
    6
    """

    def __init__(self, blocks: Sequence[Any]) -> None:
        self._sources = _Sources(list(blocks))
        self._steps: tuple[Step, ...] = ()

    @property
    def n_partitions(self) -> int:
        """Number of partitions."""
        return len(self._sources.blocks)

    @property
    def blocks(self) -> list[Any]:
        """One task per partition, as Delayed objects."""
        return self._tasks(self._sources.blocks) if self._steps else list(self._sources.blocks)

    def prepare(
        self, function: Callable[..., Any], *shared: Any, each: Any = None
    ) -> DaskPartitions:
        """Tasks on top of these; nothing is computed."""
        prepared = DaskPartitions.__new__(DaskPartitions)
        prepared._sources = self._sources
        prepared._steps = (*self._steps, Step(function, shared, each))
        return prepared

    def map(self, function: Callable[..., T], *shared: Any, each: Any = None) -> list[T]:
        """Return one result per partition."""
        dask = import_optional("dask", extra="dask", needed_by="A Dask collection")
        tasks = self.prepare(function, *shared, each=each)
        return list(dask.compute(*tasks._tasks(self._sources.in_one_task())))

    def reduce(self, function: Callable[..., T], merge: Callable[[T, T], T], *shared: Any) -> T:
        """Merge :data:`SPLIT_EVERY` results at a time until one is left."""
        dask = import_optional("dask", extra="dask", needed_by="A Dask collection")
        if not self.n_partitions:
            raise ValueError("There is no partition.")
        tasks = self.prepare(function, *shared)._tasks(self._sources.in_one_task())
        name = f"leaven-merge-{uuid.uuid4().hex}"
        layer: dict[Any, Any] = {}
        keys = [task.key for task in tasks]
        while len(keys) > 1:
            groups = [keys[i : i + SPLIT_EVERY] for i in range(0, len(keys), SPLIT_EVERY)]
            keys = [(name, len(layer) + i) for i in range(len(groups))]
            for key, group in zip(keys, groups, strict=True):
                layer[key] = (_merge_all, _Held(merge), *group)
        last = _delayed(keys[0], name, _graph(name, layer, tasks)) if layer else tasks[0]
        total: T = dask.compute(last)[0]
        return total

    def to_array(self, lengths: Sequence[int], shape: tuple[int, ...], dtype: Any) -> Any:
        """One lazy Dask array from tasks that give ``lengths`` rows of ``shape`` each."""
        array = import_optional("dask.array", extra="dask", needed_by="A Dask collection")
        # By hand, since `concatenate` drops partitions without rows.
        blocks = self.blocks
        name = f"leaven-{uuid.uuid4().hex}"
        last = (0,) * len(shape)
        layer = {(name, i, *last): (_same, block.key) for i, block in enumerate(blocks)}
        graph = _graph(name, layer, blocks)
        chunks = (tuple(lengths), *((size,) for size in shape))
        return array.Array(graph, name, chunks, dtype=dtype)

    def _tasks(self, sources: list[Any]) -> list[Any]:
        """One task per partition that does all steps, with the steps in the graph once.

        A task costs milliseconds of the scheduler and of the worker, whatever it does: with one
        per step, the tasks of small partitions took longer than the work.
        """
        name = f"leaven-{uuid.uuid4().hex}"
        together = name + "-steps"
        layer: dict[Any, Any] = {together: _Held([step.shared_by_all() for step in self._steps])}
        depends = [source for source in sources if not isinstance(source, _Alone)]
        keys = [(name, number) for number in range(len(sources))]
        for number, (key, source) in enumerate(zip(keys, sources, strict=True)):
            own = [step.of(number) for step in self._steps]
            rows = source if isinstance(source, _Alone) else source.key
            layer[key] = (_run, together, _Held((number, own)), rows)
        graph = _graph(name, layer, depends)
        return [_delayed(key, name, graph) for key in keys]


class _Held:
    """Hides a value from Dask, which would look for tasks and keys inside of it."""

    def __init__(self, value: Any) -> None:
        self.value = value


class _Alone:
    """All tasks that make one partition, to be run inside of one task."""

    def __init__(self, graph: dict[Any, Any], key: Any) -> None:
        self.graph, self.key = graph, key

    def compute(self) -> Any:
        core = import_optional("dask.core", extra="dask", needed_by="A Dask collection")
        return core.get(self.graph, self.key)


class _Sources:
    """Tasks that make the partitions, as they came and each in one piece."""

    def __init__(self, blocks: list[Any]) -> None:
        self.blocks = blocks
        self._alone: list[Any] | None = None

    def in_one_task(self) -> list[Any]:
        """Each partition in one piece, if nothing that makes it is of use to others.

        Tasks stay as they are where partitions share one (a shuffle would run once for each),
        where data wait on workers, and where tasks carry annotations.
        """
        if self._alone is None:
            self._alone = _apart(self.blocks) or self.blocks
        return self._alone


def _apart(blocks: list[Any]) -> list[Any] | None:
    """Separate the graphs of the partitions; None where that cannot be done."""
    core = import_optional("dask.core", extra="dask", needed_by="A Dask collection")
    graphs = import_optional("dask.highlevelgraph", extra="dask", needed_by="A Dask collection")
    merged = graphs.HighLevelGraph.merge(*(block.__dask_graph__() for block in blocks))
    if any(layer.annotations for layer in merged.layers.values()):
        return None
    every = dict(merged)
    if _has_futures(every):
        return None
    found: list[Any] = []
    seen: set[Any] = set()
    for block in blocks:
        own: dict[Any, Any] = {}
        left = [block.key]
        while left:
            key = left.pop()
            if key in own:
                continue
            # A key that the graph does not hold is that of data on a worker.
            if key in seen or key not in every:
                return None
            own[key] = task = every[key]
            needed = getattr(task, "dependencies", None)
            left.extend(core.get_dependencies(every, key) if needed is None else needed)
        seen.update(own)
        found.append(_Alone(own, block.key))
    return found


def _has_futures(graph: dict[Any, Any]) -> bool:
    # Without a cluster it was not imported, and there are no workers for data to wait on.
    distributed = sys.modules.get("distributed")
    return distributed is not None and bool(distributed.futures_of(graph))


def _delayed(key: Any, layer: str, graph: Any) -> Any:
    delayed = import_optional("dask.delayed", extra="dask", needed_by="A Dask collection")
    return delayed.Delayed(key, graph, layer=layer)


def _graph(name: str, layer: dict[Any, Any], dependencies: Sequence[Any]) -> Any:
    graphs = import_optional("dask.highlevelgraph", extra="dask", needed_by="A Dask collection")
    return graphs.HighLevelGraph.from_collections(name, layer, dependencies=dependencies)


def _run(steps: _Held, own: _Held, source: Any) -> Any:
    number, each = own.value
    block = source.compute() if isinstance(source, _Alone) else source
    return run_steps(steps.value, each, number, block)


def _merge_all(merge: _Held, *results: Any) -> Any:
    # `merge` may change its first argument, and the task may run again with the same results.
    return reduce(merge.value, results[1:], copy.deepcopy(results[0]))


def _same(block: T) -> T:
    return block
