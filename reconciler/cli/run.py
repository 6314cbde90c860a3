"""`gitvirt run`: the reconciler as a process. Owns its settings, its threads and its exit code; the loop decides everything else.

The main thread waits for a signal; a second one reconciles, a third does housekeeping, and watchers or polls wake the second. A signal ends
the process after the current tick: a push that has begun is finished, so that its outcome is known. If the reconciling thread ends by
itself, the process ends with an error and the service manager starts it again. With `--once` there are no threads: ticks run until one
has nothing left to write.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import logging
import os
import re
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from urllib.parse import unquote, urlsplit

from reconciler.cli import fleet_repo as location
from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.sd_notify import ServiceNotifier
from reconciler.cli.stop_signal import StopSignal
from reconciler.cli.terminal import printable
from reconciler.gitstore.bootstrap import open_store
from reconciler.gitstore.errors import RepoError
from reconciler.gitstore.mirror.housekeeping import run_housekeeping
from reconciler.gitstore.remote import access
from reconciler.gitstore.remote.address import RemoteAddress
from reconciler.gitstore.repo import Identity, Refs
from reconciler.gitstore.signatures.signing import load_signer
from reconciler.gitstore.waker import Waker, watch_refs
from reconciler.loop import logs
from reconciler.loop.http_server import HttpServer
from reconciler.loop.loop import Loop, LoopIntervals
from reconciler.loop.metrics import Metrics
from reconciler.loop.outcome import Failed, Outcome, TickBlocked
from reconciler.loop.tick import CommitIdentity, ProcessInputs, Reconciler
from reconciler.loop.tracing import tracer
from reconciler.loop.webhook import Paced, Webhook
from reconciler.world.changes import SourceHold
from reconciler.world.source.parse_cache.cache import ParseCache
from schemas.settings.duration import milliseconds

log = logging.getLogger(__name__)

EXAMPLES = """\
examples:
  gitvirt run --repo /srv/fleet.git
  gitvirt run --repo ssh://git@git.example.org/fleet.git --listen 127.0.0.1:9100
  gitvirt run --once                        until there is no change left to write: for cron and CI

