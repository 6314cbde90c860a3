"""Connects a command to a runtime, and turns its errors into one line of cause and one of cure.

The cure depends on the error's class alone. What a runtime or a socket path contributes to a message is made printable,
because it may contain control characters.

An address on the command line is used for every endpoint, because one runtime may serve machines and volumes at one socket. A
verb that needs one kind connects to that endpoint alone, so a host without volumes can still show its machines.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from iri.address import Address, UnixAddress
from iri.client import MACHINE, VOLUME, Client, Endpoint, discover
from iri.errors import (
    AlreadyExists,
    FailedPrecondition,
    Internal,
    InvalidArgument,
    IRIError,
    NotFound,
    ResourceExhausted,
    TimedOut,
    Unavailable,
    Unimplemented,
)
from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.terminal import printable

# The first match counts: TimedOut is an Unavailable too.
CURES: Mapping[type[IRIError], str] = {
    TimedOut: "the call may have taken effect: check with `gitvirt iri get`, then try again",
    Unavailable: "is the runtime running? `gitvirt runtime simulated` starts one for experiments; --address names its socket",
    NotFound: "`gitvirt iri get` lists existing objects",
    AlreadyExists: "`gitvirt iri get` shows the existing object",
    InvalidArgument: "correct the request; `gitvirt iri get status` lists the classes",
    FailedPrecondition: "the call can succeed once the object is in another state",
    ResourceExhausted: "`gitvirt iri get status` shows the totals; delete something, or ask for less",
    Unimplemented: "this runtime does not support the call",
    Internal: "the runtime failed; its log says more",
}


@contextmanager
def translate_errors() -> Iterator[None]:
    """An IRIError in the block becomes a CommandError with a cure."""
    try:
        yield
    except IRIError as error:
        raise command_error(error) from None


def command_error(error: IRIError) -> CommandError:
    """The error with the cure of its class. A timeout has an exit code of its own: the call may have taken effect."""
    cure = next(cure for kind, cure in CURES.items() if isinstance(error, kind))
    code = Exit.TIMED_OUT if isinstance(error, TimedOut) else Exit.FAILED
    return CommandError(printable(str(error)), cure, code)


@contextmanager
def connect_runtimes(arguments: argparse.Namespace, *endpoints: Endpoint) -> Iterator[Client]:
    """A client of the runtimes at these endpoints; without endpoints, of every one that exists."""
    with translate_errors():
        if endpoints:
            found = {endpoint: _find_address(arguments, endpoint) for endpoint in endpoints}
        else:
            found = _find_all(arguments)
        with Client(found.get(MACHINE), found.get(VOLUME)) as client:
            yield client


def _find_address(arguments: argparse.Namespace, endpoint: Endpoint) -> Address:
    """Raises Unavailable at once when the socket does not exist, not only after the retries of a read."""
    try:
        address = discover(endpoint, arguments.address, os.environ)
    except InvalidArgument as error:
        cure = f"--address or {endpoint.variable} must name a socket or a port of this host"
        raise CommandError(printable(str(error)), cure, Exit.USAGE) from None
    if isinstance(address, UnixAddress) and not address.path.is_socket():
        raise Unavailable(f"no socket at {address.path}")
    return address


def _find_all(arguments: argparse.Namespace) -> dict[Endpoint, Address]:
    """One missing endpoint is fine, as a host may have machines without volumes; both missing is an error."""
    found: dict[Endpoint, Address] = {}
    missing: Unavailable | None = None
    for endpoint in (MACHINE, VOLUME):
        try:
            found[endpoint] = _find_address(arguments, endpoint)
        except Unavailable as error:
            missing = missing or error
    if not found and missing is not None:
        raise missing
    return found
