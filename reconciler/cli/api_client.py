"""Verbs as clients of the controller API: whose certificate they use, which link they call, and what a refusal means on a command line.

    the client     --client NAME, or $GITVIRT_CLIENT: NAME.key and NAME.crt where `gitvirt client join` makes them; else the only pair there;
                   --key and --certificate name other files
    the link       --link and --link-certificate; else the addresses of gitvirt.yaml in their order, and its certificates
    which server   what every server can answer: the first that can be reached. What needs the host of a machine: the first that reaches it,
                   since a host may be connected to some servers alone

Must never happen: a private key is printed, or sent.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import socket
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.fleet_repo import named_fleet
from reconciler.cli.terminal import printable
from schemas.kinds import DEFAULT_NAMESPACE
from schemas.settings.link import ANSWER_METADATA, is_address

if TYPE_CHECKING:  # verbs load gRPC when they call
    from iri.proto.gitvirt.link.v1alpha1.controller_pb2 import InstanceRef

T = TypeVar("T")

CLIENT = "GITVIRT_CLIENT"
SERVICE = "gitvirt.link.v1alpha1.Controller"
DIAL_SECONDS = 5.0
CHECK_LINK = "check the address, and that gitvirt.yaml on live lists both certificates"
JOIN = "`gitvirt client join NAME` makes a certificate and proposes its entry"


def add_client(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("over the link (docs/controller-api.md)")
    name = "whose key and certificate in ~/.config/gitvirt to use (default: $GITVIRT_CLIENT, or the only one there)"
    group.add_argument("--client", metavar="NAME", help=name)
    group.add_argument("--key", type=Path, metavar="FILE", help="private key of the client")
    group.add_argument("--certificate", type=Path, metavar="FILE", help="its certificate")
    group.add_argument(
        "--link", metavar="ADDR", help="address of the link (default: the first of gitvirt.yaml that answers)"
    )
    group.add_argument(
        "--link-certificate",
        type=Path,
        metavar="FILE",
        help="its certificate (default: those of gitvirt.yaml)",
    )


@dataclass(frozen=True)
class ClientFiles:
    key: Path
    certificate: Path


def config_folder(environment: Mapping[str, str]) -> Path:
    home = Path(environment.get("HOME") or "/")
    return Path(environment.get("XDG_CONFIG_HOME") or home / ".config") / "gitvirt"


def is_named(arguments: argparse.Namespace) -> bool:
    """Whether an option says that the link is to be used."""
    named = (
        arguments.client,
        arguments.key,
        arguments.certificate,
        arguments.link,
        arguments.link_certificate,
    )
    return any(named)


def find_client(arguments: argparse.Namespace) -> ClientFiles | None:
    """None where no client is named and none is at hand."""
    if bool(arguments.key) != bool(arguments.certificate):
        raise CommandError("--key and --certificate go together", "give both, or --client NAME", Exit.USAGE)
    if arguments.key:
        return ClientFiles(arguments.key, arguments.certificate)
    folder = config_folder(os.environ)
    name = arguments.client or os.environ.get(CLIENT)
    if name:
        return ClientFiles(folder / f"{name}.key", folder / f"{name}.crt")
    pairs = sorted(each.stem for each in folder.glob("*.key") if each.with_suffix(".crt").exists())
    if len(pairs) > 1 and is_named(arguments):
        known = ", ".join(map(printable, pairs))
        raise CommandError(f"there are several clients: {known}", "choose one with --client NAME", Exit.USAGE)
    return ClientFiles(folder / f"{pairs[0]}.key", folder / f"{pairs[0]}.crt") if len(pairs) == 1 else None


def is_at_hand(arguments: argparse.Namespace) -> bool:
    """Whether there is a client, and a link that it may call, without any option that says so."""
    try:
        return find_client(arguments) is not None and bool(find_link(arguments))
    except CommandError:
        return False


def require_client(arguments: argparse.Namespace) -> ClientFiles:
    found = find_client(arguments)
    if found is None:
        raise CommandError("no client of the API is named", f"give --client NAME; {JOIN}", Exit.USAGE)
    return found


class ServerUnavailableError(CommandError):
    """One server of the link does not answer, or cannot reach what is asked for (`is_answer`). Another one may."""

    is_answer = False


class LinkServers:
    """A connection to each server, made when it is first used. For any thread."""

    def __init__(self, channels: Mapping[str, Any]) -> None:
        self._channels = channels
        self._addresses = tuple(channels)  # the one that reached a machine last comes first

    def open(self, attempt: Callable[[Any], T]) -> T:
        """What the first server gives for which the attempt does not raise ServerUnavailableError."""
        failed: list[ServerUnavailableError] = []
        for address in self._addresses:
            channel = self._channels[address]
            is_last = len(failed) == len(self._addresses) - 1
            if not is_last and not is_reached(address):
                failed.append(ServerUnavailableError(f"the link does not answer at {address}", CHECK_LINK))
                continue
            try:
                found = attempt(channel)
            except ServerUnavailableError as error:
                failed.append(error)
                continue
            self._addresses = (address, *(each for each in self._addresses if each != address))
            return found
        raise next((each for each in failed if each.is_answer), failed[0])


@contextlib.contextmanager
def open_servers(arguments: argparse.Namespace) -> Iterator[LinkServers]:
    """All servers of the link."""
    import grpc

    from schemas.settings.certificate import LINK_NAME

    files = require_client(arguments)
    addresses, trusted = find_link(arguments)
    credentials = grpc.ssl_channel_credentials(trusted, read_file(files.key), read_file(files.certificate))
    options = (("grpc.ssl_target_name_override", LINK_NAME),)
    with contextlib.ExitStack() as opened:
        yield LinkServers(
            {
                each: opened.enter_context(grpc.secure_channel(each, credentials, options))
                for each in addresses
            }
        )


@contextlib.contextmanager
def open_channel(arguments: argparse.Namespace) -> Iterator[Any]:
    """A connection to the first server of the link that can be reached; to the last one in any case."""
    with open_servers(arguments) as servers:
        yield servers.open(lambda channel: channel)


def is_reached(address: str) -> bool:
    """Whether something listens there. A call to an address that swallows packets would fail after 20 seconds only."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), DIAL_SECONDS).close()
    except OSError:
        return False
    return True


