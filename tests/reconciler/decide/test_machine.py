from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from reconciler.decide.decide import decide_needs
from reconciler.decide.need import Adopt, Blocked, Drain, Keep, Need, Place, PoolUnreachable
from reconciler.decide.obstacles import obstacles
from reconciler.plan.types import Action
from reconciler.world.objects.object_state import Origin
from reconciler.world.record import condition
from reconciler.world.reports.heartbeat import Heartbeat
from reconciler.world.reports.object_report import ObjectReport
from reconciler.world.reports.recovery_wait import MissingHost, Why
from reconciler.world.source.rules import Rules
from schemas.kinds import Key, Kind
from schemas.model import Condition, MachineStatus, Taint
from schemas.model.capacity import Shortfall
from schemas.report import objects as report
from schemas.validate.finding import Finding
from tests.reconciler.decide.small import (
    DRAIN,
    FLEET,
    NOW,
    Small,
    machine,
    make_object,
    order_eviction,
    uid_of,
    volume,
)

WEB = Key(Kind.MACHINE, "default", "web")
FORCED = Taint(key="gitvirt.dev/drain", effect="NoExecute", value="force")
PATIENT = [{"key": "gitvirt.dev/drain", "operator": "Exists", "tolerationSeconds": 300}]
LOCAL = [{"name": "root", "localDisk": {}}]
RUNNING = report.ReportedMachineStatus(machine_id="libvirt://1", state="Running")
OFF: dict[str, Any] = {"status": report.ReportedMachineStatus(machine_id="libvirt://1", state="Shutdown")}
FULL = (report.ReportedReason(code="InsufficientCapacity", message="memory is short"),)
LOST = {"heartbeat": Heartbeat.EXPIRED}


def claim(**changes: Any) -> ObjectReport:
    given: dict[str, Any] = {
        "poollet": "b",
        "host": "b",
        "pool": "b",
        "uid": uid_of("web"),
        "assignment": "a" * 8,
        "phase": "present",
    }
    return ObjectReport(**(given | changes))


def fault(code: str) -> tuple[Finding, ...]:
    return (Finding("web.yaml", 0, str(WEB), "/spec", code, "there is no Secret"),)


def small(**spec: Any) -> Small:
    return Small().add(machine("web", spec=spec)).pool("a").pool("b")


def lose_live(world: Small, *claims: ObjectReport) -> Small:
    """While live is lost."""
    world.is_lost, world.claims = True, {WEB: claims or (claim(),)}
    return world


def was_multiple(**spec: Any) -> Small:
    """Two hosts had it when live was lost."""
    world = small(**spec)
    shown = Condition(
        type="Accepted", status="False", reason="ReportedByMultiplePools", message="two have it"
    )
    record = world.objects[WEB].record
    status = MachineStatus(conditions=(shown,))
    return world.add(replace(world.objects[WEB], record=replace(record, status=status)))


def on_a(**spec: Any) -> Small:
    return Small().add(machine("web", on="a", spec=spec)).pool("a").pool("b")


def secret(value: str) -> Any:
    return make_object(Kind.SECRET, "boot", {"stringData": {"ignition.yaml": value}})


Case = tuple[str, Callable[[], Small], type[Need], str]
PAUSED: Any = {"annotations": {"gitvirt.dev/paused": "true"}}

