"""One look and what follows from it, without threads that wait: for cron, for tests, and for saying goodbye."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from poollet.running import Member, Running

log = logging.getLogger(__name__)

PATIENCE_MS = 60_000
PAUSE_SECONDS = 0.1


def run(running: Running) -> str:
    """Until nothing is left to do and it is reported, or the patience is over; what went wrong, or nothing."""
    return _turned(running, lambda: all(one.poollet.is_at_rest for one in running.members))


def leave(running: Running) -> str:
    """The last report of a host that goes for good; nothing is changed any more."""
    for member in running.members:
        member.poollet.leaving = "leaving"
    return _turned(running, lambda: True)


def _turned(running: Running, is_done: Callable[[], bool]) -> str:
    """What has to wait for others is waited for here: the next run would begin to wait anew."""
    begun_ms = running.clock.moment_ms()
    end_ms, waits = begun_ms + PATIENCE_MS, ""
    remote = running.remote
    while (now_ms := running.clock.moment_ms()) < end_ms:
        if not remote.look():
            return f"the remote cannot be used: {remote.trouble}"
        for member in running.members:
            for connection in member.poollet.connections.values():
                connection.probe()
                connection.look()
            member.poollet.turn()
        remote.push()
        for post in remote.posts:
            if post.ended or post.waits:
                return post.ended or post.waits
        if all(post.is_settled for post in remote.posts) and is_done():
            return ""
        waiting = [member for member in running.members if member.poollet.postponed]
        for member in waiting:
            end_ms = max(end_ms, member.poollet.post.sure_ms + PATIENCE_MS)
        told, waits = waits, "; ".join(_postponed(member) for member in waiting)
        if waits and waits != told:
            log.warning("waiting for %s; at most seconds=%d", waits, (end_ms - now_ms) // 1000)
        time.sleep(PAUSE_SECONDS)
    seconds = (running.clock.moment_ms() - begun_ms) // 1000
    return f"not everything was done within {seconds} s" + (f"; waiting for {waits}" if waits else "")


def _postponed(member: Member) -> str:
    names = ", ".join(f"{key.namespace}/{key.name}" for key in member.poollet.postponed)
    return f"the start of {names}, of which others heard that it stays off"
