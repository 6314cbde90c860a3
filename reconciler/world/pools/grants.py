"""Pool grants: which host may act on a pool's assignments, and speak of its objects. Pure.

Theory of operation
-------------------
A pool on `live` is granted to one host, by its hostID, under an epoch that only grows. Assignments name both. A poollet acts
on an assignment only if host and epoch are its own, and the reconciler believes a report about objects only from the host
that has the grant. So two hosts of one name can never both act, and a newcomer can neither act nor end anything.

    status.host   event                                              status.host   status.epoch
    none          an accepted report announces the pool              its hostID    highest known, + 1
    A             a report or candidate by another host              A             same; condition HostMismatch
    A             Pool-Destroyed: NAME=A, or Pool-Host: NAME=B,      none          + 1: the pool is fenced; assignments still name A
                  and A's heartbeat expired
    none, fenced  Pool-Destroyed applies, A did not report since    none          the same; assignments are released
    none, fenced  Pool-Host applies, A did not report since         B             the same; assignments follow, none is released; so
                                                                                   do those of volumes whose data is retained
    none, fenced  A reported since                                   A             the same; assignments follow
    none, fenced  an accepted report announces the pool              none          the same: the request is decided first
    lost or       every known report was heard                       its hostID    highest reported + 1; ids are adopted
    rewound live

The fence is host and epoch together: a host compares both, of assignment and pool, in one commit of `live`. The document of a pool may leave
`live` with its epoch (its declaration is removed, no report announces it) and be there again. Whatever could then be acted on under an
older epoch names it: the assignments on the pool, retained volumes among them, and the report of each host that announces it, which has the
last epoch that the host ever acted under, also when it has no grant. The next grant is above all of these. So a host never gets the same
epoch twice while it, or an assignment, knows of the first time. A host that left no trace finds nothing on `live` to act on.

A host whose heartbeat is unconfirmed may have written its report years ago, under a grant that several others followed. It gets the grant
only of a pool of which no epoch is known; any other pool waits until its host is alive.

The World says what the grant is when this tick has written (`PoolState.grant`): placements of the same tick name it.
decide/pool.py writes it, decide/pool_requests.py judges what people commit.

Must never happen: a grant to a host on the strength of a report that it left behind; an epoch that is granted again while a host that
knows it, or an assignment under it, is left, also after `live` or the pool's document there was lost.
"""

from __future__ import annotations

from typing import NamedTuple

from msgspec.structs import replace

from reconciler.world.objects.object_state import ObjectState
from reconciler.world.reports.heartbeat import Heartbeat
from schemas.model import Assignment, MachinePoolStatus, VolumePoolStatus

POOL_STATUS = (MachinePoolStatus, VolumePoolStatus)


class Grant(NamedTuple):
    """No `host`: no host has the grant, and `epoch` is that of the last one."""

    host: str = ""
    epoch: int = 0
    is_new: bool = False  # not on live yet


NO_GRANT = Grant()


def grant_on_live(known: ObjectState | None) -> Grant:
    """The grant as the pool's document has it. NO_GRANT also for an object that is not a pool, or not known."""
    status = known.record.status if known is not None else None
    if not isinstance(status, POOL_STATUS):
        return NO_GRANT
    return Grant(status.host.id if status.host is not None else "", status.epoch)


def grant_for(
    known: ObjectState | None, host: str, highest: int, beat: Heartbeat, *, is_rewound: bool = False
) -> Grant:
    """The grant of a pool that `host` announces: the one on live, else a new one where the host may have it.

    `highest` is the highest epoch of the pool that is known beside its document on live. `is_rewound`: the one on live is older than
    that epoch, so it counts as none.
    """
    grant = grant_on_live(known)
    has_grant = grant.host != "" and not is_rewound
    if has_grant or known is None or not known.is_active or not host or is_fenced(known):
        return grant
    highest = max(grant.epoch, highest)
    if beat is Heartbeat.ALIVE or (beat is Heartbeat.UNCONFIRMED and not highest):
        return Grant(host, highest + 1, is_new=True)
    return grant


def is_fenced(known: ObjectState) -> bool:
    """Whether the pool lost its host in one commit, and what becomes of its assignments is for the next one."""
    status = known.record.status
    requests = (status.destroyed, status.move) if isinstance(status, POOL_STATUS) else ()
    return any(each is not None and each.state == "Fenced" for each in requests)


def follow_grant(
    assignment: Assignment, status: MachinePoolStatus | VolumePoolStatus | None
) -> Assignment | None:
    """The assignment as the pool's grant has it now: the same, under the host that the pool moved to and the present epoch, or None when
    the host that it was made under is destroyed. A pool that is granted to another host for any other reason changes nothing."""
    if status is None:
        return assignment
    granted = status.host.id if status.host is not None else ""
    if granted and granted == assignment.host:
        return replace(assignment, epoch=status.epoch)
    host, moved, destroyed = assignment.host, status.move, status.destroyed
    if moved is not None and moved.state == "Followed" and moved.from_host == host:
        host = moved.host
        if granted == host:
            return replace(assignment, host=host, epoch=status.epoch, accepted=False)
    # A host that the pool was moved from once may have got the grant again, and be destroyed then.
    ends = destroyed.host if destroyed is not None and destroyed.state == "Followed" else ""
    return None if ends and ends in (host, assignment.host) else assignment
