"""Which changes wait for the next commit, and which are worth one of their own."""

from __future__ import annotations

import msgspec
import pytest

from poollet.report.conditions import CALL_REASONS
from reconciler.plan.significance import WAITING, is_progress
from reconciler.plan.types import Action, Change
from reconciler.world.objects.object_state import ObjectState, Origin
from reconciler.world.record import NOTHING, Record
from schemas.kinds import Key, Kind, api_version
from schemas.model import (
    Assignment,
    ClaimRef,
    Condition,
    Evict,
    GrantedHost,
    MachineNetworkInterfaceStatus,
    MachinePoolStatus,
    MachineStatus,
    NameRef,
    NetworkInterfaceStatus,
    NetworkStatus,
    ResourceQuotaStatus,
    VolumePoolStatus,
    VolumeSnapshotStatus,
    VolumeStatus,
    decode,
)
from schemas.model.quantity import parse
from tests.reconciler.write.site import Site

WEB = Key(Kind.MACHINE, "default", "web")
DATA = Key(Kind.VOLUME, "default", "data")
SNAP = Key(Kind.VOLUME_SNAPSHOT, "default", "snap")
POOL, VOLUME_POOL = Key(Kind.MACHINE_POOL, "", "a"), Key(Kind.VOLUME_POOL, "", "a")
CARD = Key(Kind.NETWORK_INTERFACE, "default", "card")
NETWORK = Key(Kind.NETWORK, "default", "lan")
QUOTA = Key(Kind.RESOURCE_QUOTA, "default", "all")
SMALL = NameRef(name="small")
HERE, THERE = Assignment(pool="a", id="1", host="a"), Assignment(pool="b", id="2", host="b")
SMALL = NameRef("small")
TEN = {"storage": parse("10Gi")}


def condition(type: str, status: str = "False", reason: str = "", message: str = "") -> Condition:
    fields = {"type": type, "status": status, "reason": reason, "message": message}
    return msgspec.convert(fields, Condition)


def machine(state: str = "Pending", *conditions: Condition, **fields: object) -> MachineStatus:
    return msgspec.convert(
        {"state": state, "conditions": conditions, "assignment": HERE, **fields},
        MachineStatus,
        from_attributes=True,
    )


def refusal(number: int, reason: str = "Internal") -> Condition:
    return condition("UpToDate", reason=reason, message=f"try {number} failed")


def change(
    key: Key, before: object, after: object, action: Action = Action.STATUS, **record: object
) -> Change:
    was, now = (Record(uid="u", pool="a", status=each, **record) for each in (before, after))  # type: ignore[arg-type]
    return Change(key, action, was, now)


def rejecting(reason: str, message: str = "") -> MachinePoolStatus:
    return MachinePoolStatus(
        state="Error", conditions=(condition("FollowsLive", reason=reason, message=message),)
    )


