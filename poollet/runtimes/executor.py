"""Runs actions against the runtimes: several objects at once, one action for each object.

Theory of operation. An action of an object passes these states:

    submitted    its object is busy: another action of the same object is left out until this one ended
    queued       waits for a worker of its runtime; `cancel_queued` ends it without a call
    running      before each call `still_valid` asks the newest `live`; "no" cancels the rest
    ended        its results and the time are kept for the next decisions, and `on_end` is called

    how it ended         results                             what the decision makes of it
    -------------------  ----------------------------------  ---------------------------------------------
    complete             each call accepted                  lists requested before the end do not count
    one call failed      that error, the calls after it      the same; retry.py says when each call
                         skipped                             is made again
    cancelled            the calls made so far               decided again from the new `live`
    a fault of our own   as a failed call, code Internal     retried as a transient error

An action that made no call changed nothing, so lists stay valid for its object.

Owns what is under way and what the last action of each object came to.

Limits: it decides nothing. Which actions, in which order, and when a call is tried again is worked out by
pure code (decide/retry.py). A log line names calls by type only, because what they carry may be secret.

Must never happen: two actions of one object at the same time; a call whose order `live` does not contain
any more.
"""

from __future__ import annotations

import logging
import random
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import assert_never

from iri.change import DetachInterface, DetachVolume
from iri.client import Client
from iri.errors import IRIError, NotFound
from iri.identity import UID_LABELS
from iri.runtime import Runtime, RuntimeKind
from poollet.decide.actions import (
    Call,
    CallError,
    CallResult,
    CreateCall,
    EndCall,
    ExecutorState,
    ObjectAction,
    Ref,
    RemoveCall,
    UpdateCall,
)

log = logging.getLogger(__name__)

WORKERS = 8  # of a runtime
KEPT_MS = 600_000  # many lists have been taken by then, and every result has been seen by a decision
INTERNAL = "Internal"

OnEnd = Callable[[ObjectAction, str], None]  # the action, and its error or nothing
StillValid = Callable[[ObjectAction], bool]  # whether `live` still orders the action


def accept_all(_: ObjectAction) -> bool:
    """For tests of the executor alone. A poollet always asks `live`."""
    return True


@dataclass(frozen=True, slots=True)
class Cancelled:
    """`live` does not order the action any more; the rest of its calls was not made."""


# How an action ended: with an error of one call, after which the others were skipped; cancelled; or complete.
Ending = CallError | Cancelled | None


