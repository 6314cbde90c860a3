"""Finds the socket of a runtime: what a person said, else the environment, else the first well-known one that exists."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from iri.address import Address, UnixAddress, parse
from iri.errors import Unavailable

POLL_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a kind of runtime is looked for. Brokers come before providers: they stand for several of them."""

    variable: str
    sockets: tuple[Path, ...]


def list_well_known_sockets(kind: str) -> tuple[Path, ...]:
    return tuple(Path(f"/var/run/iri-{kind}{role}.sock") for role in ("broker", "provider"))


MACHINE = Endpoint("IRI_MACHINE_RUNTIME_ENDPOINT", list_well_known_sockets("machine"))
VOLUME = Endpoint("IRI_VOLUME_RUNTIME_ENDPOINT", list_well_known_sockets("volume"))


def discover(
    endpoint: Endpoint, said: str | None, environment: Mapping[str, str], timeout_seconds: float = 0
) -> Address:
    """The address of the runtime. Waits at most so long for a well-known socket to appear.

    Raises InvalidArgument for what cannot be an address, Unavailable when there is no socket.
    """
    text = said or environment.get(endpoint.variable)
    if text:
        return parse(text)
    deadline = time.monotonic() + timeout_seconds
    while True:
        for path in endpoint.sockets:
            if path.is_socket():
                return UnixAddress(path)
        if time.monotonic() >= deadline:
            break
        time.sleep(POLL_SECONDS)
    looked = ", ".join(map(str, endpoint.sockets))
    raise Unavailable(f"no runtime: none of {looked} exists; start one, or set {endpoint.variable}")
