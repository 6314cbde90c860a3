"""For verbs that watch or wait: yields the fleet each time that its refs moved, until the verb is stopped.

# Theory of operation

| the repo | learns of a change by | if that fails |
|---|---|---|
| on this machine | a watch of the folder | every look asks the repo instead |
| remote | a poll every POLL_SECONDS | a note on standard error, once, and the next poll |

A repo on this machine is also looked at once at the start, because a ref may move before the watch begins. A remote
that does not answer is reported once and asked again: whoever waits for a machine also waits for the network.

Must never happen: a change that is missed for ever (each wait is limited and looks again), or a verb that cannot be
stopped (all waits end when the waker stops). It writes nothing, and compares snapshots, never printed text.
"""

from __future__ import annotations

import argparse
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from itertools import chain
from pathlib import Path

from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.fleet_repo import FleetRepo, named_fleet
from reconciler.cli.interrupt import until_interrupted
from reconciler.cli.objects.selectors import read_kinds
from reconciler.cli.output import is_value
from reconciler.cli.terminal import err, out
from reconciler.gitstore.remote.address import Scheme
from reconciler.gitstore.remote.transport import RefsListed, RemoteUnavailable
from reconciler.gitstore.waker import Waker, WakeReason, poll_remote, watch_refs
from reconciler.query.inventory import FleetInventory
from schemas.kinds import Kind

POLL_SECONDS = 2.0
LOOK_SECONDS = 0.5  # for a signal that the kernel gave to another thread


def follow_fleet(fleet: FleetRepo, waker: Waker, seconds: float | None = None) -> Iterator[FleetRepo]:
    """Yields whenever something moved. Ends when the waker is stopped, and when `seconds` are over."""
    ends = None if seconds is None else time.monotonic() + seconds
    is_local = fleet.location.address.scheme is Scheme.PATH
    # The watch of a local repo, which may be another folder by now: from then on each look asks.
    is_lost = threading.Event()
    with ExitStack() as stack:
        if is_local:
            folder = Path(fleet.location.address.url)
            stack.enter_context(watch_refs(folder, waker.wake, lambda _place, _error: is_lost.set()))
            waker.wake()  # what moved before the watch stood must not be missed; a poll looks at first by itself
        else:
            chance = random.Random()  # noqa: S311 - it spreads polls
            stack.enter_context(poll_remote(lambda: list_refs(fleet), POLL_SECONDS, waker.wake, chance))
        trouble = ""
        while ends is None or time.monotonic() < ends:
            left = LOOK_SECONDS if ends is None else min(LOOK_SECONDS, ends - time.monotonic())
            reason = waker.wait(left)
            if reason is WakeReason.STOPPED:
                return
            if reason is WakeReason.TIMEOUT and not trouble and not is_lost.is_set():
                continue
            try:
                now, trouble = fleet.again(), ""
            except CommandError as error:  # who waits for something waits for the remote as well
                if error.cause != trouble:
                    err().line(f"{error.cause}; {error.cure}")
                trouble = error.cause
                if is_local:
                    is_lost.set()
                continue
            if now.snapshot != fleet.snapshot:
                fleet = now
                yield fleet


def list_refs(fleet: FleetRepo) -> RefsListed | RemoteUnavailable:
    """A poll is a snapshot: what moved is here when the verb looks."""
    found = fleet.repo.snapshot()
    if isinstance(found, RemoteUnavailable):
        return found
    refs = {"source": found.source, "target": found.target, **found.reports}
    return RefsListed({name: commit for name, commit in refs.items() if commit})


def show_fleet(
    arguments: argparse.Namespace, show: Callable[[FleetRepo, bool], None], *, with_reports: bool = False
) -> int:
    """Calls `show` once; with --watch also after each change of the target branch (or of a report), until a signal.

    `show` is told whether it is the first call. What it printed is visible at once.
    """

    def look(waker: Waker | None) -> int:
        with named_fleet(arguments.repo, with_reports=with_reports) as fleet:
            shown = None
            for now in chain([fleet], follow_fleet(fleet, waker) if waker else ()):
                if shown is None or with_reports or now.snapshot.target != shown.snapshot.target:
                    show(now, shown is None)
                    out().stream.flush()
                    shown = now
        return Exit.OK

    return until_interrupted(look) if arguments.watch else look(None)


def show_screen(
    arguments: argparse.Namespace, kinds: Sequence[Kind], show: Callable[[FleetInventory], None]
) -> int:
    """For verbs whose whole output is one look at the fleet: each look replaces the one before. Objects of other kinds are not read."""

    def redraw(fleet: FleetRepo, is_first: bool) -> None:
        if not is_first and not is_value(arguments.output):
            out().clear()
        show(read_kinds(fleet, kinds))

    return show_fleet(arguments, redraw, with_reports=True)


def add_watch(parser: argparse.ArgumentParser, shown: str) -> None:
    parser.add_argument("-w", "--watch", action="store_true", help=f"{shown} until Ctrl-C")
