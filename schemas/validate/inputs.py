"""Inputs of the rules besides the tree: the fleet's policy, and the files of an earlier revision that differ."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from schemas.kinds import Key
from schemas.settings.fleet import FleetSettings
from schemas.settings.secret_keys import SecretKeys, read_secret_keys
from schemas.validate.tree import AnyDeclaration


@dataclass(frozen=True, slots=True)
class ValidationPolicy:
    """What the fleet allows, and on which branch the tree is. The defaults are those of a repo without gitvirt.yaml."""

    has_open_pools: bool = True  # a poollet may announce pools that no file declares
    allows_plain_secrets: bool = False
    secret_keys: SecretKeys | None = None  # whose keys open Secrets; None where recipients are not judged
    # Opens one Secret with keys of the caller: what is wrong with it, or nothing. None where there is no key.
    find_tampering: Callable[[AnyDeclaration], str] | None = None
    is_checkout: bool = False  # files on disk: a command that corrects them must not commit to another branch
    is_target: bool = False  # the branch that the reconciler writes, where status and identities are allowed


def policy_of(settings: FleetSettings, branch: str) -> ValidationPolicy:
    """The policy for the tree of a branch, from the fleet's settings."""
    return ValidationPolicy(
        has_open_pools=settings.pools == "open",
        allows_plain_secrets=settings.secrets.plain == "allow",
        secret_keys=read_secret_keys(settings),
        is_target=branch == settings.branches.target,
    )


@dataclass(frozen=True, slots=True)
class EarlierRevision:
    """The declarations of an earlier revision, for the files that differ. Equal files need no comparison.

    `gitvirt validate` compares with the revision that the user names, and the reconciler with what `live` accepted last: that has what hosts
    report as well (`knows_status`).
    """

    revision: str  # as the user named it
    entries: tuple[AnyDeclaration, ...]  # declarations of the files that differ
    same: frozenset[str]  # paths of files that did not change
    unreadable: tuple[str, ...] = ()  # files of that revision that cannot be parsed
    knows_status: bool = True
    by_key: dict[Key, AnyDeclaration] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        by_key: dict[Key, AnyDeclaration] = {}
        for entry in self.entries:
            by_key.setdefault(entry.key, entry)
        object.__setattr__(self, "by_key", by_key)

    def before(self, now: AnyDeclaration) -> AnyDeclaration | None:
        """The earlier declaration of an object, or None if the object is new."""
        return now if now.path in self.same else self.by_key.get(now.key)
