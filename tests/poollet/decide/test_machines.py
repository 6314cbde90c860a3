"""One machine's life on a simulated host."""

from __future__ import annotations

import itertools
from dataclasses import replace

import msgspec
import pytest

from iri.change import DetachInterface, Resize, RuntimeChange, SetAnnotations, SetPower
from iri.machine import MachineState, Power, RuntimeMachine
from iri.simulated import machine_calls
from iri.simulated.faults.fault_rules import FaultRule
from iri.simulated.machine_calls import GuestAction
from iri.simulated.machine_lifecycle import SimulatedMachine
from iri.volume import RuntimeVolume, RuntimeVolumeStatus, VolumeState
from poollet.decide.actions import UpdateCall
from poollet.runtimes.runtime_lists import ListKey
from poollet.sync.live_view import LiveDocument
from schemas.kinds import Kind
from tests.poollet.documents import document, interfaces, machine, referring, volume
from tests.poollet.site import kinds_of, site, with_allocatable

WEB = ("default", "web")


def test_an_assigned_machine_is_created_and_runs() -> None:
    here = site(machine())
    decision = here.settle()
    entry = decision.machines[WEB]
    assert entry.phase == "present"
    assert entry.status is not None
    assert entry.status.state == "Running"
    assert entry.status.machine_id.startswith("gitvirt-simulated://")
    assert entry.status.observed_revision
    assert kinds_of(here.calls) == ["Create"]
    assert here.events == ["Created"]


def test_a_machine_comes_with_its_volumes_and_interfaces() -> None:
    web = machine(spec={"volumes": referring("data"), "networkInterfaces": interfaces("lan")})
    here = site(web, volume(claim="web"))
    decision = here.settle()
    assert kinds_of(here.calls) == ["Create", "Create"]
    status = decision.machines[WEB].status
    assert status is not None
    assert [(one.name, one.state) for one in status.volumes] == [("data", "Attached")]
    assert [(one.name, one.state) for one in status.network_interfaces] == [("lan", "Attached")]
    assert status.network_interfaces[0].mac_address
    assert decision.volumes[("default", "data")].attached_to == (web.object.metadata.uid,)


def test_a_machine_that_is_off_is_never_booted() -> None:
    here = site(machine(spec={"power": "Off"}))
    here.settle()
    (there,) = here.machines().values()
    assert there.status.state is MachineState.SUSPENDED
    assert there.detail.boots == 0


def test_power_follows_the_manifest() -> None:
    here = site(machine())
    here.settle()
    here.put(machine(spec={"power": "Off"}))
    decision = here.settle()
    assert decision.machines[WEB].status.state == "Shutdown"  # type: ignore[union-attr]
    here.put(machine())
    here.settle()
    (there,) = here.machines().values()
    assert (there.status.state, there.spec.power) == (MachineState.RUNNING, Power.ON)
    assert "DriftCorrected" not in here.events


def test_a_deleted_machine_is_switched_off_and_removed() -> None:
    here = site(machine())
    here.settle()
    here.put(machine(going=True))
    decision = here.settle()
    assert decision.machines[WEB].phase == "gone"
    assert here.machines() == {}
    assert kinds_of(here.calls) == ["Create", "SetPower", "Remove", "End"]


def test_a_guest_that_does_not_power_off_is_removed_after_a_minute() -> None:
    here = site(machine())
    here.settle()
    (there,) = here.machines()
    with here.sim.host.lock() as now_ns:
        machine_calls.act(
            here.sim.host, here.sim.host.find(SimulatedMachine, there), GuestAction.HANG, now_ns
        )
    here.put(machine(going=True))
    here.facts = replace(here.facts, power_off_seconds=5)
    started_ms = here.now_ms
    here.settle()
    assert here.machines() == {}
    assert here.removed[0][0] - started_ms >= 5000


def test_an_evicted_machine_is_removed_and_its_assignment_never_comes_back() -> None:
    here = site(machine())
    here.settle()
    here.put(machine(evicted=True))
    assert here.settle().machines[WEB].phase == "gone"
    here.put(machine())  # The same assignment again: it was answered for good.
    assert here.settle().machines[WEB].phase == "gone"
    assert here.machines() == {}
    here.put(machine(round=1))
    assert here.settle().machines[WEB].phase == "present"
    assert len(here.machines()) == 1


