from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from reconciler.decide.decide import decide_needs
from reconciler.decide.need import Adopt, Blocked, Keep, Need, Place, PoolUnreachable
from reconciler.world.reports.heartbeat import Heartbeat
from reconciler.world.reports.reports import ObjectReport
from schemas.kinds import Key, Kind
from schemas.model import ClaimRef, VolumeStatus
from schemas.report import objects as report
from tests.reconciler.decide.small import DRAIN, NOW, Small, evicted, known, machine, uid_of, volume

DATA = Key(Kind.VOLUME, "default", "data")
WEB = Key(Kind.MACHINE, "default", "web")
USES = {"volumes": [{"name": "data", "volumeRef": {"name": "data"}}]}
FULL = (report.ReportedReason(code="Full", message="there is no room"),)
HERE = ObjectReport(poollet="a", host="a", pool="a", uid=uid_of("data"), assignment="a" * 8, phase="present")
LAN = {"networkInterfaces": [{"name": "lan", "networkInterfaceRef": {"name": "lan"}}]}


def small(*more: Any, on: str = "a", **spec: Any) -> Small:
    world = Small().pool("a").pool("b").volume_pool("a").volume_pool("b")
    return world.add(volume("data", on=on, spec=spec), *more)


def held(world: Small, by: str, uid: str = "") -> Small:
    """With a claim on live."""
    there = world.objects[DATA]
    claim = ClaimRef(name=by, uid=uid or uid_of(by))
    return world.add(
        msgspec.structs.replace(there, record=msgspec.structs.replace(there.record, claim=claim))
    )


def claims(world: Small) -> Small:
    world.claims[DATA] = (HERE,)
    return world


def need(world: Small) -> Need:
    return next(each for each in decide_needs(world, {DATA}, NOW) if each.key == DATA)


NEEDS: list[tuple[str, Callable[[], Small], type[Need], str]] = [
    ("alone", lambda: small(on=""), Place, ""),
    ("its machine waits for a place too", lambda: small(machine("web", spec=USES), on=""), Keep, ""),
    ("its machine stands", lambda: small(machine("web", on="b", spec=USES), on=""), Place, "b"),
    ("its machine goes", lambda: small(machine("web", on="b", spec=USES), on="").ordered_gone(WEB), Place, ""),
    ("placed", small, Keep, ""),
    ("placed on a tainted pool", lambda: small().volume_pool("a", taints=(DRAIN,)), Keep, ""),
    ("pinned elsewhere since", lambda: small(volumePoolRef={"name": "b"}), Keep, ""),
    ("its pool is lost", lambda: small().volume_pool("a", heartbeat=Heartbeat.EXPIRED), PoolUnreachable, ""),
    ("rejected", lambda: small().with_report(DATA, "rejected", reasons=FULL), Place, ""),
    ("had by a poollet", lambda: claims(small(on="")), Adopt, ""),
    ("provided from outside", lambda: small().add(known(Kind.VOLUME, "data", {})), Keep, ""),
    ("its Secret is missing", lambda: small(on="", encryption={"secretRef": {"name": "keys"}}), Blocked, ""),
]  # fmt: skip


@pytest.mark.parametrize(
    ("make", "want", "near_pool"), [row[1:] for row in NEEDS], ids=[row[0] for row in NEEDS]
)
def test_need(make: Callable[[], Small], want: type[Need], near_pool: str) -> None:
    found = need(make())
    assert type(found) is want
    assert getattr(found, "near_pool", "") == near_pool


@pytest.mark.parametrize("phase", ["gone", "rejected"])
def test_a_volume_that_was_made_is_not_placed_anew_on_a_word_that_nobody_asked_for(phase: str) -> None:
    """It would come back empty."""
    world = small().with_report(DATA, phase, reasons=FULL)
    there = world.objects[DATA]
    assert isinstance(there.record.status, VolumeStatus)
    made = msgspec.structs.replace(there.record.status, volume_id="libvirt://data", state="Available")
    record = msgspec.structs.replace(there.record, status=made)
    found = need(world.add(msgspec.structs.replace(there, record=record)))
    assert isinstance(found, Keep)
    assert found.record.pool == "a"
    assert found.record.assignment == record.assignment
    assert isinstance(found.record.status, VolumeStatus)
    assert ("Ready", "Unknown", "Contradictory") in {
        (each.type, each.status, each.reason) for each in found.record.status.conditions
    }


@pytest.mark.parametrize("make", [row[1] for row in NEEDS], ids=[row[0] for row in NEEDS])
def test_data_is_never_moved(make: Callable[[], Small]) -> None:
    """Only a pool that never made it loses a volume."""
    world = make()
    before = world.objects[DATA].record
    said = world.accepted_reports(DATA).report
    if before.pool and (said is None or said.phase != "rejected"):
        assert need(world).record.assignment == before.assignment


