"""Many who commit to one repo at once, each through a Store and a mirror of its own, as several reconcilers would."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from reconciler.gitstore.bootstrap import open_store
from reconciler.gitstore.remote.access import RemoteAccess
from reconciler.gitstore.remote.address import parse_address
from reconciler.gitstore.remote.transport import PushConflict, RemoteUnavailable
from reconciler.gitstore.repo import Draft, Identity, Pushed, Refs
from reconciler.gitstore.store import Store
from schemas.backoff import Backoff

LIVE = "refs/heads/live"
# Who lost comes back within as long as the try took, then twice as long and so on, up to this many times as long: then
# about one of as many rivals tries at a time, however slow the remote or the machine is.
MOST_TRIES_APART = 8
PATIENCE_SECONDS = 1500.0


@dataclass
class Tally:
    """What eight writers went through together."""

    landed: int = 0
    stale: int = 0
    troubles: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0

    @property
    def rejected_per_success(self) -> float:
        return self.stale / max(1, self.landed)


@dataclass(frozen=True)
class Writer:
    """`ref` is the one it writes. Its files are its own, so that in the end all can be told apart."""

    number: int
    store: Store
    ref: str

    def draft(self, turn: int) -> Draft | RemoteUnavailable:
        snapshot = self.store.snapshot()
        if isinstance(snapshot, RemoteUnavailable):
            return snapshot
        head = snapshot.target
        return Draft(
            ref=self.ref,
            expected=head,
            base=head,
            edits={f"writer-{self.number}/{turn}.yaml": f"turn: {turn}\n".encode()},
            message=f"{self.number}.{turn}",
            author=Identity(f"writer-{self.number}", "writer@example.org"),
            time=datetime(2026, 1, 1, tzinfo=UTC),
        )

    def write(self, turns: int, tally: Tally, lock: threading.Lock) -> None:
        backoff = Backoff(0, 0, 0.0, random.Random(self.number))
        until = time.monotonic() + PATIENCE_SECONDS
        turn = 0
        while turn < turns and time.monotonic() < until:
            start = time.monotonic()
            draft = self.draft(turn)
            outcome = draft if isinstance(draft, RemoteUnavailable) else self.store.write([draft])
            with lock:
                match outcome:
                    case Pushed():
                        tally.landed += 1
                    case PushConflict():
                        tally.stale += 1
                    case _:
                        tally.troubles[repr(outcome)] += 1
            if isinstance(outcome, Pushed):
                turn += 1
                backoff.reset()
            else:
                backoff.first = time.monotonic() - start
                backoff.most = backoff.first * MOST_TRIES_APART
                time.sleep(backoff.next())


def write_together(
    url: str, access: RemoteAccess, ambient: Mapping[str, str], folder: Path, *, refs: list[str], turns: int
) -> Tally:
    """One writer for each of `refs`; the same ref may occur many times."""
    address = parse_address(url, Path("/"))
    writers = [
        Writer(
            number,
            open_store(address, access, Refs(None, ref, None), mirrors=folder / str(number), ambient=ambient),
            ref,
        )
        for number, ref in enumerate(refs)
    ]
    tally, lock = Tally(), threading.Lock()
    threads = [threading.Thread(target=writer.write, args=(turns, tally, lock)) for writer in writers]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    tally.seconds = time.perf_counter() - start
    for writer in writers:
        writer.store.close()
    return tally
