"""Approvals: how a person agrees, by a commit, to what gitvirt does not do by itself. Pure.

Theory of operation
-------------------
What needs a person's agreement *awaits approval*. Its digest covers the fleet, the kind of hold, and its subjects:

    kind        subjects                                                          held by
    deletion    the uid of each object whose deletion exceeds the limits          the reconciler
    purge       the uid of a deleted machine that is kept for an undo, and    the reconciler
                the end of that wait
    source      the source commit that was reconciled last, which the             the reconciler
                rewritten branch no longer contains, and the head of
                the rewritten branch
    live        the recovery commit of a lost or rewound `live`; before there     each host
                is one, a commit that was applied and that `live` lacks

Plan, log, condition and event print the same line, `Gitvirt-Approve: <digest>`. A commit that arrives on the source branch with that
trailer approves it, and so does one that adds or changes the file `.gitvirt/approvals/<digest>.yaml`. Anything more that is to be deleted, or another rewritten history, is another digest. A uid belongs to one life
of an object and a commit to one history, so an approval never applies to a successor of the same name.

Forges rewrite messages when they squash: a line that is a request and nothing else counts in any paragraph, indented, as an item of a list,
and as the title with the number of the pull request behind it (`parse_requests`). The file survives each kind of merge, also one that keeps
only the title. It is used up once `live` has it with the same content, where it stays: neither a revert nor a restored branch uses it again.

A deletion's digest names no commit: `plan` prints it for a pull request, and it still holds after a squash merge. Its place in history binds it
instead: it counts for a removal that is not later than itself (decide/deletion.py). A rewritten source
gets another digest with each push, but the earlier ones hold for as long as the branch contains the head that they name.

Must never happen: an approval applies to more than what was printed with its digest, to another fleet, or to another kind of hold.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import StrEnum
from hashlib import sha256
from shlex import quote

from reconciler.gitstore.objects.commit import parse_trailers

TRAILER = "Gitvirt-Approve"
DIGITS = 16  # that are printed
LEAST_DIGITS = 12  # that a person has to type
POOL_DESTROYED, POOL_HOST = "Pool-Destroyed", "Pool-Host"
# A line of a message that is a request and nothing else. Its value has the form of a digest or of NAME=hostID, so that text about
# a request is none.
_LINE = re.compile(
    rf"[ \t]*(?:[*-][ \t]+)?(?:(?P<approve>{TRAILER}): (?P<digest>[0-9A-Fa-f]{{12,16}})"
    rf"|(?P<pool>{POOL_DESTROYED}|{POOL_HOST}): (?P<host>[^\s=]+=[^\s=]+))(?: \([#!]\d+\))?[ \t]*"
)


class HoldKind(StrEnum):
    """Part of the digest, so that an approval of one kind is never one of another with the same subjects."""

    DELETION = "deletion"
    PURGE = "purge"
    SOURCE = "source"
    LIVE = "live"


def approval_digest(fleet: str, kind: HoldKind, subjects: Iterable[str]) -> str:
    return sha256("\n".join((fleet, kind, *sorted(subjects))).encode()).hexdigest()[:DIGITS]


def purge_digest(fleet: str, uid: str, until: str) -> str:
    """What ends the wait of a deleted machine that is kept: this wait of this life of it, and no other."""
    return approval_digest(fleet, HoldKind.PURGE, [f"{uid} {until}"])


def approval_trailer(digest: str) -> str:
    return f"{TRAILER}: {digest}"


def is_approval_of(value: str, digest: str) -> bool:
    """Whether `value`, as a person typed it into the trailer, names this digest. A beginning is enough, but not a short one that
    another digest may share."""
    return len(value) >= LEAST_DIGITS and digest.startswith(value.lower())


def commit_command(subject: str, *trailers: str) -> str:
    """The command that makes a commit with these trailers, to be copied into a shell; its commit counts once it is pushed."""
    named = " ".join(f"--trailer {quote(trailer)}" for trailer in trailers)
    return f"git commit --allow-empty -m {quote(subject)} {named}"


def approve_command(digest: str) -> str:
    """The command that approves by a file, which survives each kind of merge."""
    return f"gitvirt approve {digest}"


def parse_requests(message: str) -> tuple[tuple[str, str], ...]:
    """What people request by a commit's message: its trailers, and before them the lines that a forge moved out of the last paragraph."""
    found: dict[tuple[str, str], None] = {}
    for line in message.replace("\r\n", "\n").split("\n"):
        if match := _LINE.fullmatch(line):
            name, value = match["approve"] or match["pool"], match["digest"] or match["host"]
            found[name, value] = None
    return tuple({**found, **dict.fromkeys(parse_trailers(message))})
