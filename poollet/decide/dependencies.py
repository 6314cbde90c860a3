"""What a machine or a volume needs before it can be made, each part either at hand or with the reason why it is not yet.

Asks the target branch and this host's lists; waits for nothing and orders nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from iri.machine import Disk, RuntimeNetworkInterface
from iri.volume import (
    ImageSource,
    RuntimeSnapshot,
    SnapshotSource,
    SnapshotState,
    VolumeDataSource,
    VolumeEncryption,
)
from poollet.decide import model_to_iri, secrets
from poollet.decide.actions import Ref
from poollet.decide.assignments import Order
from poollet.decide.host_facts import HostFacts
from poollet.decide.inventory import Inventory
from poollet.decide.secrets import NotReady
from poollet.decide.volume_access import resolve_connection
from poollet.sync.live_view import Lookup
from schemas.kinds import Key, Kind
from schemas.model import (
    EphemeralNetworkInterface,
    EphemeralVolume,
    LocalDisk,
    Machine,
    MachineClass,
    MachineNetworkInterface,
    MachineVolume,
    Network,
    NetworkInterfaceSpec,
    Volume,
    VolumeClass,
    VolumeSnapshot,
)
from schemas.model import NetworkInterface as InterfaceObject


@dataclass(frozen=True)
class Lookups:
    """What prerequisites are looked for in."""

    objects: Lookup
    inventory: Inventory
    facts: HostFacts


@dataclass(frozen=True)
class MachineDependencies:
    """By the name of the attachment, in the order of the manifest. `mapping` names the interface objects."""

    disks: Mapping[str, Disk | NotReady]
    interfaces: Mapping[str, RuntimeNetworkInterface | NotReady]
    mapping: Mapping[str, tuple[str, str]]
    ignition: bytes | NotReady
    class_problem: NotReady | None

    @property
    def is_complete(self) -> bool:
        parts = (*self.disks.values(), *self.interfaces.values(), self.ignition, self.class_problem)
        return not any(isinstance(part, NotReady) for part in parts)


@dataclass(frozen=True)
class VolumeDependencies:
    encryption: VolumeEncryption | NotReady | None = None
    source: VolumeDataSource | NotReady | None = None
    class_problem: NotReady | None = field(default=None)

    @property
    def is_complete(self) -> bool:
        return not any(
            isinstance(part, NotReady) for part in (self.encryption, self.source, self.class_problem)
        )


def resolve_machine(order: Order, machine: Machine, around: Lookups) -> MachineDependencies:
    interfaces: dict[str, RuntimeNetworkInterface | NotReady] = {}
    mapping: dict[str, tuple[str, str]] = {}
    for entry in machine.spec.network_interfaces:
        found = interface_object(machine, entry, around.objects)
        if isinstance(found, NotReady):
            interfaces[entry.name] = found
            continue
        spec, name, uid = found
        interfaces[entry.name] = interface(entry.name, spec, machine.namespace, name, around)
        mapping[entry.name] = (name, uid)
    return MachineDependencies(
        disks={entry.name: disk(machine, entry, around) for entry in machine.spec.volumes},
        interfaces=interfaces,
        mapping=mapping,
        ignition=ignition(machine, around),
        class_problem=class_problem(
            Kind.MACHINE_CLASS, Kind.MACHINE_POOL, machine.spec.machine_class_ref.name, order, around
        ),
    )


def resolve_volume(order: Order, volume: Volume, around: Lookups) -> VolumeDependencies:
    reference = volume.spec.volume_class_ref
    if reference is None:
        return VolumeDependencies(
            class_problem=NotReady("NoClass", "a volume without a class is provided from outside")
        )
    return VolumeDependencies(
        encryption=encryption(volume, around),
        source=data_source(order, volume, around),
        class_problem=class_problem(Kind.VOLUME_CLASS, Kind.VOLUME_POOL, reference.name, order, around),
    )


def class_problem(kind: Kind, pool_kind: Kind, name: str, order: Order, around: Lookups) -> NotReady | None:
    if not isinstance(around.objects.get(Key(kind, "", name)), MachineClass | VolumeClass):
        return NotReady("ClassMissing", f"there is no {kind} {name}")
    if name not in around.facts.pools[(pool_kind, order.pool)].classes:
        return NotReady(
            "ClassNotOffered", f"pool {order.pool} does not offer {kind} {name} as it is declared"
        )
    return None


def volume_key(machine: Machine, entry: MachineVolume) -> Key | None:
    """The Volume that is to be attached; None for a disk of the host's own."""
    match entry.source:
        case LocalDisk():
            return None
        case EphemeralVolume():
            return Key(Kind.VOLUME, machine.namespace, f"{machine.name}-{entry.name}")
        case reference:
            return Key(Kind.VOLUME, machine.namespace, reference.name)


