"""A volume or a network interface can belong to only one machine at a time, and to only one entry of it.

The first use in the order of the tree counts as the owner, and the finding is at the later one. That is for the message
alone: which machine has the volume is recorded by its `claimRef` on the target branch.
"""

from __future__ import annotations

from collections.abc import Iterator

from schemas.kinds import Kind
from schemas.model import Machine, Volume
from schemas.validate.finding import Finding
from schemas.validate.tree import Declaration, Tree

CODES = {Kind.VOLUME: "GV320", Kind.NETWORK_INTERFACE: "GV321"}


def findings(tree: Tree) -> Iterator[Finding]:
    """GV320 to GV322."""
    users: dict[tuple[Kind, str, str], tuple[Declaration[Machine], str]] = {}
    volumes = tree.of(Volume)
    for machine in tree.of(Machine).values():
        namespace = machine.key.namespace
        for pointer, kind, name in uses(machine.object):
            first, there = users.setdefault((kind, namespace, name), (machine, pointer))
            if first is not machine or there != pointer:
                yield used_twice(machine, pointer, kind, name, first)
            volume = volumes.get((namespace, name)) if kind is Kind.VOLUME else None
            if volume and volume.object.spec.unclaimable:
                yield unclaimable(machine, pointer, volume)


def uses(machine: Machine) -> Iterator[tuple[str, Kind, str]]:
    """Pointer, kind and name of each declared object that the machine uses exclusively."""
    for position, volume in enumerate(machine.spec.volumes):
        if volume.volume_ref:
            yield f"/spec/volumes/{position}/volumeRef/name", Kind.VOLUME, volume.volume_ref.name
    for position, interface in enumerate(machine.spec.network_interfaces):
        if interface.network_interface_ref:
            pointer = f"/spec/networkInterfaces/{position}/networkInterfaceRef/name"
            yield pointer, Kind.NETWORK_INTERFACE, interface.network_interface_ref.name


def used_twice(
    machine: Declaration[Machine], pointer: str, kind: Kind, name: str, first: Declaration[Machine]
) -> Finding:
    """GV320 or GV321, at the second use, which also names the first one."""
    if first is machine:
        message = f'{kind} "{name}" is used twice by this machine'
        return machine.finding(CODES[kind], pointer, message, "remove one of the entries")
    noun = "volume" if kind is Kind.VOLUME else "network interface"
    return machine.finding(
        CODES[kind],
        pointer,
        f'{kind} "{name}" already belongs to machine {first.key.name} in {first.path}',
        f"a {noun} belongs to one machine at a time: give each its own",
    )._replace(also=(first.path,))


def unclaimable(machine: Declaration[Machine], pointer: str, volume: Declaration[Volume]) -> Finding:
    """GV322: the volume must not be claimed."""
    return machine.finding(
        "GV322",
        pointer,
        f'Volume "{volume.key.name}" is marked unclaimable in {volume.path}',
        "remove `unclaimable` there, or use another volume",
    )._replace(also=(volume.path,))
