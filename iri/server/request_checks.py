"""What is wrong with a request, whatever the runtime behind it. Pure; raises InvalidArgument, which names the field.

Checked here: what must be present, lengths, characters, ranges, and what must be unique within a request. Not checked
here: whether an object, a class or a network exists, which only the runtime knows.

Must never happen: a value is quoted in a message, because a secret may be in the wrong field.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from google.protobuf.message import Message

from iri.change import (
    AttachInterface,
    AttachVolume,
    DetachInterface,
    DetachVolume,
    ExpandVolume,
    Resize,
    RuntimeChange,
    SetAnnotations,
    SetPower,
    UpdateVolume,
)
from iri.ended_assignments import KEPT
from iri.errors import InvalidArgument
from iri.proto.gitvirt.host.v1alpha1 import api_pb2 as host_pb
from iri.proto.machine.v1alpha1 import api_pb2 as machine_pb
from iri.proto.volume.v1alpha1 import api_pb2 as volume_pb

# Existing clients receive at most 4 MiB: a list with a larger object would be useless to them.
LARGEST_OBJECT_BYTES = 4 * 1024 * 1024
LONGEST_ID = 253
LONGEST_KEY = 317
NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,251}[A-Za-z0-9])?")
DEVICE = re.compile(r"[a-z][a-z0-9]{0,15}")
HOSTNAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", re.IGNORECASE)


def require_id(value: str, field: str) -> None:
    """Refuses a request without an id, or with one that is too long. Otherwise any text: ids are the runtime's own."""
    if not value:
        raise InvalidArgument(f"{field} is missing")
    if len(value) > LONGEST_ID:
        raise InvalidArgument(f"{field} is longer than {LONGEST_ID} characters")


def require_name(value: str, field: str) -> None:
    """Names become parts of paths and libvirt names, so their characters are limited."""
    if not value:
        raise InvalidArgument(f"{field} is missing")
    if not NAME.fullmatch(value):
        raise InvalidArgument(
            f"{field} must be at most 253 letters, digits, '.', '_' and '-', and begin and end with a letter or digit"
        )


def require_part(message: Message, name: str, field: str) -> None:
    """Of a message field. Scalars cannot be told from their defaults on the wire, so they have checks of their own."""
    if not message.HasField(name):
        raise InvalidArgument(f"{field} is missing")


def check_size(message: Message, field: str) -> None:
    """Of an object that would be part of a list."""
    size = message.ByteSize()
    if size > LARGEST_OBJECT_BYTES:
        raise InvalidArgument(f"{field} has {size} bytes; at most {LARGEST_OBJECT_BYTES} are allowed")


def check_keys(mapping: Mapping[str, object], field: str) -> None:
    """Refuses a map of the request with an empty key or one that is too long; `field` names the map. Its values are free."""
    for key in mapping:
        if not key:
            raise InvalidArgument(f"{field} has an empty key")
        if len(key) > LONGEST_KEY:
            raise InvalidArgument(f"{field} has a key longer than {LONGEST_KEY} characters")


def check_not_negative(value: int, field: str) -> None:
    """For sizes and limits, which are signed on the wire."""
    if value < 0:
        raise InvalidArgument(f"{field} is negative")


def check_unique(values: Iterable[str], field: str) -> None:
    """InvalidArgument when a value occurs twice in this list of the request; `field` names the list. An empty value counts."""
    seen = set()
    for value in values:
        if value in seen:
            raise InvalidArgument(f"{field} occurs twice")
        seen.add(value)


def check_object(value: Any, field: str) -> None:
    """What objects of every kind have: a size that fits into a list, metadata, a spec."""
    check_size(value, field)
    check_keys(value.metadata.labels, f"{field}.metadata.labels")
    check_keys(value.metadata.annotations, f"{field}.metadata.annotations")
    require_part(value, "spec", f"{field}.spec")


def check_power(value: int, field: str) -> None:
    """proto3 lets any number through; only those of the enum are orders."""
    if value not in machine_pb.Power.values():
        raise InvalidArgument(f"{field} is neither POWER_ON (0) nor POWER_OFF (1)")


def check_annotations(request: machine_pb.UpdateMachineAnnotationsRequest) -> None:
    """They are replaced as a whole, so the request must fit into a list."""
    check_size(request, "annotations")
    check_keys(request.annotations, "annotations")


def check_part(request: Message, name: str, check: Callable[[Any, str], None]) -> None:
    """A part that the request must have, checked under its name.

    Absent and empty differ on the wire: a part that is absent is an error here, never a default.
    """
    require_part(request, name, name)
    check(getattr(request, name), name)


def check_machine(value: machine_pb.Machine) -> None:
    """A machine to create."""
    check_object(value, "machine")
    spec, field = value.spec, "machine.spec"
    check_power(spec.power, f"{field}.power")
    require_name(getattr(spec, "class"), f"{field}.class")
    for number, volume in enumerate(spec.volumes):
        check_disk(volume, f"{field}.volumes[{number}]")
    check_unique((volume.name for volume in spec.volumes), f"the name of one of {field}.volumes")
    check_unique((volume.device for volume in spec.volumes), f"the device of one of {field}.volumes")
    for number, interface in enumerate(spec.network_interfaces):
        check_network_interface(interface, f"{field}.network_interfaces[{number}]")
    check_unique(
        (interface.name for interface in spec.network_interfaces),
        f"the name of one of {field}.network_interfaces",
    )
    hostname = spec.guest_config.hostname
    if hostname and not HOSTNAME.fullmatch(hostname):
        raise InvalidArgument(f"{field}.guest_config.hostname must be at most 63 letters, digits and '-'")