def disk(machine: Machine, entry: MachineVolume, around: Lookups) -> Disk | NotReady:
    key = volume_key(machine, entry)
    if key is None:
        assert isinstance(entry.source, LocalDisk)
        return model_to_iri.local_disk(entry, entry.source)
    volume = around.objects.get(key)
    if not isinstance(volume, Volume):
        return NotReady("VolumeMissing", f"there is no Volume {key.name} yet")
    if entry.ephemeral is not None and not is_owned(volume, machine):
        return NotReady("VolumeNotOwned", f"Volume {key.name} exists and is not this machine's own")
    if fault := claim_fault(machine, volume):
        return fault
    found = resolve_connection(volume, around.objects, around.inventory, around.facts)
    if isinstance(found, NotReady):
        return found
    return Disk(name=entry.name, device=entry.device, connection=found)


def claim_fault(machine: Machine, volume: Volume) -> NotReady | None:
    """The fence: a volume is attached only by the host of the machine that holds its claim."""
    if volume.metadata.is_deleting:
        return NotReady("VolumeDeleting", f"Volume {volume.name} is being deleted")
    claim = volume.spec.claim_ref
    if claim is None:
        return NotReady("VolumeUnclaimed", f"Volume {volume.name} is not claimed by this machine yet")
    if claim.uid != machine.metadata.uid:
        return NotReady("VolumeClaimed", f"Volume {volume.name} is claimed by machine {claim.name}")
    return None


def is_owned(object: Volume | InterfaceObject, machine: Machine) -> bool:
    return any(owner.uid == machine.metadata.uid for owner in object.metadata.owner_references)


def interface_object(
    machine: Machine, entry: MachineNetworkInterface, objects: Lookup
) -> tuple[NetworkInterfaceSpec, str, str] | NotReady:
    """Its spec, name and uid. One of the machine's own is as its template says until it is on the target branch."""
    source = entry.source
    is_own = isinstance(source, EphemeralNetworkInterface)
    name = f"{machine.name}-{entry.name}" if isinstance(source, EphemeralNetworkInterface) else source.name
    found = objects.get(Key(Kind.NETWORK_INTERFACE, machine.namespace, name))
    if not isinstance(found, InterfaceObject):
        if isinstance(source, EphemeralNetworkInterface):
            return source.network_interface_template.spec, name, ""
        return NotReady("NetworkInterfaceMissing", f"there is no NetworkInterface {name}")
    if is_own and not is_owned(found, machine):
        return NotReady(
            "NetworkInterfaceNotOwned", f"NetworkInterface {name} exists and is not this machine's own"
        )
    if found.metadata.is_deleting:
        return NotReady("NetworkInterfaceDeleting", f"NetworkInterface {name} is being deleted")
    return found.spec, name, found.metadata.uid


def interface(
    entry: str, spec: NetworkInterfaceSpec, namespace: str, name: str, around: Lookups
) -> RuntimeNetworkInterface | NotReady:
    network = around.objects.get(Key(Kind.NETWORK, namespace, spec.network_ref.name))
    if not isinstance(network, Network):
        return NotReady("NetworkMissing", f"there is no Network {spec.network_ref.name}")
    if network.metadata.is_deleting:
        return NotReady("NetworkDeleting", f"Network {network.name} is being deleted")
    fleet = around.facts.fleet
    mac = spec.mac_address or model_to_iri.mac_address(fleet, namespace, name)
    return model_to_iri.interface(entry, spec, network, fleet, mac)


def ignition(machine: Machine, around: Lookups) -> bytes | NotReady:
    reference = machine.spec.ignition_ref
    if reference is None:
        return b""
    return secrets.read_secret_key(
        machine.namespace, reference.name, reference.key, around.objects, around.facts
    )


def encryption(volume: Volume, around: Lookups) -> VolumeEncryption | NotReady | None:
    if volume.spec.encryption is None:
        return None
    name = volume.spec.encryption.secret_ref.name
    found = secrets.read_secret(volume.namespace, name, around.objects, around.facts)
    return found if isinstance(found, NotReady) else VolumeEncryption(secret_data=found.by_key)


def data_source(order: Order, volume: Volume, around: Lookups) -> VolumeDataSource | NotReady | None:
    source = volume.spec.data_source
    if source is None:
        return None
    if source.os_image is not None:
        image = ImageSource(image=source.os_image.image, architecture=source.os_image.architecture or "")
        return VolumeDataSource(image_data_source=image)
    assert source.volume_snapshot_ref is not None, "the schema demands one of the two"
    name = source.volume_snapshot_ref.name
    snapshot = around.objects.get(Key(Kind.VOLUME_SNAPSHOT, volume.namespace, name))
    if not isinstance(snapshot, VolumeSnapshot):
        return NotReady("SnapshotMissing", f"there is no VolumeSnapshot {name}")
    here = around.inventory.at(Ref(RuntimeSnapshot, snapshot.metadata.uid), order.runtime)
    if not isinstance(here, RuntimeSnapshot):
        return NotReady(
            "SnapshotElsewhere", f"VolumeSnapshot {name} is not known to the runtime of this pool"
        )
    if here.status.state is not SnapshotState.READY or here.deleted_at:
        return NotReady("SnapshotNotReady", f"VolumeSnapshot {name} is not ready yet")
    return VolumeDataSource(snapshot_data_source=SnapshotSource(snapshot_id=here.id))
