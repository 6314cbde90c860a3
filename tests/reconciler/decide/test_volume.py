from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from reconciler.decide.decide import decide_needs
from reconciler.decide.need import Adopt, Blocked, Keep, Need, Place, PoolUnreachable
from reconciler.world.pools.grants import Grant
from reconciler.world.reports.authority import Authority
from reconciler.world.reports.heartbeat import Heartbeat
from reconciler.world.reports.host_report import HostReport
from reconciler.world.reports.object_report import ObjectReport
from schemas.kinds import Key, Kind
from schemas.model import ClaimRef, VolumeStatus
from schemas.model.storage import VolumeAccess
from schemas.report import objects as report
from tests.reconciler.decide.small import (
    DRAIN,
    FLEET,
    LIVE,
    NOW,
    Small,
    machine,
    make_object,
    order_eviction,
    uid_of,
    volume,
)

DATA = Key(Kind.VOLUME, "default", "data")
LATER = "3" * 40
WEB = Key(Kind.MACHINE, "default", "web")
USES = {"volumes": [{"name": "data", "volumeRef": {"name": "data"}}]}
FULL = (report.ReportedReason(code="Full", message="there is no room"),)
HERE = ObjectReport(poollet="a", host="a", pool="a", uid=uid_of("data"), assignment="a" * 8, phase="present")
LAN = {"networkInterfaces": [{"name": "lan", "networkInterfaceRef": {"name": "lan"}}]}


def small(*more: Any, on: str = "a", **spec: Any) -> Small:
    world = Small().pool("a").pool("b").volume_pool("a").volume_pool("b")
    return world.add(volume("data", on=on, spec=spec), *more)


def hold(world: Small, by: str, uid: str = "", *, assignment: str = "", is_released: bool = False) -> Small:
    """With a claim of that machine on live, under the assignment that it has; released on LIVE, and its host has applied a later commit."""
    there = world.objects[DATA]
    holder = world.objects.get(Key(Kind.MACHINE, "default", by))
    assigned = holder.record.assignment if holder is not None else None
    claim = ClaimRef(
        name=by,
        uid=uid or uid_of(by),
        assignment=assignment or (assigned.id if assigned is not None else ""),
        released=LIVE if is_released else "",
    )
    poollet = report.PoolletReport(
        fleet=FLEET, name="a", host_id="a", instance="1", interval="15s", live_commit=LATER
    )
    world.reports.by_poollet["a"] = HostReport("a", LIVE, LIVE, NOW, host="a", poollet=poollet)
    world.descends = lambda commit, ancestor: (commit, ancestor) == (LATER, LIVE)
    return world.add(
        msgspec.structs.replace(there, record=msgspec.structs.replace(there.record, claim=claim))
    )


def with_released_claim(*more: Any) -> Small:
    return hold(small(machine("web", on="a"), *more), "web", is_released=True)


def before_release(world: Small) -> Small:
    """The host has not applied a later commit yet."""
    world.descends = lambda _commit, _ancestor: False
    return world


def with_handle(world: Small) -> Small:
    there = world.objects[DATA]
    assert isinstance(there.record.status, VolumeStatus)
    status = msgspec.structs.replace(there.record.status, access=VolumeAccess(handle="here"))
    return world.add(
        msgspec.structs.replace(there, record=msgspec.structs.replace(there.record, status=status))
    )


def claims(world: Small) -> Small:
    world.claims[DATA] = (HERE,)
    return world.volume_pool(HERE.pool, classes=frozenset({"fast"}))


def lose_live(world: Small) -> Small:
    world.is_lost = True
    return world


def need(world: Small) -> Need:
    return next(each for each in decide_needs(world, {DATA}, NOW) if each.key == DATA)


