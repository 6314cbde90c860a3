"""What is wrong with a request, whatever the runtime behind it. Pure; raises InvalidArgument that names the field.

Values are never quoted: a field may be a secret that went astray.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Mapping

from google.protobuf.message import Message

from iri.errors import InvalidArgument
from iri.proto.gitvirt.host.v1alpha1 import api_pb2 as host_pb
from iri.proto.machine.v1alpha1 import api_pb2 as machine_pb
from iri.proto.meta.v1alpha1 import api_pb2 as meta_pb
from iri.proto.volume.v1alpha1 import api_pb2 as volume_pb

# Existing clients receive 4 MiB at most, so a list of one such object would already be lost on them.
LARGEST_OBJECT_BYTES = 4 * 1024 * 1024
LONGEST_ID = 253
LONGEST_KEY = 317
NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,251}[A-Za-z0-9])?")
DEVICE = re.compile(r"[a-z][a-z0-9]{0,15}")
HOSTNAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", re.IGNORECASE)


def id_given(value: str, field: str) -> None:
    if not value:
        raise InvalidArgument(f"{field} is missing")
    if len(value) > LONGEST_ID:
        raise InvalidArgument(f"{field} is longer than {LONGEST_ID} characters")


def name_given(value: str, field: str) -> None:
    if not value:
        raise InvalidArgument(f"{field} is missing")
    if not NAME.fullmatch(value):
        raise InvalidArgument(
            f"{field} must be at most 253 letters, digits, '.', '_' and '-', and begin and end with a letter or digit"
        )


def part_given(message: Message, name: str, field: str) -> None:
    if not message.HasField(name):
        raise InvalidArgument(f"{field} is missing")


def size_bounded(message: Message, field: str) -> None:
    size = message.ByteSize()
    if size > LARGEST_OBJECT_BYTES:
        raise InvalidArgument(f"{field} has {size} bytes; at most {LARGEST_OBJECT_BYTES} are allowed")


def keys(mapping: Mapping[str, object], field: str) -> None:
    for key in mapping:
        if not key:
            raise InvalidArgument(f"{field} has an empty key")
        if len(key) > LONGEST_KEY:
            raise InvalidArgument(f"{field} has a key longer than {LONGEST_KEY} characters")


def not_negative(value: int, field: str) -> None:
    if value < 0:
        raise InvalidArgument(f"{field} is negative")


def unique(values: Iterable[str], field: str) -> None:
    seen = set()
    for value in values:
        if value in seen:
            raise InvalidArgument(f"{field} occurs twice")
        seen.add(value)


def metadata(value: meta_pb.ObjectMetadata, field: str) -> None:
    keys(value.labels, f"{field}.labels")
    keys(value.annotations, f"{field}.annotations")


def power(value: int, field: str) -> None:
    if value not in machine_pb.Power.values():
        raise InvalidArgument(f"{field} is neither POWER_ON (0) nor POWER_OFF (1)")


def machine(value: machine_pb.Machine) -> None:
    size_bounded(value, "machine")
    metadata(value.metadata, "machine.metadata")
    part_given(value, "spec", "machine.spec")
    spec, field = value.spec, "machine.spec"
    power(spec.power, f"{field}.power")
    name_given(getattr(spec, "class"), f"{field}.class")
    for number, volume in enumerate(spec.volumes):
        disk(volume, f"{field}.volumes[{number}]")
    unique((volume.name for volume in spec.volumes), f"the name of one of {field}.volumes")
    unique((volume.device for volume in spec.volumes), f"the device of one of {field}.volumes")
    for number, interface in enumerate(spec.network_interfaces):
        network_interface(interface, f"{field}.network_interfaces[{number}]")
    unique(
        (interface.name for interface in spec.network_interfaces),
        f"the name of one of {field}.network_interfaces",
    )
    hostname = spec.guest_config.hostname
    if hostname and not HOSTNAME.fullmatch(hostname):
        raise InvalidArgument(f"{field}.guest_config.hostname must be at most 63 letters, digits and '-'")


def disk(value: machine_pb.Volume, field: str) -> None:
    size_bounded(value, field)
    name_given(value.name, f"{field}.name")
    if not DEVICE.fullmatch(value.device):
        raise InvalidArgument(f"{field}.device must be a device name such as oda")
    if value.HasField("local_disk") == value.HasField("connection"):
        raise InvalidArgument(f"{field} needs exactly one of local_disk and connection")
    not_negative(value.local_disk.size_bytes, f"{field}.local_disk.size_bytes")
    if value.local_disk.HasField("image") and not value.local_disk.image.image:
        raise InvalidArgument(f"{field}.local_disk.image.image is missing")
    if value.HasField("connection"):
        name_given(value.connection.driver, f"{field}.connection.driver")
        keys(value.connection.attributes, f"{field}.connection.attributes")
        keys(value.connection.secret_data, f"{field}.connection.secret_data")
        keys(value.connection.encryption_data, f"{field}.connection.encryption_data")
        not_negative(value.connection.effective_storage_bytes, f"{field}.connection.effective_storage_bytes")


def network_interface(value: machine_pb.NetworkInterface, field: str) -> None:
    size_bounded(value, field)
    name_given(value.name, f"{field}.name")
    keys(value.attributes, f"{field}.attributes")
    for number, ip in enumerate(value.ips):
        try:
            ipaddress.ip_address(ip)
        except ValueError:
            raise InvalidArgument(f"{field}.ips[{number}] is not an IP address") from None


def volume(value: volume_pb.Volume) -> None:
    size_bounded(value, "volume")
    metadata(value.metadata, "volume.metadata")
    part_given(value, "spec", "volume.spec")
    spec = value.spec
    name_given(getattr(spec, "class"), "volume.spec.class")
    storage(spec.resources, "volume.spec.resources")
    keys(spec.encryption.secret_data, "volume.spec.encryption.secret_data")
    source, field = spec.volume_data_source, "volume.spec.volume_data_source"
    if source.HasField("image_data_source") and source.HasField("snapshot_data_source"):
        raise InvalidArgument(f"{field} has both an image and a snapshot")
    if source.HasField("image_data_source") and not source.image_data_source.image:
        raise InvalidArgument(f"{field}.image_data_source.image is missing")
    if source.HasField("snapshot_data_source"):
        id_given(source.snapshot_data_source.snapshot_id, f"{field}.snapshot_data_source.snapshot_id")


def storage(value: volume_pb.VolumeResources, field: str) -> None:
    if value.storage_bytes <= 0:
        raise InvalidArgument(f"{field}.storage_bytes must be greater than 0")


def snapshot(value: volume_pb.VolumeSnapshot) -> None:
    size_bounded(value, "volume_snapshot")
    metadata(value.metadata, "volume_snapshot.metadata")
    part_given(value, "spec", "volume_snapshot.spec")
    id_given(value.spec.volume_id, "volume_snapshot.spec.volume_id")


def classes(request: host_pb.SetClassesRequest) -> None:
    for number, machine_class in enumerate(request.machine_classes):
        field = f"machine_classes[{number}]"
        name_given(machine_class.name, f"{field}.name")
        resources = machine_class.capabilities.resources
        keys(resources, f"{field}.capabilities.resources")
        for required in ("cpu", "memory"):
            if resources.get(required, 0) <= 0:
                raise InvalidArgument(f"{field}.capabilities.resources[{required}] must be greater than 0")
        for resource, amount in resources.items():
            not_negative(amount, f"{field}.capabilities.resources[{resource}]")
    unique((item.name for item in request.machine_classes), "the name of one of machine_classes")
    for number, volume_class in enumerate(request.volume_classes):
        name_given(volume_class.name, f"volume_classes[{number}].name")
        not_negative(volume_class.capabilities.tps, f"volume_classes[{number}].capabilities.tps")
        not_negative(volume_class.capabilities.iops, f"volume_classes[{number}].capabilities.iops")
    unique((item.name for item in request.volume_classes), "the name of one of volume_classes")
