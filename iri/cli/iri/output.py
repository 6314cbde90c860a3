"""How `gitvirt iri` shows objects: as a table, as ids, or as messages in YAML or JSON.

YAML and JSON have the field names of the messages, so what `get` shows can be edited and given to `create`. Secrets are
hidden in every form unless --show-secrets is given. Tables are for people and may change; scripts read JSON, or ids (`-o name`).

A table has these columns from left to right: id and name, those of the kind, state and age, and with `-o wide` the kind's wide ones.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping, Sequence

from iri.cli.iri.messages import render_message
from iri.machine import AttachmentState, AttachmentStatus, RuntimeMachine
from iri.runtime import RuntimeKind, RuntimeObject
from iri.volume import Access, RuntimeSnapshot, RuntimeVolume
from iri.wire.calls import OBJECT_CALLS
from reconciler.cli.output import Column, is_value, show_table, show_value
from reconciler.cli.terminal import Terminal, TextStyle, printable
from schemas.model.quantity import units
from schemas.settings.duration import format_duration

FORMATS = ("table", "wide", "json", "yaml", "name")
NAME_LABELS = (
    "machinepoollet.ironcore.dev/machine-name",
    "volumepoollet.ironcore.dev/volume-name",
    "volumepoollet.ironcore.dev/volume-snapshot-name",
)

# By the name of the state: members of different enums can be equal.
STATE_STYLES: Mapping[str, TextStyle] = {
    **dict.fromkeys(("RUNNING", "AVAILABLE", "READY"), TextStyle.GREEN),
    **dict.fromkeys(("PENDING", "TERMINATING"), TextStyle.YELLOW),
    **dict.fromkeys(("TERMINATED", "ERROR", "FAILED"), TextStyle.RED),
}


def add_output(parser: argparse.ArgumentParser) -> None:
    """-o and --show-secrets, for verbs that show objects."""
    parser.add_argument(
        "-o", "--output", choices=FORMATS, default="table", help="how to show it (default: table)"
    )
    parser.add_argument(
        "--show-secrets", action="store_true", help="print keys, passwords and ignition data as they are"
    )


def select_columns(kind: RuntimeKind, format: str) -> list[Column[RuntimeObject]]:
    """Wide columns come last, so that the narrow table is the beginning of the wide one."""
    narrow = [column for column in COLUMNS[kind] if not column.is_wide]
    wide = [column for column in COLUMNS[kind] if column.is_wide and format == "wide"]
    return [*FIRST_COLUMNS, *narrow, *STATE_COLUMNS, *wide]


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
            show_table(terminal, select_columns(kind, format), items)


def show_object(terminal: Terminal, arguments: argparse.Namespace, item: RuntimeObject) -> None:
    """One object that was named by its id: in YAML and JSON it is not inside of a list."""
    if is_value(arguments.output):
        show_value(terminal, arguments.output, value_of(item, arguments.show_secrets))
    else:
        show_objects(terminal, arguments, type(item), [item])


def value_of(item: RuntimeObject, with_secrets: bool) -> dict[str, object]:
    """The object's message. Its detail is not in it: another call of the interface carries that, and `create` could not take it."""
    return render_message(OBJECT_CALLS[type(item)].encode(item), with_secrets=with_secrets)


def name_of(item: RuntimeObject) -> str:
    """The name by which a poollet labels what it creates; empty for an object without such a label."""
    return next((item.labels[label] for label in NAME_LABELS if label in item.labels), "")


def format_state(item: RuntimeObject) -> str:
    """A machine that is being deleted has a state for it; volumes and snapshots have none."""
    is_leaving = item.deleted_at and not isinstance(item, RuntimeMachine)
    return item.status.state.name.capitalize() + (" (deleting)" if is_leaving else "")


def count_attached(entries: Sequence[AttachmentStatus], desired: int) -> str:
    """Attached devices of all devices: those of spec, and those that are still leaving."""
    attached = sum(entry.state is AttachmentState.ATTACHED for entry in entries)
    return f"{attached}/{max(desired, len(entries))}"


def list_ips(machine: RuntimeMachine) -> str:
    """Observed addresses; the desired ones while none is observed."""
    observed = [ip for interface in machine.detail.network_interfaces for ip in interface.ips]
    desired = [ip for interface in machine.spec.network_interfaces for ip in interface.ips]
    return ",".join(observed or desired)


def format_size(volume: RuntimeVolume) -> str:
    """The actual size; the desired one while the volume has none."""
    resources = volume.status.resources or volume.spec.resources
    return str(units(resources.storage_bytes)) if resources else ""


FIRST_COLUMNS: list[Column[RuntimeObject]] = [Column("ID", lambda item: item.id), Column("NAME", name_of)]
STATE_COLUMNS: list[Column[RuntimeObject]] = [
    Column("STATE", format_state, lambda item: STATE_STYLES.get(item.status.state.name)),
    Column("AGE", lambda item: format_duration(int(time.time() - item.created_at / 1e9))),
]
MACHINE_COLUMNS: list[Column[RuntimeMachine]] = [
    Column("CLASS", lambda machine: machine.spec.class_name),
    Column("POWER", lambda machine: machine.spec.power.name.capitalize(), is_wide=True),
    Column(
        "VOLUMES",
        lambda machine: count_attached(machine.status.volumes, len(machine.spec.volumes)),
        is_wide=True,
    ),
    Column("IPS", list_ips, is_wide=True),
    Column("REASON", lambda machine: machine.detail.reason, is_wide=True),
]
VOLUME_COLUMNS: list[Column[RuntimeVolume]] = [
    Column("CLASS", lambda volume: volume.spec.class_name),
    Column("SIZE", format_size),
    Column("DRIVER", lambda volume: (volume.status.access or Access()).driver, is_wide=True),
    Column("HANDLE", lambda volume: (volume.status.access or Access()).handle, is_wide=True),
    Column("REASON", lambda volume: volume.detail.reason, is_wide=True),
]
SNAPSHOT_COLUMNS: list[Column[RuntimeSnapshot]] = [
    Column("VOLUME", lambda snapshot: snapshot.spec.volume_id),
    Column("SIZE", lambda snapshot: str(units(snapshot.status.size))),
]
# The columns of a kind get objects of that kind alone, which the type of the table cannot say.
COLUMNS: Mapping[RuntimeKind, list[Column[RuntimeObject]]] = {
    RuntimeMachine: MACHINE_COLUMNS,  # type: ignore[dict-item]
    RuntimeVolume: VOLUME_COLUMNS,  # type: ignore[dict-item]
    RuntimeSnapshot: SNAPSHOT_COLUMNS,  # type: ignore[dict-item]
}
