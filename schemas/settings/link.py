"""The link in gitvirt.yaml: where it listens, whose certificates count, and what API clients may do.

The fleet's settings are the only list of certificates: an entry is the approval, its removal is the revocation. There is no certificate
authority, no revocation list, and nothing that a host or a client can sign for itself.

    link.certificates             the server, one key for all its addresses
    poollets.<name>.certificates  a host
    clients.<name>.certificates   a client of the API

Each has one certificate, and two while it rotates to a new one. The same certificate twice is refused: a call must have one caller.

Limits: what the settings say, without a clock (`schemas.settings.certificate_dates` has one). An expired certificate does not make settings
unusable, because then time alone would freeze a fleet.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from schemas.problem import Severity, Violation, json_pointer
from schemas.settings.settings_file import Section
from schemas.spelling import nearest

Right = Literal["read", "logs", "console", "forward", "schedule", "update", "stop", "destroy"]
RIGHTS: tuple[Right, ...] = get_args(Right)
ALL_NAMESPACES = "*"
# Marks a status that a server of the link gave, and not the library for a connection that failed.
ANSWER_METADATA = "gitvirt-answer"
HIGHEST_PORT = 65535
ADDRESS = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?):([0-9]{1,5})")


class LinkSettings(Section, frozen=True):
    """Where hosts and clients find the link, and how they recognize it. A host connects to every address."""

    addresses: tuple[str, ...] = ()
    certificates: tuple[str, ...] = ()


class ClientEntry(Section, frozen=True):
    """What a client of the API may do, and where. Both lists are closed: what they do not name is refused."""

    certificates: tuple[str, ...]
    namespaces: tuple[str, ...]
    rights: tuple[Right, ...]

    def may(self, right: Right, namespace: str | None) -> bool:
        """`namespace` is None for what has none, such as nodes."""
        is_inside = namespace is None or namespace in self.namespaces or ALL_NAMESPACES in self.namespaces
        return right in self.rights and is_inside


@dataclass(frozen=True, slots=True)
class CertificateEntry:
    """A certificate with its place in the settings. `owner` is `link`, `poollets.<name>` or `clients.<name>`."""

    path: tuple[str | int, ...]
    pem: str

    @property
    def owner(self) -> str:
        return ".".join(map(str, self.path[:-2]))

    @property
    def kind(self) -> Literal["link", "poollets", "clients"]:
        first = self.path[0]
        return "link" if first == "link" else "poollets" if first == "poollets" else "clients"

    @property
    def name(self) -> str:
        """Of the poollet or the client; empty for the link."""
        return "" if self.kind == "link" else str(self.path[1])

    @property
    def pointer(self) -> str:
        return json_pointer(self.path)


def list_entries(owner: tuple[str, ...], certificates: Iterable[str]) -> Iterator[CertificateEntry]:
    for index, pem in enumerate(certificates):
        yield CertificateEntry((*owner, "certificates", index), pem)


def check_link(link: LinkSettings) -> Iterator[Violation]:
    """GV609 and GV624: hosts can reach the link and recognize it, or there is none."""
    if link.addresses and not link.certificates:
        message = "link.addresses is set, but link.certificates is empty: no host could recognize the link"
        yield Violation(
            "/link/addresses", "GV609", message, "`gitvirt link init` makes the certificate and lists it"
        )
    if link.certificates and not link.addresses:
        message = "link.certificates is set, but link.addresses is empty: no host would find the link"
        hint = "write host:port of each server of the link"
        yield Violation("/link/certificates", "GV609", message, hint)
    for index, address in enumerate(link.addresses):
        if not is_address(address):
            hint = "write host:port, as link.example.org:7443 or [2001:db8::1]:7443, without a scheme"
            where = json_pointer(("link", "addresses", index))
            yield Violation(where, "GV624", "the address is not host:port", hint)


def is_address(text: str) -> bool:
    """Whether it is host:port, as hosts dial it."""
    found = ADDRESS.fullmatch(text)
    return found is not None and 0 < int(found[3]) <= HIGHEST_PORT


def check_namespaces(clients: Mapping[str, ClientEntry], known: Collection[str]) -> Iterator[Violation]:
    """GV625, a warning: nothing is declared in a namespace of a client. It may be what the client is to fill."""
    for name, client in sorted(clients.items()):
        for index, namespace in enumerate(client.namespaces):
            if namespace != ALL_NAMESPACES and namespace not in known:
                meant = nearest(namespace, known)
                hint = f"did you mean {meant}?" if meant else "write * for all namespaces"
                where = json_pointer(("clients", name, "namespaces", index))
                message = f"nothing is declared in the namespace {namespace}"
                yield Violation(where, "GV625", message, hint, Severity.WARNING)


def check_certificates(entries: tuple[CertificateEntry, ...]) -> Iterator[Violation]:
    """GV605 to GV608 and GV626: each can be used, and belongs to one owner."""
    if not entries:
        return  # without them no verb loads a library of cryptography
    from schemas.settings.certificate import LINK_NAME, RefusedCertificate, read_certificate

    owners: dict[str, CertificateEntry] = {}
    for entry in entries:
        found = read_certificate(entry.pem)
        if isinstance(found, RefusedCertificate):
            yield Violation(entry.pointer, found.code, found.message, found.hint)
            continue
        other = owners.setdefault(found.identity, entry)
        if other is not entry:
            message = f"certificate {found.short} already belongs to {other.owner}"
            hint = "a certificate has one owner: make another one, or remove this entry"
            yield Violation(entry.pointer, "GV608", message, hint)
        if entry.kind == "link" and LINK_NAME not in found.names:
            message = (
                f"certificate {found.short} is not for the name {LINK_NAME}, which hosts expect of the link"
            )
            yield Violation(entry.pointer, "GV626", message, "`gitvirt link init` makes one")
