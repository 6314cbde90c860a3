"""The runtime interface as a table, written from its published description and by hand, so that a slip in a .proto file
meets a second opinion. It is also enough to build a client of its own: see `file_descriptor`.

A message is "number name type" a field. `*` repeats, `a>b` is a map; a name without a dot is of the same package.
"""

from __future__ import annotations

from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto

META = "meta.v1alpha1.ObjectMetadata"
EVENT = "event.v1alpha1.Event"
EVENT_FILTER = "1 id string; 2 label_selector string>string; 3 events_from_time int64; 4 events_to_time int64"
FILTER = "1 id string; 2 label_selector string>string"
VERSION = {
    "VersionRequest": "1 version string",
    "VersionResponse": "1 runtime_name string; 2 runtime_version string",
}
EVENTS = {
    "EventFilter": EVENT_FILTER,
    "ListEventsRequest": "1 filter EventFilter",
    "ListEventsResponse": f"1 events *{EVENT}",
}

MESSAGES: dict[str, dict[str, str]] = {
    "meta.v1alpha1": {
        "ObjectMetadata": "1 id string; 2 annotations string>string; 3 labels string>string; 4 generation int64; "
        "5 created_at int64; 6 deleted_at int64",
    },
    "event.v1alpha1": {
        "Event": "2 spec EventSpec",
        "EventSpec": f"1 involved_object_meta {META}; 2 reason string; 3 message string; 4 type string; "
        "5 event_time int64; 6 action string",
    },
    "machine.v1alpha1": VERSION
    | EVENTS
    | {
        "Machine": f"1 metadata {META}; 2 spec MachineSpec; 3 status MachineStatus",
        "MachineSpec": "1 power Power; 2 class string; 3 ignition_data bytes; 4 volumes *Volume; "
        "5 network_interfaces *NetworkInterface; 6 guest_config GuestConfig",
        "GuestConfig": "1 hostname string",
        "Volume": "1 name string; 2 device string; 4 local_disk LocalDisk; 5 connection VolumeConnection",
        "LocalDisk": "1 size_bytes int64; 2 image ImageSpec",
        "ImageSpec": "1 image string",
        "VolumeConnection": "1 driver string; 2 handle string; 3 attributes string>string; 4 secret_data string>bytes; "
        "5 encryption_data string>bytes; 6 effective_storage_bytes int64",
        "VolumeSpec": "1 driver string; 2 handle string; 3 attributes string>string; 4 secret_data string>bytes",
        "NetworkInterface": "1 name string; 2 network_id string; 3 ips *string; 4 attributes string>string",
        "MachineStatus": "1 observed_generation int64; 2 state MachineState; 3 image_ref string; "
        "4 volumes *VolumeStatus; 5 network_interfaces *NetworkInterfaceStatus; 6 machine_conditions *Conditions",
        "VolumeStatus": "1 name string; 2 handle string; 3 state VolumeState",
        "NetworkInterfaceStatus": "1 name string; 2 handle string; 3 state NetworkInterfaceState",
        "Conditions": "1 type string; 2 status string; 3 reason string; 4 message string; "
        "5 last_transition_time int64",
        "MachineClass": "1 name string; 2 capabilities MachineClassCapabilities",
        "MachineClassCapabilities": "1 resources string>int64",
        "MachineClassStatus": "1 machine_class MachineClass; 2 quantity int64",
        "MachineFilter": FILTER,
        "ListMachinesRequest": "1 filter MachineFilter",
        "ListMachinesResponse": "1 machines *Machine",
        "CreateMachineRequest": "1 machine Machine",
        "CreateMachineResponse": "1 machine Machine",
        "DeleteMachineRequest": "1 machine_id string",
        "DeleteMachineResponse": "",
        "UpdateMachineAnnotationsRequest": "1 machine_id string; 2 annotations string>string",
        "UpdateMachineAnnotationsResponse": "",
        "UpdateMachinePowerRequest": "1 machine_id string; 2 power Power",
        "UpdateMachinePowerResponse": "",
        "AttachVolumeRequest": "1 machine_id string; 2 volume Volume",
        "AttachVolumeResponse": "",
        "DetachVolumeRequest": "1 machine_id string; 2 name string",
        "DetachVolumeResponse": "",
        "UpdateVolumeRequest": "1 machine_id string; 2 volume Volume",
        "UpdateVolumeResponse": "",
        "AttachNetworkInterfaceRequest": "1 machine_id string; 2 network_interface NetworkInterface",
        "AttachNetworkInterfaceResponse": "",
        "DetachNetworkInterfaceRequest": "1 machine_id string; 2 name string",
        "DetachNetworkInterfaceResponse": "",
        "StatusRequest": "",
        "StatusResponse": "1 machine_class_status *MachineClassStatus",
        "ExecRequest": "1 machine_id string",
        "ExecResponse": "1 url string",
    },
    "volume.v1alpha1": VERSION
    | EVENTS
    | {
        "Volume": f"1 metadata {META}; 2 spec VolumeSpec; 3 status VolumeStatus",
        "VolumeSpec": "2 class string; 3 resources VolumeResources; 4 encryption EncryptionSpec; "
        "5 volume_data_source VolumeDataSource",
        "VolumeResources": "1 storage_bytes int64",
        "EncryptionSpec": "1 secret_data string>bytes",
        "VolumeDataSource": "1 image_data_source ImageDataSource; 2 snapshot_data_source SnapshotDataSource",
        "ImageDataSource": "1 image string; 2 architecture string",
        "SnapshotDataSource": "1 snapshot_id string",
        "VolumeStatus": "1 state VolumeState; 2 access VolumeAccess; 3 resources VolumeResources",
        "VolumeAccess": "1 driver string; 2 handle string; 3 attributes string>string; 4 secret_data string>bytes",
        "VolumeClass": "1 name string; 2 capabilities VolumeClassCapabilities",
        "VolumeClassCapabilities": "1 tps int64; 2 iops int64",
        "VolumeClassStatus": "1 volume_class VolumeClass; 2 quantity int64",
        "VolumeSnapshot": f"1 metadata {META}; 2 spec VolumeSnapshotSpec; 3 status VolumeSnapshotStatus",
        "VolumeSnapshotSpec": "1 volume_id string",
        "VolumeSnapshotStatus": "1 state VolumeSnapshotState; 2 size int64",
        "VolumeFilter": FILTER,
        "VolumeSnapshotFilter": FILTER,
        "ListVolumesRequest": "1 filter VolumeFilter",
        "ListVolumesResponse": "1 volumes *Volume",
        "CreateVolumeRequest": "1 volume Volume",
        "CreateVolumeResponse": "1 volume Volume",
        "ExpandVolumeRequest": "1 volume_id string; 2 resources VolumeResources",
        "ExpandVolumeResponse": "",
        "DeleteVolumeRequest": "1 volume_id string",
        "DeleteVolumeResponse": "",
        "CreateVolumeSnapshotRequest": "1 volume_snapshot VolumeSnapshot",
        "CreateVolumeSnapshotResponse": "1 volume_snapshot VolumeSnapshot",
        "DeleteVolumeSnapshotRequest": "1 volume_snapshot_id string",
        "DeleteVolumeSnapshotResponse": "",
        "ListVolumeSnapshotsRequest": "1 filter VolumeSnapshotFilter",
        "ListVolumeSnapshotsResponse": "1 volume_snapshots *VolumeSnapshot",
        "StatusRequest": "",
        "StatusResponse": "1 volume_class_status *VolumeClassStatus",
    },
}