PENDING, RUNNING = machine(), machine("Running")
MADE = VolumeStatus(state="Available", volume_id="1", assignment=HERE)
NEW = VolumeStatus(state="Pending", assignment=HERE)
CASES = [
    pytest.param(change(WEB, machine(""), PENDING), True, id="pending"),
    pytest.param(change(WEB, PENDING, RUNNING), False, id="running"),
    pytest.param(change(WEB, RUNNING, machine("Shutdown")), False, id="shut down"),
    pytest.param(change(WEB, RUNNING, PENDING), True, id="on the way to another state"),
    pytest.param(change(WEB, RUNNING, machine("Terminating")), True, id="terminating"),
    pytest.param(change(WEB, RUNNING, machine("Shutdown"), deletion_timestamp="x"), True, id="off, and ordered to be deleted"),
    pytest.param(change(WEB, machine("Running", evict=Evict(assignment="1", reason="r")), machine("Shutdown", evict=Evict(assignment="1", reason="r"))), True, id="off, and ordered to leave"),
    pytest.param(change(WEB, RUNNING, machine("Running", evict=Evict(assignment="1", reason="r"))), False, id="an order to leave"),
    pytest.param(change(WEB, RUNNING, msgspec.structs.replace(RUNNING, assignment=THERE)), False, id="another assignment"),
    pytest.param(change(WEB, RUNNING, machine("Running", observed_revision="abc")), True, id="a revision"),
    pytest.param(change(WEB, RUNNING, machine("Running", network_interfaces=(MachineNetworkInterfaceStatus(name="lan", ips=("10.0.0.2",)),))), True, id="an address"),
    pytest.param(change(WEB, PENDING, machine("Pending", condition("VolumesReady", reason="VolumeNotReady"))), True, id="a condition that waits"),
    pytest.param(change(WEB, PENDING, machine("Pending", refusal(1))), False, id="the first failure"),
    pytest.param(change(WEB, machine("Pending", refusal(1)), machine("Pending", refusal(2))), True, id="the same failure with another number"),
    pytest.param(change(WEB, machine("Pending", refusal(1)), machine("Pending", refusal(2, "TimedOut"))), True, id="another failure of the same condition"),
    pytest.param(change(WEB, machine("Pending", refusal(1)), PENDING), True, id="the end of a failure"),
    pytest.param(change(WEB, machine("Pending", refusal(1)), RUNNING), False, id="the end of a failure that leads to running"),
    pytest.param(change(WEB, machine("Running", condition("Ready", "Unknown", "RuntimeUnavailable")), machine("Running", condition("Ready", "True", "Running"))), False, id="ready again after its runtime was silent"),
    pytest.param(change(WEB, machine("Pending", condition("Ready", "False", "Pending")), machine("Pending", condition("Ready", "True", "Running"))), True, id="ready for the first time"),
    pytest.param(change(WEB, RUNNING, machine("Running", condition("Ready", "Unknown", "PoolLost"))), False, id="a lost pool"),
    pytest.param(change(WEB, RUNNING, machine("Running", condition("Scheduled", "True", "Placed"))), False, id="a condition that the reconciler decides"),
    pytest.param(change(WEB, machine("Running", condition("Accepted", message="a")), machine("Running", condition("Accepted", message="b"))), False, id="another text of such a condition"),
    pytest.param(change(WEB, RUNNING, machine("Running", observed_revision="b"), Action.BLOCKED), True, id="progress of a blocked one"),
    pytest.param(change(WEB, RUNNING, RUNNING, Action.SCHEDULE), False, id="a decision"),
    pytest.param(change(WEB, RUNNING, RUNNING, Action.UNSCHEDULABLE), False, id="unschedulable"),
    pytest.param(Change(WEB, Action.STATUS, None, Record(uid="u", status=RUNNING)), False, id="an object that is new"),
    pytest.param(Change(WEB, Action.STATUS, Record(uid="u", status=RUNNING), NOTHING), False, id="no status any more"),
    pytest.param(change(WEB, RUNNING, MADE), False, id="a status of another kind"),
    pytest.param(change(WEB, RUNNING, machine("Running", machineClassRef=SMALL)), True, id="a class that pends"),
    pytest.param(change(WEB, RUNNING, machine("Running", condition("UpToDate", reason="ClassNotOffered"), machineClassRef=SMALL)), False, id="a class that is refused"),
    pytest.param(change(WEB, machine("Running", machineClassRef=SMALL), RUNNING), False, id="a class that pends no longer"),
    pytest.param(change(DATA, NEW, VolumeStatus(state="Pending", volume_id="1", assignment=HERE)), True, id="a volume is being made"),
    pytest.param(change(DATA, NEW, MADE), False, id="a volume without a machine is made"),
    pytest.param(change(DATA, MADE, msgspec.structs.replace(MADE, resources=TEN)), True, id="a volume that grew"),
    pytest.param(change(DATA, MADE, msgspec.structs.replace(MADE, state="Error")), False, id="a volume that failed"),
    pytest.param(change(DATA, MADE, msgspec.structs.replace(MADE, state="Pending"), deletion_timestamp="x"), True, id="a volume that is deleted"),
    pytest.param(change(SNAP, VolumeSnapshotStatus(), VolumeSnapshotStatus(state="Pending", snapshot_id="1")), True, id="a snapshot is being taken"),
    pytest.param(change(SNAP, VolumeSnapshotStatus(), VolumeSnapshotStatus(state="Ready", snapshot_id="1")), False, id="a snapshot that is ready"),
    pytest.param(change(POOL, MachinePoolStatus(state="Ready"), MachinePoolStatus(state="Ready", capacity=TEN, allocatable=TEN)), True, id="a capacity that drifts"),
    pytest.param(change(POOL, MachinePoolStatus(state="Ready"), MachinePoolStatus(state="Pending")), False, id="a pool that is lost"),
    pytest.param(change(POOL, rejecting("LiveMissing"), rejecting("LiveRewritten")), False, id="another reason not to follow live"),
    pytest.param(change(POOL, rejecting("LiveRewritten"), rejecting("LiveRewritten", "of another commit")), True, id="another text of such a reason"),
    pytest.param(change(POOL, MachinePoolStatus(state="Ready"), MachinePoolStatus(state="Ready", available_machine_classes=(SMALL,))), False, id="a class that machines can use from now on"),
    pytest.param(change(VOLUME_POOL, VolumePoolStatus(available_volume_classes=(SMALL,)), VolumePoolStatus()), False, id="a class that a volume pool ceases to offer"),
    pytest.param(change(POOL, MachinePoolStatus(), MachinePoolStatus(host=GrantedHost(id="a"), epoch=1)), False, id="a grant"),
    pytest.param(change(VOLUME_POOL, VolumePoolStatus(), VolumePoolStatus(allocatable=TEN)), True, id="the room of a volume pool"),
    pytest.param(change(CARD, NetworkInterfaceStatus(), NetworkInterfaceStatus(state="Available", ips=("10.0.0.2",))), True, id="an interface"),
    pytest.param(change(NETWORK, NetworkStatus(), NetworkStatus(state="Available")), False, id="a state that is not named"),
    pytest.param(change(QUOTA, ResourceQuotaStatus(), ResourceQuotaStatus(used=TEN)), True, id="what a quota counts"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "want"), CASES)
