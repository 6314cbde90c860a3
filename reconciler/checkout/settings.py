"""What the rules need to know of gitvirt.yaml, and of the branch that is checked."""

from __future__ import annotations

from reconciler.checkout.source import Source
from schemas import fleet
from schemas.problem import Problem
from schemas.validate.policy import Policy, policy_of


def policy_at(source: Source, branch: str) -> tuple[Policy, tuple[Problem, ...]]:
    """Without settings, or with broken ones, the defaults hold: they allow the least."""
    fallback = Policy(is_target=branch == fleet.Branches().target)
    data = source.read(fleet.PATH)
    if isinstance(data, Problem):
        is_absent = data.code == "GV185"
        return fallback, () if is_absent else (data,)
    found = fleet.parse(data)
    return (policy_of(found, branch), ()) if isinstance(found, fleet.Settings) else (fallback, found)