NEEDS: list[tuple[str, Callable[[], Small], type[Need], str]] = [
    ("alone", lambda: small(on=""), Place, ""),
    ("its machine is unplaced too", lambda: small(machine("web", spec=USES), on=""), Keep, ""),
    ("its machine is placed", lambda: small(machine("web", on="b", spec=USES), on=""), Place, "b"),
    ("its machine is ordered gone", lambda: small(machine("web", on="b", spec=USES), on="").order_deletion(WEB), Place, ""),
    ("placed", small, Keep, ""),
    ("placed on a tainted pool", lambda: small().volume_pool("a", taints=(DRAIN,)), Keep, ""),
    ("pinned to another pool since", lambda: small(volumePoolRef={"name": "b"}), Keep, ""),
    ("its pool is lost", lambda: small().volume_pool("a", heartbeat=Heartbeat.EXPIRED), PoolUnreachable, ""),
    ("rejected", lambda: small().with_report(DATA, "rejected", reasons=FULL), Place, ""),
    ("a poollet reports it, and live is whole", lambda: claims(small(on="")), Blocked, ""),
    ("a poollet reports it", lambda: lose_live(claims(small(on=""))), Adopt, ""),
    ("a poollet without its class reports it", lambda: lose_live(claims(small(on="")).volume_pool(HERE.pool, classes=frozenset({"slow"}))), Blocked, ""),
    ("a poollet that offers no class yet reports it", lambda: lose_live(claims(small(on="")).volume_pool(HERE.pool)), Adopt, ""),
    ("provided from outside", lambda: small().add(make_object(Kind.VOLUME, "data", {})), Keep, ""),
    ("its Secret is missing", lambda: small(on="", encryption={"secretRef": {"name": "keys"}}), Blocked, ""),
]  # fmt: skip


@pytest.mark.parametrize(
    ("make", "want", "near_pool"), [row[1:] for row in NEEDS], ids=[row[0] for row in NEEDS]
)
def test_a_volume_needs_what_its_facts_say(
    make: Callable[[], Small], want: type[Need], near_pool: str
) -> None:
    found = need(make())
    assert type(found) is want
    assert getattr(found, "near_pool", "") == near_pool


@pytest.mark.parametrize("phase", ["gone", "rejected"])
def test_a_made_volume_stays_assigned_when_its_pool_reports_its_end_without_an_order(phase: str) -> None:
    """Placed again, it would be empty."""
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
    reported = world.accepted_reports(DATA).report
    if before.pool and (reported is None or reported.phase != "rejected"):
        assert need(world).record.assignment == before.assignment


def user(name: str = "web", on: str = "a") -> Any:
    return machine(name, on=on, spec=USES)