def test_volumes_are_attached_and_detached_as_the_manifest_says() -> None:
    here = site(machine(), volume("one", claim="web"), volume("two", claim="web"))
    here.settle()
    here.put(machine(spec={"volumes": referring("one", "two")}))
    here.settle()
    (there,) = here.machines().values()
    assert [disk.name for disk in there.spec.volumes] == ["one", "two"]
    here.put(machine(spec={"volumes": referring("two")}))
    here.settle()
    (there,) = here.machines().values()
    assert [entry.name for entry in there.status.volumes] == ["two"]
    assert there.status.state is MachineState.RUNNING


def test_another_volume_under_the_same_name_is_attached_once_the_first_is_out() -> None:
    entry = [{"name": "disk", "volumeRef": {"name": "one"}}]
    here = site(machine(spec={"volumes": entry}), volume("one", claim="web"), volume("two", claim="web"))
    here.settle()
    here.put(machine(spec={"volumes": [{"name": "disk", "volumeRef": {"name": "two"}}]}))
    here.calls.clear()
    here.settle()
    assert kinds_of(here.calls) == ["DetachVolume", "AttachVolume"]
    (there,) = here.machines().values()
    two = here.volumes()[volume("two").object.metadata.uid]
    assert there.status.volumes[0].handle == two.status.access.handle  # type: ignore[union-attr]


def test_a_volume_that_is_not_ready_for_a_moment_stays_attached() -> None:
    here = site(machine(spec={"volumes": referring("data")}), volume(claim="web"))
    here.settle()
    here.calls.clear()

    def unready(place: ListKey, objects: dict[str, object]) -> dict[str, object]:
        return {
            id: msgspec.structs.replace(one, status=RuntimeVolumeStatus(state=VolumeState.ERROR))
            if isinstance(one, RuntimeVolume)
            else one
            for id, one in objects.items()
        }

    here.tamper = unready
    decision = here.rounds(5)
    assert here.calls == []
    conditions = {one.type: one for one in decision.machines[WEB].status.conditions}  # type: ignore[union-attr]
    assert (conditions["VolumesReady"].status, conditions["VolumesReady"].reason) == (
        "False",
        "VolumeNotReady",
    )
    here.drop(volume())
    here.rounds(5)
    assert [one for one in here.calls if isinstance(one, UpdateCall)] == []


def test_a_volume_claimed_by_another_machine_is_not_attached_and_not_detached() -> None:
    here = site(machine(spec={"volumes": referring("data")}), volume(claim="web"))
    here.settle()
    here.put(volume(claim="other"))
    here.rounds(5)
    assert kinds_of(here.calls) == ["Create", "Create"]
    other = machine("other", spec={"volumes": referring("data")})
    here.put(other)
    decision = here.rounds(8)
    assert len(here.machines()) == 1
    conditions = {one.type: one for one in decision.machines[("default", "other")].status.conditions}  # type: ignore[union-attr]
    assert conditions["VolumesReady"].reason == "VolumeHeld"
    here.put(machine())
    here.settle()
    there = here.machines()[other.object.metadata.uid]
    assert [disk.name for disk in there.spec.volumes] == ["data"]


def test_a_volume_waits_for_its_device_without_a_call() -> None:
    """The disk that has the device is of a volume that is being deleted. It stays attached, so no call can succeed."""
    here = site(machine(spec={"volumes": referring("old")}), volume("old", claim="web"))
    here.settle()
    here.calls.clear()
    here.put(
        machine(spec={"volumes": referring("new", "old")}),
        volume("new", claim="web"),
        volume("old", claim="web", going=True),
    )
    decision = here.settle()
    assert kinds_of(here.calls) == ["Create"]  # of the volume
    (there,) = here.machines().values()
    assert [(one.name, one.device) for one in there.spec.volumes] == [("old", "oda")]
    (condition,) = [one for one in decision.machines[WEB].status.conditions if one.type == "UpToDate"]  # type: ignore[union-attr]
    assert (condition.status, condition.reason) == ("False", "DeviceInUse")
    assert condition.message == (
        "volume new waits for device oda, which volume old has: Volume old is being deleted"
    )


