"""What is in use of quotas, written in the same commit as what uses it. Pure."""

from __future__ import annotations

from datetime import datetime

import msgspec

from reconciler.decide.object_edit import ObjectEdit
from reconciler.decide.placement.quotas import SCOPES, PlacedAmounts, find_placed_after, quota_status
from reconciler.plan.types import Action, Change
from reconciler.world.record import empty_status
from reconciler.world.view import View
from schemas.model import ResourceQuota, ResourceQuotaStatus


def with_quota_use(view: View, changes: tuple[Change, ...], now: datetime) -> tuple[Change, ...]:
    """With what is in use of the quotas of each namespace where these changes place or remove something: in the same commit."""
    found = {change.key: change for change in changes}
    moved = {
        key.namespace
        for key, change in found.items()
        if key.kind in SCOPES
        and (change.before.pool if change.before else "") != (change.after.pool if change.after else "")
    }
    for key in sorted(key for namespace in moved for key in view.quotas.get(namespace, ())):
        known, before = view.objects[key], found.get(key)
        if before is not None and before.after is None:
            continue
        start = before.after if before is not None and before.after is not None else known.record
        if start.status is None:
            start = msgspec.structs.replace(start, status=empty_status(key.kind))
        edit = ObjectEdit(known, start, now)
        after = write_usage(view, edit, find_placed_after(view, key.namespace, changes))
        if after is not edit:
            action, reason = (before.action, before.reason) if before else (Action.STATUS, "use of the quota")
            found[key] = Change(key, action, edit.before, after.record, reason)
    return tuple(found[key] for key in sorted(found))


def write_usage(view: View, edit: ObjectEdit, placed: PlacedAmounts | None = None) -> ObjectEdit:
    """The quota with what is in use of it."""
    quota, status = edit.known.object, edit.record.status
    if not isinstance(quota, ResourceQuota) or not isinstance(status, ResourceQuotaStatus):
        return edit
    found = quota_status(view, quota, placed)
    if (found.hard, found.used) == (status.hard, status.used):
        return edit
    return edit.with_status(hard=found.hard, used=found.used).log_change(Action.STATUS, "use of the quota")
