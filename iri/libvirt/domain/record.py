"""What a domain's metadata says of its machine, and how it is written there. Pure.

Any user of the host may read a domain's XML, so keys and ignition data are no part of it: `sealed` takes them out of a
spec, and they are kept where libvirt keeps secrets.
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
ElementTree.register_namespace(PREFIX, NAMESPACE)  # or people would read ns0 in virsh


class MachineRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The wish, and the little that cannot be seen of the domain."""

    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    generation: int = 0
    created_at: int = 0
    deleted_at: int = 0
    spec: RuntimeMachineSpec = RuntimeMachineSpec()
    resources: Mapping[str, int] = {}  # of its class when it was last set
    is_built: bool = False  # the domain has its devices
    has_secrets: bool = False
    is_halted: bool = False  # the guest powered itself off and is to stay off
    boots: int = 0
    image_ref: str = ""


class SpecSecrets(msgspec.Struct, frozen=True, kw_only=True):
    """The secret parts of a spec. `disks`: secret and encryption data by attachment name."""

    ignition_data: bytes = b""
    disks: Mapping[str, tuple[Mapping[str, bytes], Mapping[str, bytes]]] = {}

    def __bool__(self) -> bool:
        return bool(self.ignition_data or self.disks)


def split_secrets(spec: RuntimeMachineSpec) -> tuple[RuntimeMachineSpec, SpecSecrets]:
    """The spec without its secrets, and these."""
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
    volumes = tuple(merge_disk_secrets(disk, secrets) for disk in spec.volumes)
    return replace(spec, ignition_data=secrets.ignition_data, volumes=volumes)


def merge_disk_secrets(disk: Disk, secrets: SpecSecrets) -> Disk:
    if disk.connection is None or disk.name not in secrets.disks:
        return disk
    secret_data, encryption_data = secrets.disks[disk.name]
    connection: VolumeConnection = replace(
        disk.connection, secret_data=secret_data, encryption_data=encryption_data
    )
    return replace(disk, connection=connection)


def encode_secrets(secrets: SpecSecrets) -> bytes:
    return msgspec.msgpack.encode(secrets)


def decode_secrets(data: bytes) -> SpecSecrets:
    return msgspec.msgpack.decode(data, type=SpecSecrets)


def to_metadata(record: MachineRecord) -> Element:
    """JSON in ASCII: XML can carry it, whatever labels and annotations hold. In no namespace: libvirt puts it into ours."""
    return element(TAG, json.dumps(msgspec.to_builtins(record), separators=(",", ":")))


def from_metadata(metadata: Element) -> MachineRecord:
    """ValueError for what no version of this runtime has written."""
    try:
        return msgspec.json.decode(metadata.text or "", type=MachineRecord)
    except msgspec.DecodeError as error:
        raise ValueError(f"the metadata of the machine cannot be read: {error}") from None


def desired_machine(record: MachineRecord, id: str) -> RuntimeMachine:
    return RuntimeMachine(
        id=id,
        labels=record.labels,
        annotations=record.annotations,
        generation=record.generation,
        created_at=record.created_at,
        deleted_at=record.deleted_at,
        spec=record.spec,
    )
