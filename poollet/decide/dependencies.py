"""The dependencies of a machine or a volume: each part resolved, or the reason why it is not ready yet.

Theory of operation. Reads `live` and the lists of this host's runtimes. Waits for nothing and orders
nothing: a part that is not ready leaves the object pending, and the next decision resolves it again. Every
part is resolved, also after one failed, so that people see all that is missing at once. A part that is not
ready never changes what a running machine has.

A machine reaches a volume by the access data of this host's own runtime, else by the access data on
`live`. Git never contains access secrets. For a volume on this host they come from its runtime; for a
volume on another host the operator puts them into this host's secrets file under the volume's namespace
and name.

Must never happen: a machine attaches a volume whose claim it does not hold (`check_claim`); an object that
merely has the name of a machine's own volume or interface is used as such (`is_owned`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from iri.machine import Disk, RuntimeNetworkInterface, VolumeConnection
from iri.volume import (
    ImageSource,
    RuntimeSnapshot,
    RuntimeVolume,
    SnapshotSource,
    SnapshotState,
    VolumeDataSource,
    VolumeEncryption,
    VolumeState,
)
from poollet.decide import model_to_iri
from poollet.decide.actions import Ref
from poollet.decide.assignments import HostOrder
from poollet.decide.first_boot.render import render_first_boot
from poollet.decide.secrets import Lookups, NotReady, read_secret, read_secret_key
from poollet.report.conditions import ACCESS_SECRET
from poollet.sync.live_view import Lookup
from schemas.kinds import Key, Kind
from schemas.model import (
    EphemeralNetworkInterface,
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
class MachineDependencies:
    """By the name of the attachment, in the order of the manifest. `mapping` holds name and uid of the interface objects."""

    disks: Mapping[str, Disk | NotReady]
    interfaces: Mapping[str, RuntimeNetworkInterface | NotReady]
    mapping: Mapping[str, tuple[str, str]]
    ignition: bytes | NotReady
    class_problem: NotReady | None

    @property
    def is_complete(self) -> bool:
        """Whether the machine can be created."""
        return not self.not_ready

    @property
    def not_ready(self) -> tuple[NotReady, ...]:
        """The parts that are missing."""
        return not_ready(*self.disks.values(), *self.interfaces.values(), self.ignition, self.class_problem)


@dataclass(frozen=True)
class VolumeDependencies:
    """None where the volume declares no encryption, or no source."""

    encryption: VolumeEncryption | NotReady | None = None
    source: VolumeDataSource | NotReady | None = None
    class_problem: NotReady | None = None

    @property
    def is_complete(self) -> bool:
        """Whether the volume can be created."""
        return not self.not_ready

    @property
    def not_ready(self) -> tuple[NotReady, ...]:
        """The parts that are missing."""
        return not_ready(self.encryption, self.source, self.class_problem)


def not_ready(*parts: object) -> tuple[NotReady, ...]:
    """Those of the parts that are not ready, in their order."""
    return tuple(part for part in parts if isinstance(part, NotReady))


def resolve_machine(order: HostOrder, machine: Machine, lookups: Lookups) -> MachineDependencies:
    """Every part is resolved, also after one was not ready, so that the report names all that is missing at once."""
    interfaces: dict[str, RuntimeNetworkInterface | NotReady] = {}
    mapping: dict[str, tuple[str, str]] = {}
    for entry in machine.spec.network_interfaces:
        found = find_interface(machine, entry, lookups.objects)
        if isinstance(found, NotReady):
            interfaces[entry.name] = found
            continue
        spec, name, uid = found
        interfaces[entry.name] = resolve_interface(entry.name, spec, machine.namespace, name, lookups)
        mapping[entry.name] = (name, uid)
    class_name = machine.spec.machine_class_ref.name
    return MachineDependencies(
        disks={entry.name: resolve_disk(machine, entry, lookups) for entry in machine.spec.volumes},
        interfaces=interfaces,
        mapping=mapping,
        ignition=resolve_ignition(machine, lookups),
        class_problem=check_class(Kind.MACHINE_CLASS, Kind.MACHINE_POOL, class_name, order, lookups),
    )


def resolve_volume(order: HostOrder, volume: Volume, lookups: Lookups) -> VolumeDependencies:
    """Every part is resolved, as for a machine."""
    reference = volume.spec.volume_class_ref
    if reference is None:
        return VolumeDependencies(
            class_problem=NotReady("NoClass", "the volume has no class, so no pool provides it")
        )
    return VolumeDependencies(
        encryption=resolve_encryption(volume, lookups),
        source=resolve_source(order, volume, lookups),
        class_problem=check_class(Kind.VOLUME_CLASS, Kind.VOLUME_POOL, reference.name, order, lookups),
    )


def check_class(
    kind: Kind, pool_kind: Kind, name: str, order: HostOrder, lookups: Lookups
) -> NotReady | None:
    """A class has to be on `live`, and the runtime of the pool has to offer it with the same capabilities. A
    runtime may offer other classes; those are not used."""
    if not isinstance(lookups.objects.get(Key(kind, "", name)), MachineClass | VolumeClass):
        return NotReady("ClassMissing", f"{kind} {name} does not exist on live")
    if name not in lookups.facts.pools[(pool_kind, order.pool)].classes:
        message = f"pool {order.pool} does not offer {kind} {name} with the capabilities declared on live"
        return NotReady("ClassNotOffered", message)
    return None


def resolve_disk(machine: Machine, entry: MachineVolume, lookups: Lookups) -> Disk | NotReady:
    """A local disk needs nothing. A volume has to exist, belong to the machine if it is the machine's own, be claimed by the machine,
    and be reachable from this host, in this order: the first reason is reported."""
    key = machine.volume_key(entry)
    if key is None:
        assert isinstance(entry.source, LocalDisk)
        return model_to_iri.local_disk(entry, entry.source)
    volume = lookups.objects.get(key)
    if not isinstance(volume, Volume):
        return NotReady("VolumeMissing", f"Volume {key.name} does not exist on live yet")
    if entry.ephemeral is not None and not is_owned(volume, machine):
        return NotReady("VolumeNotOwned", f"Volume {key.name} exists, but this machine does not own it")
    if problem := check_claim(machine, volume):
        return problem
    found = resolve_connection(volume, lookups)
    if isinstance(found, NotReady):
        return found
    return Disk(name=entry.name, device=entry.device, connection=found)


def resolve_connection(volume: Volume, lookups: Lookups) -> VolumeConnection | NotReady:
    """A volume of a pool of this poollet is local, also while `live` has no access data of it yet. All others are remote."""
    encryption = resolve_encryption(volume, lookups)
    if isinstance(encryption, NotReady):
        return encryption
    encryption_data = encryption.secret_data if encryption is not None else {}
    assignment = volume.status.assignment
    if assignment is not None and (pool := lookups.facts.pools.get((Kind.VOLUME_POOL, assignment.pool))):
        here = lookups.inventory.at(Ref(RuntimeVolume, volume.metadata.uid), pool.runtime)
        return connect_local(volume, here if isinstance(here, RuntimeVolume) else None, encryption_data)
    return connect_remote(volume, lookups, encryption_data)


def connect_local(
    volume: Volume, here: RuntimeVolume | None, encryption: Mapping[str, bytes]
) -> VolumeConnection | NotReady:
    """From the runtime itself, so that secrets and sizes are current and never pass through Git."""
    if here is None or here.deleted_at or here.status.state is not VolumeState.AVAILABLE:
        why = f": {here.detail.message}" if here is not None and here.detail.message else ""
        return NotReady("VolumeNotReady", f"Volume {volume.name} is not available yet{why}")
    access = here.status.access
    if access is None:
        return NotReady("VolumeNotReady", f"Volume {volume.name} has no access data yet")
    return VolumeConnection(
        driver=access.driver,
        handle=access.handle,
        attributes=access.attributes,
        secret_data=access.secret_data,
        encryption_data=encryption,
        effective_storage_bytes=here.status.resources.storage_bytes if here.status.resources else 0,
    )


def connect_remote(
    volume: Volume, lookups: Lookups, encryption: Mapping[str, bytes]
) -> VolumeConnection | NotReady:
    """From `live`, which carries what the volume's own host reported, plus the secret from this host's file if one is required."""
    access = volume.status.access
    if volume.status.state != "Available" or access is None or not access.handle:
        return NotReady("VolumeNotReady", f"Volume {volume.name} is not available yet")
    secret = read_access_secret(volume, lookups)
    if isinstance(secret, NotReady):
        return secret
    storage = volume.status.resources.get("storage")
    return VolumeConnection(
        driver=access.driver,
        handle=access.handle,
        attributes=access.volume_attributes,
        secret_data=secret,
        encryption_data=encryption,
        effective_storage_bytes=storage.ceil() if storage is not None else 0,
    )


def read_access_secret(volume: Volume, lookups: Lookups) -> Mapping[str, bytes] | NotReady:
    """A Secret that the volume names, else an entry of this host's secrets file if the volume's host says that one is required."""
    access = volume.status.access
    if access is not None and access.secret_ref is not None:
        found = read_secret(volume.namespace, access.secret_ref.name, lookups)
        return found if isinstance(found, NotReady) else found.by_key
    required = [one for one in volume.status.conditions if one.type == ACCESS_SECRET]
    if not required or required[0].status != "True":
        return {}
    own = lookups.facts.secrets.get(volume.namespace, volume.name)
    if own is None:
        cure = f"add them to this host's secrets file as {volume.namespace}/{volume.name}"
        message = f"access to Volume {volume.name} requires {required[0].message}: {cure}"
        return NotReady("AccessSecretMissing", message)
    return own


def check_claim(machine: Machine, volume: Volume) -> NotReady | None:
    """The fence between hosts: only the machine that holds a volume's claim may attach it, and only under the assignment that the claim
    names. So a host that the machine has left attaches nothing any more."""
    if volume.metadata.is_deleting:
        return NotReady("VolumeDeleting", f"Volume {volume.name} is being deleted")
    claim = volume.spec.claim_ref
    if claim is None:
        message = f"this machine does not hold the claim to Volume {volume.name} yet"
        return NotReady("VolumeUnclaimed", message)
    if claim.uid != machine.metadata.uid:
        message = f"machine {claim.name} holds the claim to Volume {volume.name}"
        return NotReady("VolumeClaimed", message)
    assignment = machine.status.assignment
    if assignment is None or claim.assignment != assignment.id:
        message = f"the claim to Volume {volume.name} is for another assignment of this machine"
        return NotReady("VolumeClaimed", message)
    if claim.released:
        message = (
            f"this machine has released Volume {volume.name}; it gets the claim again once `live` is updated"
        )
        return NotReady("VolumeUnclaimed", message)
    return None


def is_owned(object: Volume | InterfaceObject, machine: Machine) -> bool:
    """By uid: a name may be taken by an object that people wrote."""
    return any(owner.uid == machine.metadata.uid for owner in object.metadata.owner_references)


def find_interface(
    machine: Machine, entry: MachineNetworkInterface, objects: Lookup
) -> tuple[NetworkInterfaceSpec, str, str] | NotReady:
    """Its spec, name and uid. The machine's own interface follows its template until `live` has the object."""
    source = entry.source
    is_own = isinstance(source, EphemeralNetworkInterface)
    name = f"{machine.name}-{entry.name}" if isinstance(source, EphemeralNetworkInterface) else source.name
    found = objects.get(Key(Kind.NETWORK_INTERFACE, machine.namespace, name))
    if not isinstance(found, InterfaceObject):
        if isinstance(source, EphemeralNetworkInterface):
            return source.network_interface_template.spec, name, ""
        return NotReady("NetworkInterfaceMissing", f"NetworkInterface {name} does not exist on live")
    if is_own and not is_owned(found, machine):
        message = f"NetworkInterface {name} exists, but this machine does not own it"
        return NotReady("NetworkInterfaceNotOwned", message)
    if found.metadata.is_deleting:
        return NotReady("NetworkInterfaceDeleting", f"NetworkInterface {name} is being deleted")
    return found.spec, name, found.metadata.uid


