"""How `gitvirt iri` shows objects: as a table, as ids, or as messages in YAML or JSON.

YAML and JSON have the field names of the messages, so what `get` shows can be edited and given to `create`. Secrets are
hidden in every form unless --show-secrets is given.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping, Sequence

from google.protobuf.message import Message

from iri.cli.iri.messages import render_message
from iri.machine import AttachmentState, AttachmentStatus, MachineState, RuntimeMachine
from iri.proto.machine.v1alpha1 import api_pb2 as machine_pb
from iri.proto.volume.v1alpha1 import api_pb2 as volume_pb
from iri.runtime import RuntimeKind, RuntimeObject
from iri.volume import RuntimeSnapshot, RuntimeVolume, SnapshotState, VolumeState
from iri.wire.message_codec import encode
from reconciler.cli.duration import format_age
from reconciler.cli.output import Column, show_table, show_value
from reconciler.cli.terminal import Terminal, TextStyle, printable
from schemas.model.quantity import units

FORMATS = ("table", "wide", "json", "yaml", "name")
NAME_LABELS = (
    "machinepoollet.ironcore.dev/machine-name",
    "volumepoollet.ironcore.dev/volume-name",
    "volumepoollet.ironcore.dev/volume-snapshot-name",
)

AnyState = MachineState | VolumeState | SnapshotState
STATE_STYLES: Mapping[AnyState, TextStyle] = {
    MachineState.RUNNING: TextStyle.GREEN,
    MachineState.PENDING: TextStyle.YELLOW,
    MachineState.TERMINATING: TextStyle.YELLOW,
    MachineState.TERMINATED: TextStyle.RED,
    VolumeState.AVAILABLE: TextStyle.GREEN,
    VolumeState.PENDING: TextStyle.YELLOW,
    VolumeState.ERROR: TextStyle.RED,
    SnapshotState.READY: TextStyle.GREEN,
    SnapshotState.PENDING: TextStyle.YELLOW,
    SnapshotState.FAILED: TextStyle.RED,
}


def add_output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-o", "--output", choices=FORMATS, default="table", help="how to show it (default: table)"
    )
    parser.add_argument(
        "--show-secrets", action="store_true", help="print keys, passwords and ignition data as they are"
    )


def select_columns(kind: RuntimeKind, format: str, now_seconds: float) -> list[Column[RuntimeObject]]:
    columns = COLUMNS[kind](now_seconds)
    return [column for column in columns if format == "wide" or not column.is_wide]


def show_objects(
    terminal: Terminal, arguments: argparse.Namespace, kind: RuntimeKind, items: Sequence[RuntimeObject]
) -> None:
    """A list in every format; in YAML and JSON a list too, even with one object."""
    match arguments.output:
        case "json" | "yaml":
            show_value(terminal, arguments.output, [value_of(item, arguments.show_secrets) for item in items])
        case "name":
            for item in items:
                terminal.line(printable(item.id))
        case format:
            show_table(terminal, select_columns(kind, format, time.time()), items)


def show_object(terminal: Terminal, arguments: argparse.Namespace, item: RuntimeObject) -> None:
    """One object that was named by its id: in YAML and JSON it is not inside of a list."""
    if arguments.output in ("json", "yaml"):
        show_value(terminal, arguments.output, value_of(item, arguments.show_secrets))
    else:
        show_objects(terminal, arguments, type(item), [item])


def value_of(item: RuntimeObject, with_secrets: bool) -> dict[str, object]:
    return render_message(build_message(item), with_secrets=with_secrets)


def build_message(item: RuntimeObject) -> Message:
    """Of the object's kind, with everything but its details."""
    match item:
        case RuntimeMachine():
            return encode(machine_pb.Machine, item)
        case RuntimeVolume():
            return encode(volume_pb.Volume, item)
        case RuntimeSnapshot():
            return encode(volume_pb.VolumeSnapshot, item)