def test_progress_waits_and_outcomes_do_not(given: Change, want: bool) -> None:
    assert is_progress(given, Site({}, {})) is want


def object_of(key: Key, record: Record, **spec: object) -> ObjectState:
    body = {
        "apiVersion": api_version(key.kind),
        "kind": key.kind.value,
        "metadata": {"name": key.name},
        "spec": spec,
    }
    return ObjectState(key=key, object=decode(key.kind, body), origin=Origin.DECLARED, record=record)


def place(*known: ObjectState) -> Site:
    site = Site({}, {})
    for each in known:
        site.objects[each.key] = each
        site.relations.replace(None, each)
    return site


def user(assignment: Assignment, state: str) -> ObjectState:
    disk = {"name": "data", "volumeRef": {"name": "data"}}
    record = Record(uid="m", pool=assignment.pool, status=MachineStatus(state=state, assignment=assignment))  # type: ignore[arg-type]
    return object_of(WEB, record, machineClassRef={"name": "small"}, volumes=[disk])


@pytest.mark.parametrize(
    ("users", "want"),
    [
        pytest.param([user(HERE, "Pending")], True, id="its machine starts on the same host"),
        pytest.param([user(HERE, "Running")], False, id="its machine runs: it may be attached and written"),
        pytest.param([user(THERE, "Pending")], False, id="another host needs its access data"),
        pytest.param(
            [user(HERE, "Pending"), object_of(SNAP, Record(uid="s", status=VolumeSnapshotStatus()), volumeRef={"name": "data"})],
            False,
            id="a snapshot waits for it",
        ),
    ],
)  # fmt: skip
def test_a_volume_that_is_made_waits_for_its_machine_alone(users: list[ObjectState], want: bool) -> None:
    record = Record(uid="u", pool="a", claim=ClaimRef(name="web", uid="m", assignment="1"))
    volume = object_of(DATA, record, volumeClassRef={"name": "standard"}, resources={"storage": "1Gi"})
    assert is_progress(change(DATA, NEW, MADE), place(*users, volume)) is want


@pytest.mark.parametrize(
    ("power", "want"),
    [
        pytest.param("On", True, id="its host starts it again"),
        pytest.param("Off", False, id="as people want it"),
    ],
)
def test_a_machine_that_is_off_stays_so_if_it_is_to_be_off(power: str, want: bool) -> None:
    record = Record(uid="u", pool="a", status=RUNNING)
    known = object_of(WEB, record, machineClassRef={"name": "small"}, power=power)
    assert is_progress(change(WEB, RUNNING, machine("Shutdown")), place(known)) is want


def test_a_call_that_failed_is_never_taken_for_one_that_waits() -> None:
    assert not WAITING & CALL_REASONS
