"""`gitvirt run`: the reconciler as a process. Owns its settings, its threads and its exit code; the loop decides
everything else.

| thread | does | ends |
|---|---|---|
| main | waits for a signal, then for the second thread | last |
| reconcile | `loop.run`: ticks, as changes and the interval ask for them | after the tick that is under way when it is told to stop |
| housekeeping | keeps the local copy of the repo small | with the context that started it |
| watch, HTTP server, link | wake the loop; answer /metrics, /healthz, /webhook; serve hosts | with their contexts |

A push that has begun is finished before the process ends, so that its outcome is known. If the reconciling thread
ends by itself, the process ends with exit code 1, and the service manager starts it again: a reconciler that only
looks alive is worse than one that is gone. With `--once` there are no threads: ticks run until one has nothing left
to write, and the exit code is 3 if the source is held until a person agrees.

Each option can come from the environment, for containers and units. A flag wins.

Must never happen: the webhook secret or a token in the log or in an error; a start that succeeds with a key, an
address or a secret that cannot work. Several processes may run at once on one repo: pushes are compare-and-swap, so
nothing here locks.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import logging
import os
import re
import socket
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from reconciler.cli import fleet_repo as location
from reconciler.cli.duration import parse_duration
from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.link_option import ClientsRepo, add_link, open_link
from reconciler.cli.listen_address import listening
from reconciler.cli.sd_notify import ServiceNotifier
from reconciler.cli.stop_signal import StopSignal
from reconciler.cli.terminal import printable
from reconciler.gitstore.mirror.housekeeping import run_housekeeping
from reconciler.gitstore.remote import access
from reconciler.gitstore.remote.address import RemoteAddress
from reconciler.gitstore.repo import Identity, Refs
from reconciler.gitstore.signatures.own_key import find_own_signers
from reconciler.gitstore.signatures.signers import Signers
from reconciler.gitstore.signatures.signing import load_signer
from reconciler.gitstore.waker import Waker, watch_refs
from reconciler.loop import logs
from reconciler.loop.http_server import HttpServer
from reconciler.loop.loop import Loop, LoopIntervals, read_steady_clock
from reconciler.loop.metrics import Metrics
from reconciler.loop.outcome import Failed, Outcome, TickBlocked
from reconciler.loop.tick import ProcessInputs, Reconciler
from reconciler.loop.tracing import tracer
from reconciler.loop.webhook import Paced, Webhook
from reconciler.world.changes import SourceHold
from reconciler.world.reports.start_wait import StartWait
from reconciler.world.source.parse_cache.cache import ParseCache
from reconciler.write.tick_commit import CommitIdentity
from schemas.settings.fleet import DEFAULT_INPUTS

log = logging.getLogger(__name__)

EXAMPLES = """\
examples:
  gitvirt run --repo /srv/fleet.git
  gitvirt run --repo ssh://git@git.example.org/fleet.git --listen 127.0.0.1:9100
  gitvirt run --once                        until there is no change left to write: for cron and CI

