"""For verbs that go on: the fleet anew each time that its refs moved, until somebody stops them."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from reconciler.cli.interrupt import Interrupt
from reconciler.cli.location import Fleet
from reconciler.repo.address import Scheme
from reconciler.repo.protocol import Snapshot
from reconciler.repo.transport import Listed, Unavailable
from reconciler.repo.wake import Reason, polling, watching

POLL_SECONDS = 2.0
LOOK_SECONDS = 0.5  # for a signal that the kernel gave to another thread


def moves(fleet: Fleet, interrupt: Interrupt, seconds: float | None = None) -> Iterator[Fleet]:
    """Yields whenever something moved. Ends by a signal, which the caller then obeys, and with `seconds` when
    they are over."""
    wake = interrupt.waker.wake
    ends = None if seconds is None else time.monotonic() + seconds
    with ExitStack() as stack:
        if fleet.location.address.scheme is Scheme.PATH:
            stack.enter_context(watching(Path(fleet.location.address.url), wake))
        else:
            chance = random.Random()  # noqa: S311 - it spreads polls
            stack.enter_context(polling(lambda: listed(fleet), POLL_SECONDS, wake, chance))
        while True:
            left = LOOK_SECONDS if ends is None else min(LOOK_SECONDS, ends - time.monotonic())
            reason = interrupt.waker.wait(left)
            if reason is Reason.STOPPED or interrupt.came:
                return
            if reason is Reason.TIMEOUT:
                if ends is not None and time.monotonic() >= ends:
                    return
                continue
            now = fleet.again()
            if now.snapshot != fleet.snapshot:
                fleet = now
                yield fleet


def listed(fleet: Fleet) -> Listed | Unavailable:
    """A poll is a snapshot: what moved is here when the verb looks."""
    found = fleet.repo.snapshot()
    if isinstance(found, Unavailable):
        return found
    return Listed(refs_in(found))


def refs_in(snapshot: Snapshot) -> dict[str, str]:
    heads = {"source": snapshot.source, "target": snapshot.target}
    return {name: commit for name, commit in (*heads.items(), *snapshot.reports.items()) if commit}
