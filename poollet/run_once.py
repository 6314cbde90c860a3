"""One pass and what follows from it, without threads that wait: for cron, for tests, and for a host that leaves."""

from __future__ import annotations

import time
from collections.abc import Callable

from poollet.threads import AgentThreads

PATIENCE_MS = 60_000
PAUSE_SECONDS = 0.1


def run(running: AgentThreads) -> str:
    """Until nothing is left to do and it is reported, or PATIENCE_MS is over. Returns what went wrong, what a candidate waits for, or nothing."""
    return _run_until(running, lambda: all(one.agent.is_at_rest for one in running.members))


def leave(running: AgentThreads) -> str:
    """The last report of a host that leaves for good; nothing is changed."""
    for member in running.members:
        member.agent.leaving = "leaving"
    return _run_until(running, lambda: True)


def _run_until(running: AgentThreads, is_done: Callable[[], bool]) -> str:
    end_ms = running.clock.moment_ms() + PATIENCE_MS
    remote = running.remote
    while running.clock.moment_ms() < end_ms:
        if not remote.fetch():
            return f"the remote cannot be used: {remote.last_error}"
        for member in running.members:
            for connection in member.agent.connections.values():
                connection.probe()
                connection.fetch_lists()
            member.agent.run_pass()
        remote.push()
        for publisher in remote.publishers:
            if publisher.ended:
                return publisher.ended
        if all(one.is_flushed for one in remote.publishers) and is_done():
            return next((one.waiting for one in remote.publishers if one.waiting), "")
        time.sleep(PAUSE_SECONDS)
    return f"not everything was done within {PATIENCE_MS // 1000} s"