each option can come from the environment: GITVIRT_REPO, GITVIRT_INTERVAL, GITVIRT_PUSH_INTERVAL, GITVIRT_LISTEN,
GITVIRT_WEBHOOK_SECRET, GITVIRT_LINK, GITVIRT_LINK_KEY, GITVIRT_LINK_CERTIFICATE, GITVIRT_JOIN, GITVIRT_NAME, GITVIRT_AUTHOR, GITVIRT_SIGNING_KEY, GITVIRT_LOG, GITVIRT_LOG_LEVEL; credentials: docs/git.md.
SIGTERM or Ctrl-C ends it after the current push. Several may run at once."""

AUTHOR = re.compile(r"\s*(?P<name>[^<>]+?)\s*<(?P<email>[^<>\s]+)>\s*")
FORMATS = ("text", "json")
LEVELS = ("debug", "info", "warning", "error")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    location.add_repo(parser)
    parser.add_argument("--once", action="store_true", help="stop when there is no change left to write")
    option = partial(add_option, parser)
    option("--interval", positive, "10s", metavar="TIME", help="longest time between ticks (default: 10s)")
    least = "least time between pushes (default: limits.pushInterval of gitvirt.yaml)"
    option("--push-interval", parse_duration, None, metavar="TIME", help=least)
    served = "serve /metrics, /healthz, /livez and /webhook, e.g. on 127.0.0.1:9100"
    option("--listen", listening, None, metavar="ADDR", help=served)
    accepted = "accept POST /webhook (with --listen) only with the secret in this file"
    option("--webhook-secret", Path, None, metavar="FILE", help=accepted)
    add_link(option)
    name = "name of this reconciler in its commits (default: the host name)"
    option("--name", str, socket.gethostname(), help=name)
    author_help = "author of its commits (default: gitvirt)"
    option("--author", author, CommitIdentity().author, metavar="'NAME <EMAIL>'", help=author_help)
    signed = "sign its commits: an ssh key file, or an OpenPGP fingerprint"
    option("--signing-key", str, "", metavar="KEY", help=signed)
    log_help = "format of the log on standard error (default: text)"
    option("--log", one_of(FORMATS), "text", choices=FORMATS, help=log_help)
    option("--log-level", one_of(LEVELS), "info", choices=LEVELS, help="(default: info)")


def add_option(
    parser: argparse.ArgumentParser,
    flag: str,
    convert: Callable[[str], object],
    default: object,
    **words: Any,
) -> None:
    """An option that the environment can give too. A flag wins over its variable, and an empty variable is as none."""
    variable = f"GITVIRT_{flag.strip('-').upper().replace('-', '_')}"
    from_environment = os.environ.get(variable)

    def read(text: str) -> object:
        try:
            return convert(text)
        except argparse.ArgumentTypeError as error:
            where = f"{variable}: " if text == from_environment else ""
            raise argparse.ArgumentTypeError(f"{where}{error}") from None

    parser.add_argument(flag, type=read, default=from_environment or default, **words)


def run(arguments: argparse.Namespace) -> int:
    """Runs ticks until a signal, or with `--once` until there is nothing to write. Logging is configured first,
    because everything after it may log."""
    logs.configure_logging(arguments.log, arguments.log_level)
    if arguments.webhook_secret and not arguments.listen:
        raise CommandError("--webhook-secret needs --listen", "add --listen HOST:PORT", Exit.USAGE)
    found = location.locate_repo(arguments.repo, os.environ, Path.cwd())
    address = found.address
    if found.checkout is not None:
        # A checkout does not look like what the reconciler writes to, so this comes before the first tick.
        log.info("writing to repo=%s remote-of=%s", address, found.checkout)
    supervisor = ServiceNotifier.of(os.environ)
    with process(arguments, address, os.environ) as loop:
        if arguments.once:
            return verdict(loop.run_once(), loop.reconciler.world.head.held)
        serve(loop, address, supervisor)
    return Exit.OK


@contextmanager
def process(
    arguments: argparse.Namespace, address: RemoteAddress, environment: Mapping[str, str]
) -> Iterator[Loop]:
    """The loop with all that it uses, open. Flags that cannot work (a key, an address) fail here, before the first tick."""
    metrics, spans = Metrics(), tracer(environment, importlib.metadata.version("gitvirt"))
    sign = load_signer(arguments.signing_key, environment)
    secret = read_secret(arguments.webhook_secret) if arguments.webhook_secret else b""
    who = CommitIdentity(arguments.name, arguments.author)

    def open_reconciler(refs: Refs, before: Reconciler | None = None) -> Reconciler:
        if before is not None:
            before.close()
        credentials = access.from_environment(environment)
        repo = location.open_store_of(address, credentials, refs, environment, sign)
        start_wait = StartWait(counts_dates=arguments.once)
        around = ProcessInputs(environment, ParseCache(repo.folder), start_wait, link, signers)
        return Reconciler(repo, refs, who, metrics, spans, around)

    signers: Signers | None = None
    if (
        sign is not None
    ):  # a key that cannot sign is told at the start, whether or not there is anything to write
        signers = find_own_signers(arguments.signing_key, sign, environment, datetime.now(UTC))
    pace, waker = LoopIntervals(arguments.interval, arguments.push_interval), Waker()
    with ExitStack() as stack:
        stack.callback(spans.close)
        link = stack.enter_context(
            open_link(
                arguments,
                metrics,
                waker.wake,
                read_steady_clock,
                ClientsRepo(location.Location(address), sign),
            )
        )
        loop = Loop(open_reconciler(Refs(inputs=DEFAULT_INPUTS)), open_reconciler, waker, pace)
        stack.callback(lambda: loop.reconciler.close())
        if arguments.listen is not None:
            webhook = Webhook(Paced(loop.waker.wake), secret)
            stack.enter_context(listener(arguments.listen, loop, metrics, webhook))
        yield loop


def serve(loop: Loop, address: RemoteAddress, supervisor: ServiceNotifier) -> None:
    """Starts the threads and waits for a signal; then ends after the tick that is under way. The service manager is
    told "ready" once a tick has ended well."""
    stop = StopSignal()
    loop.on_success = supervisor.ready
    failures: list[Exception] = []

    def reconcile() -> None:
        try:
            loop.run()
        except Exception as error:  # noqa: BLE001 - raised below, in the thread that decides the exit code
            failures.append(error)
        finally:
            stop.stop()  # whyever it ended, the process must not stay without it

    worker = threading.Thread(target=reconcile, name="reconcile")
    with ExitStack() as stack:
        stack.enter_context(run_housekeeping(lambda: loop.reconciler.repo.housekeep()))
        if address.scheme.is_local:
            stack.enter_context(watch_refs(folder_of(address), loop.waker.wake))
        worker.start()
        log.info(
            "running repo=%s name=%s wakes=%s interval=%gs",
            str(address),
            loop.reconciler.who.name,
            "refs" if address.scheme.is_local else "polls",
            loop.pace.interval,
        )
        stop.wait()
        log.info("stopping")
        supervisor.stopping()
        loop.waker.stop()
        worker.join()
    for failure in failures:  # a supervisor starts it again by its exit code
        raise CommandError(f"the reconciler failed: {type(failure).__name__}: {failure}") from failure


def listener(listen: tuple[str, int], loop: Loop, metrics: Metrics, webhook: Webhook) -> HttpServer:
    """The HTTP server. An address that is in use is an error at the start, not a warning in the log of a service
    that cannot be asked."""
    try:
        made = HttpServer(*listen, metrics.exposition, loop.health, webhook)
        made.is_live = loop.is_live
    except OSError as error:
        words = f"cannot listen on {listen[0]}:{listen[1]}: {error.strerror}"
        raise CommandError(words, "choose another address with --listen") from None
    log.info("listening address=%s", made.address)
    return made


def verdict(outcome: Outcome, held: SourceHold | None) -> int:
    """The exit code of `--once`. A held source is 3, so that CI does not take it for a fleet that converged."""
    match outcome:
        case Failed(_, cause, cure):
            raise CommandError(printable(cause), printable(cure))
        case TickBlocked(problems, reason):
            raise CommandError(printable(reason), printable(problems[0].hint if problems else ""))
        case _ if held is not None:
            cure = f"a commit to the source branch approves it: {held.trailer}" if held.trailer else held.cure
            raise CommandError(printable(held.message), printable(cure), Exit.PROBLEMS)
        case _:
            return Exit.OK


def one_of(words: Collection[str]) -> Callable[[str], str]:
    """As `choices` of argparse, which does not look at what the environment gives."""

    def check(text: str) -> str:
        if text in words:
            return text
        known = ", ".join(map(repr, words))
        raise argparse.ArgumentTypeError(f"invalid choice: {text!r} (choose from {known})")

    return check


def positive(text: str) -> float:
    """A duration of more than zero: with an interval of zero the loop would tick without a pause."""
    found = parse_duration(text)
    if found <= 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a duration; write 10s, or more")
    return found


def author(text: str) -> Identity:
    """`NAME <EMAIL>` as Git writes authors."""
    match = AUTHOR.fullmatch(text)
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not an author; write 'Name <name@example.org>'")
    return Identity(match["name"], match["email"])


def read_secret(path: Path) -> bytes:
    """The whole file but for the end of its line."""
    try:
        secret = path.read_bytes().strip()
    except OSError as error:
        words = f"--webhook-secret: {printable(str(path))} cannot be read: {error.strerror}"
        raise CommandError(words, "name a file that this account may read") from None
    if not secret:
        words = f"--webhook-secret: {printable(str(path))} is empty"
        raise CommandError(words, "write a secret into it: openssl rand -hex 32", Exit.USAGE)
    return secret


def folder_of(address: RemoteAddress) -> Path:
    """The folder of a local repo, whose refs are watched."""
    return Path(unquote(urlsplit(address.url).path) if address.url.startswith("file:") else address.url)
