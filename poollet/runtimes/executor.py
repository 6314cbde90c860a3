"""Runs steps against the runtimes: several objects at once, one step an object, and a pause after each failure.

Owns what is under way and what failed. It decides nothing: which steps, and in which order, is worked out by pure code.
"""

from __future__ import annotations

import logging
import random
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import NamedTuple, assert_never

from iri.change import DetachInterface, DetachVolume
from iri.client import Client
from iri.errors import IRIError, NotFound
from iri.identity import UID_LABELS
from iri.machine import RuntimeMachine
from iri.runtime import Runtime, RuntimeKind, RuntimeObject
from iri.volume import RuntimeSnapshot, RuntimeVolume
from poollet.decide.actions import Call, Create, ObjectAction, Ref, Remove, Update
from poollet.decide.memory import Attempts, Failure
from poollet.decide.pacing import HOPELESS_CODES
from poollet.runtimes.runtime_client import listed

log = logging.getLogger(__name__)

WORKERS = 8  # of a runtime
FIRST_PAUSE_MS, LONGEST_PAUSE_MS = 1_000, 300_000
HOPELESS_PAUSE_MS = 180_000
KEPT_MS = 600_000  # what is over for so long has been seen by many lists

Ended = Callable[[ObjectAction, str], None]  # the step, and why it failed or nothing
StillValid = Callable[[ObjectAction], bool]  # whether what the step follows from is still so


def always(_: ObjectAction) -> bool:
    return True


class CallFailed(NamedTuple):
    """The call of a step that did not succeed; those after it were not made."""

    call: Call
    error: IRIError


@dataclass(frozen=True, slots=True)
class Cancelled:
    """What a step follows from is not so any more, and the rest of its calls was not made."""

    is_begun: bool


class Executor:
    """`ended` is called in the thread that ran the step, and `stands` there before each call: steps may wait for long.

    Without `workers` a step runs where it is submitted.
    """

    def __init__(
        self,
        runtimes: Mapping[str, Runtime],
        now_ms: Callable[[], int],
        chance: random.Random,
        ended: Ended,
        workers: int = WORKERS,
        stands: StillValid = always,
    ) -> None:
        self._runtimes = runtimes
        self._now_ms, self._chance, self._ended, self._stands = now_ms, chance, ended, stands
        self._pools = {
            name: ThreadPoolExecutor(workers, thread_name_prefix=f"step-{name}")
            for name in runtimes
            if workers
        }
        self._busy: set[Ref] = set()
        self._futures: dict[Ref, Future[CallFailed | Cancelled | None]] = {}
        self._ended_ms: dict[Ref, int] = {}
        self._failures: dict[Ref, tuple[Failure, ...]] = {}
        self._lock = threading.Lock()

    def attempts(self) -> Attempts:
        with self._lock:
            oldest_ms = self._now_ms() - KEPT_MS
            self._ended_ms = {ref: ms for ref, ms in self._ended_ms.items() if ms > oldest_ms}
            self._failures = {
                ref: failures
                for ref, failures in self._failures.items()
                if max(one.retry_ms for one in failures) > oldest_ms
            }
            return Attempts(frozenset(self._busy), dict(self._ended_ms), dict(self._failures))

    @property
    def is_idle(self) -> bool:
        return not self._busy

    def submit(self, steps: Sequence[ObjectAction]) -> None:
        for step in steps:
            with self._lock:
                if step.ref in self._busy or step.runtime not in self._runtimes:
                    continue
                self._busy.add(step.ref)
            if step.runtime in self._pools:
                future = self._pools[step.runtime].submit(self._run, step)
                with self._lock:
                    self._futures[step.ref] = future
                future.add_done_callback(lambda done, step=step: self._over(step, done))  # type: ignore[misc]
            else:
                self._settle(step, self._run(step))

    def drop(self) -> None:
        """What has not begun yet is not ordered any more."""
        with self._lock:
            futures = tuple(self._futures.values())
        for future in futures:
            future.cancel()

    def close(self) -> None:
        """Waits for what is under way; what has not begun is left."""
        for pool in self._pools.values():
            pool.shutdown(wait=True, cancel_futures=True)

    def _run(self, step: ObjectAction) -> CallFailed | Cancelled | None:
        for number, call in enumerate(step.calls):
            if not self._stands(step):
                return Cancelled(is_begun=number > 0)
            try:
                perform(self._runtimes[step.runtime], call)
            except IRIError as error:
                return CallFailed(call, error)
            self._forget(step.ref, call)
        return None

    def _forget(self, ref: Ref, call: Call) -> None:
        """That call has succeeded."""
        with self._lock:
            rest = tuple(one for one in self._failures.pop(ref, ()) if one.call != call)
            if rest:
                self._failures[ref] = rest

    def _over(self, step: ObjectAction, done: Future[CallFailed | Cancelled | None]) -> None:
        with self._lock:
            self._futures.pop(step.ref, None)
            if done.cancelled():
                self._busy.discard(step.ref)
                return
        fault = done.exception()
        if fault is not None:
            log.error("step broke ref=%s calls=%s", step.ref, named(step), exc_info=fault)
            error = IRIError(f"a fault of the poollet: {type(fault).__name__}")
            self._settle(step, CallFailed(step.calls[0], error))
            return
        self._settle(step, done.result())

    def _settle(self, step: ObjectAction, broken: CallFailed | Cancelled | None) -> None:
        now_ms = self._now_ms()
        with self._lock:
            self._busy.discard(step.ref)
            if not isinstance(broken, Cancelled) or broken.is_begun:
                self._ended_ms[step.ref] = now_ms
            if isinstance(broken, CallFailed):
                known = self._failures.get(step.ref, ())
                rest = tuple(one for one in known if one.call != broken.call)
                failure = self._failed(step, broken, known, now_ms)
                self._failures[step.ref] = (*rest, failure)
        where = (step.ref, step.namespace, step.name)
        match broken:
            case None:
                log.info("step done ref=%s name=%s/%s calls=%s", *where, named(step))
                self._ended(step, "")
            case CallFailed(_, error):
                log.warning("step failed ref=%s name=%s/%s error=%s", *where, error)
                self._ended(step, str(error) or type(error).__name__)
            case Cancelled():
                log.info("step withdrawn ref=%s name=%s/%s calls=%s", *where, named(step))
                self._ended(replace(step, events=()), "")
            case _:
                assert_never(broken)

    def _failed(
        self, step: ObjectAction, broken: CallFailed, known: tuple[Failure, ...], now_ms: int
    ) -> Failure:
        count = 1 + max((one.count for one in known if one.call == broken.call), default=0)
        code = type(broken.error).__name__
        retry_ms = now_ms + self._pause_ms(code, count)
        left = step.calls[step.calls.index(broken.call) + 1 :]
        return Failure(broken.call, code, str(broken.error) or code, count, retry_ms, now_ms, left)

    def _pause_ms(self, code: str, count: int) -> int:
        """Drawn, so that those who failed together do not come back together."""
        longest = min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** min(count - 1, 16))
        if code in HOPELESS_CODES:
            longest = max(longest, HOPELESS_PAUSE_MS)
        return round(self._chance.uniform(longest / 2, longest))