def user(name: str = "web", on: str = "a") -> Any:
    return machine(name, on=on, spec=USES)


CLAIMS: list[tuple[str, Callable[[], Small], str]] = [
    ("nobody asks", small, ""),
    ("a machine without a place asks", lambda: small(user(on="")), ""),
    ("a placed one asks", lambda: small(user()), "web"),
    ("two ask: the first by name", lambda: small(user("also"), user()), "also"),
    ("two ask: who has it", lambda: small(user("also"), user()).with_report(DATA, "present", attached_to=(uid_of("web"),)), "web"),
    ("one that is going asks", lambda: small(user()).ordered_gone(WEB), ""),
    ("held", lambda: held(small(user()), "web"), "web"),
    ("held, another asks", lambda: held(small(user("also"), user()), "web"), "web"),
    ("held by one that is evicted", lambda: held(small(evicted(user())), "web"), "web"),
    ("held by one that is going", lambda: held(small(user()), "web").ordered_gone(WEB), "web"),
    ("held by one that lost its place", lambda: held(small(user(on="")), "web"), ""),
    ("held by one that is gone", lambda: held(small(), "web"), ""),
    ("held by one that is gone, still attached", lambda: held(small(), "web").with_report(DATA, "present", attached_to=(uid_of("web"),)), "web"),
    ("held by an earlier one of that name", lambda: held(small(user()), "web", uid="earlier"), "web"),
    ("let go in its spec, silent", lambda: held(small(machine("web", on="a")), "web"), "web"),
    ("let go in its spec, still attached", lambda: held(small(machine("web", on="a")), "web").with_report(WEB, "present", status=report.ReportedMachineStatus(volumes=(report.AttachedVolume(name="data", state="Attached", volume_ref=report.ObjectRef("data")),))), "web"),
    ("let go in its spec, detached", lambda: held(small(machine("web", on="a")), "web").with_report(WEB, "present", status=report.ReportedMachineStatus()), ""),
    ("ordered gone, let go in the spec, silent", lambda: held(small(machine("web", on="a")), "web").ordered_gone(DATA), "web"),
    ("ordered gone, let go in the spec, detached", lambda: held(small(machine("web", on="a")), "web").ordered_gone(DATA).with_report(WEB, "present", status=report.ReportedMachineStatus()), ""),
    ("let go in its spec, its runtime silent", lambda: held(small(machine("web", on="a")), "web").with_report(WEB, "unknown"), "web"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "holder"), [row[1:] for row in CLAIMS], ids=[row[0] for row in CLAIMS])
def test_who_holds_it(make: Callable[[], Small], holder: str) -> None:
    claim = need(make()).record.claim
    assert (claim.name if claim else "") == holder
    assert claim is None or claim.uid == uid_of(holder)


def test_what_its_machine_says_concerns_it_although_that_asks_for_it_no_more() -> None:
    world = held(small(machine("web", on="a")), "web").with_report(
        WEB, "present", status=report.ReportedMachineStatus()
    )
    found = {each.key: each for each in decide_needs(world, {WEB}, NOW)}
    assert found[DATA].record.claim is None


def test_who_comes_second_waits() -> None:
    world = held(small(user(), user("also", on="")), "web")
    also = Key(Kind.MACHINE, "default", "also")
    found = next(each for each in decide_needs(world, {also}, NOW) if each.key == also)
    assert isinstance(found, Blocked)
    assert found.reason == "VolumeInUse"


def test_of_two_that_wait_the_first_by_name_is_placed() -> None:
    world = small(user(on=""), user("also", on=""), on="")
    found = {each.key.name: type(each) for each in decide_needs(world, set(world.objects), NOW)}
    assert found["also"] is Place
    assert found["web"] is Blocked


def test_an_interface_shows_what_its_machine_is_seen_with() -> None:
    lan = known(Kind.NETWORK_INTERFACE, "lan", {"networkRef": {"name": "office"}})
    world = Small().pool("a").add(lan, machine("web", on="a", spec=LAN), known(Kind.NETWORK, "office", {}))
    card = report.AttachedInterface(
        name="lan",
        state="Attached",
        ips=("10.0.0.7",),
        mac_address="02:00:00:00:00:01",
        network_interface_ref=report.ObjectRef("lan"),
    )
    world.with_report(
        WEB, "present", status=report.ReportedMachineStatus(state="Running", network_interfaces=(card,))
    )
    found = next(each for each in decide_needs(world, {WEB}, NOW) if each.key == lan.key)
    status = found.record.status
    assert (getattr(status, "state", ""), getattr(status, "ips", ())) == ("Available", ("10.0.0.7",))
