"""How the rules of several kinds end alike: left as it is, blocked, waiting for its pool, adopted. Pure.

None of these ends an assignment. That is `apply_report`'s, by the report of the pool, and `under_grant`'s, by a destroyed host.
"""

from __future__ import annotations

from collections.abc import Sequence
from shlex import quote

from reconciler.decide.apply_report import PoolFact, adopt, adoption_claims, apply_status, claims_beside
from reconciler.decide.claims import (
    candidate_claims,
    list_rivals,
    refused_claims,
    unread_claims,
    was_claimed,
    was_refused,
    why_not_adopted,
    why_not_granted,
)
from reconciler.decide.need import Adopt, Blocked, Keep, PoolUnreachable
from reconciler.decide.object_edit import ObjectEdit
from reconciler.decide.pool_requests import status_of
from reconciler.plan.types import Action
from reconciler.world.objects.relations import POOL_OF
from reconciler.world.record import ACCEPTED, MULTIPLE, ON_ANOTHER, SCHEDULED, is_on_a_host
from reconciler.world.reports.object_report import ObjectReport
from reconciler.world.view import View
from schemas.kinds import Key
from schemas.live_layout import ORPHANS
from schemas.report.objects import Orphan


def keep(edit: ObjectEdit) -> Keep:
    """As the edit has it: nothing more is decided."""
    return Keep(**edit.need_fields())


def block(edit: ObjectEdit, reason: str, message: str) -> Blocked:
    """It cannot go on. A placed one keeps running, and its condition shows the reason; an unplaced one is not scheduled either."""
    after = edit.set_condition(ACCEPTED, "False", reason, message)
    if edit.assignment is None:
        after = after.set_condition(SCHEDULED, "False", "Blocked", message)
    if after.record != edit.known.record:
        after = after.log_change(Action.BLOCKED, message)
    return Blocked(**after.need_fields(), reason=reason)


def pause(view: View, edit: ObjectEdit, fact: PoolFact) -> Keep | PoolUnreachable:
    """Nothing is decided about a paused object. Its status is kept true: what its host reports, or that nothing is known of it now."""
    if edit.assignment is not None or not is_on_a_host(edit.record):
        edit = edit.clear_condition(ACCEPTED)  # what a host had counts again when the pause ends
    edit = apply_status(edit, fact)
    if fact.is_lost and edit.assignment is not None:
        return wait_for_pool(view, edit, edit.assignment.pool)
    return keep(edit)


def wait_for_pool(view: View, edit: ObjectEdit, pool: str, consequence: str = "") -> PoolUnreachable:
    """The heartbeat of its pool expired: only the condition Ready says so, and everything else stays as it was last reported."""
    status = status_of(view, Key(POOL_OF[edit.known.key.kind], "", pool))
    host = edit.assignment.host if edit.assignment is not None else ""
    # From the tick on in which the assignment follows the pool: its new host has not reported then.
    has_moved = status is not None and status.move is not None and status.move.host == host
    source = f"host {host}, which pool {pool} moved to," if has_moved else f"pool {pool}"
    message = f"no heartbeat from {source} within its timeout{consequence}"
    edit = edit.set_condition("Ready", "Unknown", "PoolLost", message)
    return PoolUnreachable(**edit.need_fields(), pool=pool)


def recover(view: View, edit: ObjectEdit, fact: PoolFact) -> Adopt | Blocked | None:
    """What hosts report beside the assignment that a lost or rewound `live` has. None: nothing, or `live` is neither.

    The pool of the assignment confirms it by its own report. If it does, the object is on two hosts. If it does not, the assignment is
    older than what runs, also where only a refused report says so: its pool would create the object a second time. It comes before all
    other rules, also for a paused object: what is not adopted now is an orphan afterwards.
    """
    if not view.is_live_lost:
        return None
    claims = adoption_claims(view, edit, fact)
    is_confirmed = edit.assignment is not None and fact.report is not None and fact.report.is_there
    if not is_confirmed and (claims or any(refused_claims(view, edit.known))):
        edit = edit.unassign() if edit.assignment is not None else edit
        return adopt_reported(view, edit, fact)
    if not claims:
        return None
    assert fact.report is not None, "it confirms"
    return block_claimed(edit, [*claims, fact.report])


