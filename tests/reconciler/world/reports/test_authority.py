"""Which reports about an object count: by the owner of the pool, the host that has its grant, and the assignment."""

from __future__ import annotations

from typing import Any

import pytest

from reconciler.world.pools.grants import NO_GRANT, Grant
from reconciler.world.record import NOTHING, Record
from reconciler.world.reports.authority import AcceptedReports, Authority, accept_reports
from reconciler.world.reports.object_report import ObjectReport
from schemas.kinds import Key, Kind
from schemas.settings.fleet import FleetIdentity, FleetSettings
from tests.reconciler.world.scene import FLEET, assignment_record

WEB = Key(Kind.MACHINE, "default", "web")
DATA = Key(Kind.VOLUME, "default", "data")
UID, OTHER = "6d0d0f8e-8d5b-4a53-9b53-1c1c3a3b8f10", "6d0d0f8e-8d5b-4a53-9b53-1c1c3a3b8f11"
A1, A0 = "00000000-0000-5000-8000-0000000000a1", "00000000-0000-5000-8000-0000000000a0"
PLACED = assignment_record("a", A1, UID)
GRANTS = {
    Key(Kind.MACHINE_POOL, "", "a"): Grant("host-a", 3),
    Key(Kind.VOLUME_POOL, "", "a"): Grant("host-a", 3),
    Key(Kind.MACHINE_POOL, "", "b"): Grant("host-b", 1),
}
PHASES = ["present", "unknown", "gone", "rejected"]


def entry(**changes: Any) -> ObjectReport:
    given: dict[str, Any] = {
        "poollet": "a",
        "host": "host-a",
        "pool": "a",
        "uid": UID,
        "assignment": A1,
        "phase": "present",
    }
    return ObjectReport(**(given | changes))


def accept(record: Record, *entries: ObjectReport, key: Key = WEB) -> AcceptedReports:
    settings = FleetSettings(fleet=FleetIdentity(id=FLEET))
    authority = Authority(settings, settings)
    return accept_reports(key, record, entries, authority, lambda pool: GRANTS.get(pool, NO_GRANT).host)


@pytest.mark.parametrize("phase", PHASES)
def test_the_host_with_the_grant_is_believed_about_the_assignment(phase: str) -> None:
    found = accept(PLACED, entry(phase=phase))
    assert found.report == entry(phase=phase)
    assert (found.claims, found.refused) == ((), ())


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"host": "host-c"}, id="another host of the same name"),
        pytest.param({"host": ""}, id="a host without an id"),
        pytest.param({"host": "host-b"}, id="the host of another pool"),
        pytest.param({"assignment": A0}, id="an assignment that ended"),
        pytest.param({"assignment": ""}, id="no assignment"),
        pytest.param({"poollet": "b", "host": "host-b", "pool": "b"}, id="another pool"),
        pytest.param({"poollet": "b", "host": "host-a"}, id="a poollet that does not own the pool"),
        pytest.param({"poollet": "b", "host": "host-b"}, id="another poollet about this pool"),
        pytest.param({"poollet": "c", "host": "host-c", "pool": "c"}, id="a pool without a grant"),
    ],
)
def test_nothing_else_is_believed_about_an_assigned_object(phase: str, changes: dict[str, str]) -> None:
    """Whatever it says: a wrong `gone` would place the machine a second time."""
    found = accept(PLACED, entry(phase=phase, **changes))
    assert found.report is None
    assert found.claims == ()


@pytest.mark.parametrize("phase", ["gone", "rejected"])
def test_the_last_word_of_the_granted_host_is_not_hidden_by_others(phase: str) -> None:
    own, other = entry(), entry(host="host-c", phase=phase)
    assert accept(PLACED, own, other).report == own
    assert accept(PLACED, other, own).report == own


@pytest.mark.parametrize(
    ("changes", "is_claim"),
    [
        pytest.param({}, True, id="present"),
        pytest.param({"phase": "unknown"}, True, id="perhaps there"),
        pytest.param({"assignment": A0}, True, id="by its own assignment"),
        pytest.param({"uid": OTHER}, True, id="with another identity, which adoption compares"),
        pytest.param({"phase": "gone"}, False, id="gone"),
        pytest.param({"phase": "rejected"}, False, id="rejected"),
        pytest.param({"host": "host-c"}, False, id="another host of the same name"),
        pytest.param({"pool": ""}, False, id="on no pool"),
        pytest.param({"poollet": "c", "host": "host-c", "pool": "c"}, False, id="a pool without a grant"),
        pytest.param({"poollet": "b", "host": "host-b"}, False, id="a pool of another poollet"),
    ],
)
def test_an_object_without_assignment_is_claimed_by_granted_hosts_alone(
    changes: dict[str, str], is_claim: bool
) -> None:
    found = accept(NOTHING, entry(**changes))
    assert found.report is None
    assert bool(found.claims) == is_claim


def test_two_claims_are_both_accepted_and_refused_together() -> None:
    found = accept(NOTHING, entry(), entry(poollet="b", host="host-b", pool="b"))
    assert len(found.claims) == 2
    assert "a and b" in found.refused[0]


@pytest.mark.parametrize("phase", PHASES)
def test_a_volume_goes_by_the_grant_of_its_volume_pool(phase: str) -> None:
    record = assignment_record("a", A1, UID, Kind.VOLUME)
    assert accept(record, entry(phase=phase), key=DATA).report is not None
    assert accept(record, entry(phase=phase, host="host-c"), key=DATA).report is None
    without_grant = assignment_record("b", A1, UID, Kind.VOLUME)
    report = entry(poollet="b", host="host-b", pool="b", phase=phase)
    assert accept(without_grant, report, key=DATA).report is None, "the volume pool of that name has no grant"
