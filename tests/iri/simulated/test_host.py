"""The host as a whole: restarts of the host and of its process, classes, quirks, notices, profiles."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from iri import errors
from iri.change import (
    AttachInterface,
    AttachVolume,
    SetPower,
    UpdateVolume,
)
from iri.host import RuntimeClasses, RuntimeMachineClass, RuntimeVolumeClass
from iri.machine import Disk, MachineState, Power, RuntimeMachine, VolumeConnection
from iri.runtime import ChangeType, RuntimeEvent
from iri.simulated import machine_calls
from iri.simulated.clock import SECOND_NS, SimulatedClock
from iri.simulated.host import SimulatedHost
from iri.simulated.machine_calls import GuestAction
from iri.simulated.machine_lifecycle import SimulatedMachine
from iri.simulated.profile import Profile, Times, format_profile, parse_profile
from iri.simulated.provider_quirks import PROVIDERS, build_quirks
from iri.simulated.runtime import SimulatedRuntime
from iri.simulated.state.state_log import StateLog, StateLogError
from iri.volume import Resources, RuntimeSnapshot, RuntimeVolume
from tests.iri.simulated.operations import do
from tests.iri.simulated.world import (
    GIB,
    World,
    interface,
    local,
    machine,
    volume,
    with_capacity,
)


@pytest.mark.parametrize("down_seconds", [0.0, 30.0])
def test_a_host_that_restarts_boots_what_was_to_run(down_seconds: float) -> None:
    world = World()
    on = world.running(machine("m1", local()))
    off = world.running(machine("m2", power=Power.OFF))
    ended = world.running(machine("m3"))
    do(world, ("inside", "m3", "CRASH"))
    going = world.running(machine("m4"))
    world.runtime.remove(RuntimeMachine, going.id)
    world.restart_host(down_seconds)
    if down_seconds:
        with pytest.raises(errors.Unavailable, match="the host is restarting"):
            world.runtime.objects(RuntimeMachine)
        world.pass_seconds(down_seconds)
    assert world.machine(on.id).status.state is MachineState.PENDING
    world.pass_seconds(10)
    assert world.machine(on.id).status.state is MachineState.RUNNING
    assert world.machine(on.id).detail.boots == 2
    assert world.machine(off.id).status.state is MachineState.SUSPENDED
    assert world.machine(ended.id).status.state is MachineState.TERMINATED
    assert going.id not in world.runtime.objects(RuntimeMachine)


def test_a_host_keeps_its_seed_and_classes_and_clock_over_a_restart(tmp_path: Path) -> None:
    world = World(directory=tmp_path)
    handle = world.running(machine("m1", interface())).detail.network_interfaces[0].mac
    classes = RuntimeClasses(
        machines=(RuntimeMachineClass(name="uncommon", resources={"cpu": 3}),), volumes=()
    )
    world.runtime.set_classes(classes)
    world.restart()
    assert world.host.record.seed == 1
    assert [offer.machine_class.name for offer in world.runtime.offers().machines] == ["uncommon"]
    made = next(iter(world.runtime.objects(RuntimeMachine).values()))
    assert made.detail.network_interfaces[0].mac == handle
    world.host.close()


def test_a_state_that_cannot_be_written_fails_the_call_and_changes_nothing(tmp_path: Path) -> None:
    world = World(directory=tmp_path)
    made = world.running(machine("m1"))
    assert world.log is not None
    world.log.close()
    with pytest.raises(errors.Unavailable, match="the state cannot be written"):
        world.runtime.remove(RuntimeMachine, made.id)
    assert world.machine(made.id) is made


def test_a_state_of_another_version_is_named(tmp_path: Path) -> None:
    log = StateLog(tmp_path)
    log.load()
    log.append([("machine", "m1", b"\x81\xa7machine\x05")])
    log.close()
    log = StateLog(tmp_path)
    with pytest.raises(StateLogError, match="written by another version"):
        SimulatedHost(Profile(), 1, log=log)
    log.close()


def test_a_long_life_is_rewritten_and_stays_small(tmp_path: Path) -> None:
    world = World(directory=tmp_path, rewrite_from_bytes=20_000)
    made = world.running(machine("m1"))
    for number in range(300):
        world.runtime.change(made.id, SetPower(Power.OFF if number % 2 else Power.ON))
        world.pass_seconds(30)
        world.runtime.objects(RuntimeMachine)
    assert (tmp_path / "state.log").stat().st_size < 30_000
    before = world.machine(made.id)
    world.restart()
    assert world.machine(made.id) == before
    world.host.close()


def test_classes_that_do_not_fit_are_not_offered() -> None:
    world = World(with_capacity(cpu=5, memory=10 * GIB, storage=0))
    assert {offer.machine_class.name: offer.quantity for offer in world.runtime.offers().machines} == {
        "small": 5,
        "medium": 2,
    }
    assert world.runtime.offers().volumes == ()
    made = world.running(machine("m1"))
    gpu = RuntimeMachineClass(name="gpu", resources={"cpu": 1, "nvidia.com/gpu": 1})
    tiny = RuntimeMachineClass(name="tiny", resources={"cpu": 1, "memory": GIB})
    world.runtime.set_classes(
        RuntimeClasses(machines=(gpu, tiny), volumes=(RuntimeVolumeClass(name="fast"),))
    )
    assert [offer.machine_class for offer in world.runtime.offers().machines] == [tiny]
    assert world.machine(made.id).status.state is MachineState.RUNNING
    with pytest.raises(errors.InvalidArgument):
        world.runtime.create(machine("m2", class_name="small"))
    with pytest.raises(errors.ResourceExhausted):
        world.runtime.create(machine("m2", class_name="gpu"))


def test_fixed_classes_stay() -> None:
    world = World(Profile(class_policy="fixed"))
    with pytest.raises(errors.Unimplemented):
        world.runtime.set_classes(RuntimeClasses())


def imitating(name: str, **flags: bool) -> World:
    return World(Profile(behavior=name, behavior_flags=flags))


def test_a_stock_libvirt_host_creates_duplicates_and_has_no_generations() -> None:
    world = imitating("stock-libvirt")
    first, second = world.running(machine("m1", power=Power.OFF)), world.running(machine("m1"))
    assert first.id != second.id
    assert first.status.state is MachineState.RUNNING
    world.runtime.change(first.id, SetPower(Power.ON))
    world.runtime.change(first.id, SetPower(Power.OFF))
    world.runtime.change(first.id, AttachVolume(local("a")))
    world.runtime.change(first.id, AttachVolume(local("a")))
    world.runtime.change(first.id, AttachInterface(interface("n")))
    world.runtime.change(first.id, AttachInterface(interface("n")))
    world.pass_seconds(60)
    observed = world.machine(first.id)
    assert observed.status.state is MachineState.RUNNING
    assert (observed.generation, observed.status.observed_generation) == (0, 0)
    assert [disk.name for disk in observed.spec.volumes] == ["a", "a"]
    with world.host.lock() as now_ns:
        guest = world.host.find(SimulatedMachine, first.id)
        machine_calls.act(world.host, guest, GuestAction.POWEROFF, now_ns)
    world.pass_seconds(60)
    assert world.machine(first.id).status.state is MachineState.RUNNING
    assert world.machine(first.id).detail.boots == 2
    with pytest.raises(errors.Internal):
        world.runtime.create(machine("m3", class_name="no-such"))


def test_a_stock_ceph_host_rounds_sizes_up_and_answers_internal() -> None:
    world = imitating("stock-ceph")
    made = world.available(volume("v1", size_bytes=GIB + 1))
    assert made.status.resources == Resources(storage_bytes=2 * GIB)
    assert made.id != world.available(volume("v1")).id
    with pytest.raises(errors.Internal):
        world.runtime.remove(RuntimeVolume, "nope")
    with pytest.raises(errors.Internal):
        world.runtime.remove(RuntimeSnapshot, "nope")
    with pytest.raises(errors.Unimplemented):
        world.runtime.console(world.running(machine("m1")).id)


def test_a_stock_cloud_hypervisor_host_loses_a_size_and_ignores_updates() -> None:
    world = imitating("stock-cloud-hypervisor")
    connection = VolumeConnection(driver="ceph", handle="h", effective_storage_bytes=GIB)
    made = world.running(machine("m1", Disk(name="data", connection=connection)))
    kept = made.spec.volumes[0].connection
    assert kept == replace(connection, effective_storage_bytes=0)
    world.runtime.change(made.id, UpdateVolume(Disk(name="data", connection=replace(connection, handle="g"))))
    assert world.machine(made.id) is made


def test_a_flag_changes_one_quirk() -> None:
    world = imitating("stock-libvirt", ignores_power=False)
    assert world.running(machine("m1", power=Power.OFF)).status.state is MachineState.SUSPENDED
    with pytest.raises(ValueError, match="unknown behavior"):
        build_quirks("stock-vmware", {})
    with pytest.raises(ValueError, match="unknown behavior flag 'levitates'"):
        build_quirks("gitvirt", {"levitates": True})
    assert set(PROVIDERS) >= {"gitvirt", "stock-libvirt", "stock-ceph"}


def test_a_watcher_gets_changes_that_only_time_causes() -> None:
    host = SimulatedHost(replace(Profile(), times=quick()), 1)
    runtime = SimulatedRuntime(host)
    watch = runtime.watch()
    assert [notice.what for notice in watch.next(1)] == [ChangeType.RESYNC]
    made = runtime.create(machine("m1"))
    assert [(notice.id, notice.what) for notice in watch.next(1)] == [(made.id, ChangeType.CREATED)]
    start = time.monotonic()
    notices = watch.next(5)
    assert time.monotonic() - start < 1
    assert [(notice.id, notice.what) for notice in notices] == [(made.id, ChangeType.CHANGED)]
    assert runtime.objects(RuntimeMachine)[made.id].status.state is MachineState.RUNNING
    assert watch.next(0.05) == ()
    watch.close()
    assert watch.next(5) == ()


def quick() -> Times:
    return parse_profile(b'{"times": {"boot": [0.05, 0.05, 0.05], "remove": [0.02, 0.02, 0.02]}}').times


def test_a_watcher_gets_changes_when_the_clock_is_advanced() -> None:
    clock = SimulatedClock()
    clock.run(0)
    host = SimulatedHost(Profile(), 1, clock)
    runtime = SimulatedRuntime(host)
    made = runtime.create(machine("m1"))
    watch = runtime.watch()
    watch.next(1)
    noticed: list[str] = []
    listener = threading.Thread(target=lambda: noticed.extend(notice.id for notice in watch.next(60)))
    listener.start()
    clock.advance(60 * SECOND_NS)
    host.run_due()
    listener.join(60)
    assert noticed == [made.id]


def test_events_have_the_time_at_which_they_happened() -> None:
    world = World()
    made = world.runtime.create(machine("m1"))
    world.pass_seconds(100)
    started: list[RuntimeEvent] = [event for event in world.runtime.events() if event.reason == "Started"]
    assert [event.id for event in started] == [made.id]
    born = made.created_at // SECOND_NS
    assert born <= started[0].time < born + 10


def test_threads_may_use_a_host_at_once() -> None:
    host = SimulatedHost(with_capacity(cpu=10_000, memory=10_000 * GIB, storage=10_000 * GIB), 1)
    runtime = SimulatedRuntime(host)
    made: list[str] = []

    def work(name: str) -> None:
        for number in range(50):
            id = runtime.create(machine(f"{name}-{number}", local(), interface())).id
            runtime.change(id, SetPower(Power.OFF))
            made.append(id)
            if number % 2:
                runtime.remove(RuntimeMachine, id)
            runtime.objects(RuntimeMachine)

    threads = [threading.Thread(target=work, args=(str(number),)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(made)) == 400
    leases = [lease for guest in host.state.list_records(SimulatedMachine).values() for lease in guest.leases]
    assert len({address for _, address in leases}) == len(leases)


def test_a_profile_is_read_strictly_and_changed_in_part() -> None:
    profile = parse_profile(b'{"host": "h1", "times": {"boot": [0, 0, 0]}, "capacity": {"cpu": 4}}')
    assert profile.host == "h1"
    assert profile.times.boot.most == 0
    assert profile.times.stop == Profile().times.stop
    assert profile.capacity == {"cpu": 4}
    assert parse_profile(format_profile(profile)) == profile
    assert parse_profile(b'{"architecture": "aarch64"}', profile) == replace(profile, architecture="aarch64")


@pytest.mark.parametrize(
    "wrong",
    [
        b"",
        b"[]",
        b'{"hots": "h1"}',
        b'{"times": {"boot": [3, 2, 1]}}',
        b'{"times": {"bot": [1, 2, 3]}}',
        b'{"capacity": {"cpu": -1}}',
        b'{"capacity": {"cpu": "four"}}',
        b'{"overcommit": {"cpu": 0.5}}',
        b'{"class_policy": "some"}',
        b'{"behavior": "stock-vmware"}',
        b'{"behavior_flags": {"levitates": true}}',
    ],
)
def test_an_invalid_profile_is_refused(wrong: bytes) -> None:
    with pytest.raises(errors.InvalidArgument):
        parse_profile(wrong)