ENUMS: dict[str, dict[str, str]] = {
    "meta.v1alpha1": {},
    "event.v1alpha1": {},
    "machine.v1alpha1": {
        "Power": "POWER_ON POWER_OFF",
        "MachineState": "MACHINE_PENDING MACHINE_RUNNING MACHINE_SUSPENDED MACHINE_TERMINATED MACHINE_TERMINATING "
        "MACHINE_STOPPED",
        "VolumeState": "VOLUME_PENDING VOLUME_ATTACHED",
        "NetworkInterfaceState": "NETWORK_INTERFACE_PENDING NETWORK_INTERFACE_ATTACHED",
    },
    "volume.v1alpha1": {
        "VolumeState": "VOLUME_PENDING VOLUME_AVAILABLE VOLUME_ERROR",
        "VolumeSnapshotState": "VOLUME_SNAPSHOT_PENDING VOLUME_SNAPSHOT_READY VOLUME_SNAPSHOT_FAILED",
    },
}

# Every call is unary and takes and returns messages named after it.
SERVICES: dict[str, dict[str, str]] = {
    "meta.v1alpha1": {},
    "event.v1alpha1": {},
    "machine.v1alpha1": {
        "MachineRuntime": "Version ListEvents ListMachines CreateMachine DeleteMachine UpdateMachineAnnotations "
        "UpdateMachinePower AttachVolume DetachVolume UpdateVolume AttachNetworkInterface DetachNetworkInterface "
        "Status Exec"
    },
    "volume.v1alpha1": {
        "VolumeRuntime": "Version ListEvents ListVolumes CreateVolume ExpandVolume DeleteVolume CreateVolumeSnapshot "
        "DeleteVolumeSnapshot ListVolumeSnapshots Status"
    },
}

