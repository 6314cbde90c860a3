"""Housekeeping on a schedule, in a thread of its own: whoever reads and writes the repo goes on meanwhile.

It must not decide what is tidied; the repo knows. What goes wrong is logged and tried again at the next turn.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import timedelta
from types import TracebackType

from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.schedulers.background import BackgroundScheduler

from reconciler.gitstore.remote.transport import RemoteUnavailable

DAILY_TURNS = 144  # a busy fleet leaves a hundred packs meanwhile

log = logging.getLogger(__name__)


class Housekeeping:
    """Calls `housekeep` every so often, with jitter, never twice at once; turns that were missed become one."""

    def __init__(
        self,
        housekeep: Callable[[], RemoteUnavailable | None],
        every: timedelta = timedelta(days=1) / DAILY_TURNS,
    ) -> None:
        self._housekeep = housekeep
        seconds = every.total_seconds()
        self._scheduler = BackgroundScheduler(executors={"default": ThreadPoolExecutor(1)}, timezone="UTC")
        self._scheduler.add_job(
            self._turn,
            "interval",
            seconds=seconds,
            jitter=seconds / 10,
            max_instances=1,
            coalesce=True,
            misfire_grace_time=None,
        )

    def start(self) -> None:
        self._scheduler.start()

    def stop(self) -> None:
        """Waits for a turn that is under way."""
        self._scheduler.shutdown(wait=True)

    def __enter__(self) -> Housekeeping:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _turn(self) -> None:
        failure = self._housekeep()
        if failure is not None:
            log.warning("housekeeping failed, next try later: cause=%s", failure.cause)