def test_a_volume_before_another_one_takes_over_its_device() -> None:
    here = site(machine(spec={"volumes": referring("data")}), volume(claim="web"), volume("new", claim="web"))
    here.settle()
    here.calls.clear()
    here.put(machine(spec={"volumes": referring("new", "data")}))
    here.settle()
    assert kinds_of(here.calls) == ["UpdateVolume", "AttachVolume"]
    (there,) = here.machines().values()
    assert {one.name: one.device for one in there.spec.volumes} == {"new": "oda", "data": "odb"}


def test_interfaces_follow_the_manifest() -> None:
    here = site(machine(spec={"networkInterfaces": interfaces("one")}))
    here.settle()
    here.put(machine(spec={"networkInterfaces": interfaces("two")}))
    here.calls.clear()
    here.settle()
    assert kinds_of(here.calls) == ["SetAnnotations", "DetachInterface", "AttachInterface"]
    (there,) = here.machines().values()
    assert [one.name for one in there.spec.network_interfaces] == ["two"]


def test_an_interface_keeps_its_address_for_ever() -> None:
    macs = set()
    for _ in range(2):
        here = site(machine(spec={"networkInterfaces": interfaces("lan")}))
        here.settle()
        (there,) = here.machines().values()
        macs.add(there.spec.network_interfaces[0].attributes["mac"])
    assert len(macs) == 1
    assert int(macs.pop()[:2], 16) & 3 == 2  # locally administered, and no group


def test_another_class_is_a_resize() -> None:
    here = site(machine())
    here.settle()
    here.put(machine(class_name="medium"))
    here.calls.clear()
    decision = here.settle()
    assert kinds_of(here.calls) == ["Resize"]
    assert decision.machines[WEB].phase == "present"


def test_a_resize_that_does_not_fit_is_reported_and_not_tried() -> None:
    here = site(machine(), machine("other"))
    here.facts = with_allocatable(here.facts, cpu=3000)
    here.settle()
    here.put(machine(class_name="large"))
    here.calls.clear()
    decision = here.settle()
    assert here.calls == []
    conditions = {one.type: one for one in decision.machines[WEB].status.conditions}  # type: ignore[union-attr]
    assert conditions["UpToDate"].reason == "InsufficientForResize"
    assert "cpu: 7 needed, 1 left" in conditions["UpToDate"].message
    assert decision.machines[("default", "other")].phase == "present"
    status = decision.machines[WEB].status
    assert status is not None
    assert status.machine_class_ref is not None
    assert status.machine_class_ref.name == "small"


def test_a_resize_that_does_not_fit_holds_up_no_other_machine() -> None:
    here = site(machine(), machine("other"))
    here.facts = with_allocatable(here.facts, cpu=3000)
    here.settle()
    here.put(machine(class_name="large"))
    here.settle()
    here.put(machine("third"))
    decision = here.settle()
    assert decision.machines[("default", "third")].phase == "present"
    assert len(here.machines()) == 3
    here.put(machine("fourth"))
    assert here.settle().machines[("default", "fourth")].phase == "rejected"


def test_room_that_becomes_free_goes_to_the_resize_before_it_goes_to_a_new_machine() -> None:
    here = site(machine(), machine("other"))
    here.facts = with_allocatable(here.facts, cpu=3000)
    here.settle()
    here.put(machine(class_name="large"))
    here.settle()
    here.facts = with_allocatable(here.facts, cpu=9000)
    here.put(machine("third"))
    here.put(machine("fourth"))
    here.calls.clear()
    decision = here.settle()
    assert "Resize" in kinds_of(here.calls)
    phases = {decision.machines[("default", name)].phase for name in ("third", "fourth")}
    assert phases == {"rejected"}
    status = decision.machines[WEB].status
    assert status is not None
    assert status.machine_class_ref is None