def name_of(item: RuntimeObject) -> str:
    return next((item.labels[label] for label in NAME_LABELS if label in item.labels), "")


def state_name(state: AnyState) -> str:
    return state.name.capitalize()


def count_attached(entries: Sequence[AttachmentStatus], desired: int) -> str:
    """Attached devices of all devices: those of spec, and those that are still leaving."""
    attached = sum(entry.state is AttachmentState.ATTACHED for entry in entries)
    return f"{attached}/{max(desired, len(entries))}"


def _machine_columns(now_seconds: float) -> list[Column[RuntimeMachine]]:
    """Wide columns come last, so that the narrow table is the beginning of the wide one."""
    return [
        Column("ID", lambda machine: machine.id),
        Column("NAME", name_of),
        Column("CLASS", lambda machine: machine.spec.class_name),
        Column(
            "STATE",
            lambda machine: state_name(machine.status.state),
            lambda machine: STATE_STYLES.get(machine.status.state),
        ),
        Column("AGE", lambda machine: format_age(now_seconds - machine.created_at / 1e9)),
        Column("POWER", lambda machine: machine.spec.power.name.capitalize(), is_wide=True),
        Column(
            "VOLUMES",
            lambda machine: count_attached(machine.status.volumes, len(machine.spec.volumes)),
            is_wide=True,
        ),
        Column("IPS", list_ips, is_wide=True),
        Column("REASON", lambda machine: machine.detail.reason, is_wide=True),
    ]


def list_ips(machine: RuntimeMachine) -> str:
    """Observed addresses; the desired ones while none is observed."""
    observed = [ip for interface in machine.detail.network_interfaces for ip in interface.ips]
    desired = [ip for interface in machine.spec.network_interfaces for ip in interface.ips]
    return ",".join(observed or desired)


def _volume_columns(now_seconds: float) -> list[Column[RuntimeVolume]]:
    return [
        Column("ID", lambda volume: volume.id),
        Column("NAME", name_of),
        Column("CLASS", lambda volume: volume.spec.class_name),
        Column("SIZE", format_size),
        Column(
            "STATE",
            lambda volume: state_name(volume.status.state) + (" (deleting)" if volume.deleted_at else ""),
            lambda volume: STATE_STYLES.get(volume.status.state),
        ),
        Column("AGE", lambda volume: format_age(now_seconds - volume.created_at / 1e9)),
        Column(
            "DRIVER", lambda volume: volume.status.access.driver if volume.status.access else "", is_wide=True
        ),
        Column(
            "HANDLE", lambda volume: volume.status.access.handle if volume.status.access else "", is_wide=True
        ),
        Column("REASON", lambda volume: volume.detail.reason, is_wide=True),
    ]


def format_size(volume: RuntimeVolume) -> str:
    """The actual size; the desired one while the volume has none."""
    resources = volume.status.resources or volume.spec.resources
    return str(units(resources.storage_bytes)) if resources else ""


def _snapshot_columns(now_seconds: float) -> list[Column[RuntimeSnapshot]]:
    return [
        Column("ID", lambda snapshot: snapshot.id),
        Column("NAME", name_of),
        Column("VOLUME", lambda snapshot: snapshot.spec.volume_id),
        Column("SIZE", lambda snapshot: str(units(snapshot.status.size))),
        Column(
            "STATE",
            lambda snapshot: state_name(snapshot.status.state),
            lambda snapshot: STATE_STYLES.get(snapshot.status.state),
        ),
        Column("AGE", lambda snapshot: format_age(now_seconds - snapshot.created_at / 1e9)),
    ]


COLUMNS: Mapping[RuntimeKind, Callable[[float], list[Column[RuntimeObject]]]] = {
    RuntimeMachine: _machine_columns,  # type: ignore[dict-item]
    RuntimeVolume: _volume_columns,  # type: ignore[dict-item]
    RuntimeSnapshot: _snapshot_columns,  # type: ignore[dict-item]
}