each option can come from the environment: GITVIRT_REPO, GITVIRT_INTERVAL, GITVIRT_PUSH_INTERVAL, GITVIRT_LISTEN,
GITVIRT_WEBHOOK_SECRET, GITVIRT_NAME, GITVIRT_AUTHOR, GITVIRT_SIGNING_KEY, GITVIRT_LOG, GITVIRT_LOG_LEVEL; credentials: docs/git.md.
SIGTERM or Ctrl-C ends it after the current push. Several may run at once."""

AUTHOR = re.compile(r"\s*(?P<name>[^<>]+?)\s*<(?P<email>[^<>\s]+)>\s*")
PATIENCE = timedelta(seconds=3)
LEVELS = ("debug", "info", "warning", "error")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    location.add_repo(parser)
    parser.add_argument("--once", action="store_true", help="stop when there is no change left to write")
    parser.add_argument("--interval", metavar="TIME", help="longest time between ticks (default: 10s)")
    parser.add_argument(
        "--push-interval",
        metavar="TIME",
        help="least time between pushes (default: limits.pushInterval of gitvirt.yaml)",
    )
    parser.add_argument(
        "--listen", metavar="ADDR", help="serve /metrics, /healthz and /webhook, e.g. on 127.0.0.1:9100"
    )
    parser.add_argument(
        "--webhook-secret",
        metavar="FILE",
        help="accept POST /webhook (with --listen) only with the secret in this file",
    )
    parser.add_argument("--name", help="name of this reconciler in its commits (default: the host name)")
    parser.add_argument("--author", metavar="'NAME <EMAIL>'", help="author of its commits (default: gitvirt)")
    parser.add_argument(
        "--signing-key", metavar="KEY", help="sign its commits: an ssh key file, or an OpenPGP fingerprint"
    )
    parser.add_argument(
        "--log", choices=("text", "json"), help="format of the log on standard error (default: text)"
    )
    parser.add_argument("--log-level", choices=LEVELS, help="(default: info)")


@dataclass(frozen=True, slots=True)
class RunSettings:
    """What concerns the process. Flags win over the environment."""

    address: RemoteAddress
    pace: LoopIntervals
    who: CommitIdentity
    listen: tuple[str, int] | None
    webhook_secret: bytes
    signing_key: str


def run(arguments: argparse.Namespace) -> int:
    environment = os.environ
    logs.configure_logging(
        choice(arguments.log, environment, "GITVIRT_LOG", ("text", "json")),
        choice(arguments.log_level, environment, "GITVIRT_LOG_LEVEL", ("info", *LEVELS)),
    )
    settings = settings_of(arguments, environment, Path.cwd())
    supervisor = ServiceNotifier.of(os.environ)
    with process(settings, environment) as loop:
        if arguments.once:
            return verdict(loop.run_once(), loop.reconciler.world.held_source)
        serve(loop, settings.address, supervisor)
    return Exit.OK


@contextmanager
def process(settings: RunSettings, environment: Mapping[str, str]) -> Iterator[Loop]:
    metrics, version = Metrics(), importlib.metadata.version("gitvirt")
    spans = tracer(environment, version)
    sign = load_signer(settings.signing_key, environment)

    def open_reconciler(refs: Refs, before: Reconciler | None = None) -> Reconciler:
        if before is not None:
            before.close()
        repo = open_store(
            settings.address,
            access.from_environment(environment),
            refs,
            mirrors=location.mirrors_folder(environment),
            ambient=environment,
            sign=sign,
        )
        around = ProcessInputs(environment, ParseCache(repo.folder))
        return Reconciler(repo, refs, settings.who, metrics, spans, around)

    try:
        if sign is not None:
            sign(b"a key that cannot sign is told at the start, whether or not there is anything to write")
        loop = Loop(open_reconciler(Refs()), open_reconciler, Waker(), settings.pace)
    except RepoError as error:
        raise CommandError(error.cause, error.cure) from None
    except OSError as error:
        cure = "set GITVIRT_CACHE to a folder that can be written"
        raise CommandError(f"cannot write the local copy of the repo: {error}", cure) from None
    with ExitStack() as stack:
        stack.callback(spans.close)
        stack.callback(lambda: loop.reconciler.close())
        if settings.listen is not None:
            webhook = Webhook(Paced(loop.waker.wake), settings.webhook_secret)
            stack.enter_context(listener(settings.listen, loop, metrics, webhook))
        yield loop


def serve(loop: Loop, address: RemoteAddress, supervisor: ServiceNotifier) -> None:
    """Until a signal, and then to the end of the tick that is under way. Ready once a tick has ended well."""
    stop = StopSignal()
    loop.on_success = supervisor.ready
    failures: list[Exception] = []

    def reconcile() -> None:
        try:
            loop.run()
        except Exception as error:  # noqa: BLE001 - told below, in the thread that decides the exit code
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
    try:
        made = HttpServer(*listen, metrics.exposition, loop.health, webhook)
    except OSError as error:
        words = f"cannot listen on {listen[0]}:{listen[1]}: {error.strerror}"
        raise CommandError(words, "choose another address with --listen") from None
    log.info("listening address=%s", made.address)
    return made


def verdict(outcome: Outcome, held: SourceHold | None) -> int:
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


def settings_of(arguments: argparse.Namespace, environment: Mapping[str, str], here: Path) -> RunSettings:
    def choose_value(flag: str | None, name: str) -> str:
        return flag or environment.get(name, "")

    push = choose_value(arguments.push_interval, "GITVIRT_PUSH_INTERVAL")
    interval = choose_value(arguments.interval, "GITVIRT_INTERVAL") or "10s"
    listen = choose_value(arguments.listen, "GITVIRT_LISTEN")
    secret = choose_value(arguments.webhook_secret, "GITVIRT_WEBHOOK_SECRET")
    if secret and not listen:
        raise CommandError("--webhook-secret needs --listen", "add --listen HOST:PORT", Exit.USAGE)
    name = choose_value(arguments.name, "GITVIRT_NAME") or socket.gethostname()
    return RunSettings(
        address=location.locate_repo(arguments.repo, environment, here).address,
        pace=LoopIntervals(
            positive(interval, "--interval"), seconds(push, "--push-interval") if push else None
        ),
        who=CommitIdentity(
            name,
            timedelta(0) if arguments.once else PATIENCE,
            author(choose_value(arguments.author, "GITVIRT_AUTHOR")),
        ),
        listen=listening(listen) if listen else None,
        webhook_secret=secret_in(Path(secret)) if secret else b"",
        signing_key=choose_value(arguments.signing_key, "GITVIRT_SIGNING_KEY"),
    )


def choice(flag: str | None, environment: Mapping[str, str], name: str, words: tuple[str, ...]) -> str:
    """The first word is the default."""
    value = flag or environment.get(name) or words[0]
    if value not in words:
        raise CommandError(
            f"{name} is {printable(value)!r}", f"set it to {' or '.join(sorted(set(words)))}", Exit.USAGE
        )
    return value


def seconds(text: str, flag: str) -> float:
    try:
        return milliseconds(text) / 1000
    except ValueError as error:
        raise CommandError(f"{flag}: {printable(str(error))}", "", Exit.USAGE) from None


def positive(text: str, flag: str) -> float:
    found = seconds(text, flag)
    if found <= 0:
        raise CommandError(f"{flag}: {printable(text)!r} is not a duration", "write 10s, or more", Exit.USAGE)
    return found


def author(text: str) -> Identity:
    if not text:
        return CommitIdentity().author
    match = AUTHOR.fullmatch(text)
    if match is None:
        raise CommandError(
            f"--author: {printable(text)!r} is not an author", "write 'Name <name@example.org>'", Exit.USAGE
        )
    return Identity(match["name"], match["email"])


def listening(text: str) -> tuple[str, int]:
    """HOST:PORT; without a host this machine alone."""
    parts = urlsplit(f"//{text}")
    try:
        host, port = parts.hostname or "127.0.0.1", parts.port
    except ValueError:
        host, port = "", None
    if port is None or parts.path or parts.query or parts.username:
        raise CommandError(
            f"--listen: {printable(text)!r} is not an address", "write 127.0.0.1:9100", Exit.USAGE
        )
    return host, port


def secret_in(path: Path) -> bytes:
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
    return Path(unquote(urlsplit(address.url).path) if address.url.startswith("file:") else address.url)
