"""One pass and what follows from it, without threads that wait: for cron, for tests, and for a host that leaves.

Theory of operation. A round is: fetch all refs, probe and list every runtime, run one pass of each agent,
push. Rounds follow each other until each report is pushed and the agents are at rest, because one pass is
seldom enough: the first report has to land before the host may be changed, and a list after an action has
to show its effect.

It ends with an error after PATIENCE_MS, when the remote cannot be used, when another run has the report
lease, or when all is reported and a runtime does not answer: then nothing was done on the host.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from poollet.threads import AgentThreads
from schemas.settings.duration import format_duration

PATIENCE_MS = 60_000
PAUSE_SECONDS = 0.1


def run(running: AgentThreads) -> str:
    """Until nothing is left to do and it is reported, or PATIENCE_MS is over. Returns what went wrong, what a candidate waits for, or nothing."""
    for publisher in running.remote.publishers:
        publisher.lease.is_patient = False
    found = _run_until(running, lambda: all(one.agent.is_at_rest for one in running.members))
    return "; ".join(filter(None, (found, *find_silent_runtimes(running))))


def find_silent_runtimes(running: AgentThreads) -> Iterator[str]:
    """Each runtime that did not answer last, with its address, which is part of the error."""
    for member in running.members:
        for connection in member.agent.connections.values():
            if error := connection.state.error:
                yield f"runtime {connection.name} does not answer: {error}"


def leave(running: AgentThreads) -> str:
    """The last report of a host that leaves for good; nothing is changed. Guests keep running: `leaving`
    closes the gates."""
    for member in running.members:
        member.agent.leaving = "leaving"
    return _run_until(running, lambda: True)


def _run_until(running: AgentThreads, is_done: Callable[[], bool]) -> str:
    """Rounds until each publisher has pushed what it has to say and `is_done`. Returns why that is not
    reached, in words for the operator, or an empty text."""
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
    return f"not everything was done within {format_duration(PATIENCE_MS // 1000)}"
