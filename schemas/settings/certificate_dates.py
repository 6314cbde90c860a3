"""When the certificates of a fleet end: findings for `gitvirt validate`, and whose last certificate ends soon. Pure; time is an argument.

A certificate that ended does not make settings unusable, so all of this warns and refuses nothing. An owner with two certificates is judged by
the one that ends last: the other one is what a rotation leaves behind.

    the newest certificate of an owner     finding
    ends in more than 30 days              none
    ends within 30 days                    GV618, with the command that rotates it
    has ended                              GV610: the owner cannot connect
    begins later                           GV619

    an older one that has ended            GV610, to be removed
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby

from schemas.problem import Severity, Violation
from schemas.settings.certificate import Certificate, read_certificate
from schemas.settings.fleet import FleetSettings
from schemas.settings.link import CertificateEntry

WARNING_TIME = timedelta(days=30)
Listed = tuple[CertificateEntry, Certificate]


@dataclass(frozen=True, slots=True)
class ExpiringCertificate:
    """The newest certificate of an owner, which ends soon or has ended."""

    entry: CertificateEntry
    ends: datetime
    has_expired: bool

    def __str__(self) -> str:
        verb = "expired" if self.has_expired else "expires"
        return f"the certificate of {self.entry.owner} {verb} on {day(self.ends)}"

    @property
    def cure(self) -> str:
        return describe_rotation(self.entry)


def find_expiring(settings: FleetSettings, now: datetime) -> tuple[ExpiringCertificate, ...]:
    """Owners whose newest certificate ends within WARNING_TIME; the first to end comes first."""
    newest = (max(group, key=lambda each: each[1].ends) for group in _by_owner(settings))
    ending = (
        ExpiringCertificate(entry, found.ends, found.ends <= now)
        for entry, found in newest
        if found.ends - now <= WARNING_TIME
    )
    return tuple(sorted(ending, key=lambda each: (each.ends, each.entry.owner)))


def check_dates(settings: FleetSettings, now: datetime) -> Iterator[Violation]:
    """GV610, GV618 and GV619, as warnings."""
    for group in _by_owner(settings):
        newest = max(group, key=lambda each: each[1].ends)
        for each in group:
            yield from _check(each, now, is_newest=each is newest)


def describe_rotation(entry: CertificateEntry) -> str:
    """The command that makes the next certificate, and where it runs."""
    match entry.kind:
        case "link":
            return "run `gitvirt link rotate` where its key is"
        case "poollets":
            return f"run `gitvirt poollet rotate` on the host of {entry.name}"
        case "clients":
            return f"run `gitvirt client rotate {entry.name}` where its key is"


def day(time: datetime) -> str:
    return time.astimezone(UTC).date().isoformat()


def _by_owner(settings: FleetSettings) -> Iterator[list[Listed]]:
    listed = (
        (entry, found)
        for entry in settings.certificate_entries()
        if isinstance(found := read_certificate(entry.pem), Certificate)
    )
    for _, group in groupby(listed, key=lambda each: each[0].owner):
        yield list(group)


def _check(each: Listed, now: datetime, *, is_newest: bool) -> Iterator[Violation]:
    entry, found = each
    name = f"certificate {found.short} of {entry.owner}"
    if found.ends <= now and is_newest:
        message = f"{name} expired on {day(found.ends)}, and {entry.owner} has no newer one: it cannot connect to the link"
        yield Violation(entry.pointer, "GV610", message, describe_rotation(entry), Severity.WARNING)
    elif found.ends <= now:
        message = f"{name} expired on {day(found.ends)}"
        yield Violation(entry.pointer, "GV610", message, "remove it: there is a newer one", Severity.WARNING)
    elif is_newest and found.ends - now <= WARNING_TIME:
        message = f"{name} expires on {day(found.ends)}, in {(found.ends - now).days} days"
        yield Violation(entry.pointer, "GV618", message, describe_rotation(entry), Severity.WARNING)
    if found.begins > now:
        message = f"{name} is not valid before {found.begins.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
        yield Violation(
            entry.pointer, "GV619", message, "compare the clocks of both machines", Severity.WARNING
        )
