"""Model objects converted into runtime objects: labels, annotations, disks, network interfaces. Whether they may exist is decided elsewhere."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Mapping
from functools import lru_cache

import msgspec
from msgspec.structs import replace

from iri.identity import ASSIGNMENT_LABEL, UID_LABELS
from iri.machine import (
    Disk,
    Image,
    Power,
    RuntimeLocalDisk,
    RuntimeMachineSpec,
    RuntimeNetworkInterface,
)
from iri.runtime import RuntimeKind
from poollet.decide.actions import Ref
from poollet.decide.assignments import HostOrder
from schemas import live_layout
from schemas.model import LocalDisk as DesiredLocalDisk
from schemas.model import Machine, MachineVolume, Network, NetworkInterfaceSpec

MACHINE_PREFIX = "machinepoollet.ironcore.dev/"
GENERATION = f"{MACHINE_PREFIX}machine-generation"
IRI_GENERATION = f"{MACHINE_PREFIX}irimachine-generation"
INTERFACES = f"{MACHINE_PREFIX}networkinterfacemapping"
OWN_ANNOTATIONS = frozenset(
    (
        GENERATION,
        IRI_GENERATION,
        INTERFACES,
        live_layout.EFI_VARIABLES,
        live_layout.PRIORITY,
        live_layout.RESTART,
    )
)

_MACS = uuid.UUID("0c1e5e0e-9d3a-5b49-8a44-0e2a4be26a51")


def labels(order: HostOrder, fleet: str) -> dict[str, str]:
    """By these labels an object is found again after a restart: without the fleet's label it counts as foreign and is never touched."""
    uid, namespace, name = label_names(order.ref.kind)
    return {
        uid: order.ref.uid,
        namespace: order.key.namespace,
        name: order.key.name,
        live_layout.FLEET: fleet,
        live_layout.POOL: order.pool,
        ASSIGNMENT_LABEL: order.assignment,
    }


def label_names(kind: RuntimeKind) -> tuple[str, str, str]:
    """The names of the labels for uid, namespace and name, as IronCore has them."""
    uid = UID_LABELS[kind]
    prefix = uid.removesuffix("uid")
    return uid, f"{prefix}namespace", f"{prefix}name"


def read_name(ref: Ref, found: Mapping[str, str]) -> tuple[str, str]:
    """Namespace and name from an object's labels; its uid if the labels have no name."""
    _, namespace, name = label_names(ref.kind)
    return found.get(namespace, ""), found.get(name, "") or ref.uid


def machine_annotations(
    machine: Machine, interfaces: Mapping[str, tuple[str, str]], restart: str
) -> dict[str, str]:
    """Fields of the model that the IRI has no field for. `interfaces` are name and uid of the interface objects, by attachment; `restart` is the token of the last restart."""
    result = {
        GENERATION: "0",
        IRI_GENERATION: "0",
        INTERFACES: _json({name: {"name": found, "uid": uid} for name, (found, uid) in interfaces.items()}),
    }
    if machine.spec.efi_vars:
        result[live_layout.EFI_VARIABLES] = _json(
            [{"name": each.name, "uuid": each.uuid, "value": each.value} for each in machine.spec.efi_vars]
        )
    if machine.spec.priority:
        result[live_layout.PRIORITY] = str(machine.spec.priority)
    if restart:
        result[live_layout.RESTART] = restart
    return result


def power(machine: Machine) -> Power:
    """The desired power; `live` has a word, the runtime an enumeration."""
    return Power.ON if machine.spec.power == "On" else Power.OFF


def local_disk(disk: MachineVolume, desired: DesiredLocalDisk) -> Disk:
    """A disk that belongs to the machine and is removed with it. Without an image it is empty."""
    image = Image(image=desired.image) if desired.image else None
    return Disk(
        name=disk.name,
        device=disk.device,
        local_disk=RuntimeLocalDisk(size_bytes=desired.size_bytes, image=image),
    )


def interface(
    name: str, spec: NetworkInterfaceSpec, network: Network, fleet: str, mac: str
) -> RuntimeNetworkInterface:
    """A network without `providerID` belongs to the fleet: it has the same id on each host."""
    attributes = network.spec.attributes | dict(spec.attributes) | {"mac": mac}
    ipv4 = network.spec.ipv4
    if ipv4 is not None:
        attributes |= {"cidr": ipv4.cidr, "dhcp": _flag(ipv4.dhcp), "nat": _flag(ipv4.nat)}
    return RuntimeNetworkInterface(
        name=name,
        network_id=network.spec.provider_id or f"{fleet}/{network.namespace}/{network.name}",
        ips=spec.addresses,
        attributes=attributes,
    )


@lru_cache(maxsize=1 << 16)
def mac_address(fleet: str, namespace: str, name: str) -> str:
    """Derived from fleet, namespace and name of the interface, so that it is the same on every host. Locally administered."""
    digest = uuid.uuid5(_MACS, f"{fleet}/{namespace}/{name}").bytes
    return ":".join(f"{byte:02x}" for byte in (0x02, *digest[:5]))


def spec_digest(spec: RuntimeMachineSpec, annotations: Mapping[str, str]) -> str:
    """Tells one desired state from another. Secrets are left out: the digest of a short one would reveal it."""
    plain = replace(spec, ignition_data=b"", volumes=tuple(map(_without_secrets, spec.volumes)))
    body = msgspec.json.encode((plain, dict(annotations)), order="deterministic")
    return hashlib.blake2b(body, digest_size=8).hexdigest()


def _without_secrets(disk: Disk) -> Disk:
    """And without the size: a volume that grew does not change the desired state of its machine."""
    if disk.connection is None:
        return disk
    plain = replace(disk.connection, secret_data={}, encryption_data={}, effective_storage_bytes=0)
    return replace(disk, connection=plain)


def _flag(value: bool) -> str:
    return "true" if value else "false"


def _json(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))