def resolve_interface(
    entry: str, spec: NetworkInterfaceSpec, namespace: str, name: str, lookups: Lookups
) -> RuntimeNetworkInterface | NotReady:
    """The MAC address is the declared one, else one derived from the interface's name, so that it survives a move to another host."""
    network = lookups.objects.get(Key(Kind.NETWORK, namespace, spec.network_ref.name))
    if not isinstance(network, Network):
        return NotReady("NetworkMissing", f"Network {spec.network_ref.name} does not exist on live")
    if network.metadata.is_deleting:
        return NotReady("NetworkDeleting", f"Network {network.name} is being deleted")
    fleet = lookups.facts.fleet
    mac = spec.mac_address or model_to_iri.mac_address(fleet, namespace, name)
    return model_to_iri.interface(entry, spec, network, fleet, mac)


def resolve_ignition(machine: Machine, lookups: Lookups) -> bytes | NotReady:
    """First-boot data in whatever language: that of the Secret, or of userData, with guestConfig. Empty if the machine declares none."""
    reference = machine.spec.ignition_ref
    own: bytes | NotReady = machine.spec.guest_config.user_data.encode()
    if reference is not None:
        own = read_secret_key(machine.namespace, reference.name, reference.key, lookups)
    return own if isinstance(own, NotReady) else render_first_boot(machine, own)