CLAIMS: list[tuple[str, Callable[[], Small], str]] = [
    ("no machine needs it", small, ""),
    ("an unplaced machine needs it", lambda: small(user(on="")), ""),
    ("a placed machine needs it", lambda: small(user()), "web"),
    ("two need it: the first by name", lambda: small(user("also"), user()), "also"),
    ("two need it: the one it is attached to", lambda: small(user("also"), user()).with_report(DATA, "present", attached_to=(uid_of("web"),)), "web"),
    ("a machine that is ordered gone needs it", lambda: small(user()).order_deletion(WEB), ""),
    ("held", lambda: hold(small(user()), "web"), "web"),
    ("held, another machine needs it", lambda: hold(small(user("also"), user()), "web"), "web"),
    ("held by one that is evicted", lambda: hold(small(order_eviction(user())), "web"), "web"),
    ("held by one that is ordered gone", lambda: hold(small(user()), "web").order_deletion(WEB), "web"),
    ("held by one that lost its assignment", lambda: hold(small(user(on="")), "web"), ""),
    ("held by one that is gone", lambda: hold(small(), "web"), ""),
    ("held by one that is gone, still attached", lambda: hold(small(), "web").with_report(DATA, "present", attached_to=(uid_of("web"),)), "web"),
    ("held by an earlier one of that name", lambda: hold(small(user()), "web", uid="earlier"), "web"),
    ("removed from the spec of its holder, not reported", lambda: hold(small(machine("web", on="a")), "web"), "web"),
    ("removed from the spec of its holder, still attached", lambda: hold(small(machine("web", on="a")), "web").with_report(WEB, "present", status=report.ReportedMachineStatus(volumes=(report.AttachedVolume(name="data", state="Attached", volume_ref=report.ObjectRef("data")),))), "web"),
    ("removed from the spec of its holder, detached", lambda: hold(small(machine("web", on="a")), "web").with_report(WEB, "present", status=report.ReportedMachineStatus()), "web"),
    ("released, detached", lambda: with_released_claim().with_report(WEB, "present", status=report.ReportedMachineStatus()), ""),
    ("released, not reported", lambda: with_released_claim(), "web"),
    ("released, still attached", lambda: with_released_claim().with_report(WEB, "present", status=report.ReportedMachineStatus(volumes=(report.AttachedVolume(name="data", state="Attached", volume_ref=report.ObjectRef("data")),))), "web"),
    ("released, still attached by its handle", lambda: with_handle(with_released_claim()).with_report(WEB, "present", status=report.ReportedMachineStatus(volumes=(report.AttachedVolume(name="data", state="Attached", handle="here"),))), "web"),
    ("released, attached until the volume is ready that its entry names now", lambda: with_handle(with_released_claim()).with_report(WEB, "present", status=report.ReportedMachineStatus(volumes=(report.AttachedVolume(name="data", state="Attached", handle="here", volume_ref=report.ObjectRef("other")),))), "web"),
    ("released, an unknown disk is still attached", lambda: with_handle(with_released_claim()).with_report(WEB, "present", status=report.ReportedMachineStatus(volumes=(report.AttachedVolume(name="data", state="Attached"),))), "web"),
    ("released, another disk is still attached", lambda: with_handle(with_released_claim()).with_report(WEB, "present", status=report.ReportedMachineStatus(volumes=(report.AttachedVolume(name="data", state="Attached", handle="there"),))), ""),
    ("released, by a report of before", lambda: before_release(with_released_claim()).with_report(WEB, "present", status=report.ReportedMachineStatus()), "web"),
    ("released, another machine needs it", lambda: with_released_claim(user("also")).with_report(WEB, "present", status=report.ReportedMachineStatus()), "also"),
    ("released, and needed again", lambda: hold(small(user()), "web", is_released=True), "web"),
    ("held under an earlier assignment", lambda: hold(small(user()), "web", assignment="earlier"), "web"),
    ("held under an earlier assignment, no longer needed", lambda: hold(small(machine("web", on="a")), "web", assignment="earlier"), ""),
    ("ordered gone, removed from the spec, not reported", lambda: hold(small(machine("web", on="a")), "web").order_deletion(DATA), "web"),
    ("ordered gone, removed from the spec, detached", lambda: hold(small(machine("web", on="a")), "web").order_deletion(DATA).with_report(WEB, "present", status=report.ReportedMachineStatus()), "web"),
    ("ordered gone, released, detached", lambda: with_released_claim().order_deletion(DATA).with_report(WEB, "present", status=report.ReportedMachineStatus()), ""),
    ("removed from the spec, its runtime does not answer", lambda: hold(small(machine("web", on="a")), "web").with_report(WEB, "unknown"), "web"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "holder"), [row[1:] for row in CLAIMS], ids=[row[0] for row in CLAIMS])
def test_a_claim_is_granted_and_released_by_these_facts(make: Callable[[], Small], holder: str) -> None:
    claim = need(make()).record.claim
    assert (claim.name if claim else "") == holder
    assert claim is None or claim.uid == uid_of(holder)


def test_a_claim_is_released_first_and_ends_by_a_report_of_the_former_user() -> None:
    world = hold(small(machine("web", on="a")), "web").with_report(
        WEB, "present", status=report.ReportedMachineStatus()
    )
    found = {each.key: each for each in decide_needs(world, {WEB}, NOW)}
    claim = found[DATA].record.claim
    assert claim is not None
    assert (claim.name, claim.released) == ("web", LIVE)
    assert found[DATA].due is not None, "the report may change in nothing but the commit of live"
    there = world.objects[DATA]
    world.add(msgspec.structs.replace(there, record=found[DATA].record))
    found = {each.key: each for each in decide_needs(world, {WEB}, NOW)}
    assert found[DATA].record.claim is None


