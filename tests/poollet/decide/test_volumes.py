"""The lives of volumes and snapshots on a simulated host."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from iri.runtime import KIND_NAMES
from iri.simulated.faults.fault_rules import FaultRule
from iri.simulated.profile import Profile
from iri.volume import RuntimeSnapshot, RuntimeVolume
from poollet.decide.actions import Ref
from poollet.runtimes.runtime_lists import ListKey
from poollet.sync.live_view import LiveDocument
from schemas import report
from schemas.kinds import Kind
from tests.poollet.documents import GIB, document, machine, referring, snapshot, uid_of, volume
from tests.poollet.site import DISKS, Site, kinds_of, site, with_allocatable

DATA = ("default", "data")


def find_condition(entry: report.VolumeReport | report.SnapshotReport) -> dict[str, tuple[str, str]]:
    assert entry.status is not None
    return {one.type: (one.status, one.reason) for one in entry.status.conditions}


def test_an_assigned_volume_is_created() -> None:
    here = site(volume(size="2Gi"))
    entry = here.settle().volumes[DATA]
    assert entry.phase == "present"
    assert entry.status is not None
    assert (entry.status.state, entry.status.resources) == ("Available", {"storage": "2Gi"})
    assert entry.status.access is not None
    assert entry.status.access.handle
    assert kinds_of(here.calls) == ["Create"]


def test_a_volume_grows_and_its_machine_learns_the_size() -> None:
    here = site(machine(spec={"volumes": referring("data")}), volume(claim="web"))
    here.settle()
    here.put(volume(claim="web", size="3Gi"))
    here.calls.clear()
    here.settle()
    assert kinds_of(here.calls) == ["ExpandVolume", "UpdateVolume"]
    (there,) = here.machines().values()
    assert there.spec.volumes[0].connection.effective_storage_bytes == 3 * GIB  # type: ignore[union-attr]
    assert "DriftCorrected" not in here.events


@pytest.mark.parametrize(
    ("after", "reason"),
    [
        ({"size": "512Mi"}, "Shrinks"),
        ({"size": "1Gi", "class_name": "static"}, "ClassDiffers"),
        ({"size": "9000Ti"}, "InsufficientForExpansion"),
    ],
)
def test_an_impossible_change_of_a_volume_is_reported_and_not_tried(
    after: dict[str, str], reason: str
) -> None:
    here = site(volume())
    here.settle()
    here.put(volume(**after))
    here.calls.clear()
    decision = here.settle()
    assert here.calls == []
    assert find_condition(decision.volumes[DATA])["UpToDate"] == ("False", reason)


def test_a_class_that_does_not_expand_keeps_its_size() -> None:
    here = site(volume(class_name="static"))
    here.settle()
    here.put(volume(class_name="static", size="2Gi"))
    here.calls.clear()
    assert find_condition(here.settle().volumes[DATA])["UpToDate"] == ("False", "NotExpandable")
    assert here.calls == []


def test_a_deleted_volume_is_removed_once_it_is_detached() -> None:
    here = site(machine(spec={"volumes": referring("data")}), volume(claim="web"))
    here.settle()
    here.put(volume(going=True))
    decision = here.rounds(6)
    assert find_condition(decision.volumes[DATA])["UpToDate"] == ("False", "Attached")
    assert decision.volumes[DATA].attached_to
    assert here.removed == []
    here.put(machine())
    decision = here.settle()
    assert decision.volumes[DATA].phase == "gone"
    assert here.volumes() == {}


def test_a_claimed_volume_is_not_removed() -> None:
    here = site(volume())
    here.settle()
    here.put(volume(going=True, claim="elsewhere"))
    decision = here.settle()
    assert find_condition(decision.volumes[DATA])["UpToDate"] == ("False", "Claimed")
    assert here.removed == []


def test_a_machine_is_removed_before_its_volume() -> None:
    here = site(machine(spec={"volumes": referring("data")}), volume(claim="web"))
    here.settle()
    here.put(machine(spec={"volumes": referring("data")}, going=True), volume(claim="web", going=True))
    decision = here.settle()
    assert [KIND_NAMES[ref.kind] for _, ref in here.removed] == ["Machine", "Volume"]
    assert (decision.machines[("default", "web")].phase, decision.volumes[DATA].phase) == ("gone", "gone")


@pytest.mark.parametrize(
    ("policy", "owner", "goes"),
    [
        ("Delete", "", True),
        ("Delete", uid_of(Kind.MACHINE, "web"), True),
        ("", uid_of(Kind.MACHINE, "web"), True),
        ("", "", False),
        ("Retain", "", False),
        ("Retain", uid_of(Kind.MACHINE, "web"), False),
    ],
    ids=["given up", "given up, owned", "owned", "unsaid", "to be retained", "to be retained, owned"],
)
def test_data_is_removed_only_if_its_deletion_policy_says_so(policy: str, owner: str, goes: bool) -> None:
    """However it came to be ordered away: it may have been made since `live` was written."""
    here = site(volume(policy=policy, owner=owner))
    here.settle()
    here.put(volume(policy=policy, owner=owner, going=True))
    entry = here.settle().volumes[DATA]
    assert (here.volumes() == {}) is goes
    assert entry.phase == ("gone" if goes else "present")
    if not goes:
        assert entry.status is not None
        assert (find_condition(entry)["UpToDate"], entry.status.state) == (("False", "Retained"), "Available")


@pytest.mark.parametrize("policy", ["", "Retain"])
def test_a_volume_deleted_before_its_creation_is_gone(policy: str) -> None:
    here = site(volume(policy=policy, going=True))
    assert here.settle().volumes[DATA].phase == "gone"
    assert kinds_of(here.calls) == ["End"]


def test_no_volume_is_removed_while_machines_cannot_be_listed() -> None:
    here = site(volume())
    here.settle()
    here.put(volume(going=True))
    here.sim.faults.add(FaultRule(call="ListMachines", code="UNAVAILABLE"))
    decision = here.rounds(5)
    assert find_condition(decision.volumes[DATA])["UpToDate"] == ("False", "HoldersUnknown")
    assert here.removed == []


def test_a_volume_that_vanished_is_reported_and_never_recreated() -> None:
    here = site(volume())
    here.settle()
    here.sim.runtime.remove(RuntimeVolume, uid_of(Kind.VOLUME, "data"))
    decision = here.settle()
    assert here.volumes() == {}
    assert (decision.volumes[DATA].phase, find_condition(decision.volumes[DATA])["Ready"]) == (
        "unknown",
        ("False", "Lost"),
    )
    here.restart()
    assert here.settle().volumes[DATA] == decision.volumes[DATA]
    assert kinds_of(here.calls) == ["Create"]


def test_a_volume_that_live_knows_is_never_recreated() -> None:
    """As after `Pool-Host` to a host without the disks, or where the report ref was deleted: only `live` knows that it existed."""
    known = {"volumeID": "sim://1", "state": "Available", "resources": {"storage": "1Gi"}}
    here = site(volume(status=known))
    first = here.round().volumes[DATA]
    assert (first.phase, first.status) == ("unknown", None), "what live has stays until it is certain"
    entry = here.settle().volumes[DATA]
    assert (entry.phase, find_condition(entry)["Ready"]) == ("unknown", ("False", "Lost"))
    assert entry.status is not None
    assert (entry.status.volume_id, entry.status.resources) == ("sim://1", {"storage": "1Gi"})
    here.documents = [volume(status=known | {"state": "Error"})]
    here.restart()
    assert here.settle().volumes[DATA] == entry
    assert here.calls == []


def test_a_snapshot_that_live_knows_is_never_recreated() -> None:
    here = site(volume(), snapshot(status={"snapshotID": "sim://2", "state": "Ready"}))
    entry = here.settle().snapshots[("default", "shot")]
    assert (entry.phase, find_condition(entry)["Ready"]) == ("unknown", ("False", "Lost"))
    assert entry.status is not None
    assert entry.status.snapshot_id == "sim://2"
    assert kinds_of(here.calls) == ["Create"], "of the volume alone"


def test_a_retained_volume_is_kept_whatever_its_document_says() -> None:
    here = site(volume())
    here.settle()
    here.documents = [volume(going=True, size="5Gi", path=".gitvirt/retained/Volume/default/data.yaml")]
    here.calls.clear()
    decision = here.settle()
    assert here.calls == []
    assert decision.volumes[DATA].phase == "present"


def test_an_encrypted_volume_waits_for_its_key() -> None:
    spec = {"encryption": {"secretRef": {"name": "luks"}}}
    here = site(volume(claim="web", spec=spec), machine(spec={"volumes": referring("data")}))
    decision = here.rounds(5)
    assert find_condition(decision.volumes[DATA])["SecretsReady"] == ("False", "SecretMissing")
    here.with_secrets(luks=b"sesame")
    decision = here.settle()
    (there,) = here.volumes().values()
    assert there.spec.encryption is not None
    assert there.spec.encryption.secret_data == {"key": b"sesame"}
    (user,) = here.machines().values()
    assert user.spec.volumes[0].connection.encryption_data == {"key": b"sesame"}  # type: ignore[union-attr]
    assert "sesame" not in repr(decision)


def with_shot(here: Site) -> Site:
    here.settle()
    here.put(snapshot())
    here.settle()
    return here


def test_a_snapshot_is_taken_once_its_volume_is_available() -> None:
    here = site(snapshot(), volume())
    decision = here.settle()
    entry = decision.snapshots[("default", "shot")]
    assert entry.phase == "present"
    assert entry.status is not None
    assert (entry.status.state, entry.status.size) == ("Ready", "1Gi")
    assert kinds_of(here.calls) == ["Create", "Create"]
    assert isinstance(here.calls[1].desired, RuntimeSnapshot)  # type: ignore[union-attr]


def test_a_volume_is_created_from_a_snapshot() -> None:
    here = with_shot(site(volume()))
    source = {"dataSource": {"volumeSnapshotRef": {"name": "shot"}}}
    here.put(
        volume("copy", spec=source),
        volume("other", spec={"dataSource": {"volumeSnapshotRef": {"name": "no"}}}),
    )
    decision = here.settle()
    assert decision.volumes[("default", "copy")].status.state == "Available"  # type: ignore[union-attr]
    assert find_condition(decision.volumes[("default", "other")])["DataSourceReady"] == (
        "False",
        "SnapshotMissing",
    )


def test_a_snapshot_is_removed_by_order_after_its_volume_is_gone() -> None:
    here = with_shot(site(volume()))
    here.put(volume(going=True))
    here.settle()
    here.drop(volume())
    decision = here.settle()
    assert decision.snapshots[("default", "shot")].phase == "present"
    here.put(snapshot(going=True))
    assert here.settle().snapshots[("default", "shot")].phase == "gone"
    assert here.sim.runtime.objects(RuntimeSnapshot) == {}


def test_a_snapshot_of_a_volume_on_another_host_is_ignored() -> None:
    here = site(snapshot(pool="elsewhere"), volume(pool="elsewhere"))
    decision = here.settle()
    assert decision.snapshots == {}
    assert here.calls == []


def test_a_volume_that_does_not_fit_is_rejected() -> None:
    here = site(volume("one", size="3Gi"), volume("two", size="2Gi"))
    here.facts = with_allocatable(here.facts, DISKS, storage=4 * GIB)
    decision = here.settle()
    entry = decision.volumes[("default", "two")]
    assert entry.phase == "rejected"
    assert [(one.code, one.resource, one.need, one.have) for one in entry.reasons] == [
        ("Insufficient", "storage", "2Gi", "1Gi")
    ]
    here.facts = with_allocatable(here.facts, DISKS, storage=40 * GIB)
    here.restart()
    assert here.settle().volumes[("default", "two")] == entry
    assert list(here.volumes()) == [uid_of(Kind.VOLUME, "one")]


def test_a_permanent_error_of_the_creation_is_a_rejection() -> None:
    here = site(volume(size="2Gi"), profile=Profile(capacity={"cpu": 4, "memory": 8 * GIB, "storage": GIB}))
    entry = here.settle().volumes[DATA]
    assert (entry.phase, entry.reasons[0].code) == ("rejected", "ResourceExhausted")


def test_a_volume_that_is_being_attached_is_not_removed() -> None:
    here = site(machine(spec={"volumes": referring("data")}), volume(claim="web"))
    here.settle()
    web = Ref(type(next(iter(here.machines().values()))), uid_of(Kind.MACHINE, "web"))
    here.ended_ms[web] = here.now_ms + 10_000  # No list shows yet what was done to the machine last.

    def detach(place: ListKey, objects: dict[str, object]) -> dict[str, object]:
        return {} if KIND_NAMES[place.kind] == "Machine" else objects

    here.tamper = detach
    here.put(volume(going=True))
    decision = here.rounds(3)
    assert find_condition(decision.volumes[DATA])["UpToDate"] == ("False", "Attaching")
    assert here.removed == []


def test_the_keys_of_an_access_secret_are_reported_without_values() -> None:
    here = site(volume())
    here.settle()
    (there,) = here.volumes().values()
    assert there.status.access is not None

    def with_key(place: ListKey, objects: dict[str, object]) -> dict[str, object]:
        return {
            id: with_secret(one) if isinstance(one, RuntimeVolume) else one for id, one in objects.items()
        }

    here.tamper = with_key
    decision = here.round()
    entry = decision.volumes[DATA]
    assert entry.status is not None
    assert [one.message for one in entry.status.conditions if one.type == "AccessSecret"] == [
        "userID, userKey"
    ]
    assert "hidden" not in str(decision)


def with_secret(volume: RuntimeVolume) -> RuntimeVolume:

    assert volume.status.access is not None
    access = replace(volume.status.access, secret_data={"userKey": b"hidden", "userID": b"hidden"})
    return replace(volume, status=replace(volume.status, access=access))


def remote(*, needs_secret: bool = False) -> LiveDocument:
    status: dict[str, object] = {
        "state": "Available",
        "access": {"driver": "ceph", "handle": "0815", "volumeAttributes": {"monitors": "m"}},
        "resources": {"storage": "1Gi"},
    }
    if needs_secret:
        status["conditions"] = [
            {"type": "AccessSecret", "status": "True", "reason": "Required", "message": "key"}
        ]
    return volume(pool="ceph", claim="web", status=status)


def test_a_volume_on_another_host_is_attached_with_the_access_data_on_live() -> None:
    here = site(machine(spec={"volumes": referring("data")}), remote())
    here.settle()
    (there,) = here.machines().values()
    connection = there.spec.volumes[0].connection
    assert connection is not None
    assert (connection.driver, connection.handle, connection.effective_storage_bytes) == ("ceph", "0815", GIB)


def test_a_volume_on_another_host_waits_for_its_secret_in_the_hosts_file() -> None:
    here = site(machine(spec={"volumes": referring("data")}), remote(needs_secret=True))
    decision = here.settle()
    entry = decision.machines[("default", "web")]
    (condition,) = [one for one in entry.status.conditions if one.type == "VolumesReady"]  # type: ignore[union-attr]
    assert condition.reason == "AccessSecretMissing"
    assert "default/data" in condition.message
    here.with_secrets(data=b"ceph-key")
    here.settle()
    (there,) = here.machines().values()
    assert there.spec.volumes[0].connection.secret_data == {"key": b"ceph-key"}  # type: ignore[union-attr]


def test_a_volume_of_an_unknown_class_waits() -> None:
    unknown = volume(class_name="unknown")
    here = site(
        unknown,
        document(Kind.VOLUME_CLASS, "new", capabilities={"tps": "1", "iops": "1"}),
        volume("b", class_name="new"),
    )
    decision = here.settle()
    assert find_condition(decision.volumes[DATA])["ClassReady"] == ("False", "ClassMissing")
    assert find_condition(decision.volumes[("default", "b")])["ClassReady"] == ("False", "ClassNotOffered")


def test_a_retained_snapshot_that_was_never_taken_is_not_taken() -> None:
    here = site(volume(), snapshot(path=".gitvirt/retained/VolumeSnapshot/default/shot.yaml"))
    here.settle()
    assert here.sim.runtime.objects(RuntimeSnapshot) == {}


@pytest.mark.parametrize("turn", range(1, 7))
def test_a_new_volume_is_created_beside_a_retained_one_of_its_name(turn: int) -> None:
    """Whichever of the two has the smaller uid. The retained one is not an orphan, for which a person would be offered the file that deletes it."""
    here = site(volume())
    here.settle()
    (kept,) = here.volumes()
    here.documents = [volume(path=".gitvirt/retained/Volume/default/data.yaml"), volume(turn=turn)]
    decision = here.settle()
    assert kept in here.volumes()
    assert len(here.volumes()) == 2
    assert decision.volumes[DATA].uid == uid_of(Kind.VOLUME, "data", turn)
    assert decision.volumes[DATA].phase == "present"
    assert decision.orphans == ()