IMPORTS = {
    "meta.v1alpha1": (),
    "event.v1alpha1": ("meta/v1alpha1/api.proto",),
    "machine.v1alpha1": ("event/v1alpha1/api.proto", "meta/v1alpha1/api.proto"),
    "volume.v1alpha1": ("event/v1alpha1/api.proto", "meta/v1alpha1/api.proto"),
}

RESERVED = {("machine.v1alpha1", "Volume"): (3, ""), ("volume.v1alpha1", "VolumeSpec"): (1, "image")}

SCALARS = {
    "string": FieldDescriptorProto.TYPE_STRING,
    "bytes": FieldDescriptorProto.TYPE_BYTES,
    "int64": FieldDescriptorProto.TYPE_INT64,
}


def fields(text: str) -> list[tuple[int, str, str]]:
    parts = [field.split() for field in text.split(";") if field.strip()]
    return [(int(number), name, kind) for number, name, kind in parts]


def file_descriptor(package: str) -> FileDescriptorProto:
    """The descriptor of one package, built from nothing but this table."""
    file = FileDescriptorProto(
        name=package.replace(".", "/") + "/api.proto",
        package=package,
        syntax="proto3",
        dependency=IMPORTS[package],
    )
    for name, values in ENUMS[package].items():
        enum = file.enum_type.add(name=name)
        for number, value in enumerate(values.split()):
            enum.value.add(name=value, number=number)
    for name, text in MESSAGES[package].items():
        message = file.message_type.add(name=name)
        for number, field, kind in fields(text):
            add_field(message, package, number, field, kind)
        if reserved := RESERVED.get((package, name)):
            message.reserved_range.add(start=reserved[0], end=reserved[0] + 1)
            message.reserved_name.extend(reserved[1].split())
    for name, calls in SERVICES[package].items():
        service = file.service.add(name=name)
        for call in calls.split():
            service.method.add(
                name=call, input_type=f".{package}.{call}Request", output_type=f".{package}.{call}Response"
            )
    return file


def add_field(message: DescriptorProto, package: str, number: int, name: str, kind: str) -> None:
    field = message.field.add(name=name, number=number)
    field.label = FieldDescriptorProto.LABEL_OPTIONAL
    if ">" in kind:
        key, value = kind.split(">")
        entry = message.nested_type.add(name=camel(name)[0].upper() + camel(name)[1:] + "Entry")
        entry.options.map_entry = True
        add_field(entry, package, 1, "key", key)
        add_field(entry, package, 2, "value", value)
        field.label = FieldDescriptorProto.LABEL_REPEATED
        field.type = FieldDescriptorProto.TYPE_MESSAGE
        field.type_name = f".{package}.{message.name}.{entry.name}"
        return
    if kind.startswith("*"):
        field.label, kind = FieldDescriptorProto.LABEL_REPEATED, kind[1:]
    if kind in SCALARS:
        field.type = SCALARS[kind]
        return
    is_enum = kind in ENUMS[package]
    field.type = FieldDescriptorProto.TYPE_ENUM if is_enum else FieldDescriptorProto.TYPE_MESSAGE
    field.type_name = "." + (kind if "." in kind else f"{package}.{kind}")


def camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)