def find_link(arguments: argparse.Namespace) -> tuple[tuple[str, ...], bytes]:
    """Addresses in the order in which they are tried, and the certificates that are trusted."""
    addresses: tuple[str, ...] = (arguments.link,) if arguments.link else ()
    trusted = read_file(arguments.link_certificate) if arguments.link_certificate is not None else b""
    if not addresses or not trusted:
        with named_fleet(arguments.repo) as fleet:
            link = fleet.settings.link if fleet.settings is not None else None
        if link is None or not link.addresses:
            cure = "give --link ADDR and --link-certificate FILE"
            raise CommandError("gitvirt.yaml names no link", cure, Exit.USAGE)
        addresses = addresses or link.addresses
        trusted = trusted or "\n".join(link.certificates).encode()
    for address in addresses:
        if not is_address(address):
            words = f"{printable(address)} is not host:port"
            raise CommandError(words, "write link.example.org:7443", Exit.USAGE)
    return addresses, trusted


def call(channel: Any, method: str) -> Any:
    """The method of the API as a function of a request, or of an iterator of requests."""
    from google.protobuf.message_factory import GetMessageClass

    from iri.proto.gitvirt.link.v1alpha1 import controller_pb2

    about: Any = controller_pb2.DESCRIPTOR.services_by_name["Controller"].methods_by_name[method]
    kinds = {
        (False, False): channel.unary_unary,
        (False, True): channel.unary_stream,
        (True, True): channel.stream_stream,
    }
    request, answer = GetMessageClass(about.input_type), GetMessageClass(about.output_type)
    return kinds[about.client_streaming, about.server_streaming](
        f"/{SERVICE}/{method}",
        request_serializer=request.SerializeToString,
        response_deserializer=answer.FromString,
    )


def parse_instance(reference: str) -> InstanceRef:
    """NAME or NAMESPACE/NAME."""
    from iri.proto.gitvirt.link.v1alpha1.controller_pb2 import InstanceRef

    namespace, _, name = reference.rpartition("/")
    if not name or "/" in namespace:
        words = f"the link does not know {printable(reference)}"
        raise CommandError(words, "write [NAMESPACE/]NAME", Exit.USAGE)
    return InstanceRef(namespace=namespace or DEFAULT_NAMESPACE, name=name)


def read_file(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        words = f"{printable(str(path))} cannot be read: {error.strerror}"
        raise CommandError(words, "name a file that this account may read") from None


def translate(error: Any) -> CommandError:
    """Of a call that failed. A refusal says itself what is missing and where to add it."""
    import grpc

    lines = [printable(line) for line in str(error.details()).splitlines()] or [error.code().name]
    cause, _, cure = lines[0].partition("; ")
    if error.code() is not grpc.StatusCode.UNAVAILABLE:
        return CommandError(cause, cure)
    if not any(name == ANSWER_METADATA for name, _ in error.trailing_metadata() or ()):
        return ServerUnavailableError(f"the link does not answer: {lines[0]}", CHECK_LINK)
    found = ServerUnavailableError(cause, cure)
    found.is_answer = True
    return found
