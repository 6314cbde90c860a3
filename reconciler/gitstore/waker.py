"""Ends a loop's rest early: a ref of a local repo moved, a poll saw a remote move, or another thread called.

Owns the threads that look, and the one place where a loop waits. Being woken says "look now", never what changed: a loop
must be right without any of this, and with wakes that were not needed.

Three sources wake, and each has a gap that the next one closes:

    watch_refs    milliseconds after a ref of a repo on this disk moved; blind on network file systems
    poll_remote   after `interval` at most; blind while the remote cannot be used, and then wakes when it is back
    timeout       the loop's own rest ends

`stop` is remembered: once called, every later wait ends at once with STOPPED, whatever else woke it. A signal handler may call `wake` and `stop`,
because SimpleQueue is safe to enter again; a lock or a Condition here could stop the process in its own handler.

Must never happen: a wake between a tick's snapshot and the loop's wait is lost. It is queued, and the wait returns at once.
"""

from __future__ import annotations

import logging
import queue
import random
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

import watchfiles

from reconciler.gitstore.remote.transport import ObjectId, RefsListed, RemoteUnavailable
from reconciler.gitstore.worktree.checkout import git_folder
from schemas.backoff import Backoff, jitter

log = logging.getLogger(__name__)

# The watcher looks at its queue this often: half the latency, and 0.3% of a core.
STEP_MILLISECONDS = 10
# How often the watching thread says that it is alive; the first time, the watch has begun.
BEAT_MILLISECONDS = 100
READY_SECONDS = 10.0
MOST_BACKOFF_SECONDS = 300.0


class WakeReason(StrEnum):
    REFS = "refs"  # a ref of a local repo moved
    REMOTE = "remote"  # a poll found a ref moved, or the remote back
    CALLED = "called"  # a webhook, a runtime's event, a signal
    TIMEOUT = "timeout"
    STOPPED = "stopped"


class Waker:
    """One waits, any may wake: threads and signal handlers alike, so nothing here takes a lock that the waiter may hold.

    Wakes that come while no thread waits are kept, and several of them count as one.
    """

    def __init__(self) -> None:
        self._calls: queue.SimpleQueue[WakeReason] = queue.SimpleQueue()

    def wake(self, reason: WakeReason = WakeReason.CALLED) -> None:
        self._calls.put(reason)

    def stop(self) -> None:
        """From now on every wait ends at once."""
        self.wake(WakeReason.STOPPED)

    def wait(self, seconds: float) -> WakeReason:
        """Rests until woken, stopped, or `seconds` are over; the first reason of those that came together."""
        try:
            reasons = [self._calls.get(timeout=max(0.0, seconds))]
        except queue.Empty:
            return WakeReason.TIMEOUT
        while not self._calls.empty():
            reasons.append(self._calls.get())
        if WakeReason.STOPPED in reasons:
            self.stop()
            return WakeReason.STOPPED
        return reasons[0]


def _log_lost_watch(place: Path, error: Exception) -> None:
    log.warning("cannot watch, polling only: path=%s error=%s", place, error)


@contextmanager
def watch_refs(
    repo: Path,
    wake: Callable[[], None],
    lost: Callable[[Path, Exception], None] = _log_lost_watch,
    ref: str = "",
) -> Iterator[None]:
    """Calls `wake` within milliseconds of any ref's move in a repo on this machine, whoever moves it, and `lost` when a place
    cannot be watched, or no longer. With `ref` only of that one's: hundreds who write each their own do not wake each other.

    On a network file system, or when the kernel has no watches left, nothing is seen: keep polling as well.
    """
    folder = git_folder(repo)
    stop = threading.Event()
    near = folder / Path(*Path(ref).parts[:2])  # other folders are not even looked at
    # A folder that was just made may hold it already.
    places = {str(folder / name) for name in (Path(ref), *Path(ref).parents)}

    def counts(path: str) -> bool:
        return not path.endswith(".lock") and (not ref or path in places)

    # Loose refs lie in folders of any depth, packed ones in one file beside folders full of objects.
    watches = [
        _Watch(near if ref and near.is_dir() else folder / "refs", counts, wake, lost, stop),
        _Watch(folder, lambda path: path.endswith("/packed-refs"), wake, lost, stop, is_deep=False),
    ]
    threads = [
        threading.Thread(target=watch.run, name=f"watch {watch.place}", daemon=True) for watch in watches
    ]
    for thread in threads:
        thread.start()
    try:
        for watch in watches:
            watch.ready.wait(READY_SECONDS)
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()


@dataclass(frozen=True)
class _Watch:
    place: Path
    counts: Callable[[str], bool]
    wake: Callable[[], None]
    lost: Callable[[Path, Exception], None]
    stop: threading.Event
    is_deep: bool = True
    ready: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        try:
            for changes in watchfiles.watch(
                self.place,
                watch_filter=lambda _, path: self.counts(path),
                debounce=2 * STEP_MILLISECONDS,
                step=STEP_MILLISECONDS,
                stop_event=self.stop,
                rust_timeout=BEAT_MILLISECONDS,
                yield_on_timeout=True,
                raise_interrupt=False,
                recursive=self.is_deep,
            ):
                self.ready.set()
                if changes:
                    self.wake()
        except (OSError, RuntimeError) as error:
            self.lost(self.place, error)
        finally:
            self.ready.set()


@contextmanager
def poll_remote(
    look: Callable[[], RefsListed | RemoteUnavailable],
    interval: float,
    wake: Callable[[], None],
    chance: random.Random,
) -> Iterator[None]:
    """Calls `wake` when `look` finds other refs than before, and when the remote is back. Polls give or take a fifth of
    `interval`; a remote that cannot be used is asked less and less often, up to every five minutes."""
    is_over = threading.Event()

    def poll() -> None:
        # Nothing is known at first, so the first look wakes: what moved before it must not be missed.
        known: Mapping[str, ObjectId] | None = None
        backoff = Backoff(interval, max(interval, MOST_BACKOFF_SECONDS), chance=chance)
        pause = 0.0
        while not is_over.wait(pause):
            match look():
                case RemoteUnavailable(kind, cause):
                    if known is not None or not backoff.failures:
                        log.warning("cannot poll the remote: error=%s cause=%s", kind, cause)
                    known = None
                    pause = backoff.next()
                case RefsListed(refs):
                    if refs != known:
                        wake()
                    known = refs
                    backoff.reset()
                    pause = jitter(interval, chance)

    thread = threading.Thread(target=poll, name="poll", daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
