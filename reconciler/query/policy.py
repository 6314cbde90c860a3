"""The policy for the rules, from gitvirt.yaml and the branch that is checked; and changes of that file that are refused.

The file of the checked source counts here, and not the effective settings of an earlier commit: a check is about what is to be merged. A change of
fleet.id or a missing file is a problem against the earlier revision, since hosts would take the repo for another fleet's. Whom a change lets
connect, and whom it cuts off, is said too.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime

from reconciler.query.source import ManifestSource
from schemas.problem import Problem
from schemas.settings import fleet
from schemas.settings.link import check_namespaces
from schemas.settings.settings_file import locate_problems
from schemas.validate.inputs import ValidationPolicy, policy_of

ABSENT = "GV185"
GONE = "the file is missing: the reconciler keeps its last usable version, and no change of settings takes effect"
GONE_CURE = "restore it with the same fleet.id: git checkout REV -- gitvirt.yaml"


def read_policy(source: ManifestSource, branch: str) -> tuple[ValidationPolicy, tuple[Problem, ...]]:
    """Without settings the defaults hold: they allow the least. With broken ones too, but for plain Secrets: whether these are allowed cannot be
    read, and the settings are an error already."""
    fallback = ValidationPolicy(is_target=branch == fleet.BranchSettings().target)
    data = source.read(fleet.PATH)
    if isinstance(data, Problem):
        is_absent = data.code == ABSENT
        return fallback, () if is_absent else (data,)
    found = fleet.parse(data)
    if isinstance(found, fleet.FleetSettings):
        return policy_of(found, branch), ()
    return replace(fallback, allows_plain_secrets=True), found


def check_link(
    source: ManifestSource, namespaces: Collection[str], now: datetime | None
) -> tuple[Problem, ...]:
    """Certificates that end, and namespaces of clients in which nothing is declared: warnings, beside what makes settings unusable. Without
    a time no date is judged."""
    found = _usable(source)
    if found is None:
        return ()
    settings, text = found
    violations = list(check_namespaces(settings.clients, namespaces))
    if now is not None and settings.certificate_entries():
        from schemas.settings.certificate_dates import check_dates

        violations += check_dates(settings, now)
    return locate_problems(tuple(violations), fleet.PATH, text)


def compare_link(source: ManifestSource, earlier: ManifestSource) -> tuple[Problem, ...]:
    """Who may connect since then, and who may not any more."""
    now, was = _usable(source), _usable(earlier)
    if now is None or was is None or not (now[0].certificate_entries() or was[0].certificate_entries()):
        return ()
    from schemas.settings.certificate_changes import compare_certificates

    return locate_problems(tuple(compare_certificates(was[0], now[0])), fleet.PATH, now[1])


def _usable(source: ManifestSource) -> tuple[fleet.FleetSettings, str] | None:
    data = source.read(fleet.PATH)
    if isinstance(data, Problem):
        return None
    found = fleet.parse(data)
    return (found, data.decode("utf-8")) if isinstance(found, fleet.FleetSettings) else None


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