@pytest.mark.parametrize(
    ("make", "assignment"),
    [
        pytest.param(lambda: small(user()), "of web", id="a new claim"),
        pytest.param(lambda: hold(small(user()), "web"), "of web", id="kept"),
        pytest.param(
            lambda: hold(small(user()), "web", assignment="earlier"), "of web", id="its holder was moved"
        ),
        pytest.param(
            lambda: hold(small(user()), "web", assignment="earlier").with_report(
                DATA, "present", attached_to=(uid_of("web"),)
            ),
            "earlier",
            id="its holder was moved, and is reported with it from where it was",
        ),
    ],
)
def test_a_claim_counts_under_the_present_assignment_of_its_holder(
    make: Callable[[], Small], assignment: str
) -> None:
    claim, present = need(make()).record.claim, user().record.assignment
    assert claim is not None
    assert present is not None
    assert (claim.assignment, claim.released) == (present.id if assignment == "of web" else assignment, "")


@pytest.mark.parametrize("is_adopted", [False, True], ids=["confirmed", "adopted"])
@pytest.mark.parametrize("is_paused", [False, True], ids=["", "paused"])
def test_a_claim_of_a_rewound_live_ends_when_another_machine_has_the_volume(
    is_adopted: bool, is_paused: bool
) -> None:
    """Also where the volume is only adopted in this tick, or nothing else is decided about it: the next tick would keep the claim."""
    world = lose_live(hold(small(user("also"), user()), "also"))
    if is_paused:
        known = world.objects[DATA]
        metadata = replace(known.object.metadata, annotations={"gitvirt.dev/paused": "true"})
        world.add(replace(known, object=replace(known.object, metadata=metadata)))
    if is_adopted:
        claims(world)
    else:
        world.with_report(DATA, "present")
    disk = report.AttachedVolume("data", "Attached", "h1", report.ObjectRef("data"))
    world.with_report(WEB, "present", status=report.ReportedMachineStatus(volumes=(disk,)))
    world.reports.attachment_index.replace("a", WEB, None, world.own_reports[WEB])
    found = need(world)
    assert isinstance(found, Adopt) == is_adopted
    assert found.record.claim is None


def with_orphan(world: Small, *, handle: str = "here", name: str = "old", **changes: Any) -> Small:
    """Host b has a machine without an order, with a disk of that handle."""
    poollet = report.PoolletReport(fleet=FLEET, name="b", host_id="b", instance="1", interval="15s")
    given: dict[str, Any] = {"kind": "Machine", "pool": "b", "id": "x://y", "namespace": "default"}
    found = report.Orphan(**(given | {"uid": uid_of(name), "name": name, "handles": (handle,)} | changes))
    there = HostReport("b", LIVE, LIVE, NOW, host="b", poollet=poollet, orphans=(found,))
    world.reports.by_poollet["b"] = there
    world.reports.orphan_index.replace("b", (), there.orphans)
    world.authority = Authority(world.rules.settings, world.rules.settings, ("a", "b"))
    return world


@pytest.mark.parametrize("heartbeat", [Heartbeat.ALIVE, Heartbeat.EXPIRED])
def test_no_machine_gets_a_volume_that_an_orphan_has_attached(heartbeat: Heartbeat) -> None:
    """Two guests would write to it. A silent host has not detached it."""
    world = with_orphan(with_handle(small(user())))
    world.reports.heartbeats["b", "b"] = heartbeat
    found = need(world)
    assert found.record.claim is None
    assert found.due is not None, "it is looked at again when the orphan may be gone"
    blocked = next(each for each in decide_needs(world, {WEB}, NOW) if each.key == WEB)
    assert isinstance(blocked, Blocked)
    assert blocked.reason == "VolumeInUse"
    shown = blocked.record.condition("Accepted")
    assert shown is not None
    assert "volume data is attached to an orphan on pool b of poollet b (default/old, uid " in shown.message
    assert shown.message.endswith("remove its key and its report: git push origin --delete refs/poollets/b")


