"""What people destroy by an edit of their own: a disk that they take out of a machine that stays. Pure.

Orders of the reconciler (a deletion, an eviction) name what they destroy themselves. A disk that is no longer an entry of its machine goes
without an order, so the commit that syncs the file has to say it.
"""

from __future__ import annotations

from collections.abc import Sequence

from reconciler.plan.source_changes import SourceChange
from schemas.effects.effect import AppliedNow, Loss
from schemas.effects.words import describe_losses

LONGEST_SUBJECT = 72


def disks_taken_out(change: SourceChange) -> tuple[Loss, ...]:
    """Disks of a machine that stays and is not moved."""
    fields = [each.effect for each in change.fields if isinstance(each.effect, AppliedNow)]
    return tuple(dict.fromkeys(loss for effect in fields for loss in effect.losses))


def add_destruction(message: str, source_changes: Sequence[SourceChange]) -> str:
    """The message with DESTROY in its subject, and a line for each machine that loses a disk; unchanged where none does."""
    lines = [
        f"- {change.key.namespace}/{change.key.name}: {describe_losses(losses)}"
        for change in source_changes
        if (losses := disks_taken_out(change))
    ]
    if not lines:
        return message
    subject, _, rest = message.partition("\n")
    subject = subject if "DESTROY" in subject else f"DESTROY: {subject}"[:LONGEST_SUBJECT]
    body = "\n".join(part for part in (rest.strip("\n"), *lines) if part)
    return f"{subject}\n\n{body}"