def test_of_two_resizes_that_do_not_fit_together_one_is_made() -> None:
    here = site(machine(), machine("other"))
    here.facts = with_allocatable(here.facts, cpu=10_000)
    here.settle()
    here.put(machine(class_name="large"))
    here.put(machine("other", class_name="large"))
    here.calls.clear()
    here.settle()
    here.settle()
    assert kinds_of(here.calls) == ["Resize"]


def test_a_restart_token_restarts_once() -> None:
    here = site(machine())
    here.settle()
    here.put(machine(annotations={"gitvirt.dev/restart": "1"}))
    here.calls.clear()
    decision = here.settle()
    assert kinds_of(here.calls) == ["SetPower", "SetAnnotations", "SetPower"]
    (there,) = here.machines().values()
    assert (there.status.state, there.detail.boots) == (MachineState.RUNNING, 2)
    assert decision.machines[WEB].status.restart == "1"  # type: ignore[union-attr]
    here.put(machine())
    here.settle()
    assert next(iter(here.machines().values())).detail.boots == 2


def test_a_machine_that_waits_for_an_interface_restarts_once_too() -> None:
    here = site(machine())
    here.settle()
    waiting = {"networkInterfaces": [{"name": "lan", "networkInterfaceRef": {"name": "lost"}}]}
    here.put(machine(annotations={"gitvirt.dev/restart": "1"}, spec=waiting))
    here.settle()
    (there,) = here.machines().values()
    assert (there.status.state, there.detail.boots) == (MachineState.RUNNING, 2)


def test_a_new_machine_and_one_that_is_off_need_no_restart() -> None:
    token = {"gitvirt.dev/restart": "1"}
    here = site(machine(annotations=token))
    here.settle()
    assert kinds_of(here.calls) == ["Create"]
    here = site(machine(spec={"power": "Off"}))
    here.settle()
    here.put(machine(spec={"power": "Off"}, annotations=token))
    decision = here.settle()
    assert decision.machines[WEB].status.restart == "1"  # type: ignore[union-attr]
    assert next(iter(here.machines().values())).detail.boots == 0


@pytest.mark.parametrize("going", [False, True])
def test_a_paused_machine_is_left_alone(going: bool) -> None:
    paused = {"gitvirt.dev/paused": "true"}
    here = site(machine())
    here.settle()
    here.calls.clear()
    here.put(
        machine(annotations=paused, spec={"power": "Off"}, going=going), machine("new", annotations=paused)
    )
    decision = here.rounds(5)
    assert here.calls == []
    for name in ("web", "new"):
        conditions = {one.type: one for one in decision.machines[("default", name)].status.conditions}  # type: ignore[union-attr]
        assert conditions["UpToDate"].reason == "Paused"


DRIFTS = {
    "stopped": SetPower(Power.OFF),
    "annotated": SetAnnotations({}),
    "unplugged": DetachInterface("lan"),
    "resized": Resize("medium"),
}


@pytest.mark.parametrize("change", DRIFTS.values(), ids=DRIFTS.keys())
def test_drift_on_the_host_is_corrected_and_reported(change: RuntimeChange) -> None:
    here = site(machine(spec={"networkInterfaces": interfaces("lan")}))
    here.settle()
    (before,) = here.machines().values()
    here.sim.runtime.change(before.id, change)
    here.settle()
    (after,) = here.machines().values()
    assert (after.spec, after.annotations, after.status.state) == (
        before.spec,
        before.annotations,
        MachineState.RUNNING,
    )
    assert here.events == ["Created", "DriftCorrected"]


def test_a_machine_that_vanished_is_recreated_and_reported() -> None:
    here = site(machine())
    here.settle()
    (id,) = here.machines()
    here.sim.runtime.remove(RuntimeMachine, id)
    decision = here.settle()
    assert decision.machines[WEB].status.state == "Running"  # type: ignore[union-attr]
    assert here.events == ["Created", "Recreated"]


