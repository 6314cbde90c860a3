"""A machine's life as a caller sees it, on a clock that the test controls."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from iri import errors
from iri.change import (
    AttachInterface,
    AttachVolume,
    DetachInterface,
    DetachVolume,
    Resize,
    SetAnnotations,
    SetPower,
    UpdateVolume,
)
from iri.machine import (
    AttachmentState,
    Disk,
    Image,
    MachineState,
    Power,
    RuntimeLocalDisk,
    RuntimeMachine,
    VolumeConnection,
)
from iri.simulated import machine_calls
from iri.simulated.machine_calls import GuestAction
from iri.simulated.machine_lifecycle import SimulatedMachine
from iri.simulated.profile import Profile
from tests.iri.simulated.world import GIB, World, interface, local, machine, with_capacity


@pytest.fixture
def world() -> World:
    return World()


def act(world: World, id: str, action: GuestAction) -> None:
    with world.host.lock() as now_ns:
        machine_calls.act(world.host, world.host.find(SimulatedMachine, id), action, now_ns)


def state(world: World, id: str) -> MachineState:
    return world.machine(id).status.state


def test_a_machine_boots_once_its_devices_are_attached(world: World) -> None:
    made = world.runtime.create(machine("m1", local(image="os"), interface()))
    assert made.status.state is MachineState.PENDING
    assert [entry.state for entry in made.status.volumes] == [AttachmentState.PENDING]
    assert made.status.image_ref == "os"
    world.pass_seconds(0.05)
    assert world.machine(made.id) is made
    world.pass_seconds(20)
    running = world.machine(made.id)
    assert running.status.state is MachineState.RUNNING
    entries = (*running.status.volumes, *running.status.network_interfaces)
    assert all(entry.state is AttachmentState.ATTACHED and entry.handle for entry in entries)
    assert running.spec == made.spec
    assert running.detail.boots == 1
    assert world.reasons()[-1] == "Started"


def test_an_image_is_pulled_once_a_host(world: World) -> None:
    first = world.runtime.create(machine("m1", local(image="os")))
    world.pass_seconds(60)
    second = world.runtime.create(machine("m2", local(image="os")))
    times = world.profile.times
    world.pass_seconds(times.attach.most + times.boot.most)
    assert state(world, first.id) is state(world, second.id) is MachineState.RUNNING


def test_an_image_that_cannot_be_pulled_keeps_the_machine_pending() -> None:
    world = World(Profile(unavailable_images=("no-such",)))
    stuck = world.running(machine("m1", local(image="no-such")))
    assert stuck.status.state is MachineState.PENDING
    world.runtime.remove(RuntimeMachine, stuck.id)
    world.pass_seconds(5)
    assert stuck.id not in world.runtime.objects(RuntimeMachine)


def test_an_image_that_cannot_be_pulled_is_reported() -> None:
    world = World(Profile(unavailable_images=("no-such",)))
    made = world.runtime.create(machine("m1", local(image="no-such")))
    assert "ImagePullFailed" in world.reasons(made.id)


def test_the_same_uid_is_the_same_machine(world: World) -> None:
    made = world.running(machine("m1"))
    assert world.runtime.create(machine("m1", local())) is made
    assert len(world.runtime.objects(RuntimeMachine)) == 1
    nameless = {world.runtime.create(machine("")).id for _ in range(3)}
    assert len(nameless) == 3


def test_a_machine_that_is_to_be_off_never_boots(world: World) -> None:
    off = world.running(machine("m1", local(), power=Power.OFF))
    assert off.status.state is MachineState.SUSPENDED
    assert off.status.volumes[0].state is AttachmentState.ATTACHED
    assert off.detail.boots == 0


def test_power_off_takes_the_guest_a_while_and_on_boots_it_again(world: World) -> None:
    made = world.running(machine("m1", interface()))
    assert made.detail.network_interfaces[0].ips
    world.runtime.change(made.id, SetPower(Power.OFF))
    assert state(world, made.id) is MachineState.RUNNING
    world.pass_seconds(5)
    off = world.machine(made.id)
    assert off.status.state is MachineState.SUSPENDED
    assert off.detail.network_interfaces[0].ips == ()
    assert off.detail.network_interfaces[0].mac == made.detail.network_interfaces[0].mac
    world.runtime.change(made.id, SetPower(Power.ON))
    assert state(world, made.id) is MachineState.PENDING
    world.pass_seconds(10)
    again = world.machine(made.id)
    assert again.status.state is MachineState.RUNNING
    assert again.detail.boots == 2
    assert again.detail.network_interfaces == made.detail.network_interfaces
    assert again.generation == made.generation + 2 == again.status.observed_generation


def test_power_on_during_a_stop_boots_afterwards(world: World) -> None:
    made = world.running(machine("m1"))
    world.runtime.change(made.id, SetPower(Power.OFF))
    world.runtime.change(made.id, SetPower(Power.ON))
    world.pass_seconds(30)
    assert state(world, made.id) is MachineState.RUNNING
    assert world.machine(made.id).detail.boots == 2


def test_power_off_during_a_boot_is_immediate(world: World) -> None:
    made = world.runtime.create(machine("m1"))
    world.runtime.change(made.id, SetPower(Power.OFF))
    assert state(world, made.id) is MachineState.SUSPENDED
    world.pass_seconds(60)
    assert state(world, made.id) is MachineState.SUSPENDED


def test_the_same_power_again_is_no_change(world: World) -> None:
    made = world.running(machine("m1"))
    world.runtime.change(made.id, SetPower(Power.ON))
    assert world.machine(made.id) is made


@pytest.mark.parametrize(
    ("action", "reason"), [(GuestAction.POWEROFF, "GuestPowerOff"), (GuestAction.CRASH, "Crash")]
)
def test_a_guest_that_ends_by_itself_stays_off_until_power_on_is_ordered(
    world: World, action: GuestAction, reason: str
) -> None:
    made = world.running(machine("m1"))
    act(world, made.id, action)
    world.pass_seconds(60)
    ended = world.machine(made.id)
    assert ended.status.state is MachineState.TERMINATED
    assert ended.detail.reason == reason
    assert ended.spec.power is Power.ON
    world.runtime.change(made.id, SetPower(Power.ON))
    world.pass_seconds(60)
    assert state(world, made.id) is MachineState.RUNNING
    assert world.machine(made.id).detail.reason == ""


def test_a_guest_that_reboots_is_never_seen_as_off(world: World) -> None:
    made = world.running(machine("m1"))
    act(world, made.id, GuestAction.REBOOT)
    assert state(world, made.id) is MachineState.RUNNING
    assert world.machine(made.id).detail.boots == 2


def test_a_reboot_releases_the_devices_of_a_hung_guest(world: World) -> None:
    made = world.running(machine("m1", local()))
    act(world, made.id, GuestAction.HANG)
    world.runtime.change(made.id, DetachVolume("root"))
    world.pass_seconds(100)
    assert world.machine(made.id).status.volumes
    act(world, made.id, GuestAction.REBOOT)
    assert world.machine(made.id).status.volumes == ()


def test_a_class_changed_back_leaves_nothing_pending(world: World) -> None:
    made = world.running(machine("m1"))
    world.runtime.change(made.id, Resize("medium"))
    world.runtime.change(made.id, Resize("small"))
    assert world.machine(made.id).detail.pending_changes == ()
    assert world.host.state.usage.totals()["cpu"] == 1


def test_a_guest_that_hangs_is_stopped_by_force(world: World) -> None:
    made = world.running(machine("m1", local()))
    act(world, made.id, GuestAction.HANG)
    world.runtime.change(made.id, DetachVolume("root"))
    world.runtime.change(made.id, SetPower(Power.OFF))
    world.pass_seconds(9)
    assert state(world, made.id) is MachineState.RUNNING
    assert world.machine(made.id).status.volumes
    world.pass_seconds(2)
    assert state(world, made.id) is MachineState.SUSPENDED
    assert world.machine(made.id).status.volumes == ()


@pytest.mark.parametrize("action", list(GuestAction))
def test_no_guest_event_is_possible_while_a_machine_is_off(world: World, action: GuestAction) -> None:
    made = world.running(machine("m1", power=Power.OFF))
    with pytest.raises(errors.FailedPrecondition):
        act(world, made.id, action)


def test_a_deleted_machine_stays_listed_until_it_is_gone(world: World) -> None:
    made = world.running(machine("m1", local(), interface()))
    world.runtime.remove(RuntimeMachine, made.id)
    going = world.machine(made.id)
    assert going.status.state is MachineState.TERMINATING
    assert going.deleted_at == world.now_ns
    for _ in range(1000):
        world.runtime.remove(RuntimeMachine, made.id)
    assert world.machine(made.id) is going
    with pytest.raises(errors.FailedPrecondition):
        world.runtime.change(made.id, SetPower(Power.OFF))
    world.pass_seconds(5)
    assert made.id not in world.runtime.objects(RuntimeMachine)
    with pytest.raises(errors.NotFound):
        world.runtime.remove(RuntimeMachine, made.id)
    assert world.host.state.usage.totals() == {}


def test_devices_are_attached_and_detached_while_the_machine_runs(world: World) -> None:
    made = world.running(machine("m1"))
    disk, nic = local("data", device="odb"), interface("second", "dmz")
    world.runtime.change(made.id, AttachVolume(disk))
    world.runtime.change(made.id, AttachInterface(nic))
    there = world.machine(made.id)
    assert there.spec.volumes == (disk,)
    assert there.status.volumes[0].state is AttachmentState.PENDING
    world.pass_seconds(1)
    there = world.machine(made.id)
    assert there.status.volumes[0].state is AttachmentState.ATTACHED
    assert there.detail.network_interfaces[0].ips
    world.runtime.change(made.id, DetachVolume("data"))
    world.runtime.change(made.id, DetachInterface("second"))
    leaving = world.machine(made.id)
    assert leaving.spec.volumes == ()
    assert leaving.spec.network_interfaces == ()
    assert leaving.status.volumes[0].state is AttachmentState.ATTACHED
    world.pass_seconds(1)
    assert world.machine(made.id).status.volumes == ()
    assert world.machine(made.id).status.network_interfaces == ()


def test_attach_after_detach_of_the_same_name_works_at_once(world: World) -> None:
    made = world.running(machine("m1", local("data")))
    old = made.status.volumes[0]
    world.runtime.change(made.id, DetachVolume("data"))
    ceph = Disk(name="data", connection=VolumeConnection(driver="ceph", handle="wwn-1"))
    world.runtime.change(made.id, AttachVolume(ceph))
    between = world.machine(made.id)
    assert [entry.state for entry in between.status.volumes] == [AttachmentState.PENDING]
    world.pass_seconds(2)
    new = world.machine(made.id).status.volumes[0]
    assert (new.handle, new.state) == ("wwn-1", AttachmentState.ATTACHED)
    assert new.handle != old.handle


def test_a_volume_with_a_new_size_stays_attached_and_another_volume_replaces_it(world: World) -> None:
    connection = VolumeConnection(driver="ceph", handle="wwn-1", effective_storage_bytes=GIB)
    made = world.running(machine("m1", Disk(name="data", connection=connection)))
    larger = Disk(name="data", connection=replace(connection, effective_storage_bytes=2 * GIB))
    world.runtime.change(made.id, UpdateVolume(larger))
    assert world.machine(made.id).spec.volumes == (larger,)
    assert world.machine(made.id).status.volumes[0].state is AttachmentState.ATTACHED
    other = Disk(name="data", connection=replace(connection, handle="wwn-2"))
    world.runtime.change(made.id, UpdateVolume(other))
    assert world.machine(made.id).status.volumes[0].state is AttachmentState.PENDING
    world.pass_seconds(1)
    assert world.machine(made.id).status.volumes[0].handle == "wwn-2"


def test_unattached_device_cannot_be_detached(world: World) -> None:
    made = world.running(machine("m1", local(), interface()))
    with pytest.raises(errors.NotFound):
        world.runtime.change(made.id, DetachVolume("other"))
    with pytest.raises(errors.NotFound):
        world.runtime.change(made.id, DetachInterface("other"))
    with pytest.raises(errors.AlreadyExists):
        world.runtime.change(made.id, AttachVolume(local()))


def test_another_class_waits_for_the_next_boot_and_both_are_charged(world: World) -> None:
    made = world.running(machine("m1"))
    world.runtime.change(made.id, Resize("medium"))
    waiting = world.machine(made.id)
    assert waiting.spec.class_name == "medium"
    assert waiting.detail.pending_changes == ("class",)
    assert world.host.state.usage.totals()["cpu"] == 2
    world.runtime.change(made.id, SetPower(Power.OFF))
    world.pass_seconds(5)
    world.runtime.change(made.id, SetPower(Power.ON))
    world.pass_seconds(60)
    assert world.machine(made.id).detail.pending_changes == ()
    world.runtime.change(made.id, Resize("small"))
    assert world.host.state.usage.totals()["cpu"] == 2
    with pytest.raises(errors.InvalidArgument):
        world.runtime.change(made.id, Resize("no-such"))


def test_observed_generation_is_never_behind_the_one_the_caller_recorded(world: World) -> None:
    seen = "machinepoollet.ironcore.dev/irimachine-generation"
    made = world.running(machine("m1", annotations={seen: "7"}))
    assert made.status.observed_generation == 7
    world.runtime.change(made.id, SetAnnotations({seen: "12"}))
    assert world.machine(made.id).status.observed_generation == 12
    assert world.machine(made.id).generation == made.generation
    world.runtime.change(made.id, SetAnnotations({seen: "nonsense"}))
    assert world.machine(made.id).status.observed_generation == made.generation


def test_a_full_host_names_every_resource_that_is_short() -> None:
    world = World(with_capacity(cpu=2, memory=8 * GIB, storage=10 * GIB))
    first = world.running(machine("m1", local(size_bytes=9 * GIB)))
    with pytest.raises(errors.ResourceExhausted, match=r"storage: .* needed, .* of .* free"):
        world.runtime.create(machine("m2", local(size_bytes=2 * GIB)))
    world.runtime.create(machine("m3"))
    with pytest.raises(errors.ResourceExhausted, match="cpu: 1 needed, 0 of 2 free"):
        world.runtime.create(machine("m4"))
    with pytest.raises(errors.ResourceExhausted):
        world.runtime.change(first.id, Resize("large"))
    with pytest.raises(errors.ResourceExhausted):
        world.runtime.change(first.id, AttachVolume(local("more", size_bytes=2 * GIB)))
    assert world.machine(first.id).spec.class_name == "small"
    world.runtime.remove(RuntimeMachine, first.id)
    world.pass_seconds(10)
    world.runtime.create(machine("m4"))


def test_overcommit_stretches_what_it_names() -> None:
    world = World(with_capacity(Profile(overcommit={"cpu": 2.0}), cpu=1, memory=8 * GIB, storage=GIB))
    assert {offer.machine_class.name: offer.quantity for offer in world.runtime.offers().machines} == {
        "small": 2,
        "medium": 1,
    }
    world.runtime.create(machine("m1"))
    world.runtime.create(machine("m2"))
    with pytest.raises(errors.ResourceExhausted):
        world.runtime.create(machine("m3"))


def test_addresses_are_given_by_network_and_never_twice(world: World) -> None:
    one = world.running(machine("m1", interface("a"), interface("b"), interface("c", "dmz")))
    two = world.running(machine("m2", interface("a")))
    given = [ip for made in (one, two) for nic in made.detail.network_interfaces for ip in nic.ips]
    assert len(set(given)) == 4
    lan = {ip.rsplit(".", 2)[0] for ip in (given[0], given[1], given[3])}
    assert len(lan) == 1
    assert given[2].rsplit(".", 2)[0] not in lan


def test_an_interface_keeps_the_addresses_of_its_spec(world: World) -> None:
    own = interface("a", "lan", "10.1.2.3", "fe80::1", mac="52:54:00:00:00:01")
    silent = interface("b", "lan", dhcp="false")
    ranged = interface("c", "lan", cidr="192.168.7.0/24")
    made = world.running(machine("m1", own, silent, ranged))
    observed = {nic.name: nic for nic in made.detail.network_interfaces}
    assert observed["a"].ips == ("10.1.2.3", "fe80::1")
    assert observed["a"].mac == "52:54:00:00:00:01"
    assert observed["b"].ips == ()
    assert observed["c"].ips == ("192.168.7.2",)


def test_an_address_that_two_machines_have_is_an_event(world: World) -> None:
    world.running(machine("m1", interface("a", "lan", "10.1.2.3")))
    made = world.runtime.create(machine("m2", interface("a", "lan", "10.1.2.3")))
    assert "AddressInUse" in world.reasons(made.id)


def test_hosts_that_share_a_bridge_give_different_addresses() -> None:
    """Each gave the lowest free one, so that two machines of a fleet had the same."""
    nics = [interface("a", "bridge:br0") for _ in range(3)]
    hosts = [World(), World()]
    made = [
        host.running(machine(f"{name}{number}", nic))
        for host, name in zip(hosts, "xy", strict=True)
        for number, nic in enumerate(nics)
    ]
    given = [each.detail.network_interfaces[0].ips for each in made]
    assert len(set(given)) == 6


def test_addresses_come_back_with_the_machine(world: World) -> None:
    ranged = interface("a", "lan", cidr="192.168.7.0/24")
    first = world.running(machine("m1", ranged))
    address = first.detail.network_interfaces[0].ips
    world.runtime.remove(RuntimeMachine, first.id)
    world.pass_seconds(10)
    world.runtime.objects(RuntimeMachine)
    assert world.running(machine("m2", ranged)).detail.network_interfaces[0].ips == address


def test_an_unknown_machine_or_class_is_named(world: World) -> None:
    with pytest.raises(errors.NotFound, match="machine nope does not exist"):
        world.runtime.change("nope", SetPower(Power.OFF))
    with pytest.raises(
        errors.InvalidArgument, match=r"'huge' does not exist here; there are: small, medium, large"
    ):
        world.runtime.create(machine("m1", class_name="huge"))
    assert world.runtime.objects(RuntimeMachine) == {}


def test_local_disks_without_a_size_get_the_hosts_own(world: World) -> None:
    disk = Disk(name="root", local_disk=RuntimeLocalDisk(image=Image(image="os")))
    world.running(machine("m1", disk))
    assert world.host.state.usage.totals()["storage"] == world.profile.local_disk_bytes
