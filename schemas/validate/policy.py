"""What the rules need to know about the repo as a whole."""

from __future__ import annotations

from dataclasses import dataclass

from schemas.fleet import Settings


@dataclass(frozen=True, slots=True)
class Policy:
    has_open_pools: bool = True  # a poollet may announce pools that no file declares
    allows_plain_secrets: bool = False
    is_target: bool = False  # the branch that the reconciler writes: status and identities belong there


def policy_of(settings: Settings, branch: str) -> Policy:
    """What a fleet's settings mean for the tree of a branch."""
    return Policy(
        has_open_pools=settings.pools == "open",
        allows_plain_secrets=settings.secrets.plain == "allow",
        is_target=branch == settings.branches.target,
    )
