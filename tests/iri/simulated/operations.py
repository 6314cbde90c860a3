"""Random operations on a simulated host: calls, and events inside guests and host."""

from __future__ import annotations

from iri import errors
from iri.change import (
    AttachInterface,
    AttachVolume,
    DetachInterface,
    DetachVolume,
    ExpandVolume,
    Resize,
    SetPower,
)
from iri.machine import Power, RuntimeMachine
from iri.simulated import machine_calls
from iri.simulated.machine_calls import GuestAction
from iri.simulated.machine_lifecycle import SimulatedMachine
from iri.volume import Resources, RuntimeVolume
from tests.iri.simulated.world import (
    GIB,
    World,
    connect_disk,
    interface,
    local,
    machine,
    snapshot,
    volume,
)


def ids(world: World) -> dict[str, str]:
    return {
        made.labels["machinepoollet.ironcore.dev/machine-uid"]: made.id
        for made in world.runtime.objects(RuntimeMachine).values()
    }


def do(world: World, operation: tuple[str, ...]) -> str:
    """One operation, and its outcome: "fine" or the name of the error."""
    try:
        _do(world, operation)
    except errors.IRIError as error:
        return type(error).__name__
    return "fine"


def _do(world: World, operation: tuple[str, ...]) -> None:
    runtime, (verb, uid, argument) = world.runtime, operation
    id = ids(world).get(uid, "unknown")
    match verb:
        case "create":
            power = Power.OFF if argument == "off" else Power.ON
            runtime.create(machine(uid, local(image=argument), interface(), power=power))
        case "remove":
            runtime.remove(RuntimeMachine, id)
        case "power":
            runtime.change(id, SetPower(Power.OFF if argument == "off" else Power.ON))
        case "attach":
            runtime.change(id, AttachVolume(local(argument)))
        case "detach":
            runtime.change(id, DetachVolume(argument))
        case "plug":
            runtime.change(id, AttachInterface(interface(argument)))
        case "unplug":
            runtime.change(id, DetachInterface(argument))
        case "resize":
            runtime.change(id, Resize(argument))
        case "inside":
            with world.host.lock() as now_ns:
                machine_calls.act(
                    world.host, world.host.find(SimulatedMachine, id), GuestAction[argument], now_ns
                )
        case "volume":
            runtime.create(volume(argument, size_bytes=GIB))
        case "grow":
            for made in runtime.objects(RuntimeVolume).values():
                runtime.change(made.id, ExpandVolume(Resources(storage_bytes=3 * GIB)))
        case "snapshot":
            for made in runtime.objects(RuntimeVolume).values():
                runtime.create(snapshot(made.id, uid=f"of-{made.id}"))
        case "connect":
            for made in runtime.objects(RuntimeVolume).values():
                if made.status.access is not None:
                    runtime.change(id, AttachVolume(connect_disk(made, name=f"v-{made.id[:6]}")))
        case "drop":
            for made in runtime.objects(RuntimeVolume).values():
                runtime.remove(RuntimeVolume, made.id)
        case "host":
            world.restart_host(float(argument))
        case _:
            raise AssertionError(verb)


def list_events(world: World) -> list[tuple[str, str, int]]:
    try:
        return [(event.id, event.reason, event.time) for event in world.runtime.events()]
    except errors.Unavailable:
        return []