CASES: list[Case] = [
    ("new", lambda: Small().add(machine("web", is_new=True)), Place, ""),
    ("unplaced", small, Place, ""),
    ("paused", lambda: Small().add(machine("web", **PAUSED)), Keep, ""),
    ("it names a missing object", lambda: _with(small(), faults={WEB: fault("GV310")}), Blocked, "GV310"),
    ("a shared volume is judged by its claim", lambda: _with(small(), faults={WEB: fault("GV320")}), Place, ""),
    ("its secret is encrypted", lambda: small(ignitionRef={"name": "boot"}).add(secret("ENC[AES256,data:x]")), Blocked, "SecretEncrypted"),
    ("plain secret", lambda: small(ignitionRef={"name": "boot"}).add(secret("#cloud-config")), Place, ""),
    ("claimed while live is whole", lambda: _with(small(), claims={WEB: (claim(),)}), Blocked, "ReportedWithoutAssignment"),
    ("claimed while live is whole, by its pin", lambda: _with(small(machinePoolRef={"name": "b"}), claims={WEB: (claim(),)}), Blocked, "ReportedWithoutAssignment"),
    ("claimed by one", lambda: lose_live(small()), Adopt, ""),
    ("claimed by its pin", lambda: lose_live(small(machinePoolRef={"name": "b"})), Adopt, ""),
    ("claimed against its pin", lambda: lose_live(small(machinePoolRef={"name": "a"})), Blocked, "PoolDoesNotFit"),
    ("claimed against its pin to a pool that is not there", lambda: lose_live(small(machinePoolRef={"name": "vault"})), Blocked, "PoolDoesNotFit"),
    ("claimed against its selector", lambda: lose_live(small(machinePoolSelector={"zone": "secure"})), Blocked, "PoolDoesNotFit"),
    ("claimed by its selector", lambda: lose_live(small(machinePoolSelector={"zone": "x"}).pool("b", labels={"zone": "x"})), Adopt, ""),
    ("claimed by a pool without its class", lambda: lose_live(small().pool("b", classes=frozenset({"large"}))), Blocked, "PoolDoesNotFit"),
    ("claimed by a pool that offers no class yet", lambda: lose_live(small().pool("b", classes=frozenset())), Adopt, ""),
    ("claimed by two", lambda: lose_live(small(), claim(), claim(poollet="c")), Blocked, "ReportedByMultiplePools"),
    ("claimed by one of the two that had it when live was lost", lambda: _with(was_multiple(), claims={WEB: (claim(),)}), Adopt, ""),
    ("claimed by one of them against its pin", lambda: _with(was_multiple(machinePoolRef={"name": "a"}), claims={WEB: (claim(),)}), Blocked, "PoolDoesNotFit"),
    ("claimed by two when live was lost, and by none now", was_multiple, Place, ""),
    ("claimed under another uid", lambda: lose_live(small(), claim(uid="other")), Adopt, ""),
    ("converged", on_a, Keep, ""),
    ("running", lambda: on_a().with_report(WEB, "present", status=RUNNING), Keep, ""),
    ("unknown to its runtime", lambda: on_a().with_report(WEB, "unknown"), Keep, ""),
    ("rejected", lambda: on_a().with_report(WEB, "rejected", reasons=FULL), Place, ""),
    ("it names a missing object, but is placed", lambda: _with(on_a(), faults={WEB: fault("GV310")}), Blocked, "GV310"),
    ("a class that its pool lacks", lambda: on_a(machineClassRef={"name": "huge"}), Blocked, "ClassNotOffered"),
    ("pool lost", lambda: on_a().pool("a", **LOST), PoolUnreachable, ""),
    ("pool unconfirmed", lambda: on_a().pool("a", heartbeat=Heartbeat.UNCONFIRMED), Keep, ""),
    ("pool not announced", lambda: on_a().pool("a", heartbeat=None, announced=None), PoolUnreachable, ""),
    ("pool does not exist", lambda: Small().add(machine("web", on="a")), PoolUnreachable, ""),
    ("pool lost, may be replaced, ran", lambda: on_a(onPoolLost="Replace").with_report(WEB, "present", status=RUNNING).pool("a", **LOST), PoolUnreachable, ""),
    ("pool lost, may be replaced, not reported", lambda: on_a(onPoolLost="Replace").pool("a", **LOST), PoolUnreachable, ""),
    ("pool lost, may be replaced, unknown", lambda: on_a(onPoolLost="Replace").with_report(WEB, "unknown", **OFF).pool("a", **LOST), PoolUnreachable, ""),
    ("pool lost, may be replaced, was off", lambda: on_a(onPoolLost="Replace").with_report(WEB, "present", **OFF).pool("a", **LOST), PoolUnreachable, ""),
    ("pool lost, must stay, was off", lambda: on_a().with_report(WEB, "present", **OFF).pool("a", **LOST), PoolUnreachable, ""),
    ("pool here, may be replaced, is off", lambda: on_a(onPoolLost="Replace").with_report(WEB, "present", **OFF), Keep, ""),
    ("pool destroyed", lambda: on_a().pool("a", **LOST).confirm_destroyed("a"), Place, ""),
    ("pool confirmed destroyed, and alive", lambda: on_a().confirm_destroyed("a"), Keep, ""),
    ("cordoned", lambda: on_a().pool("a", is_cordoned=True), Keep, ""),
    ("pinned to another pool", lambda: on_a(machinePoolRef={"name": "b"}), Drain, "machinePoolRef names b now"),
    ("drained", lambda: on_a().pool("a", taints=(DRAIN,)), Drain, "its pool is being drained"),
    ("drained, tolerated for a while", lambda: on_a(tolerations=PATIENT).pool("a", taints=(DRAIN,)), Keep, ""),
    ("drained, paused", lambda: Small().add(machine("web", on="a", **PAUSED)).pool("a", taints=(DRAIN,)), Keep, ""),
    ("drained while lost", lambda: on_a().pool("a", taints=(DRAIN,), **LOST), PoolUnreachable, ""),
    ("ordered to leave", lambda: Small().add(order_eviction(machine("web", on="a"))).pool("a"), Drain, "Drained"),
    ("ordered to leave, not drained any more", lambda: Small().add(order_eviction(machine("web", on="a"))).pool("a"), Drain, "Drained"),
    ("left", lambda: Small().add(order_eviction(machine("web", on="a"))).pool("a").with_report(WEB, "gone"), Place, ""),
    ("frozen", lambda: Small().add(machine("web", on="a", origin=Origin.FROZEN)).pool("a"), Keep, ""),
]  # fmt: skip


