"""What the rules need to know of gitvirt.yaml, and of the branch that is checked."""

from __future__ import annotations

from reconciler.checkout.source import Source
from schemas import fleet
from schemas.problem import Problem
from schemas.validate.policy import Policy


def policy_of(source: Source, branch: str) -> tuple[Policy, tuple[Problem, ...]]:
    """Without settings, or with broken ones, the defaults hold: they allow the least."""
    data = source.read(fleet.PATH)
    if isinstance(data, Problem):
        is_absent = data.code == "GV185"
        return Policy(is_target=branch == fleet.Branches().target), () if is_absent else (data,)
    found = fleet.parse(data)
    if not isinstance(found, fleet.Settings):
        return Policy(is_target=branch == fleet.Branches().target), found
    return Policy(
        has_open_pools=found.pools == "open",
        allows_plain_secrets=found.secrets.plain == "allow",
        is_target=branch == found.branches.target,
    ), ()
