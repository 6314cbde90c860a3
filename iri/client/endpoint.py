"""Finds the socket of a runtime.

In this order: the address of an argument, the environment, the first well-known socket that exists. Brokers come before
providers, because a broker represents several providers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from iri.address import Address, UnixAddress, parse
from iri.errors import Unavailable


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where to look for a runtime of one kind: a variable of the environment, and well-known sockets."""

    variable: str
    sockets: tuple[Path, ...]


def list_well_known_sockets(kind: str) -> tuple[Path, ...]:
    return tuple(Path(f"/var/run/iri-{kind}{role}.sock") for role in ("broker", "provider"))


MACHINE = Endpoint("IRI_MACHINE_RUNTIME_ENDPOINT", list_well_known_sockets("machine"))
VOLUME = Endpoint("IRI_VOLUME_RUNTIME_ENDPOINT", list_well_known_sockets("volume"))


def discover(endpoint: Endpoint, argument: str | None, environment: Mapping[str, str]) -> Address:
    """The address of the runtime.

    Raises InvalidArgument for what cannot be an address, Unavailable when there is no socket.
    """
    text = argument or environment.get(endpoint.variable)
    if text:
        return parse(text)
    for path in endpoint.sockets:
        if path.is_socket():
            return UnixAddress(path)
    searched = ", ".join(map(str, endpoint.sockets))
    raise Unavailable(f"no runtime: none of {searched} exists; start one, or set {endpoint.variable}")
