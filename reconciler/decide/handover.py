"""Giving an object away takes two commits: first its host loses the right to it, then another one gets it. Pure.

Theory of operation
-------------------
A push may land at any time after it was made: the server was busy, the answer was lost, the process is gone. Compare-and-swap refuses it only
once `live` has moved. So whatever a commit takes from one host and gives to another, the first host may have used until the commit lands, however
long that takes, and no waiting time makes up for that. Each path therefore has a first commit that only takes away. The second is decided on a
snapshot in which the first has landed, and names what the first host has confirmed, or what people state of it:

    path                       1. is on live                      2. needed in a snapshot of that         what the former host may do until 2 lands
    eviction (also by          status.evict of the assignment     its host reports it gone                nothing: the order is never taken back
    `unconfirmed`)
    rejection                  the assignment that is rejected    its host rejects it                     nothing: it never creates what it rejected
    gone without an order      no assignment                      it has none                             nothing: it is assigned to no host
    Pool-Destroyed             the pool has no host (Fenced)      its host did not report since           nothing: it has no grant
    Pool-Host                  the pool has no host (Fenced)      its host did not report since           nothing: it has no grant
    deletion, then a new one   metadata.deletionTimestamp         its host reports it gone: it is         nothing: the order is never taken back
    of the same name                                              dropped, and the new one has a new uid
    claim, holder is gone      no document, assignment, or        the same                                nothing: it does not have the machine
                               another assignment of the machine
    claim, holder is placed    the same as the holder's           the same as the holder's, and the     nothing: it does not have the machine
    again, or no pool took it                                     volume is not reported attached
    claim, holder stays        claimRef.released                  its host reports it detached, having    nothing: a released claim attaches nothing
                                                                  applied a later commit of live
    volume snapshot            the volume's assignment            the snapshot is unassigned              its pool is that of its volume: never two
    retained volume            as its pool                        as its pool                             it stays where its data is
    ephemeral volume           as any volume                      as any volume                           it stays where its data is
    adoption                   no assignment; `live` was lost     one host alone reports it               it goes on with what it has

An answer that is final (gone, rejected) is kept in the report of the host for as long as `live` names the assignment, so a restart changes
nothing about it. Reports are pushed by compare-and-swap too: an older one never takes the place of a newer one.

What lands late is then at worst an old decision about an object that no host runs. What it takes away it takes from a host that reports; the
next tick sees that, and gives it back (`pool_requests`).

Must never happen: one commit ends an assignment or a claim that its host may still use, and makes the next one.
"""

from __future__ import annotations

from reconciler.decide.apply_report import PoolFact
from reconciler.decide.object_edit import ObjectEdit
from reconciler.world.record import PLACED, SCHEDULED


def must_wait(edit: ObjectEdit, fact: PoolFact) -> bool:
    """Whether its assignment ended in this tick and nothing on `live` had ordered that: then the next commit may place it.

    A host reports `gone` only of what was ordered to leave. Without the order, `live` is not the one that it was reported for.
    """
    status, report = edit.known.record.status, fact.report
    if edit.assignment is not None or not isinstance(status, PLACED) or status.assignment is None:
        return False
    return report is not None and report.phase == "gone" and status.evict is None


def wait_for_next_commit(edit: ObjectEdit) -> ObjectEdit:
    """Unassigned by this commit, with the reason why it is not placed by it."""
    message = "its pool reports it gone without an order; the next commit places it"
    return edit.set_condition(SCHEDULED, "False", "Withdrawn", message)
