"""The policy for the rules, from gitvirt.yaml and the branch that is checked; and changes of that file that are refused.

The file of the checked source counts here, and not the effective settings of an earlier commit: a check is about what is to be merged. A change of
fleet.id or a missing file is a problem against the earlier revision, since hosts would take the repo for another fleet's.
"""

from __future__ import annotations

from reconciler.query.source import ManifestSource
from schemas.problem import Problem
from schemas.settings import fleet
from schemas.validate.inputs import ValidationPolicy, policy_of

ABSENT = "GV185"
GONE = "the file is missing: the reconciler keeps its last usable version, and no change of settings takes effect"
GONE_CURE = "restore it with the same fleet.id: git checkout REV -- gitvirt.yaml"


def read_policy(source: ManifestSource, branch: str) -> tuple[ValidationPolicy, tuple[Problem, ...]]:
    """Without settings, or with broken ones, the defaults hold: they allow the least."""
    fallback = ValidationPolicy(is_target=branch == fleet.BranchSettings().target)
    data = source.read(fleet.PATH)
    if isinstance(data, Problem):
        is_absent = data.code == ABSENT
        return fallback, () if is_absent else (data,)
    found = fleet.parse(data)
    return (policy_of(found, branch), ()) if isinstance(found, fleet.FleetSettings) else (fallback, found)


def compare_settings(source: ManifestSource, earlier: ManifestSource, name: str) -> tuple[Problem, ...]:
    """What the change from the revision called `name` does to the fleet as a whole. Nothing is reported if the earlier settings were unusable:
    then there is nothing that must stay."""
    before = earlier.read(fleet.PATH)
    if isinstance(before, Problem):
        return ()
    now = source.read(fleet.PATH)
    if isinstance(now, Problem):
        if now.code != ABSENT:
            return ()  # told already
        cure = GONE_CURE.replace("REV", name)
        return (Problem(file=fleet.PATH, code="GV601", message=GONE, hint=cure),)
    was = fleet.parse(before)
    return fleet.check_fleet_id(now, was, name) if isinstance(was, fleet.FleetSettings) else ()
