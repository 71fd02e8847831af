"""Gives shards to the workers of a Ray cluster, and again if a worker dies."""

from __future__ import annotations

import logging
import os
from collections import deque
from typing import Any, Callable, Deque, Dict, List, NamedTuple, Optional, Sequence

from .._check import check as check_here
from .._command import AtomvetError
from . import _worker
from ._inputs import Given, expand, shards
from ._results import Results, Summary
from ._worker import Outcome

#: Shards per worker: enough that none waits long for the last one.
_SHARDS_PER_WORKER = 16
#: So many failures before any shard was checked, and there is something wrong with the cluster and not with a trace.
_HOPELESS = 20
_SMALLEST, _LARGEST = 1 << 20, 1 << 28
#: The command takes no less than this for `--memory`.
_LEAST_MEMORY = 16 << 20


class Settings(NamedTuple):
    """How a run uses the cluster."""

    #: As for `ray.init`: `auto` or `ray://HOST:PORT`; none starts Ray on this machine, unless `RAY_ADDRESS` is set.
    address: Optional[str] = None
    #: Processes on this machine, if Ray is started on it [default: one per core].
    workers: Optional[int] = None
    #: How often a trace is tried alone before it counts as one that cannot be checked.
    attempts: int = 3


class _Shard(NamedTuple):
    traces: List[Given]
    #: How often it was tried; counted once it is a single trace.
    attempt: int = 0
    #: It gets all memory of a machine, and nothing else runs there.
    alone: bool = False


def check(
    traces: Sequence[str], *options: str, out: str, settings: Settings = Settings(), progress: Callable[[int, int], None] = lambda done, of: None
) -> Summary:
    """Checks traces with these options of `atomvet check`, and writes the three tables of `Summary`.

    Raises `AtomvetError`, before anything is started, if the options are wrong.
    """
    import ray

    check_here(b"", *options)
    given = expand(traces)
    results = Results(out)
    results.add(Outcome([_worker.failed(trace, trace.error) for trace in given if trace.error], [], [], 0.0))
    given = [trace for trace in given if not trace.error]
    started_here = not ray.is_initialized()
    if started_here:
        ray.init(settings.address, num_cpus=settings.workers, log_to_driver=False, logging_level=logging.ERROR)
    try:
        deaths = _Run(ray, results, options, settings, progress).all(given)
    finally:
        if started_here:
            ray.shutdown()
    return results.finish(deaths)


def _share(machines: Sequence[Dict[str, float]]) -> int:
    """Each worker's share of the memory of the smallest machine, in bytes."""
    return max(_LEAST_MEMORY, int(min(machine["memory"] / machine["CPU"] for machine in machines)))


class _Run:
    def __init__(self, ray: Any, results: Results, options: Sequence[str], settings: Settings, progress: Callable[[int, int], None]) -> None:
        self._ray, self._results, self._settings, self._progress = ray, results, settings, progress
        self._options = list(options)
        # This module retries itself: Ray would give the same shard to the next worker, whatever it did to the last one.
        self._task = ray.remote(max_retries=0)(_worker.check)
        machines = [node["Resources"] for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU")]
        self._workers = int(sum(machine["CPU"] for machine in machines))
        self._most_workers = max(machine["CPU"] for machine in machines)
        self._memory = _share(machines)
        self._waiting: Deque[_Shard] = deque()
        self._deaths = 0
        #: A worker has checked something.
        self._checked = False

    def all(self, given: List[Given]) -> int:
        """Checks them all, and tells how often a worker died."""
        target = sum(trace.cost for trace in given) // (self._workers * _SHARDS_PER_WORKER)
        self._waiting.extend(map(_Shard, shards(given, min(max(target, _SMALLEST), _LARGEST))))
        running: Dict[Any, _Shard] = {}
        done = 0
        while self._waiting or running:
            # One more per worker than runs: none waits for this process. More would only fill its memory.
            while self._waiting and len(running) < 2 * self._workers:
                shard = self._waiting.popleft()
                running[self._start(shard)] = shard
            [ended], _ = self._ray.wait(list(running))
            shard = running.pop(ended)
            try:
                outcome: Outcome = self._ray.get(ended)
                self._checked = True
            except (self._ray.exceptions.RayError, OSError, RuntimeError, ValueError) as error:
                outcome = self._again(shard, error)
            self._waiting.extend(_Shard([trace], alone=True) for trace in outcome.hungry)
            self._results.add(outcome)
            done += len(outcome.traces)
            self._progress(done, len(given))
        return self._deaths

    def _start(self, shard: _Shard) -> Any:
        cores = self._most_workers if shard.alone else 1
        own = "--memory" in self._options or any(option.startswith("--memory=") for option in self._options)
        memory = None if shard.alone or own else self._memory
        return self._task.options(num_cpus=cores).remote(shard.traces, self._options, memory, os.getcwd())

    def _again(self, shard: _Shard, error: Exception) -> Outcome:
        """The worker of this shard died: halves of it find out whether a trace is to blame. None of its rows has arrived."""
        self._deaths += 1
        if self._deaths >= _HOPELESS and not self._checked:
            raise AtomvetError(f"no worker has checked anything in {_HOPELESS} attempts; the last one said: {_reason(error)}")
        middle = len(shard.traces) // 2
        if middle:
            self._waiting.extendleft([_Shard(shard.traces[:middle]), _Shard(shard.traces[middle:])])
        elif shard.attempt + 1 < self._settings.attempts:
            self._waiting.append(shard._replace(attempt=shard.attempt + 1))
        else:
            [trace] = shard.traces
            why = f"{trace.name}: could not be checked in {self._settings.attempts} attempts: {_reason(error)}"
            return Outcome([_worker.failed(trace, why)], [], [], 0.0)
        return Outcome([], [], [], 0.0)


def _reason(error: Exception) -> str:
    """Why a task failed, without the traceback that Ray puts around it."""
    cause = getattr(error, "cause", None) or error
    return str(cause).strip() or type(cause).__name__
