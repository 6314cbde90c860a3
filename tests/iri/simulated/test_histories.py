"""Laws that hold for any history of a simulated host."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iri.machine import AttachmentState, MachineState, RuntimeMachine
from iri.runtime import RuntimeKind
from iri.simulated.clock import SECOND_NS
from iri.simulated.machine_lifecycle import STATES, SimulatedMachine
from iri.simulated.profile import Profile
from iri.simulated.state.records import KINDS
from iri.simulated.state.usage import charge
from iri.volume import RuntimeSnapshot, RuntimeVolume
from tests.iri.simulated.operations import do, ids, list_events
from tests.iri.simulated.world import (
    GIB,
    World,
    with_capacity,
)

Operation = Callable[[World], None]
UIDS = ("m1", "m2", "m3")


operations = st.tuples(
    st.sampled_from(
        ["create"] * 4
        + ["remove", "power", "power", "attach", "detach", "plug", "unplug", "resize", "inside", "inside"]
        + ["volume", "grow", "snapshot", "connect", "connect", "drop", "host"]
    ),
    st.sampled_from(UIDS),
    st.integers(0, 3),
).map(
    lambda operation: (
        operation[0],
        operation[1],
        {
            "create": ["", "os", "off", "other"],
            "power": ["on", "off", "on", "off"],
            "attach": ["root", "data", "logs", "data"],
            "detach": ["root", "data", "logs", "data"],
            "plug": ["nic", "second", "third", "second"],
            "unplug": ["nic", "second", "third", "second"],
            "resize": ["small", "medium", "large", "medium"],
            "inside": ["POWEROFF", "CRASH", "REBOOT", "HANG"],
            "volume": ["v1", "v2", "v3", "v1"],
            "host": ["0", "1", "5", "20"],
        }.get(operation[0], ["", "", "", ""])[operation[2]],
    )
)
histories = st.lists(st.tuples(operations, st.sampled_from([0.0, 0.05, 0.3, 1.0, 4.0, 15.0])), max_size=25)
SMALL = with_capacity(Profile(unavailable_images=("other",)), cpu=12, memory=64 * GIB, storage=12 * GIB)


def list_objects(world: World) -> tuple[object, ...]:
    runtime = world.runtime
    return (
        dict(runtime.objects(RuntimeMachine)),
        dict(runtime.objects(RuntimeVolume)),
        dict(runtime.objects(RuntimeSnapshot)),
    )


@given(histories, st.floats(0.01, 2.0))
@settings(max_examples=80, deadline=None)
def test_how_often_a_host_is_read_changes_nothing(
    history: list[tuple[tuple[str, ...], float]], step: float
) -> None:
    rarely, often = World(SMALL), World(SMALL)
    for operation, seconds in history:
        assert do(rarely, operation) == do(often, operation)
        rarely.pass_seconds(seconds)
        until = often.now_ns + round(seconds * SECOND_NS)
        while often.now_ns < until:
            often.now_ns = min(until, often.now_ns + round(step * SECOND_NS))
            often.host.run_due()
    for world in (rarely, often):
        world.pass_seconds(30)
    assert list_events(rarely) == list_events(often)
    assert list_objects(rarely) == list_objects(often)


@given(histories, st.sets(st.integers(0, 24)))
@settings(max_examples=60, deadline=None)
def test_a_restart_of_the_process_changes_nothing(
    tmp_path_factory: pytest.TempPathFactory, history: list[tuple[tuple[str, ...], float]], restarts: set[int]
) -> None:
    kept, mortal = World(SMALL), World(SMALL, directory=tmp_path_factory.mktemp("state"))
    for number, (operation, seconds) in enumerate(history):
        assert do(kept, operation) == do(mortal, operation)
        for world in (kept, mortal):
            world.pass_seconds(seconds)
        if number in restarts:
            mortal.restart()
    mortal.restart()
    for world in (kept, mortal):
        world.pass_seconds(30)
    assert list_objects(kept) == list_objects(mortal)
    assert kept.host.state.usage.totals() == mortal.host.state.usage.totals()
    mortal.host.close()


@given(histories)
@settings(max_examples=80, deadline=None)
def test_usage_and_attachments_are_consistent_at_every_moment(
    history: list[tuple[tuple[str, ...], float]],
) -> None:
    world = World(SMALL)
    for operation, seconds in history:
        do(world, operation)
        check_laws(world)
        world.pass_seconds(seconds)
        world.host.run_due()
        check_laws(world)
    for id in ids_of_all(world):
        do(world, ("remove", id, ""))
    do(world, ("drop", "", ""))
    world.pass_seconds(100)
    do(world, ("drop", "", ""))
    world.pass_seconds(100)
    world.host.run_due()
    assert list_objects(world)[:2] == ({}, {})
    assert world.host.state.usage.totals() == {}
    assert world.host.state.timers.next_due() is None


def ids_of_all(world: World) -> list[str]:
    world.pass_seconds(30)
    return list(ids(world))


def check_laws(world: World) -> None:
    state = world.host.state
    records = state.all_records()
    total = sum((charge(record) for record in records), start=charge(None))
    assert {name: amount for name, amount in total.items() if amount} == state.usage.totals()
    assert all(amount <= world.profile.limit(name) for name, amount in total.items())
    assert len(state.timers) == sum(record.due_ns < 1 << 62 for record in records)
    holders: dict[str, str] = {}
    addresses: list[str] = []
    for guest in state.list_records(SimulatedMachine).values():
        published = guest.machine
        assert published.status.state is STATES[guest.phase] is not MachineState.STOPPED
        assert (published.status.state is MachineState.TERMINATING) == bool(published.deleted_at)
        assert published.status.observed_generation == published.generation
        wanted = [disk.name for disk in published.spec.volumes]
        there = [entry.name for entry in published.status.volumes]
        assert len(set(there)) == len(there)
        assert set(wanted) <= set(there)
        assert {lease[0] for lease in guest.leases} <= {nic.name for nic in published.spec.network_interfaces}
        addresses.extend(lease[1] for lease in guest.leases)
        for entry in published.status.volumes:
            if entry.state is AttachmentState.ATTACHED:
                assert entry.handle
                assert holders.setdefault(entry.handle, published.id) == published.id
    assert len(set(addresses)) == len(addresses)
    for kind in (RuntimeMachine, RuntimeVolume, RuntimeSnapshot):
        kept = {
            record.object.id: record.object for record in state.all_records() if KINDS[type(record)] is kind
        }
        assert kept == list_published(world)[kind]


def list_published(world: World) -> dict[RuntimeKind, dict[str, object]]:
    state = world.host.state
    return {
        RuntimeMachine: dict(state.objects(RuntimeMachine)),
        RuntimeVolume: dict(state.objects(RuntimeVolume)),
        RuntimeSnapshot: dict(state.objects(RuntimeSnapshot)),
    }
