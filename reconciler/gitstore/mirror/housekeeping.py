"""Housekeeping on a schedule, in a thread of its own: whoever reads and writes the repo goes on meanwhile.

It must not decide what is tidied; the repo knows. What goes wrong is logged and tried again at the next turn.

Without it a mirror still works: each fetch and each write leaves a pack, reads get slower and the disk fuller. So an error here is a warning and
never stops a loop.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.schedulers.background import BackgroundScheduler

from reconciler.gitstore.remote.transport import RemoteUnavailable

DAILY_TURNS = 144  # a busy fleet leaves a hundred packs meanwhile

log = logging.getLogger(__name__)


@contextmanager
def run_housekeeping(
    housekeep: Callable[[], RemoteUnavailable | None], every: timedelta = timedelta(days=1) / DAILY_TURNS
) -> Iterator[None]:
    """Calls `housekeep` every so often, with jitter, never twice at once; turns that were missed become one. The end waits for a
    turn that is under way."""

    def turn() -> None:
        failure = housekeep()
        if failure is not None:
            log.warning("housekeeping failed, next try later: cause=%s", failure.cause)

    seconds = every.total_seconds()
    scheduler = BackgroundScheduler(executors={"default": ThreadPoolExecutor(1)}, timezone="UTC")
    scheduler.add_job(
        turn,
        "interval",
        seconds=seconds,
        jitter=seconds / 10,
        max_instances=1,
        coalesce=True,
        misfire_grace_time=None,
    )
    scheduler.start()
    try:
        yield
    finally:
        scheduler.shutdown(wait=True)
