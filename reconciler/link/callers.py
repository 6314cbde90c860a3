"""Who may use the link: the certificates that the settings in force list, and what a call says about its caller. Pure.

A caller is its whole certificate, known by its SHA-256. Whoever is not in the list is refused, whatever TLS thought of it: the list may have
changed since the connection began.

    refusal               status               cause
    unknown_certificate   UNAUTHENTICATED      it is not listed, or no longer
    expired               UNAUTHENTICATED      it is listed, and its time is over or has not begun
    old_tls               UNAUTHENTICATED      the connection uses less than TLS 1.3
    not_a_host            PERMISSION_DENIED    it belongs to the link itself or to a client
    not_a_client          PERMISSION_DENIED    it belongs to the link itself or to a host
    no_right              PERMISSION_DENIED    the entry of the client does not list the right of the call
    no_namespace          PERMISSION_DENIED    the entry of the client does not list the namespace that the call is about
    other_name            PERMISSION_DENIED    it belongs to another poollet than the one that Hello names
    other_fleet           FAILED_PRECONDITION  Hello names another fleet
    bad_hello             INVALID_ARGUMENT     no Hello in time, or one without poollet, host and instance, or with a text too long
    too_many              RESOURCE_EXHAUSTED   streams, calls or messages beyond the limits, or messages that the other end does not read
"""

from __future__ import annotations

import hashlib
import ssl
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

import grpc

from schemas.settings.certificate import Certificate, read_certificate
from schemas.settings.fleet import FleetSettings
from schemas.settings.link import CertificateEntry, ClientEntry, Right

TLS = "TLSv1.3"
PEM_LENGTH = 64 * 1024


class LinkRefusalReason(StrEnum):
    """Labels of a metric (docs/link.md)."""

    UNKNOWN = "unknown_certificate"
    EXPIRED = "expired"
    OLD_TLS = "old_tls"
    NOT_A_HOST = "not_a_host"
    NOT_A_CLIENT = "not_a_client"
    NO_RIGHT = "no_right"
    NO_NAMESPACE = "no_namespace"
    OTHER_NAME = "other_name"
    OTHER_FLEET = "other_fleet"
    BAD_HELLO = "bad_hello"
    TOO_MANY = "too_many"


@dataclass(frozen=True, slots=True)
class LinkRefusal:
    """`cause` and `cure` are one line each, for the log and for the caller."""

    reason: LinkRefusalReason
    status: grpc.StatusCode
    cause: str
    cure: str
    identity: str = ""

    def __str__(self) -> str:
        return f"{self.cause}; {self.cure}"


@dataclass(frozen=True, slots=True)
class Caller:
    """`name` is that of the poollet or the client; empty for the link itself."""

    identity: str
    kind: str
    name: str
    begins: datetime
    ends: datetime


@dataclass(frozen=True)
class Callers:
    """Everybody whose certificate is listed, and the list as TLS wants it."""

    fleet: str = ""
    by_identity: Mapping[str, Caller] = field(default_factory=dict)
    roots: bytes = b""
    clients: Mapping[str, ClientEntry] = field(default_factory=dict)

    @classmethod
    def of(cls, settings: FleetSettings) -> Callers:
        """Of settings that passed validation: there each certificate can be read, and has one owner."""
        entries = [
            (each, found)
            for each in settings.certificate_entries()
            if isinstance(found := read_certificate(each.pem), Certificate)
        ]
        return cls(
            settings.fleet.id,
            {found.identity: _caller(each, found) for each, found in entries},
            "\n".join(each.pem.strip() for each, _ in entries).encode(),
            settings.clients,
        )

    def identify(self, auth: Mapping[str, Iterable[bytes]], now: datetime) -> Caller | LinkRefusal:
        """The caller of a call, by what gRPC knows of its connection."""
        identity = read_identity(auth)
        version = b"".join(auth.get("ssl_tls_version", ())).decode("ascii", "replace")
        if version != TLS:
            cause = f"the connection uses {version or 'an unknown version of TLS'}, and the link needs {TLS}"
            return _unauthenticated(
                LinkRefusalReason.OLD_TLS, cause, "update the library that connects", identity
            )
        return self.find(identity, now)

    def find(self, identity: str, now: datetime) -> Caller | LinkRefusal:
        caller = self.by_identity.get(identity)
        if caller is None:
            cause = f"certificate SHA-256 {identity or 'unknown'} is not listed"
            cure = "list it in gitvirt.yaml: poollets.<name>.certificates for a host, clients.<name>.certificates for a client"
            return _unauthenticated(LinkRefusalReason.UNKNOWN, cause, cure, identity)
        if not caller.begins <= now < caller.ends:
            word = "has expired" if now >= caller.ends else "is not valid yet"
            cause = f"certificate SHA-256 {identity} of {caller.name or 'the link'} {word} ({caller.begins:%F} to {caller.ends:%F})"
            cure = f"list a new one in gitvirt.yaml: {caller.kind}{f'.{caller.name}' * bool(caller.name)}.certificates"
            return _unauthenticated(LinkRefusalReason.EXPIRED, cause, cure, identity)
        return caller


