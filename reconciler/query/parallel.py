"""Reading and parsing in several processes at once. Worth its start for thousands of files.

This process works too: it takes a batch whenever the others have enough to do, and what they bring is decoded here.

Workers are forked and read the source through the memory they share with this process, so nothing is sent to them but the number of a batch.
A worker that the system kills (out of memory) ends the whole run with WorkerLostError: to go on without its files would make their objects look removed.
"""

from __future__ import annotations

import ctypes
import gc
import marshal
import multiprocessing
import signal
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import TypeAlias

from reconciler.query.documents import Ids, ParsedFiles, WorkerLostError, parse_files
from reconciler.query.source import ManifestSource
from schemas.kinds import Key, Kind
from schemas.manifest import Document

PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of linux/prctl.h
AHEAD = 4  # batches that wait for each other process: it is not to run dry while this one decodes


Parse: TypeAlias = Callable[[int], ParsedFiles]
PackedBatch: TypeAlias = tuple[int, ParsedFiles, bytes]  # the documents apart, as `parse_batch` packs them

# Of the processes that `fork` made: what is to be done comes with their memory. In the process that forks it stays None.
_parse: Parse | None = None


def parse_in_parallel(
    source: ManifestSource, batches: Sequence[Sequence[str]], then: Ids, processes: int
) -> Iterator[tuple[int, ParsedFiles]]:
    """Each batch with its number, in the order in which they get done. Raises WorkerLostError. If the caller stops reading, the pool
    ends its workers before this returns."""
    gc.freeze()  # what exists already is shared with the others, as long as no process writes to it
    others = processes - 1
    context = multiprocessing.get_context("fork")

    def parse(number: int) -> ParsedFiles:
        return parse_files(source, batches[number], then)

    with ProcessPoolExecutor(others, context, initializer=start_worker, initargs=(parse,)) as pool:
        waiting = deque(range(len(batches)))
        running: set[Future[PackedBatch]] = set()
        try:
            while waiting or running:
                while waiting and len(running) < AHEAD * others:
                    running.add(pool.submit(parse_batch, waiting.popleft()))
                if waiting:
                    number = waiting.popleft()
                    yield number, parse(number)
                done, running = wait(running, timeout=0 if waiting else None, return_when=FIRST_COMPLETED)
                for future in done:
                    yield unpack_batch(future.result())
        except BrokenProcessPool as error:
            raise WorkerLostError from error


def start_worker(parse: Parse) -> None:
    """The first call in a worker. Garbage collection is off: it would touch, and so copy, the shared memory."""
    global _parse
    _parse = parse
    gc.disable()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that started this one stops it
    # If that one is killed, it cannot: the end of its pipe is open in this one too.
    ctypes.CDLL(None).prctl(PARENT_DEATH_SIGNAL, signal.SIGKILL)


def parse_batch(number: int) -> PackedBatch:
    """Documents are plain values, which marshal moves several times faster than pickle."""
    assert _parse is not None, "begin comes first"
    batch = _parse(number)
    rows = [
        (
            each.path,
            each.index,
            each.kind.value,
            each.key.namespace,
            each.key.name,
            each.api_version,
            each.body,
        )
        for each in batch.documents
    ]
    batch.documents = []
    return number, batch, marshal.dumps(rows)


def unpack_batch(packed: PackedBatch) -> tuple[int, ParsedFiles]:
    """In this process. marshal is safe here alone: it reads what a worker of the same program wrote."""
    number, batch, rows = packed
    kinds = {kind.value: kind for kind in Kind}
    for path, index, kind_name, namespace, name, api_version, body in marshal.loads(rows):  # noqa: S302 - our own process wrote it
        kind = kinds[kind_name]
        batch.documents.append(Document(path, index, kind, Key(kind, namespace, name), api_version, body))
    return number, batch