def resolve_encryption(volume: Volume, lookups: Lookups) -> VolumeEncryption | NotReady | None:
    """The key of a volume, from the Secret that it names; None where it is not encrypted."""
    if volume.spec.encryption is None:
        return None
    found = read_secret(volume.namespace, volume.spec.encryption.secret_ref.name, lookups)
    return found if isinstance(found, NotReady) else VolumeEncryption(secret_data=found.by_key)


def resolve_source(order: HostOrder, volume: Volume, lookups: Lookups) -> VolumeDataSource | NotReady | None:
    """An image is resolved by the runtime. A snapshot has to be on this host's runtime, because its data is copied there."""
    source = volume.spec.data_source
    if source is None:
        return None
    if source.os_image is not None:
        image = ImageSource(image=source.os_image.image, architecture=source.os_image.architecture or "")
        return VolumeDataSource(image_data_source=image)
    assert source.volume_snapshot_ref is not None, "the schema demands one of the two"
    name = source.volume_snapshot_ref.name
    snapshot = lookups.objects.get(Key(Kind.VOLUME_SNAPSHOT, volume.namespace, name))
    if not isinstance(snapshot, VolumeSnapshot):
        return NotReady("SnapshotMissing", f"VolumeSnapshot {name} does not exist on live")
    here = lookups.inventory.at(Ref(RuntimeSnapshot, snapshot.metadata.uid), order.runtime)
    if not isinstance(here, RuntimeSnapshot):
        return NotReady(
            "SnapshotElsewhere", f"the runtime of pool {order.pool} does not have VolumeSnapshot {name}"
        )
    if here.status.state is not SnapshotState.READY or here.deleted_at:
        return NotReady("SnapshotNotReady", f"VolumeSnapshot {name} is not ready yet")
    return VolumeDataSource(snapshot_data_source=SnapshotSource(snapshot_id=here.id))
