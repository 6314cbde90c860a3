"""What rules are given besides the tree: the fleet's policy, and an earlier revision as far as it differs."""

from __future__ import annotations

from dataclasses import dataclass, field

from schemas.kinds import Key
from schemas.settings.fleet import FleetSettings
from schemas.validate.tree import AnyDeclaration


@dataclass(frozen=True, slots=True)
class ValidationPolicy:
    has_open_pools: bool = True  # a poollet may announce pools that no file declares
    allows_plain_secrets: bool = False
    is_target: bool = False  # the branch that the reconciler writes: status and identities belong there


def policy_of(settings: FleetSettings, branch: str) -> ValidationPolicy:
    """What a fleet's settings mean for the tree of a branch."""
    return ValidationPolicy(
        has_open_pools=settings.pools == "open",
        allows_plain_secrets=settings.secrets.plain == "allow",
        is_target=branch == settings.branches.target,
    )


@dataclass(frozen=True, slots=True)
class EarlierRevision:
    revision: str  # as somebody named it
    entries: tuple[AnyDeclaration, ...]  # of the files that differ
    same: frozenset[str]  # paths of files that are the same now
    unreadable: tuple[str, ...] = ()  # files of then that do not parse
    by_key: dict[Key, AnyDeclaration] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        by_key: dict[Key, AnyDeclaration] = {}
        for entry in self.entries:
            by_key.setdefault(entry.key, entry)
        object.__setattr__(self, "by_key", by_key)

    def before(self, now: AnyDeclaration) -> AnyDeclaration | None:
        """What an object of today was then, or None if it is new."""
        return now if now.path in self.same else self.by_key.get(now.key)
