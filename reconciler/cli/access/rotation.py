"""What an entry of gitvirt.yaml lists next, and what becomes of the files. Pure.

Theory of operation. `rotate` is called once for each step and finds by itself which one is next, from the files and from what is in force
(the certificates of the settings on `live`). So a call that was interrupted, or made twice, does no harm.

    own certificate   next   in force                  what `rotate` does
    not listed        -      -                         LIST: proposes the own one
    listed            -      ends in over 30 days      REST, unless forced
    listed            -      ends soon, or forced      BEGIN: makes the next pair, proposes both
    any               made   next not listed           BEGIN: proposes both (again)
    any               made   next listed               END: the next pair takes the place of the old one; proposes it alone
    listed            -      others are listed too     END: proposes it alone (again)

Must never happen: a certificate is dropped from the entry before the one that replaces it is in force.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from schemas.settings.certificate import Certificate, read_certificate
from schemas.settings.certificate_dates import WARNING_TIME

MOST_LISTED = 2


class RotationStep(StrEnum):
    LIST = "list"
    BEGIN = "begin"
    END = "end"
    REST = "rest"


@dataclass(frozen=True, slots=True)
class RotationFacts:
    """`own` and `next` are the certificates of the files in PEM; `in_force` those of the entry that applies now."""

    own: str
    next: str | None
    in_force: tuple[str, ...]
    is_forced: bool = False


def find_step(facts: RotationFacts, now: datetime) -> RotationStep:
    own, listed = identity_of(facts.own), {identity_of(each) for each in facts.in_force}
    if facts.next is not None:
        return RotationStep.END if identity_of(facts.next) in listed else RotationStep.BEGIN
    if own not in listed:
        return RotationStep.LIST
    if len(listed) > 1:
        return RotationStep.END
    found = read_certificate(facts.own)
    is_fresh = isinstance(found, Certificate) and found.ends - now > WARNING_TIME
    return RotationStep.REST if is_fresh and not facts.is_forced else RotationStep.BEGIN


def add_certificate(listed: tuple[str, ...], new: str) -> tuple[str, ...] | None:
    """The entry with it at the end; the same where it is listed. None where there is no room: a person decides which one goes."""
    if identity_of(new) in map(identity_of, listed):
        return listed
    return (*listed, new) if len(listed) < MOST_LISTED else None


def begin_rotation(listed: tuple[str, ...], own: str, new: str) -> tuple[str, ...]:
    """The own certificate and the next one. Another one beside the own gives way: it is older than both."""
    kept = tuple(each for each in listed if identity_of(each) == identity_of(own))
    return (*(kept or listed[-1:]), new) if identity_of(new) not in map(identity_of, listed) else listed


def identity_of(pem: str) -> str:
    """Of a certificate that the link can use; of another text the text itself, which equals no identity."""
    found = read_certificate(pem)
    return found.identity if isinstance(found, Certificate) else pem