def _with(world: Small, **changes: Any) -> Small:
    for name, value in changes.items():
        setattr(world, name, value)
    return world


def need(world: Small, key: Key = WEB) -> Need:
    return next(each for each in decide_needs(world, {key}, NOW) if each.key == key)


@pytest.mark.parametrize(
    ("make", "want", "reason"), [row[1:] for row in CASES], ids=[row[0] for row in CASES]
)
def test_a_machine_needs_what_its_facts_say(make: Callable[[], Small], want: type[Need], reason: str) -> None:
    found = need(make())
    assert type(found) is want
    assert getattr(found, "reason", "") == reason


@pytest.mark.parametrize("make", [row[1] for row in CASES], ids=[row[0] for row in CASES])
def test_a_decision_that_was_written_is_made_again_without_a_change(make: Callable[[], Small]) -> None:
    """As if the record had been written and read: while the world stays the same, nothing more changes."""
    world = make()
    first = need(world)
    written = msgspec.structs.replace(world.objects[WEB], record=first.record, live=world.objects[WEB].source)
    world.add(written)
    if written.record.assignment is None:
        world.own_reports.pop(WEB, None)
    again = need(world)
    assert again.record == first.record


def test_a_placed_machine_never_loses_its_pool_without_cause() -> None:
    for id, make, _, _ in CASES:
        world = make()
        before, after = world.objects[WEB].record, need(world).record
        if before.pool and after.pool != before.pool:
            assert id in {"rejected", "left", "pool destroyed"}


def test_a_new_object_gets_its_uid() -> None:
    found = need(Small().add(machine("web", is_new=True)))
    assert found.before is None
    assert found.record.uid == need(Small().add(machine("web", is_new=True))).record.uid != ""
    assert FLEET not in found.record.uid


def test_a_rejection_is_kept_and_the_machine_is_placed_again() -> None:
    found = need(on_a().with_report(WEB, "rejected", reasons=FULL))
    assert found.record.pool == ""
    status = found.record.status
    assert isinstance(status, MachineStatus)
    assert status.assignment is None
    assert [(each.pool, each.reason, each.count) for each in status.rejections] == [
        ("a", "InsufficientCapacity", 1)
    ]
    assert found.due == NOW + timedelta(seconds=10)
    assert [why.action for why in found.change_reasons] == [Action.WITHDRAW]
    assert found.change_reasons[0].reason == "a rejected it: memory is short"


def test_what_is_reported_becomes_status_and_ends_with_the_assignment() -> None:
    world = on_a().with_report(WEB, "present", status=RUNNING)
    status = need(world).record.status
    assert isinstance(status, MachineStatus)
    assert (status.state, status.machine_id) == ("Running", "libvirt://1")
    world.add(msgspec.structs.replace(order_eviction(world.objects[WEB]), record=need(world).record))
    world.with_report(WEB, "gone")
    gone = need(world).record.status
    assert isinstance(gone, MachineStatus)
    assert (gone.state, gone.machine_id, gone.assignment, gone.evict) == ("Pending", "", None, None)


def test_a_lost_pool_changes_only_the_ready_condition() -> None:
    world = on_a().with_report(WEB, "present", status=RUNNING).pool("a", **LOST)
    found = need(world)
    assert found.record.assignment == world.objects[WEB].record.assignment
    ready = condition(getattr(found.record.status, "conditions", ()), "Ready")
    assert ready is not None
    assert (ready.status, ready.reason) == ("Unknown", "PoolLost")


@pytest.mark.parametrize("is_lost", [False, True])
def test_a_paused_machine_shows_what_its_host_reports(is_lost: bool) -> None:
    world = Small().add(machine("web", on="a", **PAUSED)).with_report(WEB, "present", status=RUNNING)
    found = need(world.pool("a", **(LOST if is_lost else {})))
    status = found.record.status
    assert isinstance(status, MachineStatus)
    ready = condition(status.conditions, "Ready")
    assert (status.state, ready is not None and ready.status) == (
        ("", "Unknown") if is_lost else ("Running", False)
    )
    gone = need(Small().pool("a").add(machine("web", on="a", **PAUSED)).with_report(WEB, "gone"))
    assert gone.record.pool == "a"