def test_a_guest_that_powers_itself_off_again_and_again_is_started_ever_more_rarely() -> None:
    here = site(machine())
    here.settle()
    here.calls.clear()
    starts = []
    for _ in range(300):
        (there,) = here.machines().values()
        if there.status.state is MachineState.RUNNING:
            with here.sim.host.lock() as now_ns:
                machine_calls.act(
                    here.sim.host,
                    here.sim.host.find(SimulatedMachine, there.id),
                    GuestAction.CRASH,
                    now_ns,
                )
        before = len(here.calls)
        here.round(2)
        starts += [here.now_ms] * (len(here.calls) - before)
    gaps = [later - earlier for earlier, later in itertools.pairwise(starts)]
    assert gaps == sorted(gaps)
    assert 5 <= len(starts) <= 9


def test_a_failing_call_delays_no_other_call() -> None:
    here = site(machine(), volume(claim="web"))
    here.settle()
    here.sim.faults.add(FaultRule(call="AttachVolume", code="FAILED_PRECONDITION"))
    here.put(machine(spec={"volumes": referring("data"), "power": "Off"}))
    decision = here.rounds(10)
    (there,) = here.machines().values()
    assert there.status.state is MachineState.SUSPENDED
    conditions = {one.type: one for one in decision.machines[WEB].status.conditions}  # type: ignore[union-attr]
    assert conditions["UpToDate"].reason == "FailedPrecondition"
    here.sim.faults.clear()
    here.now_ms += 300_000
    here.settle()
    assert [disk.name for disk in next(iter(here.machines().values())).spec.volumes] == ["data"]


def test_what_a_guest_read_at_first_boot_is_reported_as_unchangeable() -> None:
    reference = {"ignitionRef": {"name": "boot", "key": "key"}}
    here = site(machine(spec=reference))
    here.with_secrets(boot=b"one")
    here.settle()
    here.calls.clear()
    here.with_secrets(boot=b"hush-hush")
    decision = here.settle()
    assert here.calls == []
    conditions = {one.type: one for one in decision.machines[WEB].status.conditions}  # type: ignore[union-attr]
    assert conditions["UpToDate"].reason == "FirstBootDataDiffers"
    assert "hush-hush" not in str(decision) + str(here.memory)


def test_the_last_removed_machine_is_reported_gone_soon() -> None:
    """An empty list is doubted long, but not of what was being removed."""
    here = site(machine(spec={"power": "Off"}))
    here.settle()
    here.put(machine(spec={"power": "Off"}, going=True))
    started_ms = here.now_ms
    while here.round(0.1).machines[WEB].phase != "gone":
        assert here.now_ms - started_ms < 3_000


def test_a_converged_machine_follows_changes_of_what_it_refers_to() -> None:
    def network(cidr: str) -> LiveDocument:
        return document(Kind.NETWORK, "own", spec={"ipv4": {"cidr": cidr}})

    here = site(machine(spec={"networkInterfaces": interfaces("nic", network="own")}), network("10.2.0.0/24"))
    here.settle()
    here.put(network("10.3.0.0/24"))
    here.settle()
    (there,) = here.machines().values()
    assert there.spec.network_interfaces[0].attributes["cidr"] == "10.3.0.0/24"


def test_a_gateway_is_for_the_next_first_boot_and_a_vlan_for_now() -> None:
    def uplink(**spec: object) -> LiveDocument:
        return document(Kind.NETWORK, "own", spec={"providerID": "bridge:br0", **spec})

    here = site(machine(spec={"networkInterfaces": interfaces("nic", network="own")}), uplink(vlan=7))
    here.settle()
    here.calls.clear()
    here.put(uplink(vlan=7, gateway="10.2.0.1", dns=["10.2.0.53"]))
    here.settle()
    assert here.calls == [], "a guest does not lose its connection for what it does not read"
    here.put(uplink(vlan=8, gateway="10.2.0.1"))
    here.settle()
    assert kinds_of(here.calls) == ["DetachInterface", "AttachInterface"]
    (there,) = here.machines().values()
    (nic,) = there.spec.network_interfaces
    assert (nic.attributes["vlan"], nic.attributes["gateway"]) == ("8", "10.2.0.1")
