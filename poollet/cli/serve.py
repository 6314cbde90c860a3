"""Runs poollets: until they are told to stop, once, or to say that the host leaves.

Theory of operation. The order of the start, and each step is undone in reverse at the end:

    lock_name            a second poollet of the name on this host ends here, before it starts or calls anything
    runtimes             those with `start:` begin to run, or are adopted if they answer already
    boot_starts          guests that the boot of the host left off: when they may start
    fleet_settings       waits for a remote that cannot be used; --once and --leave do not wait
    build_threads        opens the repo and connects the parts
    serve_until_stopped  or run_once, then the threads stop and the repo is closed

Guests outlive all of that: the end of a poollet changes no guest. Only `--end-runtimes` ends simulated
guests, because they are part of their runtime's process.

Exit codes are those of reconciler.cli.exits. A run that stepped down for another one fails, so that
systemd shows it.
"""

from __future__ import annotations

import argparse
import gc
import logging
import os
import random
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib.metadata import version
from pathlib import Path

from poollet import bootstrap, run_once
from poollet.bootstrap import HostInputs, SetupError
from poollet.cli import settings
from poollet.clock import Clock
from poollet.host_secrets import HostSecretsError
from poollet.runtimes.runtime_processes import RuntimeProcesses
from poollet.threads import AgentThreads
from reconciler.cli.core_dumps import refuse_core_dumps
from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.sd_notify import ServiceNotifier
from reconciler.cli.stop_signal import StopSignal
from reconciler.cli.terminal import printable
from reconciler.gitstore.errors import RepoError
from reconciler.gitstore.mirror.housekeeping import run_housekeeping
from reconciler.gitstore.remote import address
from reconciler.gitstore.remote.transport import RemoteUnavailable
from reconciler.gitstore.waker import WakeReason, watch_refs
from reconciler.loop import logs
from reconciler.loop.http_server import HttpServer
from schemas.backoff import Backoff
from schemas.problem import Problem
from schemas.settings.fleet import FleetSettings
from schemas.settings.host import PoolletSettings

log = logging.getLogger(__name__)

LOOK_SECONDS = 0.5
MOST_BACKOFF_SECONDS = 60.0
# How much is made until the garbage collector looks through it: by default it looks after each 700 objects, which with hundreds
# of hosts in a process is a quarter of their start.
COLLECTING = (20_000, 20, 20)
FLEET_CURE = "`gitvirt init` writes a gitvirt.yaml with the fleet's id; push it to the source branch"


def run(arguments: argparse.Namespace) -> int:
    """Environment, clock, chance and version are read here and passed on as arguments. Errors of all parts
    become CommandErrors with a cure here, with control characters made visible."""
    logs.configure_logging(arguments.log, arguments.log_level)
    hosts = settings.hosts(arguments)
    ambient = HostInputs(os.environ, Path.cwd(), Clock(), random.SystemRandom(), version("gitvirt"))
    try:
        with ExitStack() as opened:
            return serve(hosts, arguments, ambient, opened)
    except (RepoError, SetupError, HostSecretsError) as error:
        raise CommandError(printable(error.cause), printable(error.cure)) from None
    except OSError as error:
        raise CommandError(
            f"cannot work in {hosts[0].repo.mirror}: {error}", "choose another folder with --mirror DIR"
        ) from None


def serve(
    hosts: Sequence[PoolletSettings], arguments: argparse.Namespace, ambient: HostInputs, opened: ExitStack
) -> int:
    """The steps of the start, as in the theory of operation. `opened` undoes them, also after an error in the
    middle."""
    refuse_core_dumps()
    for one in hosts:
        opened.callback(os.close, bootstrap.lock_name(one))
    stop, supervisor = StopSignal(), ServiceNotifier.of(os.environ)
    children = opened.enter_context(runtimes(hosts, arguments, ambient))
    is_brief = arguments.once or arguments.leave
    starts = () if arguments.leave else tuple(bootstrap.boot_starts(one, ambient) for one in hosts)
    for one_start in starts:
        opened.callback(one_start.end)
        one_start.begin()
    fleet = fleet_settings(hosts[0], ambient, None if is_brief else stop)
    if fleet is None:
        return Exit.OK
    running = bootstrap.build_threads(hosts, fleet, ambient, starts)
    opened.callback(running.close)
    if is_brief:
        found = run_once.leave(running) if arguments.leave else run_once.run(running)
        if found:
            raise CommandError(found, "see the log")
        return Exit.OK
    with ExitStack() as listening:
        if arguments.listen is not None:
            listening.enter_context(listen(running, arguments.listen))
        serve_until_stopped(running, hosts, stop, ambient, supervisor)
    log.info("poollet stopped; %s", what_stays(children, ends_runtimes=arguments.end_runtimes))
    return Exit.OK


def what_stays(children: RuntimeProcesses, *, ends_runtimes: bool) -> str:
    """What the last log line says about guests. A simulated guest is part of its runtime; one of libvirt's
    needs none to run. Only what was started here ends."""
    own = {child.kind for child in children.own_processes} if ends_runtimes else set()
    if not own:
        return "guests keep running" + (found_running(children) if ends_runtimes else "")
    ends = ", simulated guests with them" if "simulated" in own else "; guests keep running"
    return f"its runtimes end{ends}{found_running(children)}"