def check_disk(value: machine_pb.Volume, field: str) -> None:
    """A disk of a machine: exactly one source, a device name, no negative size."""
    check_size(value, field)
    require_name(value.name, f"{field}.name")
    if not DEVICE.fullmatch(value.device):
        raise InvalidArgument(f"{field}.device must be a device name such as oda")
    if value.HasField("local_disk") == value.HasField("connection"):
        raise InvalidArgument(f"{field} needs exactly one of local_disk and connection")
    check_not_negative(value.local_disk.size_bytes, f"{field}.local_disk.size_bytes")
    if value.local_disk.HasField("image") and not value.local_disk.image.image:
        raise InvalidArgument(f"{field}.local_disk.image.image is missing")
    if value.HasField("connection"):
        require_name(value.connection.driver, f"{field}.connection.driver")
        check_keys(value.connection.attributes, f"{field}.connection.attributes")
        check_keys(value.connection.secret_data, f"{field}.connection.secret_data")
        check_keys(value.connection.encryption_data, f"{field}.connection.encryption_data")
        check_not_negative(
            value.connection.effective_storage_bytes, f"{field}.connection.effective_storage_bytes"
        )


def check_network_interface(value: machine_pb.NetworkInterface, field: str) -> None:
    """Attributes are free: only the runtime knows their meaning."""
    check_size(value, field)
    require_name(value.name, f"{field}.name")
    check_keys(value.attributes, f"{field}.attributes")
    for number, ip in enumerate(value.ips):
        try:
            ipaddress.ip_address(ip)
        except ValueError:
            raise InvalidArgument(f"{field}.ips[{number}] is not an IP address") from None


def check_volume(value: volume_pb.Volume) -> None:
    """A volume to create: a class, a size, at most one data source."""
    check_object(value, "volume")
    spec = value.spec
    require_name(getattr(spec, "class"), "volume.spec.class")
    check_storage(spec.resources, "volume.spec.resources")
    check_keys(spec.encryption.secret_data, "volume.spec.encryption.secret_data")
    source, field = spec.volume_data_source, "volume.spec.volume_data_source"
    if source.HasField("image_data_source") and source.HasField("snapshot_data_source"):
        raise InvalidArgument(f"{field} has both an image and a snapshot")
    if source.HasField("image_data_source") and not source.image_data_source.image:
        raise InvalidArgument(f"{field}.image_data_source.image is missing")
    if source.HasField("snapshot_data_source"):
        require_id(source.snapshot_data_source.snapshot_id, f"{field}.snapshot_data_source.snapshot_id")


def check_storage(value: volume_pb.VolumeResources, field: str) -> None:
    if value.storage_bytes <= 0:
        raise InvalidArgument(f"{field}.storage_bytes must be greater than 0")


def check_snapshot(value: volume_pb.VolumeSnapshot) -> None:
    """A snapshot to create."""
    check_object(value, "volume_snapshot")
    require_id(value.spec.volume_id, "volume_snapshot.spec.volume_id")


def check_assignments(request: host_pb.EndAssignmentsRequest) -> None:
    """At most as many ids as a runtime keeps, each one a name."""
    if len(request.assignment_ids) > KEPT:
        raise InvalidArgument(f"assignment_ids has {len(request.assignment_ids)} entries and may have {KEPT}")
    for id in request.assignment_ids:
        require_name(id, "assignment_ids")


def check_classes(request: host_pb.SetClassesRequest) -> None:
    """Classes to offer: a machine class needs cpu and memory; names are unique per kind."""
    for number, machine_class in enumerate(request.machine_classes):
        field = f"machine_classes[{number}]"
        require_name(machine_class.name, f"{field}.name")
        resources = machine_class.capabilities.resources
        check_keys(resources, f"{field}.capabilities.resources")
        for required in ("cpu", "memory"):
            if resources.get(required, 0) <= 0:
                raise InvalidArgument(f"{field}.capabilities.resources[{required}] must be greater than 0")
        for resource, amount in resources.items():
            check_not_negative(amount, f"{field}.capabilities.resources[{resource}]")
    check_unique((item.name for item in request.machine_classes), "the name of one of machine_classes")
    for number, volume_class in enumerate(request.volume_classes):
        require_name(volume_class.name, f"volume_classes[{number}].name")
        check_not_negative(volume_class.capabilities.tps, f"volume_classes[{number}].capabilities.tps")
        check_not_negative(volume_class.capabilities.iops, f"volume_classes[{number}].capabilities.iops")
    check_unique((item.name for item in request.volume_classes), "the name of one of volume_classes")


# What a change must have beside the object's id.
# One entry for each change that the interface has; `object_services` looks it up for every such call.
CHANGE_CHECKS: Mapping[type[RuntimeChange], Callable[[Any], None]] = {
    SetAnnotations: check_annotations,
    SetPower: lambda request: check_power(request.power, "power"),
    Resize: lambda request: require_name(getattr(request, "class"), "class"),
    AttachVolume: lambda request: check_part(request, "volume", check_disk),
    DetachVolume: lambda request: require_id(request.name, "name"),
    UpdateVolume: lambda request: check_part(request, "volume", check_disk),
    AttachInterface: lambda request: check_part(request, "network_interface", check_network_interface),
    DetachInterface: lambda request: require_id(request.name, "name"),
    ExpandVolume: lambda request: check_part(request, "resources", check_storage),
}