def test_a_claim_of_a_rewound_live_ends_when_an_orphan_has_the_volume() -> None:
    world = with_orphan(with_handle(lose_live(hold(small(user()), "web")))).with_report(DATA, "present")
    assert need(world).record.claim is None


def test_a_claim_of_a_rewound_live_ends_also_where_the_volume_is_to_go() -> None:
    """Its host would attach it for the machine of the claim, beside the one that has it."""
    world = with_orphan(lose_live(hold(with_handle(small(user("also"))), "also")))
    known = world.objects[DATA]
    world.add(replace(known, source=None))
    world.relations.absent.add(DATA)
    assert need(world).record.claim is None


def test_an_earlier_object_of_the_name_does_not_keep_what_live_has_from_its_host() -> None:
    """After a restore: it was an orphan before, and stays one."""
    world = with_orphan(lose_live(claims(small(on=""))), kind="Volume", name="data", uid=uid_of("earlier"))
    found = need(world)
    assert isinstance(found, Adopt)
    assert (found.record.uid, found.record.pool) == (uid_of("data"), HERE.pool)


def test_no_machine_gets_a_volume_that_was_an_orphan_before_its_host_says_how_it_is_attached() -> None:
    """A machine on another host may have it, and is known by the handle alone."""
    world = with_orphan(lose_live(small(on="")), kind="Volume", name="data", handles=())
    adopted = need(world)
    assert isinstance(adopted, Adopt)
    world.is_lost, there = False, world.objects[DATA]
    world.add(user(), msgspec.structs.replace(there, record=adopted.record))
    world.reports.orphan_index.replace("b", world.reports.by_poollet["b"].orphans, ())
    assert need(world).record.claim is None
    access = report.ReportedVolumeAccess("shared", "here", {})
    ready = report.ReportedCondition(type="Ready", status="True", reason="Available")
    status = report.ReportedVolumeStatus("x://y", "Available", access, conditions=(ready,))
    world.with_report(DATA, "present", status=status)
    claim = need(world).record.claim
    assert claim is not None
    assert claim.name == "web"


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda world: with_orphan(world, handle="another"), id="another disk"),
        pytest.param(lambda world: with_orphan(world, namespace="other"), id="another namespace"),
        pytest.param(lambda world: with_orphan(world, kind="Volume"), id="no machine"),
        pytest.param(lambda world: with_orphan(world, handles=()), id="a report without handles"),
        pytest.param(
            lambda world: with_orphan(world).pool("b", grant=Grant("since", 2)), id="its host lost the grant"
        ),
        pytest.param(lambda world: with_orphan(world, pool="a"), id="a pool of another poollet"),
        pytest.param(lambda world: with_orphan(world, name="web"), id="the machine itself, moved since"),
    ],
)
def test_other_orphans_keep_no_machine_from_its_volume(make: Callable[[Small], Small]) -> None:
    claim = need(make(with_handle(small(user())))).record.claim
    assert claim is not None
    assert claim.name == "web"


def test_the_second_machine_waits_for_a_claimed_volume() -> None:
    world = hold(small(user(), user("also", on="")), "web")
    also = Key(Kind.MACHINE, "default", "also")
    found = next(each for each in decide_needs(world, {also}, NOW) if each.key == also)
    assert isinstance(found, Blocked)
    assert found.reason == "VolumeInUse"


def test_of_two_waiting_machines_the_first_by_name_is_placed() -> None:
    world = small(user(on=""), user("also", on=""), on="")
    found = {each.key.name: type(each) for each in decide_needs(world, set(world.objects), NOW)}
    assert found["also"] is Place
    assert found["web"] is Blocked


def test_an_interface_shows_what_the_pool_of_its_machine_reports() -> None:
    lan = make_object(Kind.NETWORK_INTERFACE, "lan", {"networkRef": {"name": "office"}})
    world = (
        Small().pool("a").add(lan, machine("web", on="a", spec=LAN), make_object(Kind.NETWORK, "office", {}))
    )
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