def found_running(children: RuntimeProcesses) -> str:
    """The end of that line: runtimes that were adopted, which this poollet never stops."""
    names = ", ".join(child.name for child in children.adopted_processes)
    return f"; runtimes that it did not start keep running: {names}" if names else ""


@contextmanager
def runtimes(
    hosts: Sequence[PoolletSettings], arguments: argparse.Namespace, ambient: HostInputs
) -> Iterator[RuntimeProcesses]:
    """The runtimes that are to be started run meanwhile, and go on afterwards unless they are to end. A host
    that leaves starts none: it only reports."""
    children = RuntimeProcesses([child for one in hosts for child in bootstrap.children(one)], ambient.chance)
    if not arguments.leave:
        children.start()
    try:
        yield children
    finally:
        children.stop(ends=arguments.end_runtimes)


def listen(running: AgentThreads, address: tuple[str, int]) -> HttpServer:
    """The HTTP server. An address that is in use is an error at the start."""
    from poollet.cli.metrics import PoolletMetrics  # loads a library that a poollet without it does not need

    metrics = PoolletMetrics(running)
    try:
        made = HttpServer(*address, metrics.exposition, metrics.health)
    except OSError as error:
        cause = f"cannot listen on {address[0]}:{address[1]}: {error.strerror}"
        raise CommandError(cause, "choose another address with --listen") from None
    made.is_live = metrics.is_live
    log.info("listening address=%s", made.address)
    return made


def serve_until_stopped(
    running: AgentThreads,
    hosts: Sequence[PoolletSettings],
    stop: StopSignal,
    ambient: HostInputs,
    supervisor: ServiceNotifier,
) -> None:
    """Ready once each host's first report is on its ref, or the host waits as a candidate.

    systemd is told so then, and not before: a host that cannot write its report does not serve. Ends by a
    signal, or when every poollet of the process has stepped down or a thread failed; the latter two are
    errors.
    """
    place = address.parse_address(hosts[0].repo.url, ambient.here)
    with ExitStack() as around:
        around.enter_context(run_housekeeping(running.remote.repo.housekeep))
        if place.scheme.is_local:
            folder = Path(place.url.removeprefix("file://").removeprefix("localhost"))
            # Who else may write a report of one's own is found with the next poll.
            live = bootstrap.HEADS + hosts[0].repo.target
            around.enter_context(watch_refs(folder, lambda: running.refs.wake(WakeReason.REFS), ref=live))
        gc.freeze()
        gc.set_threshold(*COLLECTING)
        ends_with_threads(running.has_ended)
        running.start()
        log.info("poollet started name=%s repo=%s", ",".join(one.name for one in hosts), place)
        while not stop.wait(LOOK_SECONDS) and not running.has_ended.is_set():
            if all(one.is_ready for one in running.remote.publishers):
                supervisor.ready()
        supervisor.stopping()
        ended = [one.ended for one in running.remote.publishers if one.ended]
        running.stop("stopping")
    if running.has_ended.is_set():
        if not ended:
            raise CommandError(
                "a thread of the poollet failed", "see the log; a restart leaves guests running"
            )
        raise CommandError(printable(ended[0]), "see docs/poollet.md about report refs")


def ends_with_threads(ended: threading.Event) -> None:
    """A thread that breaks ends the process: half a poollet would go on saying that all is well. systemd
    starts it again, and the next run continues from the report."""

    def broke(what: threading.ExceptHookArgs) -> None:
        name = what.thread.name if what.thread else ""
        trace = (what.exc_type, what.exc_value or what.exc_type(), what.exc_traceback)
        log.critical("a thread failed name=%s", name, exc_info=trace)
        ended.set()

    threading.excepthook = broke


def why_not(found: RemoteUnavailable | tuple[Problem, ...]) -> tuple[str, str]:
    """Cause and cure of settings that cannot be read; of several problems the first one."""
    if isinstance(found, RemoteUnavailable):
        return found.cause, found.cure
    for problem in found:
        return f"{problem.file}:{problem.line}: {problem.message}", problem.hint
    return "the repo has no gitvirt.yaml", FLEET_CURE


def fleet_settings(
    one: PoolletSettings, ambient: HostInputs, stop: StopSignal | None
) -> FleetSettings | None:
    """What the fleet's repo says of itself. Waits for a remote that cannot be used; None when told to stop meanwhile."""
    backoff = Backoff(1.0, MOST_BACKOFF_SECONDS, chance=ambient.chance)
    while True:
        found = bootstrap.fleet_settings(one.repo, ambient)
        if isinstance(found, FleetSettings):
            return found
        cause, cure = why_not(found)
        if stop is None:
            raise CommandError(printable(cause), printable(cure))
        log.warning("cannot start cause=%s cure=%s", cause, cure)
        if stop.wait(backoff.next()):
            return None
