"""`gitvirt run --link`: its options, and the server that they ask for. gRPC is loaded only where a link is served."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple, Protocol

from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.fleet_repo import Location
from reconciler.cli.listen_address import listening
from reconciler.gitstore.objects.commit import Sign
from reconciler.loop.link_port import LinkPort, NoLink
from reconciler.loop.metrics import Metrics

# As `gitvirt link init` makes them (reconciler/cli/link.py, which loads a library of cryptography).
KEY, CERTIFICATE = Path("/etc/gitvirt/link-server.key"), Path("/etc/gitvirt/link-server.crt")


class AddOption(Protocol):
    """How `run` adds an option that the environment can give too."""

    def __call__(
        self, flag: str, convert: Callable[[str], object], default: object, *, metavar: str, help: str
    ) -> None: ...


class ClientsRepo(NamedTuple):
    """Where API clients' calls and hosts that join commit, and what signs those commits; None: nothing does."""

    location: Location
    sign: Sign | None


def add_link(option: AddOption) -> None:
    served = "serve the link for hosts on this address, e.g. 0.0.0.0:7443 (docs/link.md)"
    option("--link", listening, None, metavar="ADDR", help=served)
    option("--link-key", Path, None, metavar="FILE", help=f"private key of the link (default: {KEY})")
    listed = f"its certificate, as gitvirt.yaml lists it (default: {CERTIFICATE})"
    option("--link-certificate", Path, None, metavar="FILE", help=listed)
    joined = "let hosts with a token of `gitvirt token create` join on this address, e.g. 0.0.0.0:7444 (with --link)"
    option("--join", listening, None, metavar="ADDR", help=joined)


@contextmanager
def open_link(
    arguments: argparse.Namespace,
    metrics: Metrics,
    wake: Callable[[], None],
    steady: Callable[[], datetime],
    repo: ClientsRepo,
) -> Iterator[LinkPort]:
    """What the loop asks and tells; without `--link` it knows of no host. `repo` is what clients' calls change."""
    needing = (arguments.link_key, arguments.link_certificate, arguments.join)
    if arguments.link is None:
        if any(needing):
            cause = "--link-key, --link-certificate and --join need --link"
            raise CommandError(cause, "add --link HOST:PORT", Exit.USAGE)
        yield NoLink()
        return
    if arguments.once:
        raise CommandError("--link does not go with --once", "leave one of them out", Exit.USAGE)
    with serve_link(arguments, metrics, wake, steady, repo) as server:
        yield server


@contextmanager
def serve_link(
    arguments: argparse.Namespace,
    metrics: Metrics,
    wake: Callable[[], None],
    steady: Callable[[], datetime],
    repo: ClientsRepo,
) -> Iterator[LinkPort]:
    """The server, until the block ends."""
    # Read when gRPC is loaded: its handlers at a fork serve programs that go on in the child, and ours are git.
    os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
    from iri.server.reflection_pool import build_reflection_pool
    from reconciler.cli.controller.source import SourceBranch
    from reconciler.cli.controller.token_desk import TokenDesk
    from reconciler.cli.controller.writer import ControllerWriter
    from reconciler.link.join_port import JoinSetup
    from reconciler.link.metrics import LinkMetrics
    from reconciler.link.server import LinkServer
    from reconciler.link.server_key import LinkSetupError, ServerKey

    made = LinkMetrics(metrics.registry)
    desk = TokenDesk(repo.location, os.environ, repo.sign)
    try:
        own = ServerKey(arguments.link_key or KEY, arguments.link_certificate or CERTIFICATE, steady)
        server = LinkServer(
            arguments.link,
            own,
            wake,
            steady,
            made,
            version=version("gitvirt"),
            pool_of=build_reflection_pool,
            writer=ControllerWriter(SourceBranch(repo.location, os.environ, repo.sign)),
            join=JoinSetup(arguments.join, desk) if arguments.join is not None else None,
        )
        with server:
            yield server
    except LinkSetupError as error:
        raise CommandError(str(error), error.cure) from None