class Executor:
    """`on_end` is called in the thread that ran the action. `still_valid` is asked there before each call, because an action may wait
    for minutes. Without `workers` an action runs where it is submitted."""

    def __init__(
        self,
        runtimes: Mapping[str, Runtime],
        now_ms: Callable[[], int],
        chance: random.Random,
        on_end: OnEnd,
        workers: int = WORKERS,
        still_valid: StillValid = accept_all,
    ) -> None:
        self._runtimes = runtimes
        self._now_ms, self._chance, self._on_end, self._still_valid = now_ms, chance, on_end, still_valid
        self._pools = {
            name: ThreadPoolExecutor(workers, thread_name_prefix=f"action-{name}")
            for name in runtimes
            if workers
        }
        self._busy: set[Ref] = set()
        self._futures: dict[Ref, Future[Ending]] = {}
        self._ended_ms: dict[Ref, int] = {}
        self._results: dict[Ref, tuple[CallResult, ...]] = {}
        self._lock = threading.Lock()

    def state(self) -> ExecutorState:
        """What decisions know of actions; forgets what ended long ago."""
        with self._lock:
            oldest_ms = self._now_ms() - KEPT_MS
            self._ended_ms = {ref: ms for ref, ms in self._ended_ms.items() if ms > oldest_ms}
            self._results = {ref: found for ref, found in self._results.items() if ref in self._ended_ms}
            return ExecutorState(frozenset(self._busy), dict(self._ended_ms), dict(self._results))

    @property
    def is_idle(self) -> bool:
        """Whether no action is queued or running."""
        return not self._busy

    def submit(self, actions: Sequence[ObjectAction]) -> None:
        """Begins the actions in their order. An object that has one under way already is left out: the next decision orders it again."""
        for action in actions:
            with self._lock:
                if action.ref in self._busy or action.runtime not in self._runtimes:
                    continue
                self._busy.add(action.ref)
            results: list[CallResult] = []
            if action.runtime not in self._pools:
                self._finish(action, results, self._run(action, results))
                continue
            future = self._pools[action.runtime].submit(self._run, action, results)
            with self._lock:
                self._futures[action.ref] = future
            future.add_done_callback(partial(self._take_up, action, results))

    def cancel_queued(self) -> None:
        """Actions that have not begun are not ordered any more."""
        with self._lock:
            futures = tuple(self._futures.values())
        for future in futures:
            future.cancel()

    def close(self) -> None:
        """Waits for actions under way; those that have not begun are left."""
        for pool in self._pools.values():
            pool.shutdown(wait=True, cancel_futures=True)

    def _run(self, action: ObjectAction, results: list[CallResult]) -> Ending:
        """Fills `results` call by call, so that they are known also if a fault of our own ends the action."""
        for call in action.calls:
            if not self._still_valid(action):
                return Cancelled()
            try:
                perform(self._runtimes[action.runtime], call)
            except IRIError as error:
                code = type(error).__name__
                return self._fail(
                    action,
                    results,
                    CallError(code, str(error) or f"the runtime answered {code} without a message"),
                )
            results.append(CallResult(call, self._now_ms()))
        return None

    def _fail(self, action: ObjectAction, results: list[CallResult], error: CallError) -> CallError:
        """Of the first call that has no result yet."""
        call, *skipped = action.calls[len(results) :]
        now_ms, spread = self._now_ms(), self._chance.uniform(0.5, 1.0)
        results.append(CallResult(call, now_ms, error, spread=spread))
        results += [CallResult(one, now_ms, is_skipped=True) for one in skipped]
        return error

    def _take_up(self, action: ObjectAction, results: list[CallResult], done: Future[Ending]) -> None:
        """The end of an action in its worker, or of one that was cancelled in the queue, which leaves no
        result."""
        with self._lock:
            self._futures.pop(action.ref, None)
            if done.cancelled():
                self._busy.discard(action.ref)
                return
        fault = done.exception()
        if fault is None:
            self._finish(action, results, done.result())
            return
        log.error("action broke ref=%s calls=%s", action.ref, name_calls(action), exc_info=fault)
        error = CallError(INTERNAL, f"internal error of the poollet: {type(fault).__name__}")
        self._finish(action, results, self._fail(action, results, error))

    def _finish(self, action: ObjectAction, results: list[CallResult], ending: Ending) -> None:
        """Lists that were requested before `ended_ms` do not show the action. One that made no call changed nothing, so lists stay valid."""
        with self._lock:
            self._busy.discard(action.ref)
            if results:
                self._results[action.ref] = tuple(results)
                self._ended_ms[action.ref] = self._now_ms()
        where = (action.ref, action.namespace, action.name)
        match ending:
            case None:
                why = f" why={action.why}" if action.why else ""
                log.info("action done ref=%s name=%s/%s calls=%s%s", *where, name_calls(action), why)
                self._on_end(action, "")
            case CallError(_, error):
                log.warning("action failed ref=%s name=%s/%s error=%s", *where, error)
                self._on_end(action, error)
            case Cancelled():
                log.info("action cancelled ref=%s name=%s/%s calls=%s", *where, name_calls(action))
                self._on_end(replace(action, events=()), "")
            case _:
                assert_never(ending)


def name_calls(action: ObjectAction) -> str:
    """By type only: what calls carry may be secret."""
    return ",".join(
        type(call.change).__name__
        if isinstance(call, UpdateCall)
        else type(call).__name__.removesuffix("Call")
        for call in action.calls
    )


def perform(runtime: Runtime, call: Call) -> None:
    """Succeeds if the state is as desired already. Raises an IRIError."""
    match call:
        case CreateCall(desired):
            if not exists(runtime, type(desired), desired.labels):
                runtime.create(desired)
        case UpdateCall(id, change, assignment):
            try:
                runtime.change(id, change, assignment=assignment)
            except NotFound:
                if not isinstance(change, DetachVolume | DetachInterface):
                    raise
        case EndCall(assignment):
            runtime.end_assignments((assignment,))
        case RemoveCall(kind, id, assignment):
            try:
                runtime.remove(kind, id, assignment=assignment)
            except NotFound:
                log.info("object is gone already id=%s", id)
        case _:
            assert_never(call)


def exists(runtime: Runtime, kind: RuntimeKind, labels: Mapping[str, str]) -> bool:
    """Asks the runtime once more: the last list may have been wrong, and some runtimes create a second object of one uid."""
    label = UID_LABELS[kind]
    uid = labels.get(label, "")
    if isinstance(runtime, Client):
        return bool(runtime.select(kind, labels={label: uid}))
    return any(found.labels.get(label) == uid for found in runtime.objects(kind).values())
