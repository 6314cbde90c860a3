"""How the rules of several kinds end alike: left as it is, blocked, waiting for its pool, adopted. Pure.

None of these ends an assignment. That is `apply_report`'s, by the report of the pool, and `under_grant`'s, by a destroyed host.
"""

from __future__ import annotations

from reconciler.decide.apply_report import PoolFact, adopt, adoption_claims
from reconciler.decide.need import Adopt, Blocked, Keep, PoolUnreachable
from reconciler.decide.object_edit import ObjectEdit
from reconciler.decide.pool_requests import status_of
from reconciler.plan.types import Action
from reconciler.world.objects.relations import POOL_OF
from reconciler.world.record import ACCEPTED, SCHEDULED
from reconciler.world.view import View
from schemas.kinds import Key


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


def adopt_reported(view: View, edit: ObjectEdit, fact: PoolFact) -> Adopt | Blocked | None:
    """Where one poollet reports it; none adopts it while several do, because it may run twice. None: no poollet reports this object."""
    claims = adoption_claims(view, edit, fact)
    if len(claims) > 1:
        who = " and ".join(sorted(each.poollet for each in claims))
        message = f"poollets {who} report it at once; remove it from all hosts but one"
        return block(edit, "ReportedByMultiplePools", message)
    if claims and (adopted := adopt(view, edit, claims[0])) is not None:
        return Adopt(**adopted.need_fields())
    return None