def named(step: ObjectAction) -> str:
    """Its calls by their names: what they carry may be secret."""
    return ",".join(
        type(call.change).__name__ if isinstance(call, Update) else type(call).__name__ for call in step.calls
    )


def perform(runtime: Runtime, call: Call) -> None:
    """Raises an IRIError, unless what is wanted is so already."""
    match call:
        case Create(wanted):
            if not exists(runtime, type(wanted), wanted.labels):
                create(runtime, wanted)
        case Update(id, change):
            try:
                runtime.change(id, change)
            except NotFound:
                if not isinstance(change, DetachVolume | DetachInterface):
                    raise
        case Remove(kind, id):
            try:
                remove(runtime, kind, id)
            except NotFound:
                log.info("gone already id=%s", id)
        case _:
            assert_never(call)


def exists(runtime: Runtime, kind: RuntimeKind, labels: Mapping[str, str]) -> bool:
    """Asked anew: what was listed a moment ago may have been wrong, and some runtimes make a second one."""
    wanted = {UID_LABELS[kind]: labels.get(UID_LABELS[kind], "")}
    if isinstance(runtime, Client):
        return bool(selected(runtime, kind, wanted))
    return any(wanted.items() <= found.labels.items() for found in listed(runtime, kind).values())


def selected(client: Client, kind: RuntimeKind, labels: Mapping[str, str]) -> Mapping[str, object]:
    if kind is RuntimeMachine:
        return client.select(RuntimeMachine, labels=labels)
    return (
        client.select(RuntimeVolume, labels=labels)
        if kind is RuntimeVolume
        else client.select(RuntimeSnapshot, labels=labels)
    )


def create(runtime: Runtime, wanted: RuntimeObject) -> None:
    match wanted:
        case RuntimeMachine():
            runtime.create(wanted)
        case RuntimeVolume():
            runtime.create(wanted)
        case RuntimeSnapshot():
            runtime.create(wanted)


def remove(runtime: Runtime, kind: RuntimeKind, id: str) -> None:
    if kind is RuntimeMachine:
        runtime.remove(RuntimeMachine, id)
    elif kind is RuntimeVolume:
        runtime.remove(RuntimeVolume, id)
    else:
        runtime.remove(RuntimeSnapshot, id)
