"""Reading and parsing in several processes at once. Worth its start for thousands of files.

This process works too: it takes a batch whenever the others have enough to do, and what they bring is decoded here.
"""

from __future__ import annotations

import ctypes
import gc
import marshal
import multiprocessing
import signal
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass

from reconciler.query.checkout.loading import Ids, Parsed, WorkerLostError, parsed
from reconciler.query.checkout.source import Source
from schemas.kinds import Key, Kind
from schemas.manifest import Document

PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of linux/prctl.h
AHEAD = 4  # batches that wait for each other process: it is not to run dry while this one decodes


@dataclass(frozen=True, slots=True)
class Task:
    source: Source
    batches: Sequence[Sequence[str]]
    then: Ids


_task: Task | None = None  # of the processes that `fork` made: what is to be done comes with their memory


def parsed_by_several(
    source: Source, batches: Sequence[Sequence[str]], then: Ids, processes: int
) -> Iterator[tuple[int, Parsed]]:
    """Each batch with its number, in the order in which they get done."""
    gc.freeze()  # what stands here already is shared with the others, as long as nobody touches it
    others = processes - 1
    context = multiprocessing.get_context("fork")
    task = Task(source, batches, then)
    with ProcessPoolExecutor(others, context, initializer=begin, initargs=(task,)) as pool:
        waiting = deque(range(len(batches)))
        running: set[Future[Packed]] = set()
        try:
            while waiting or running:
                while waiting and len(running) < AHEAD * others:
                    running.add(pool.submit(work, waiting.popleft()))
                if waiting:
                    number = waiting.popleft()
                    yield number, parsed(source, batches[number], then)
                done, running = wait(running, timeout=0 if waiting else None, return_when=FIRST_COMPLETED)
                for future in done:
                    yield unpacked(future.result())
        except BrokenProcessPool as error:
            raise WorkerLostError from error


def begin(task: Task) -> None:
    global _task
    _task = task
    gc.disable()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that started this one stops it
    # Should that one be killed, nobody would: the end of its pipe is open in this one too.
    ctypes.CDLL(None).prctl(PARENT_DEATH_SIGNAL, signal.SIGKILL)


class Packed:
    """A batch on its way between processes. Documents are plain values, which marshal moves several times
    faster than pickle."""

    __slots__ = ("documents", "number", "rest")

    def __init__(self, number: int, batch: Parsed) -> None:
        self.number = number
        rows = [
            (each.path, each.index, *plain(each.key), each.api_version, each.body) for each in batch.documents
        ]
        self.documents = marshal.dumps(rows)
        batch.documents = []
        self.rest = batch


def plain(key: Key) -> tuple[str, str, str]:
    return key.kind.value, key.namespace, key.name


def work(number: int) -> Packed:
    assert _task is not None, "begin comes first"
    return Packed(number, parsed(_task.source, _task.batches[number], _task.then))


def unpacked(packed: Packed) -> tuple[int, Parsed]:
    batch = packed.rest
    kinds = {kind.value: kind for kind in Kind}
    for path, index, kind_name, namespace, name, api_version, body in marshal.loads(packed.documents):  # noqa: S302 - our own process wrote it
        kind = kinds[kind_name]
        batch.documents.append(Document(path, index, kind, Key(kind, namespace, name), api_version, body))
    return packed.number, batch