def eviction(found: Need) -> tuple[str, str]:
    shown = condition(getattr(found.record.status, "conditions", ()), "Eviction")
    return (shown.status, shown.reason) if shown else ("", "")


@pytest.mark.parametrize(
    ("spec", "taint", "want"),
    [
        pytest.param({}, DRAIN, ("True", "Evicting"), id="nothing-local"),
        pytest.param(
            {"volumes": LOCAL}, DRAIN, ("False", "DataLossApprovalRequired"), id="a-local-disk-stays"
        ),
        pytest.param({"volumes": LOCAL}, FORCED, ("True", "Evicting"), id="with-force"),
        pytest.param(
            {"volumes": LOCAL, "onPoolLost": "Replace"},
            DRAIN,
            ("True", "Evicting"),
            id="its-spec-accepts-the-loss",
        ),
        pytest.param({"tolerations": PATIENT}, DRAIN, ("Unknown", "WithinTolerationSeconds"), id="tolerated"),
    ],
)
def test_an_eviction_that_loses_data_needs_an_approval(
    spec: dict[str, Any], taint: Taint, want: tuple[str, str]
) -> None:
    found = need(on_a(**spec).pool("a", taints=(taint,)))
    assert eviction(found) == want
    status = found.record.status
    assert isinstance(status, MachineStatus)
    assert (status.evict is not None) == (want == ("True", "Evicting"))
    assert found.record.pool == "a"  # until its pool states that it is gone


def test_data_that_would_be_lost_names_the_whole_command_that_accepts_it() -> None:
    found = need(on_a(volumes=LOCAL).pool("a", taints=(DRAIN,)))
    assert isinstance(found, Drain)
    assert "Use `gitvirt drain a --force` or `onPoolLost: Replace`" in found.reason


def test_a_volume_on_the_host_counts_as_local_data() -> None:
    world = on_a(volumes=[{"name": "data", "volumeRef": {"name": "v"}}]).add(volume("v", on="a-disks"))
    world.pool("a", taints=(DRAIN,)).volume_pool("a-disks", reachable_from=frozenset({"a"}))
    assert eviction(need(world)) == ("False", "DataLossApprovalRequired")
    world.volume_pool("a-disks", reachable_from=frozenset({"a", "b"}))
    assert eviction(need(world)) == ("True", "Evicting")


def test_a_toleration_runs_out() -> None:
    world = on_a(tolerations=PATIENT).pool("a", taints=(DRAIN,))
    first = need(world)
    assert first.due == NOW + timedelta(seconds=300)
    world.add(msgspec.structs.replace(world.objects[WEB], record=first.record))
    (later,) = decide_needs(world, {WEB}, NOW + timedelta(seconds=299))
    assert later.record == first.record
    (after,) = decide_needs(world, {WEB}, NOW + timedelta(seconds=300))
    assert eviction(after) == ("True", "Evicting")


def test_evictions_are_limited_and_the_least_important_machine_goes_first() -> None:
    world = Small().pool("a", taints=(DRAIN,))
    for number in range(8):
        world.add(machine(f"m{number}", on="a", spec={"priority": 10 - number}))
    found = {each.key.name: eviction(each) for each in decide_needs(world, set(world.objects), NOW)}
    assert {name for name, shown in found.items() if shown == ("True", "Evicting")} == {
        "m3",
        "m4",
        "m5",
        "m6",
        "m7",
    }
    assert found["m0"] == ("True", "EvictionPending")
    # Written, and one has left: one more may go.
    for each in decide_needs(world, set(world.objects), NOW):
        world.add(msgspec.structs.replace(world.objects[each.key], record=each.record))
    assert len(world.relations.evicting) == 5
    gone = Key(Kind.MACHINE, "default", "m7")
    world.with_report(gone, "gone")
    found = {each.key.name: eviction(each) for each in decide_needs(world, {gone}, NOW)}
    assert found["m2"] == ("True", "Evicting")
    assert found["m1"] == ("True", "EvictionPending")


def test_the_stricter_limit_of_evictions_counts() -> None:
    world = Small().pool("a", taints=(DRAIN,))
    world.add(*(machine(f"m{number}", on="a") for number in range(8)))
    settings = world.rules.settings
    limits = msgspec.structs.replace(settings.limits, evict=2)
    world.rules = Rules(settings, before=msgspec.structs.replace(settings, limits=limits))
    orders = [
        each
        for each in decide_needs(world, set(world.objects), NOW)
        if eviction(each) == ("True", "Evicting")
    ]
    assert len(orders) == 2


