"""Who uses what, what blocks an object, and who holds a volume: look-ups, obstacles and claims, each called directly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from reconciler.decide.object_edit import ObjectEdit
from reconciler.decide.obstacles import first_obstacle, obstacles
from reconciler.decide.references import (
    blocking_users,
    has_entry,
    interfaces_of,
    list_users,
    machines_of,
    owner_of,
    volumes_of,
)
from reconciler.decide.volume_claim import (
    claim_conflict,
    is_attached,
    is_requested_by,
    next_holder,
    release_reason,
)
from reconciler.world.objects.object_state import ObjectState, Origin
from reconciler.world.reports.host_report import HostReport
from schemas.kinds import Key, Kind
from schemas.model import ClaimRef, Machine, VolumeAccess, VolumeStatus
from schemas.problem import Severity
from schemas.report import objects as report
from schemas.validate.finding import Finding
from tests.reconciler.decide.small import FLEET, LIVE, NOW, Small, machine, make_object, uid_of, volume

WEB, DATA = Key(Kind.MACHINE, "default", "web"), Key(Kind.VOLUME, "default", "data")
SCRATCH = Key(Kind.VOLUME, "default", "web-scratch")
PORT = Key(Kind.NETWORK_INTERFACE, "default", "web-lan")
LOCAL = {"name": "root", "localDisk": {}}
NAMED = {"name": "data", "volumeRef": {"name": "data"}}
EPHEMERAL = {
    "name": "scratch",
    "ephemeral": {
        "volumeTemplate": {"spec": {"volumeClassRef": {"name": "fast"}, "resources": {"storage": "1Gi"}}}
    },
}
OWNER = {
    "apiVersion": "compute.ironcore.dev/v1alpha1",
    "kind": "Machine",
    "name": "web",
    "uid": uid_of("web"),
}
OWNED: Any = {"ownerReferences": [OWNER]}


def web(*volumes: Any, name: str = "web", on: str = "", **changes: Any) -> ObjectState:
    return machine(name, on=on, spec={"volumes": list(volumes)}, **changes)


def spec_of(known: ObjectState) -> Machine:
    assert isinstance(known.object, Machine)
    return known.object


def held_by(name: str, uid: str = "", on: str = "a") -> ObjectState:
    found = volume("data", on=on)
    claim = ClaimRef(name=name, uid=uid or uid_of(name))
    return msgspec.structs.replace(found, record=msgspec.structs.replace(found.record, claim=claim))


@pytest.mark.parametrize(
    ("entries", "want"),
    [
        pytest.param((), [], id="none"),
        pytest.param((LOCAL,), [], id="a local disk is not a volume"),
        pytest.param((EPHEMERAL, NAMED, LOCAL), [SCRATCH, DATA], id="in the order of the entries"),
    ],
)
def test_the_volumes_of_a_machine_are_those_that_it_names_or_generates(
    entries: tuple[Any, ...], want: list[Key]
) -> None:
    assert list(volumes_of(spec_of(web(*entries)))) == want
    assert [key for key in want if is_requested_by(key, web(*entries))] == want
    assert not is_requested_by(Key(Kind.VOLUME, "default", "other"), web(*entries))


def test_the_interfaces_of_a_machine_are_those_that_it_names_or_generates() -> None:
    ports = [
        {"name": "lan", "ephemeral": {"networkInterfaceTemplate": {"spec": {"networkRef": {"name": "x"}}}}},
        {"name": "wan", "networkInterfaceRef": {"name": "public"}},
    ]
    found = list(interfaces_of(spec_of(machine("web", spec={"networkInterfaces": ports}))))
    assert found == [PORT, Key(Kind.NETWORK_INTERFACE, "default", "public")]


def test_only_a_generated_object_has_an_owner() -> None:
    assert owner_of(volume("web-scratch", **OWNED)) == WEB
    assert owner_of(volume("data")) is None


@pytest.mark.parametrize(
    ("objects", "used", "want"),
    [
        pytest.param((web(NAMED), volume("data")), DATA, [WEB], id="it names the volume"),
        pytest.param((web(), volume("data")), DATA, [], id="it names another volume"),
        pytest.param((web(), volume("web-scratch", **OWNED)), SCRATCH, [WEB], id="it owns the volume"),
        pytest.param((volume("web-scratch", **OWNED),), SCRATCH, [], id="its owner does not exist"),
        pytest.param(
            (web(NAMED, name="b"), web(NAMED, name="a"), volume("data")),
            DATA,
            [Key(Kind.MACHINE, "default", "a"), Key(Kind.MACHINE, "default", "b")],
            id="two of them, sorted",
        ),
    ],
)
def test_the_machines_of_a_volume_name_it_or_own_it(
    objects: tuple[ObjectState, ...], used: Key, want: list[Key]
) -> None:
    found = Small().add(*objects)
    assert [each.key for each in machines_of(found, found.objects[used])] == want


SNAPSHOT = make_object(Kind.VOLUME_SNAPSHOT, "daily", {"volumeRef": {"name": "data"}})
USERS: dict[str, tuple[tuple[ObjectState, ...], Key, list[str]]] = {
    "nothing refers to it": ((volume("data"),), DATA, []),
    "a machine names it": ((volume("data"), web(NAMED)), DATA, ["web"]),
    "a snapshot of it": ((volume("data"), SNAPSHOT), DATA, []),
    "its owner has the entry": ((volume("web-scratch", **OWNED), web(EPHEMERAL)), SCRATCH, ["web"]),
    "its owner has the entry no longer": ((volume("web-scratch", **OWNED), web()), SCRATCH, []),
    "its owner does not exist": ((volume("web-scratch", **OWNED),), SCRATCH, []),
    "a class that a machine has": ((web(),), Key(Kind.MACHINE_CLASS, "", "small"), ["web"]),
    "a class of another machine": ((web(),), Key(Kind.MACHINE_CLASS, "", "huge"), []),
    "a pool that a machine is on": (
        (web(on="a"), make_object(Kind.MACHINE_POOL, "a")),
        Key(Kind.MACHINE_POOL, "", "a"),
        ["web"],
    ),
    "a pool that a machine of another pool is not on": (
        (web(on="b"), make_object(Kind.MACHINE_POOL, "a")),
        Key(Kind.MACHINE_POOL, "", "a"),
        [],
    ),
    "a volume pool that a volume is on": (
        (volume("data", on="a"), make_object(Kind.VOLUME_POOL, "a")),
        Key(Kind.VOLUME_POOL, "", "a"),
        ["data"],
    ),
}


@pytest.mark.parametrize(("objects", "key", "want"), USERS.values(), ids=USERS)
def test_what_refers_to_an_object_blocks_its_end_but_a_snapshot_does_not(
    objects: tuple[ObjectState, ...], key: Key, want: list[str]
) -> None:
    found = Small().add(*objects)
    assert [each.key.name for each in blocking_users(found, found.objects[key])] == want


def test_an_owner_has_the_entry_of_what_it_generates() -> None:
    assert has_entry(web(EPHEMERAL), SCRATCH)
    assert not has_entry(web(NAMED), DATA)
    assert not has_entry(volume("data"), DATA)


@pytest.mark.parametrize(
    ("count", "want"),
    [
        (1, "Machine/default/m0"),
        (3, "Machine/default/m0, Machine/default/m1, Machine/default/m2"),
        (5, "Machine/default/m0, Machine/default/m1, Machine/default/m2 and 2 more"),
    ],
)
def test_a_message_names_three_users(count: int, want: str) -> None:
    assert list_users(tuple(machine(f"m{number}") for number in range(count))) == want


def finding(code: str, severity: Severity = Severity.ERROR) -> Finding:
    return Finding("web.yaml", 0, str(WEB), "/spec", code, f"message of {code}", severity=severity)


def with_faults(*found: Finding) -> Small:
    world = Small().add(web())
    world.faults[WEB] = found
    return world


def secret(value: str) -> ObjectState:
    return make_object(Kind.SECRET, "boot", {"stringData": {"ignition.yaml": value}})


BOOTS = {"ignitionRef": {"name": "boot"}}
RETAINED = volume("data", on="a", origin=Origin.RETAINED)


def with_retained() -> Small:
    found = Small().add(web(NAMED), volume("data", is_new=True))
    found.retained_volumes[RETAINED.record.uid] = RETAINED
    return found


def with_scratch(order: bool = False, **metadata: Any) -> Small:
    found = Small().add(web(EPHEMERAL), volume("web-scratch", on="a", **metadata))
    return found.order_deletion(SCRATCH) if order else found


OBSTACLES: dict[str, tuple[Callable[[], Small], list[str]]] = {
    "none": (lambda: Small().add(web()), []),
    "an error of validation": (lambda: with_faults(finding("GV310")), ["GV310"]),
    "a notice of validation, which ends by itself": (
        lambda: with_faults(finding("GV341", Severity.NOTICE)),
        ["GV341"],
    ),
    "a shared volume is judged by its claim": (lambda: with_faults(finding("GV320")), []),
    "two errors in their order": (lambda: with_faults(finding("GV330"), finding("GV310")), ["GV330", "GV310"]),
    "a class that does not exist": (
        lambda: Small().add(machine("web", spec={"machineClassRef": {"name": "none"}})),
        ["Missing"],
    ),
    "a volume that does not exist": (lambda: Small().add(web(NAMED)), ["Missing"]),
    "a secret that does not exist": (lambda: Small().add(machine("web", spec=BOOTS)), ["Missing"]),
    "an encrypted secret": (
        lambda: Small().add(machine("web", spec=BOOTS), secret("ENC[AES256,data:x]")),
        ["SecretEncrypted"],
    ),
    "a plain secret": (lambda: Small().add(machine("web", spec=BOOTS), secret("#cloud-config")), []),
    "a volume that another machine holds": (
        lambda: Small().add(web(NAMED), held_by("other"), machine("other")),
        ["VolumeInUse"],
    ),
    "a retained volume comes back": (with_retained, ["RestoringRetainedVolume"]),
    "its generated object is its own": (lambda: with_scratch(**OWNED), []),
    "its generated object does not exist yet": (lambda: Small().add(web(EPHEMERAL)), []),
    "another object has the name of its generated one": (with_scratch, ["NameTaken"]),
    "its generated object is still being deleted": (
        lambda: with_scratch(order=True, **OWNED),
        ["PreviousObjectDeleting"],
    ),
    "another object with the name is being deleted": (lambda: with_scratch(order=True), ["NameTaken"]),
}  # fmt: skip


@pytest.mark.parametrize(("make", "want"), OBSTACLES.values(), ids=OBSTACLES)
def test_the_obstacles_of_a_machine_come_in_their_order(make: Callable[[], Small], want: list[str]) -> None:
    found = make()
    known = found.objects[WEB]
    assert [each.reason for each in obstacles(found, known)] == want
    first = first_obstacle(found, known)
    assert (first.reason if first is not None else None) == (want[0] if want else None)


def test_a_snapshot_without_its_volume_is_not_an_obstacle() -> None:
    found = Small().add(SNAPSHOT)
    assert first_obstacle(found, SNAPSHOT) is None


def status(*volumes: str) -> report.ReportedMachineStatus:
    return report.ReportedMachineStatus(
        volumes=tuple(
            report.AttachedVolume(name=name, state="Attached", volume_ref=report.ObjectRef(name))
            for name in volumes
        )
    )


LOCAL_ONLY = report.ReportedMachineStatus(volumes=(report.AttachedVolume(name="root", state="Attached"),))
# What the host of the machine reports, and whether the machine may have the volume attached
ATTACHMENTS: dict[str, tuple[str, Any, bool]] = {
    "nothing": ("", None, True),
    "its runtime does not answer": ("unknown", status(), True),
    "present, without a status": ("present", None, True),
    "present, with the volume": ("present", status("data"), True),
    "present, with another volume": ("present", status("other"), False),
    "present, with a local disk": ("present", LOCAL_ONLY, False),
    "present, without volumes": ("present", status(), False),
    "gone": ("gone", None, False),
    "gone, with a status from before": ("gone", status("data"), False),
    "rejected, so it never ran": ("rejected", None, False),
}


@pytest.mark.parametrize(("phase", "reported", "want"), ATTACHMENTS.values(), ids=ATTACHMENTS)
def test_a_machine_has_released_a_volume_only_when_its_host_reports_so(
    phase: str, reported: Any, want: bool
) -> None:
    found = Small().add(web(LOCAL, on="a"), held_by("web"))
    poollet = report.PoolletReport(
        fleet=FLEET, name="a", host_id="a", instance="1", interval="15s", live_commit="later"
    )
    found.reports.by_poollet["a"] = HostReport("a", LIVE, LIVE, NOW, host="a", poollet=poollet)
    found.descends = lambda commit, ancestor: (commit, ancestor) == ("later", LIVE)
    if phase:
        found.with_report(WEB, phase, status=reported)
    assert is_attached(found, found.objects[DATA], found.objects[WEB]) is want
    claim = ClaimRef(name="web", uid=uid_of("web"), released=LIVE)
    assert (release_reason(found, found.objects[DATA], claim) == "") is want or not phase
    assert release_reason(found, found.objects[DATA], replace(claim, released="")) == ""
    assert release_reason(found, found.objects[DATA], replace(claim, released="later")) == ""


RELEASES: dict[str, tuple[Callable[[], Small], str, str]] = {
    "its holder needs it": (lambda: Small().add(web(NAMED, on="a")), uid_of("web"), ""),
    "its holder is gone": (Small, uid_of("web"), "machine web is gone"),
    "another machine has the name of its holder": (
        lambda: Small().add(web(NAMED, on="a")),
        "earlier",
        "machine web is gone",
    ),
    "its holder is on no pool": (
        lambda: Small().add(web(NAMED)),
        uid_of("web"),
        "machine web is not assigned to a pool",
    ),
}


@pytest.mark.parametrize(("make", "uid", "want"), RELEASES.values(), ids=RELEASES)
@pytest.mark.parametrize("is_attached_there", [False, True], ids=["detached", "still attached"])
def test_a_claim_ends_with_its_holder_but_never_while_the_volume_is_attached(
    make: Callable[[], Small], uid: str, want: str, is_attached_there: bool
) -> None:
    found = make().add(held_by("web", uid))
    found.with_report(DATA, "present", attached_to=(uid,) if is_attached_there else ("someone-else",))
    reason = release_reason(found, found.objects[DATA], ClaimRef(name="web", uid=uid))
    assert reason == ("" if is_attached_there else want)


HOLDERS: dict[str, tuple[tuple[ObjectState, ...], tuple[str, ...], str]] = {
    "no machine": ((), (), ""),
    "an unplaced one": ((web(NAMED),), (), ""),
    "a placed one": ((web(NAMED, on="a"),), (), "web"),
    "one that names another volume": ((web(on="a"),), (), ""),
    "one that leaves the source": ((web(NAMED, on="a", origin=Origin.LEAVING),), (), ""),
    "the first by name": ((web(NAMED, on="a"), web(NAMED, name="also", on="a")), (), "also"),
    "the one that has it attached": (
        (web(NAMED, on="a"), web(NAMED, name="also", on="a")),
        (uid_of("web"),),
        "web",
    ),
    "none, while an unplaced one has it attached": (
        (web(NAMED), web(NAMED, name="zulu", on="a")),
        (uid_of("web"),),
        "",
    ),
    "none, while an unknown one has it attached": ((web(NAMED, on="a"),), ("someone",), ""),
}


@pytest.mark.parametrize(("machines", "attached", "want"), HOLDERS.values(), ids=HOLDERS)
def test_the_next_holder_is_placed_stays_and_names_the_volume(
    machines: tuple[ObjectState, ...], attached: tuple[str, ...], want: str
) -> None:
    found = Small().add(volume("data", on="a"), *machines).with_report(DATA, "present", attached_to=attached)
    holder = next_holder(found, ObjectEdit(found.objects[DATA], found.objects[DATA].record, NOW))
    assert (holder.key.name if holder is not None else "") == want


def reported_with(found: Small, name: str, *disks: report.AttachedVolume) -> Small:
    """The host of that machine reports these disks of it."""
    machine = Key(Kind.MACHINE, "default", name)
    found.with_report(machine, "present", status=report.ReportedMachineStatus(volumes=disks))
    found.reports.attachment_index.replace("a", machine, None, found.own_reports[machine])
    return found


ATTACHED_TO_WEB: dict[str, tuple[tuple[ObjectState, ...], report.AttachedVolume, str]] = {
    "it asks": (
        (web(NAMED, on="a"), web(NAMED, name="also", on="b")),
        report.AttachedVolume(
            name="data", state="Attached", handle="h1", volume_ref=report.ObjectRef("data")
        ),
        "web",
    ),
    "it needs the volume no longer": (
        (web(on="a"), web(NAMED, name="also", on="b")),
        report.AttachedVolume(name="data", state="Attached", handle="h1"),
        "web",
    ),
    "it leaves the source": (
        (web(NAMED, on="a", origin=Origin.LEAVING), web(NAMED, name="also", on="b")),
        report.AttachedVolume(
            name="data", state="Attached", handle="h1", volume_ref=report.ObjectRef("data")
        ),
        "web",
    ),
    "it is not attached yet": (
        (web(NAMED, on="a"), web(NAMED, name="also", on="b")),
        report.AttachedVolume(name="data", state="Pending", volume_ref=report.ObjectRef("data")),
        "also",
    ),
    "it has another volume of that name": (
        (web(NAMED, on="a"), web(NAMED, name="also", on="b")),
        report.AttachedVolume(
            name="data", state="Attached", handle="h2", volume_ref=report.ObjectRef("data")
        ),
        "also",
    ),
}


@pytest.mark.parametrize(("machines", "disk", "want"), ATTACHED_TO_WEB.values(), ids=ATTACHED_TO_WEB)
def test_the_machine_whose_host_reports_the_volume_attached_gets_its_claim(
    machines: tuple[ObjectState, ...], disk: report.AttachedVolume, want: str
) -> None:
    found = reported_with(Small().add(volume("data", on="c"), *machines), "web", disk)
    found.with_report(DATA, "present")
    access = VolumeStatus(access=VolumeAccess(driver="d", handle="h1"))
    edit = ObjectEdit(found.objects[DATA], found.objects[DATA].record, NOW)
    edit = edit.with_record(status=replace(access, assignment=edit.assignment))
    holder = next_holder(found, edit)
    assert holder is not None
    assert holder.key.name == want


CONFLICTS: dict[str, tuple[tuple[ObjectState, ...], str]] = {
    "the volume does not exist": ((web(NAMED),), ""),
    "the volume is free": ((web(NAMED), volume("data")), ""),
    "it holds the volume": ((web(NAMED), held_by("web")), ""),
    "another one holds the volume": ((web(NAMED), held_by("other")), "volume data is claimed by machine other"),
    "an earlier machine of its name holds the volume": (
        (web(NAMED), held_by("web", "earlier")),
        "volume data is claimed by machine web",
    ),
    "a placed one needs it too": (
        (web(NAMED), web(NAMED, name="zulu", on="a"), volume("data")),
        "machine zulu needs volume data too",
    ),
    "an unplaced one that comes first needs it too": (
        (web(NAMED), web(NAMED, name="also"), volume("data")),
        "machine also needs volume data too",
    ),
    "an unplaced one that comes later needs it too": (
        (web(NAMED), web(NAMED, name="zulu"), volume("data")),
        "",
    ),
    "one that leaves the source needs it too": (
        (web(NAMED), web(NAMED, name="also", origin=Origin.LEAVING), volume("data")),
        "",
    ),
    "a placed one comes before one that is first by name": (
        (web(NAMED), web(NAMED, name="also"), web(NAMED, name="zulu", on="a"), volume("data")),
        "machine zulu needs volume data too",
    ),
    "it is placed already, and another one comes first": (
        (web(NAMED, on="a"), web(NAMED, name="also"), volume("data")),
        "",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("objects", "want"), CONFLICTS.values(), ids=CONFLICTS)
def test_a_machine_waits_for_a_volume_that_another_one_holds_or_gets_first(
    objects: tuple[ObjectState, ...], want: str
) -> None:
    found = Small().add(*objects)
    assert claim_conflict(found, found.objects[WEB]) == want


def test_only_machines_wait_for_volumes() -> None:
    assert claim_conflict(Small().add(held_by("web")), held_by("web")) == ""