def read_identity(auth: Mapping[str, Iterable[bytes]]) -> str:
    """The SHA-256 of the certificate that the other end of the connection has; empty where there is none."""
    pem = b"".join(auth.get("x509_pem_cert", ()))[:PEM_LENGTH]
    try:
        return hashlib.sha256(ssl.PEM_cert_to_DER_cert(pem.decode("ascii"))).hexdigest()
    except ValueError:  # not a certificate, or not even text
        return ""


def check_host(caller: Caller, name: str, fleet: str, expected_fleet: str) -> LinkRefusal | None:
    """Whether this caller may say Hello as that poollet of that fleet."""
    if caller.kind != "poollets":
        owner = f"client {caller.name}" if caller.name else "the link"
        cause = f"certificate SHA-256 {caller.identity} belongs to {owner}, and not to a host"
        cure = f"use the certificate that gitvirt.yaml lists under poollets.{name}.certificates"
        return LinkRefusal(
            LinkRefusalReason.NOT_A_HOST, grpc.StatusCode.PERMISSION_DENIED, cause, cure, caller.identity
        )
    if caller.name != name:
        cause = f"certificate SHA-256 {caller.identity} belongs to poollet {caller.name}, and not to {name!r}"
        cure = f"set name: {caller.name} in poollet.yaml, or list another certificate under poollets.{name}.certificates"
        return LinkRefusal(
            LinkRefusalReason.OTHER_NAME, grpc.StatusCode.PERMISSION_DENIED, cause, cure, caller.identity
        )
    if fleet != expected_fleet:
        cause = f"poollet {name} is of fleet {fleet or '(none)'}, and this link of fleet {expected_fleet}"
        cure = "set repo.url of poollet.yaml and link.addresses of gitvirt.yaml to the same fleet"
        return LinkRefusal(
            LinkRefusalReason.OTHER_FLEET, grpc.StatusCode.FAILED_PRECONDITION, cause, cure, caller.identity
        )
    return None


def check_client(caller: Caller) -> LinkRefusal | None:
    """Whether this caller may call the API at all."""
    if caller.kind == "clients":
        return None
    owner = f"poollet {caller.name}" if caller.name else "the link"
    cause = f"certificate SHA-256 {caller.identity} belongs to {owner}, and not to a client"
    cure = "use a certificate that gitvirt.yaml lists under clients.<name>.certificates"
    return _denied(LinkRefusalReason.NOT_A_CLIENT, cause, cure, caller.identity)


def check_right(
    caller: Caller, entry: ClientEntry, right: Right, namespaces: Iterable[str] = ()
) -> LinkRefusal | None:
    """Whether the client may do that, in these namespaces. Nodes have none."""
    if right not in entry.rights:
        cause = f"client {caller.name} does not have the right {right}"
        cure = f"add {right} to clients.{caller.name}.rights of gitvirt.yaml"
        return _denied(LinkRefusalReason.NO_RIGHT, cause, cure, caller.identity)
    for namespace in namespaces:
        if not entry.may(right, namespace):
            cause = f"client {caller.name} has the right {right}, but not in namespace {namespace}"
            cure = f"add {namespace} to clients.{caller.name}.namespaces of gitvirt.yaml"
            return _denied(LinkRefusalReason.NO_NAMESPACE, cause, cure, caller.identity)
    return None


def _denied(reason: LinkRefusalReason, cause: str, cure: str, identity: str) -> LinkRefusal:
    return LinkRefusal(reason, grpc.StatusCode.PERMISSION_DENIED, cause, cure, identity)


def _unauthenticated(reason: LinkRefusalReason, cause: str, cure: str, identity: str) -> LinkRefusal:
    return LinkRefusal(reason, grpc.StatusCode.UNAUTHENTICATED, cause, cure, identity)


def _caller(entry: CertificateEntry, found: Certificate) -> Caller:
    return Caller(found.identity, entry.kind, entry.name, found.begins, found.ends)
