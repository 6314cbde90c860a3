"""Batches of work shared with processes that are forked for it. Worth their start for thousands of files.

This process works too: it takes a batch whenever the others have enough to do, and what they bring is unpacked here.

Workers share the memory of this process, so nothing is sent to them but the number of a batch. A worker that the system kills (out of memory)
ends the whole run with WorkerLostError: whoever goes on without its batch takes what is in it for removed.

Where no worker can be started, as in a container without semaphores (/dev/shm is missing or read-only), this process does all of it.

Limits: not in a process with other threads, such as one that serves gRPC; `fork` copies their locks as they are.
"""

from __future__ import annotations

import ctypes
import gc
import multiprocessing
import signal
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

from reconciler.query.documents import WorkerLostError

PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of linux/prctl.h
AHEAD = 4  # batches that wait for each other process: it is not to run dry while this one unpacks

T = TypeVar("T")
Work: TypeAlias = Callable[[int], Any]  # of one batch, by its number

# Of the processes that `fork` made: what is to be done comes with their memory. In the process that forks it stays None.
_work: Work | None = None


class Task(NamedTuple, Generic[T]):
    """What is done with each batch, and how its result gets from a worker to this process."""

    work: Callable[[int], T]
    pack: Callable[[T], Any]
    unpack: Callable[[Any], T]


def share_batches(count: int, task: Task[T], processes: int) -> Iterator[tuple[int, T]]:
    """The result of each of `count` batches with its number, in the order in which they get done. Raises WorkerLostError. If the caller stops
    reading, the pool ends its workers before this returns."""
    gc.freeze()  # what exists already is shared with the others, as long as no process writes to it
    others = processes - 1

    def work(number: int) -> Any:
        return task.pack(task.work(number))

    workers = make_pool(others, work)
    if workers is None:
        yield from ((number, task.work(number)) for number in range(count))
        return
    with workers as pool:
        waiting = deque(range(count))
        running: dict[Future[Any], int] = {}
        try:
            while waiting or running:
                while waiting and len(running) < AHEAD * others:
                    number = waiting.popleft()
                    running[submit(pool, number)] = number
                if waiting:
                    number = waiting.popleft()
                    yield number, task.work(number)
                done, _ = wait(running, timeout=0 if waiting else None, return_when=FIRST_COMPLETED)
                for future in done:
                    yield running.pop(future), task.unpack(future.result())
        except BrokenProcessPool as error:
            raise WorkerLostError from error


def make_pool(processes: int, work: Work) -> ProcessPoolExecutor | None:
    """None where the system has no semaphores for it."""
    context = multiprocessing.get_context("fork")
    try:
        return ProcessPoolExecutor(processes, context, initializer=start_worker, initargs=(work,))
    except (OSError, NotImplementedError):
        return None


def submit(pool: ProcessPoolExecutor, number: int) -> Future[Any]:
    """This starts a worker where one more is allowed, which fails where the system allows no more processes."""
    try:
        return pool.submit(run_batch, number)
    except OSError as error:
        raise WorkerLostError from error


def start_worker(work: Work) -> None:
    """The first call in a worker. Garbage collection is off: it would touch, and so copy, the shared memory."""
    global _work
    _work = work
    gc.disable()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that started this one stops it
    # If that one is killed, it cannot: the end of its pipe is open in this one too.
    ctypes.CDLL(None).prctl(PARENT_DEATH_SIGNAL, signal.SIGKILL)


def run_batch(number: int) -> Any:
    assert _work is not None, "begin comes first"
    return _work(number)
