"""The control service, called as the server calls it, and faults in front of a runtime without a socket."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import asdict

from iri import errors
from iri.change import SetPower
from iri.host import RuntimeClasses
from iri.machine import MachineState, Power, RuntimeMachine
from iri.proto.gitvirt.sim.v1alpha1 import api_pb2 as pb
from iri.server.call_handlers import list_calls
from iri.simulated.clock import SECOND_NS
from iri.simulated.control import SERVICE, ControlService
from iri.simulated.faults.fault_injection import FaultInjectingRuntime, wrap_calls
from iri.simulated.faults.fault_rules import FaultRules
from iri.simulated.provider_quirks import ProviderQuirks
from iri.simulated.seeded_random import SeededRandom
from iri.volume import RuntimeVolume
from iri.wire.calls import CHANGE_CALLS
from tests.iri.simulated.world import World, machine, volume


class Cockpit:
    def __init__(self) -> None:
        self.world = World()
        self.faults = FaultRules(SeededRandom(1))
        self.control = ControlService(self.world.host, self.faults)
        self.runtime = FaultInjectingRuntime(self.world.runtime, wrap_calls(self.world.host, self.faults))


@pytest.fixture
def cockpit() -> Cockpit:
    return Cockpit()


def test_the_clock_is_stopped_advanced_and_run(cockpit: Cockpit) -> None:
    control, world = cockpit.control, cockpit.world
    start = control.get_clock(pb.GetClockRequest()).clock
    assert (start.mode, start.rate, start.now) == (pb.CLOCK_REAL, 1, world.now_ns)
    stopped = control.set_clock(pb.SetClockRequest(mode=pb.CLOCK_MANUAL)).clock
    assert stopped.mode == pb.CLOCK_MANUAL
    made = world.runtime.create(machine("m1"))
    world.pass_seconds(100)
    assert world.machine(made.id).status.state is MachineState.PENDING
    advanced = control.advance_clock(pb.AdvanceClockRequest(nanoseconds=60 * SECOND_NS)).clock
    assert advanced.now == start.now + 60 * SECOND_NS
    assert world.machine(made.id).status.state is MachineState.RUNNING
    control.set_clock(pb.SetClockRequest(mode=pb.CLOCK_REAL, rate=100))
    world.pass_seconds(1)
    assert control.get_clock(pb.GetClockRequest()).clock.now == advanced.now + 100 * SECOND_NS


def test_a_fault_is_added_listed_and_cleared(cockpit: Cockpit) -> None:
    wanted = pb.Fault(
        call="CreateMachine", effect=pb.EFFECT_AFTER, code="UNAVAILABLE", times=2, message="lost"
    )
    added = cockpit.control.add_fault(pb.AddFaultRequest(fault=wanted)).fault
    assert added.id
    with pytest.raises(errors.Unavailable, match="lost"):
        cockpit.runtime.create(machine("m1"))
    assert len(cockpit.world.runtime.objects(RuntimeMachine)) == 1
    (left,) = cockpit.control.list_faults(pb.ListFaultsRequest()).faults
    assert (left.id, left.times) == (added.id, 1)
    cockpit.control.clear_faults(pb.ClearFaultsRequest(id=added.id))
    cockpit.runtime.create(machine("m2"))
    with pytest.raises(errors.NotFound):
        cockpit.control.clear_faults(pb.ClearFaultsRequest(id=added.id))


def test_faults_reach_every_call_and_are_counted(cockpit: Cockpit) -> None:
    runtime = cockpit.runtime
    made = runtime.create(machine("m1"))
    disk = runtime.create(volume("v1"))
    cockpit.control.add_fault(pb.AddFaultRequest(fault=pb.Fault(code="INTERNAL")))
    calls = (
        runtime.about,
        runtime.offers,
        runtime.events,
        runtime.watch,
        lambda: runtime.set_classes(RuntimeClasses()),
        lambda: runtime.objects(RuntimeVolume),
        lambda: runtime.create(machine("m2")),
        lambda: runtime.change(made.id, SetPower(Power.OFF)),
        lambda: runtime.remove(RuntimeVolume, disk.id),
        lambda: runtime.console(made.id),
    )
    for call in calls:
        with pytest.raises(errors.Internal):
            call()
    answer = cockpit.control.get_statistics(pb.GetStatisticsRequest())
    assert (answer.machines, answer.volumes, answer.volume_snapshots) == (1, 1, 0)
    assert answer.calls["CreateMachine"] == 2
    for name in (
        "Version",
        "Status",
        "SetClasses",
        "ListVolumes",
        "UpdateMachinePower",
        "DeleteVolume",
        "Exec",
    ):
        assert answer.calls[name] == 1
    assert len({method.name for method in CHANGE_CALLS.values()}) == len(CHANGE_CALLS)


def test_no_fault_reaches_the_control_itself(cockpit: Cockpit) -> None:
    cockpit.control.add_fault(pb.AddFaultRequest(fault=pb.Fault(code="INTERNAL")))
    hindered = wrap_calls(cockpit.world.host, cockpit.faults)
    for method in SERVICE.methods:
        with hindered(method.name):
            pass


@pytest.mark.parametrize("action", [pb.HOST_REBOOT, pb.HOST_CRASH])
def test_the_host_restarts_by_a_control_call(cockpit: Cockpit, action: pb.HostAction.ValueType) -> None:
    world = cockpit.world
    made = world.running(machine("m1"))
    cockpit.control.act_on_host(pb.ActOnHostRequest(action=action, down_nanoseconds=10 * SECOND_NS))
    with pytest.raises(errors.Unavailable):
        world.runtime.objects(RuntimeMachine)
    assert cockpit.control.get_statistics(pb.GetStatisticsRequest()).machines == 1
    cockpit.control.advance_clock(pb.AdvanceClockRequest(nanoseconds=30 * SECOND_NS))
    assert world.machine(made.id).status.state is MachineState.RUNNING
    assert ("HostCrashed" in world.reasons(made.id)) == (action == pb.HOST_CRASH)


def test_guests_crash_reboot_hang_and_power_off_by_control_calls(cockpit: Cockpit) -> None:
    made = cockpit.world.running(machine("m1"))
    cockpit.control.act_on_guest(pb.ActOnGuestRequest(machine_id=made.id, action=pb.GUEST_CRASH))
    assert cockpit.world.machine(made.id).status.state is MachineState.TERMINATED
    with pytest.raises(errors.FailedPrecondition):
        cockpit.control.act_on_guest(pb.ActOnGuestRequest(machine_id=made.id, action=pb.GUEST_REBOOT))
    with pytest.raises(errors.NotFound):
        cockpit.control.act_on_guest(pb.ActOnGuestRequest(machine_id="nope"))


def test_the_behavior_is_changed_and_shown(cockpit: Cockpit) -> None:
    plain = cockpit.control.get_behavior(pb.GetBehaviorRequest()).behavior
    assert (plain.name, dict(plain.flags)) == ("gitvirt", asdict(ProviderQuirks()))
    wanted = pb.Behavior(name="stock-libvirt", flags={"ignores_power": False})
    answer = cockpit.control.set_behavior(pb.SetBehaviorRequest(behavior=wanted)).behavior
    assert answer.name == "stock-libvirt"
    assert answer.flags["duplicates"]
    assert not answer.flags["ignores_power"]
    first = cockpit.world.runtime.create(machine("m1"))
    assert cockpit.world.runtime.create(machine("m1")).id != first.id
    with pytest.raises(errors.Unimplemented, match="no host service"):
        cockpit.runtime.set_classes(RuntimeClasses())
    cockpit.control.set_behavior(pb.SetBehaviorRequest())
    cockpit.runtime.set_classes(RuntimeClasses())


def test_the_profile_is_changed_in_part(cockpit: Cockpit) -> None:
    answer = cockpit.control.set_profile(
        pb.SetProfileRequest(json=b'{"capacity": {"cpu": 2, "memory": 4294967296}}')
    )
    assert json.loads(answer.json)["capacity"] == {"cpu": 2, "memory": 4294967296}
    assert cockpit.control.get_profile(pb.GetProfileRequest()).json == answer.json
    offered = {offer.machine_class.name: offer.quantity for offer in cockpit.world.runtime.offers().machines}
    assert offered == {"small": 2, "medium": 1}


@pytest.mark.parametrize(
    ("call", "request_message"),
    [
        ("SetClock", pb.SetClockRequest(mode=7)),  # type: ignore[arg-type]
        ("SetClock", pb.SetClockRequest(rate=-1)),
        ("SetClock", pb.SetClockRequest(rate=float("nan"))),
        ("AdvanceClock", pb.AdvanceClockRequest(nanoseconds=-1)),
        ("AdvanceClock", pb.AdvanceClockRequest(nanoseconds=2**63 - 1)),
        ("AddFault", pb.AddFaultRequest(fault=pb.Fault(code="TEAPOT"))),
        ("AddFault", pb.AddFaultRequest(fault=pb.Fault(effect=9))),  # type: ignore[arg-type]
        ("AddFault", pb.AddFaultRequest(fault=pb.Fault(probability=float("nan")))),
        ("ActOnGuest", pb.ActOnGuestRequest(machine_id="m", action=9)),  # type: ignore[arg-type]
        ("ActOnHost", pb.ActOnHostRequest(action=9)),  # type: ignore[arg-type]
        ("ActOnHost", pb.ActOnHostRequest(down_nanoseconds=-1)),
        ("SetBehavior", pb.SetBehaviorRequest(behavior=pb.Behavior(name="stock-vmware"))),
        ("SetBehavior", pb.SetBehaviorRequest(behavior=pb.Behavior(flags={"levitates": True}))),
        ("SetProfile", pb.SetProfileRequest(json=b"{")),
    ],
)
def test_a_wrong_request_is_refused(cockpit: Cockpit, call: str, request_message: object) -> None:
    with pytest.raises(errors.InvalidArgument):
        list_calls(SERVICE, cockpit.control)[call](request_message)
