"""A plan for programs. Stable: new fields may come; when one goes or changes its meaning, `version` goes up."""

from __future__ import annotations

from dataclasses import asdict

from reconciler.cli.plans import phrases
from reconciler.cli.plans.outline import Entry, Outline, Survival
from reconciler.cli.plans.verdict import verdict
from reconciler.plan.source_changes import SourceChange
from reconciler.plan.suggestion import suggest
from reconciler.plan.types import Change, PendingApproval, UnschedulableObject
from reconciler.world.record import Record
from schemas.effects.effect import Loss, list_losses
from schemas.effects.words import describe_effect, name_effect
from schemas.problem import Problem

VERSION = 1


def document(outline: Outline) -> dict[str, object]:
    """The plan as plain values; docs/json.md describes them. `base` names the commits that it was made for, so a
    program can tell whether a plan is out of date."""
    plan = outline.plan
    return {
        "version": VERSION,
        "base": {"source": plan.source, "target": plan.target},
        "summary": verdict(outline),
        "nextDue": plan.next_due.isoformat() if plan.next_due else None,
        "sourceChanges": [_source_change(each) for each in plan.source_changes],
        "entries": [_entry(entry) for entry in outline.entries()],
        "actions": [_change(each) for each in phrases.by_weight(plan)],
        "unschedulable": [_unschedulable(each) for each in plan.unschedulable],
        "pendingApprovals": [_pending(each) for each in plan.pending_approvals],
        "poolRequests": list(plan.pool_requests),
        "problems": [_problem(each) for each in sorted(plan.problems)],
        "capacity": [
            {
                "pool": str(usage.pool),
                "resource": resource,
                "allocatable": most,
                "before": before,
                "after": after,
            }
            for usage in outline.usage
            for resource, most, before, after in phrases.amounts(usage)
        ],
        "hostLoss": _survival(outline.survival),
    }


def _entry(entry: Entry) -> dict[str, object]:
    """What happens to one object, as the text of the plan has it."""
    return {
        "object": str(entry.key),
        "section": entry.section.value,
        "standing": entry.standing.value,
        "pool": entry.pool,
        "target": entry.target,
        "fields": [
            {"field": each.field, "old": each.old, "new": each.new, "when": each.when}
            for each in entry.fields
        ],
        "destroys": [_loss(loss) for loss in entry.losses],
        "undo": entry.undo,
        "until": entry.until or None,
        "facts": list(entry.facts),
        "file": entry.place.path if entry.place is not None else None,
    }


def _survival(found: Survival | None) -> dict[str, object] | None:
    """Null where it was not computed, or where no machine is placed."""
    if found is None or not found.is_computed:
        return None
    stranded = [{"pool": pool, "machines": [str(key) for key in keys]} for pool, keys in found.stranded]
    return {"survives": found.is_survived, "stranded": stranded, "localDisks": found.disks}


def _source_change(each: SourceChange) -> dict[str, object]:
    return {
        "object": str(each.key),
        "change": name_effect(each.whole) if each.whole is not None else "change",
        "effect": describe_effect(each.whole) if each.whole is not None else "",
        "destroys": [_loss(loss) for loss in each.losses],
        "fields": [
            {
                "field": field.change.field,
                "old": field.change.old,
                "new": field.change.new,
                "effect": name_effect(field.effect),
                "when": describe_effect(field.effect),
                "destroys": [_loss(loss) for loss in list_losses(field.effect)],
            }
            for field in each.fields
        ],
    }


def _loss(loss: Loss) -> dict[str, object]:
    return {"kind": loss.kind.value, "name": loss.name, "machine": loss.owner, "bytes": loss.size_bytes}


def _change(each: Change) -> dict[str, object]:
    return {
        "object": str(each.key),
        "action": each.action.value,
        "pool": each.pool,
        "reason": each.reason,
        "before": _record(each.before),
        "after": _record(each.after),
    }


def _record(record: Record | None) -> dict[str, object] | None:
    if record is None:
        return None
    return {"uid": record.uid, "pool": record.pool, "deletionTimestamp": record.deletion_timestamp}


def _unschedulable(each: UnschedulableObject) -> dict[str, object]:
    return {
        "object": str(each.key),
        "wouldFit": suggest(each.refusals),
        "refusals": [
            {"pool": refusal.pool, "reasons": [phrases.fields_of(reason) for reason in refusal.reasons]}
            for refusal in each.refusals
        ],
    }


def _pending(each: PendingApproval) -> dict[str, object]:
    return {
        "kind": each.kind.value if each.kind else None,
        "reason": each.reason,
        "objects": [str(key) for key in each.keys],
        "trailer": each.trailer,
    }


def _problem(each: Problem) -> dict[str, object]:
    return {name: value for name, value in asdict(each).items() if value not in ("", 0)}