def settle_leaving(view: View, edit: ObjectEdit, fact: PoolFact) -> Adopt | Blocked | None:
    """An object that is to go, which hosts reported when `live` was lost: its deletion waits until one host has it, and goes on there.

    Its document would be dropped at once on a `live` that has it on no pool, and it would stay on the host, a machine even running. Whether
    the pool fits does not matter: it goes from there. What a refused report names is unknown, so it waits until that is corrected; of what
    `live` assigns to a pool, the report of that pool counts alone, unless `live` was lost. None: no other host has it.
    """
    is_recovering = view.is_live_lost or was_claimed(edit.known) or was_refused(edit.known)
    may_be_dropped = is_recovering or edit.assignment is None
    if may_be_dropped and (refused := next(refused_claims(view, edit.known), None)):
        is_there = fact.report is not None and fact.report.is_there
        return block(edit if is_there or edit.assignment is None else edit.unassign(), *refused)
    if not is_recovering:
        return None
    if edit.assignment is None and (unread := next(unread_claims(view, edit.known), None)):
        return block(edit, *unread)
    claims, own = claims_beside(view, edit, fact), fact.report
    if not claims:
        return None
    if edit.assignment is not None:
        if own is not None and own.is_there:
            return block_claimed(edit, [*claims, own])
        if not view.is_live_lost:
            is_over = own is not None and own.phase in ("gone", "rejected")
            return block_claimed(edit.unassign() if is_over else edit, claims)
        edit = edit.unassign()
    if len(claims) > 1:
        return block_claimed(edit, claims)
    if (waiting := why_not_granted(view, edit.known, claims[0])) is not None:
        return block(edit, *waiting)
    adopted = adopt(view, edit, claims[0])
    return Adopt(**adopted.clear_condition(ACCEPTED).need_fields()) if adopted is not None else None


def block_claimed(edit: ObjectEdit, claims: Sequence[ObjectReport]) -> Blocked:
    """On several hosts: it may run more than once, and people must say which one stays."""
    who = " and ".join(sorted({each.poollet for each in claims}))
    files = sorted(f"{ORPHANS}{each.uid or 'UID'}.yaml with the line `pool: {each.pool}`" for each in claims)
    cure = f"To DELETE it from one, with its data, commit {' or '.join(dict.fromkeys(files))}"
    return block(
        edit, MULTIPLE, f"poollets {who} report it at once; remove it from all hosts but one. {cure}"
    )


def adopt_reported(view: View, edit: ObjectEdit, fact: PoolFact) -> Adopt | Blocked | None:
    """Where one poollet reports it; none adopts it while several do, because it may run twice. None: no poollet reports this object."""
    claims = adoption_claims(view, edit, fact)
    found = why_not_adopted(view, edit.known, claims) or next(refused_claims(view, edit.known), None)
    found = found or next(list_rivals(view, edit.known), None)
    if found is not None:
        return block_named(view, edit) or block(edit, *found)
    if (found := next(unread_claims(view, edit.known), None)) is not None:
        return block(edit, *found)
    if len(claims) > 1:
        return block_claimed(edit, claims)
    if claims and (adopted := adopt(view, edit, claims[0])) is not None:
        return Adopt(**adopted.clear_condition(ACCEPTED).need_fields())
    return block_named(view, edit)


def describe_orphan_removal(orphan: Orphan) -> str:
    """What people can do about an orphan that blocks a name. A host wrote uid and pool, and the command is for a shell."""
    facts = (
        "gitvirt cannot adopt that object: save its data on the host, or declare this one under another name; if live was recovered "
        "while the source lacked this object, put live back and recover it again (docs/operations.md)"
    )
    if not orphan.uid:
        return f"{facts}; without a uid it can only be removed on the host"
    path = f"{ORPHANS}{orphan.uid}.yaml"
    command = (
        f"mkdir -p {ORPHANS} && echo {quote(f'pool: {orphan.pool}')} > {quote(path)} && git add {quote(path)}"
    )
    return f"{facts}. To DELETE it with its data, commit and push its order: {command}"


def block_named(view: View, edit: ObjectEdit) -> Blocked | None:
    """A host has an object of that kind and name, which `live` assigns to no pool: placed elsewhere, the name would run twice.

    Its report lists the object as an orphan, or names a commit that `live` lacks (reports/rewind.py); or it waits without the grant.
    """
    key = edit.known.key
    for report, orphan in view.orphans_named(key):
        where = f"host {report.host} of poollet {report.name} has {key} (uid {orphan.uid or 'unknown'}) without an order"
        cure = describe_orphan_removal(orphan)
        return block(edit, ON_ANOTHER, f"{where}; it is not placed a second time. {cure}")
    for each in view.held_reports(key):
        message = f"poollet {each.poollet} reports it, and names a commit that live does not contain"
        return block(edit, ON_ANOTHER, f"{message}; it is not placed before that is approved or over")
    found = next(candidate_claims(view, key), None)
    return block(edit, *found) if found is not None else None
