"""A machine's record in its domain's metadata: what is desired, and the little that cannot be observed. Pure.

Every user of the host may read a domain's XML. So keys and Ignition data are not in the record: `split_secrets` takes them out
of a spec, they are stored as libvirt secrets, and `merge_secrets` puts them back when the record is read.

The record is a format on disk: fields are only ever added, each with a default, so that this version reads the records of earlier
ones. A record of a later version may not decode; then the machine is left alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from xml.etree import ElementTree

import msgspec
from msgspec.structs import replace

from iri.libvirt.xml import Element, element
from iri.machine import Disk, RuntimeMachine, RuntimeMachineSpec, VolumeConnection

NAMESPACE = "https://gitvirt.dev/machine/v1"
PREFIX = "gitvirt"
TAG = "machine"
MIB = 1 << 20
ElementTree.register_namespace(PREFIX, NAMESPACE)  # else virsh shows ns0


class MachineRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What is desired, and what cannot be observed of the domain."""

    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    generation: int = 0
    created_at: int = 0
    deleted_at: int = 0
    spec: RuntimeMachineSpec = RuntimeMachineSpec()
    resources: Mapping[str, int] = {}  # of its class, when the class was set
    is_built: bool = False  # the domain was defined with its devices
    has_secrets: bool = False
    is_halted: bool = False  # the guest powered itself off and stays off
    is_held: bool = False  # the host booted, and the machine's power was not ordered since
    boots: int = 0
    image_ref: str = ""

    @property
    def cpus(self) -> int:
        """A class without processors has one: no domain runs without."""
        return max(1, self.resources.get("cpu", 1))

    @property
    def memory_bytes(self) -> int:
        """In whole MiB, as libvirt rounds it."""
        return -(-self.resources.get("memory", 0) // MIB) * MIB


class SpecSecrets(msgspec.Struct, frozen=True, kw_only=True):
    """The secret parts of a spec. `disks`: secret and encryption data by attachment name."""

    ignition_data: bytes = b""
    disks: Mapping[str, tuple[Mapping[str, bytes], Mapping[str, bytes]]] = {}

    def __bool__(self) -> bool:
        return bool(self.ignition_data or self.disks)


def split_secrets(spec: RuntimeMachineSpec) -> tuple[RuntimeMachineSpec, SpecSecrets]:
    """Returns the spec without its secrets, and the secrets."""
    disks = {}
    volumes = []
    for disk in spec.volumes:
        connection = disk.connection
        if connection is not None and (connection.secret_data or connection.encryption_data):
            disks[disk.name] = (connection.secret_data, connection.encryption_data)
            disk = replace(disk, connection=replace(connection, secret_data={}, encryption_data={}))
        volumes.append(disk)
    secrets = SpecSecrets(ignition_data=spec.ignition_data, disks=disks)
    return replace(spec, ignition_data=b"", volumes=tuple(volumes)), secrets


def merge_secrets(spec: RuntimeMachineSpec, secrets: SpecSecrets) -> RuntimeMachineSpec:
    """The inverse of `split_secrets`. Secrets of disks that the spec does not have are left out."""
    volumes = tuple(merge_disk_secrets(disk, secrets) for disk in spec.volumes)
    return replace(spec, ignition_data=secrets.ignition_data, volumes=volumes)


def merge_disk_secrets(disk: Disk, secrets: SpecSecrets) -> Disk:
    """A disk that the secrets do not name had none."""
    if disk.connection is None or disk.name not in secrets.disks:
        return disk
    secret_data, encryption_data = secrets.disks[disk.name]
    connection: VolumeConnection = replace(
        disk.connection, secret_data=secret_data, encryption_data=encryption_data
    )
    return replace(disk, connection=connection)


def encode_secrets(secrets: SpecSecrets) -> bytes:
    """Binary, because the values are; `machine_secrets` cuts it into pieces."""
    return msgspec.msgpack.encode(secrets)


def decode_secrets(data: bytes) -> SpecSecrets:
    """Raises DecodeError for data that this runtime has not written: the machine counts as unreadable then."""
    return msgspec.msgpack.decode(data, type=SpecSecrets)


def to_metadata(record: MachineRecord) -> Element:
    """JSON in ASCII, which XML can carry whatever labels hold. Without the spec's secrets, and without a namespace: libvirt adds
    ours."""
    spec, _ = split_secrets(record.spec)
    return element(TAG, json.dumps(msgspec.to_builtins(replace(record, spec=spec)), separators=(",", ":")))


def from_metadata(metadata: Element) -> MachineRecord:
    """Raises ValueError for metadata that no version of this runtime wrote."""
    try:
        return msgspec.json.decode(metadata.text or "", type=MachineRecord)
    except msgspec.DecodeError as error:
        raise ValueError(f"invalid machine metadata: {error}") from None


def desired_machine(record: MachineRecord, id: str) -> RuntimeMachine:
    """The machine as it is desired; status and detail come from the observation."""
    return RuntimeMachine(
        id=id,
        labels=record.labels,
        annotations=record.annotations,
        generation=record.generation,
        created_at=record.created_at,
        deleted_at=record.deleted_at,
        spec=record.spec,
    )