def test_an_adopted_machine_gets_the_identity_that_the_poollet_reports() -> None:
    world = Small().add(machine("web", is_new=True))
    lose_live(world.pool("b"), claim(uid="c0ffee00-0000-4000-8000-000000000001", status=RUNNING))
    found = need(world)
    assert found.record.uid == "c0ffee00-0000-4000-8000-000000000001"
    assert found.record.pool == "b"
    assert found.record.assignment is not None
    assert found.record.assignment.id == "a" * 8
    assert getattr(found.record.status, "state", "") == "Running"


def test_the_last_report_of_a_destroyed_host_adopts_nothing() -> None:
    """Otherwise each tick would assign it and release it again."""
    world = small().pool("b", **LOST).confirm_destroyed("b")
    world.claims[WEB] = (claim(status=RUNNING),)
    assert type(need(world)) is Place


def test_a_lost_live_waits_for_every_report() -> None:
    world = small()
    world.live_commit = None
    world.missing = (MissingHost("b", Why.SILENT),)
    assert decide_needs(world, set(world.objects), NOW) == ()
    world.missing = ()
    assert type(need(world)) is Place


def test_a_frozen_file_and_a_refused_claim_are_shown_in_conditions() -> None:
    world = Small().add(machine("web", on="a", origin=Origin.FROZEN)).pool("a")
    world.refused[WEB] = ("c reports it, and it is not there",)
    conditions = getattr(need(world).record.status, "conditions", ())
    shown = {each.type: (each.status, each.reason) for each in conditions}
    assert shown["Accepted"] == ("False", "Frozen")
    assert shown["ClaimRefused"] == ("True", "NotPoolOwner")
    assert [each.type for each in conditions] == sorted(shown)


@pytest.mark.parametrize("faults", [{}, {WEB: fault("GV310")}], ids=["whole", "with an error"])
def test_a_machine_that_could_not_be_created_again_is_not_recreated(faults: Any) -> None:
    ordered = {"annotations": {"gitvirt.dev/recreate": f"{uid_of('web')[:-1]}a"}}
    world = _with(Small().add(machine("web", on="a", **ordered)).pool("a").pool("b"), faults=faults)
    found = need(world.with_report(WEB, "present", status=RUNNING))
    assert isinstance(found, Blocked if faults else Drain), found
    if faults:
        assert eviction(found) == ("False", "RecreationHeld")


@pytest.mark.parametrize(
    ("pool", "want"),
    [
        pytest.param(None, "pool c does not exist", id="nowhere"),
        pytest.param({"why_not_ready": "no poollet announces it"}, "is not ready", id="not ready"),
        pytest.param({"is_cordoned": True}, "is cordoned", id="cordoned"),
        pytest.param({"taints": (DRAIN,)}, "has the taint gitvirt.dev/drain", id="tainted"),
        pytest.param({"classes": frozenset()}, "does not offer class small", id="without the class"),
        pytest.param({}, "has no room", id="full"),
    ],
)
def test_a_pin_to_a_pool_that_cannot_take_the_machine_does_not_move_it(
    pool: dict[str, Any] | None, want: str
) -> None:
    world = on_a(machinePoolRef={"name": "c"}).with_report(WEB, "present", status=RUNNING)
    if pool is not None:
        world.pool("c", **pool)
    world.short["c"] = (Shortfall("memory", 2, 1),)
    found = need(world)
    assert isinstance(found, Keep), found
    assert found.record.pool == "a"
    assert eviction(found) == ("False", "PinnedPoolUnavailable")
    assert found.record.status is not None
    shown = condition(found.record.status.conditions, "Eviction")
    assert shown is not None
    assert want in shown.message
    # Once it can, it moves.
    world.pool("c").short.clear()
    assert isinstance(need(world), Drain)


def test_an_obstacle_that_validation_reports_is_listed_once() -> None:
    """Validation and the look-up of references find the same fault."""
    world = Small().add(machine("web", spec={"machineClassRef": {"name": "none"}}))
    finding = Finding(
        "web.yaml", 0, str(WEB), "/spec/machineClassRef/name", "GV310", 'there is no MachineClass "none"'
    )
    world.faults[WEB] = (finding,)
    assert [each.message for each in obstacles(world, world.objects[WEB])] == [
        'there is no MachineClass "none"'
    ]
    world.faults.clear()
    assert [each.message for each in obstacles(world, world.objects[WEB])] == [
        "MachineClass none does not exist"
    ]
