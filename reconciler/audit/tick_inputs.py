"""What one tick made its commit from, as a value: the heads, the verdicts, what was evaluated, and which rules did it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256

from reconciler.audit.rules_version import RulesVersion, installed_rules
from reconciler.decide.placement.offers import Answers
from reconciler.gitstore.objects.tree import ObjectId
from reconciler.world.changes import WorldChanges
from reconciler.world.tick_verdicts import collect_verdicts
from reconciler.world.verdicts import Verdicts
from reconciler.world.world import World
from schemas.kinds import Key
from schemas.settings.fleet import FleetSettings

DIGITS = 16


@dataclass(frozen=True, slots=True)
class TickInputs:
    """`keys` are those that were evaluated; None means all objects, as at a start. `paths` are the files that were looked at for it.

    `offers` are the answers of hosts to what was offered to them, by round.
    `signers` is a digest of who may sign: while it stays, an older report with the same files says the same."""

    now: datetime
    source: ObjectId | None
    live: ObjectId | None
    verdicts: Verdicts
    keys: frozenset[Key] | None
    paths: frozenset[str]
    is_unanswered: bool
    rules: RulesVersion
    signers: str = ""
    offers: tuple[Answers, ...] = ()


def inputs_of(
    world: World,
    evaluated: WorldChanges,
    now: datetime,
    offers: Sequence[Answers] = (),
    *,
    is_unanswered: bool,
) -> TickInputs:
    """After the plan is made, and before the push."""
    source, live = world.heads
    return TickInputs(
        now=now,
        source=source,
        live=live,
        verdicts=collect_verdicts(world),
        keys=None if evaluated.dirty == world.objects.keys() else evaluated.dirty,
        paths=evaluated.source_paths | evaluated.live_paths,
        is_unanswered=is_unanswered,
        rules=installed_rules(),
        signers=digest_signers(world.rules.settings, world.rules.before),
        offers=tuple(offers),
    )


def digest_signers(*settings: FleetSettings) -> str:
    """Of all that decides whether a report's signature is good."""
    signers = [
        (
            each.signatures.mode,
            sorted((name, entry.signers) for name, entry in each.poollets.items() if entry),
        )
        for each in settings
    ]
    return sha256(repr(signers).encode()).hexdigest()[:DIGITS]
