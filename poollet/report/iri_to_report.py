"""Runtime objects converted into report status, in the words of the model.

A runtime is another program, and what it returns is not trusted to fit. A report has limits for the length
of texts and lists, and one file that breaks a limit is unreadable as a whole. So a text that is too long
is cut, and a state that this version does not know is left out. Access data that is too long is left out
as a whole, because a part of it reaches nothing.

Must never happen: a report contains a secret, or is unreadable because of what a runtime returned.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Literal

from iri.machine import AttachmentState, AttachmentStatus, MachineState, RuntimeMachine
from iri.volume import Access, RuntimeSnapshot, RuntimeVolume, SnapshotState, VolumeState
from poollet.report.conditions import ACCESS_SECRET, condition
from poollet.sync.volume_users import VolumeUsers
from schemas import report
from schemas.live_layout import MAX_TEXT
from schemas.model import Machine
from schemas.model.capacity import STORAGE, format_amount

State = Literal["Pending", "Running", "Shutdown", "Terminated", "Terminating"]

MACHINE_STATES: Mapping[MachineState, State] = {
    MachineState.PENDING: "Pending",
    MachineState.RUNNING: "Running",
    MachineState.SUSPENDED: "Shutdown",
    MachineState.STOPPED: "Shutdown",
    MachineState.TERMINATED: "Terminated",
    MachineState.TERMINATING: "Terminating",
}
VOLUME_STATES: Mapping[VolumeState, Literal["Pending", "Available", "Error"]] = {
    VolumeState.PENDING: "Pending",
    VolumeState.AVAILABLE: "Available",
    VolumeState.ERROR: "Error",
}
SNAPSHOT_STATES: Mapping[SnapshotState, Literal["Pending", "Ready", "Failed"]] = {
    SnapshotState.PENDING: "Pending",
    SnapshotState.READY: "Ready",
    SnapshotState.FAILED: "Failed",
}
# The limits of a report; a runtime may return more.
LONGEST_ID, LONGEST_NAME, LONGEST_IP, LONGEST_PROVIDER = 512, 253, 64, 128
MOST_ATTRIBUTES, MOST_IPS, MOST_CONDITIONS = 64, 256, 32
_LABEL = r"[a-z0-9]([a-z0-9-]*[a-z0-9])?"
CLASS_NAME = re.compile(rf"(?=.{{1,{LONGEST_NAME}}}$){_LABEL}(\.{_LABEL})*")
MAC = re.compile(r"([0-9a-f]{2}:){5}[0-9a-f]{2}")


def full_id(provider: str, id: str) -> str:
    """As IronCore writes ids: the provider's name as a scheme."""
    return f"{provider[:LONGEST_PROVIDER]}://{id}"[:LONGEST_ID]


def machine_state(machine: RuntimeMachine) -> State | None:
    """None for a state that is unknown to this version."""
    return "Terminating" if machine.deleted_at else MACHINE_STATES.get(machine.status.state)


def other_class(machine: Machine, there: RuntimeMachine) -> report.ObjectRef | None:
    """The class that it has on the host, while that is not the ordered one. None for a name that a report cannot carry."""
    name = there.spec.class_name
    is_other = name != machine.spec.machine_class_ref.name
    return report.ObjectRef(name) if is_other and CLASS_NAME.fullmatch(name) else None


def attached_volumes(
    machine: Machine, there: RuntimeMachine, users: VolumeUsers
) -> tuple[report.AttachedVolume, ...]:
    """The entries of the manifest in its order, then disks that are still attached. Each has the volume that is attached: an entry that
    names another one by now has its former one until that is detached."""
    seen = index_by_name(there.status.volumes)
    desired = {disk.name: disk for disk in there.spec.volumes}
    entries = {entry.name: machine.volume_key(entry) for entry in machine.spec.volumes}
    result = []
    for name in (*entries, *sorted(seen.keys() - entries.keys())):
        status = seen.get(name)
        disk = desired.get(name)
        given = disk.connection.handle if disk is not None and disk.connection is not None else ""
        handle = status.handle if status is not None and status.handle else given
        # A provider may have a handle of its own for an attached disk: the one that it was given comes first.
        volume = users.identify(entries.get(name), machine.namespace, given or handle)
        result.append(
            report.AttachedVolume(
                name=name,
                state=attachment_state(status),
                handle=handle[:MAX_TEXT],
                volume_ref=report.ObjectRef(volume.name) if volume is not None else None,
            )
        )
    return tuple(result)


def listed_volumes(there: RuntimeMachine) -> tuple[report.AttachedVolume, ...]:
    """All that the runtime lists as attached, or on its way, where no manifest is known."""
    seen = index_by_name(there.status.volumes)
    return tuple(
        report.AttachedVolume(name, attachment_state(one), one.handle[:MAX_TEXT])
        for name, one in sorted(seen.items())
    )


def index_by_name(found: Iterable[AttachmentStatus]) -> dict[str, AttachmentStatus]:
    """Without names that a report cannot carry."""
    return {entry.name: entry for entry in found if 0 < len(entry.name) <= LONGEST_NAME}


def attached_interfaces(
    machine: Machine, there: RuntimeMachine, mapping: Mapping[str, tuple[str, str]]
) -> tuple[report.AttachedInterface, ...]:
    """The interfaces of the manifest in its order, then others that are still attached. `mapping` names the interface objects."""
    seen = index_by_name(there.status.network_interfaces)
    details = {detail.name: detail for detail in there.detail.network_interfaces}
    macs = {entry.name: entry.attributes.get("mac", "") for entry in there.spec.network_interfaces}
    names = [entry.name for entry in machine.spec.network_interfaces]
    result = []
    for name in [*names, *sorted(seen.keys() - set(names))]:
        status, detail = seen.get(name), details.get(name)
        mac = (detail.mac if detail is not None else "") or macs.get(name, "")
        result.append(
            report.AttachedInterface(
                name=name,
                state=attachment_state(status),
                handle=status.handle[:MAX_TEXT] if status is not None else "",
                ips=limit_ips(detail.ips if detail is not None else ()),
                mac_address=mac.lower() if MAC.fullmatch(mac.lower()) else None,
                network_interface_ref=report.ObjectRef(mapping[name][0]) if name in mapping else None,
            )
        )
    return tuple(result)


def limit_ips(found: Iterable[str]) -> tuple[str, ...]:
    """Addresses that a report can carry: none that is too long, and not more than MOST_IPS."""
    return tuple(ip for ip in found if len(ip) <= LONGEST_IP)[:MOST_IPS]


def attachment_state(status: AttachmentStatus | None) -> Literal["Pending", "Attached"]:
    """A device without a status is on its way."""
    return "Attached" if status is not None and status.state is AttachmentState.ATTACHED else "Pending"


def runtime_conditions(machine: RuntimeMachine) -> tuple[report.ReportedCondition, ...]:
    """The runtime's own conditions, within the limits of a report."""
    found = {
        one.type: report.ReportedCondition(
            type=one.type, status=status, reason=one.reason[:LONGEST_NAME], message=one.message[:MAX_TEXT]
        )
        for one in machine.status.conditions
        if 0 < len(one.type) <= LONGEST_NAME and (status := _truth(one.status)) is not None
    }
    return tuple(found.values())[:MOST_CONDITIONS]


def volume_status(volume: RuntimeVolume, provider: str) -> report.ReportedVolumeStatus:
    """State, size and access of a volume. Access data goes to `live`, where machines on other hosts find it;
    its secrets do not."""
    access = volume.status.access
    there = volume.status.resources
    return report.ReportedVolumeStatus(
        volume_id=full_id(provider, volume.id),
        state=VOLUME_STATES.get(volume.status.state),
        access=volume_access(access) if access is not None else None,
        resources={STORAGE: format_amount(STORAGE, there.storage_bytes)} if there is not None else {},
    )


def volume_access(access: Access) -> report.ReportedVolumeAccess | None:
    """All of the access data or none: a part of it does not reach the volume."""
    attributes = dict(access.attributes)
    is_small = len(attributes) <= MOST_ATTRIBUTES and all(
        len(value) <= MAX_TEXT for value in attributes.values()
    )
    if not is_small or len(access.driver) > LONGEST_NAME or len(access.handle) > MAX_TEXT:
        return None
    return report.ReportedVolumeAccess(access.driver, access.handle, attributes)


def access_conditions(volume: RuntimeVolume) -> tuple[report.ReportedCondition, ...]:
    """States that another host needs a secret to access the volume, and which keys. The values stay on the host."""
    access = volume.status.access
    if access is None or not access.secret_data:
        return ()
    return (condition(ACCESS_SECRET, True, "Required", ", ".join(sorted(access.secret_data))),)


def snapshot_status(snapshot: RuntimeSnapshot, provider: str) -> report.ReportedSnapshotStatus:
    """State and size of a snapshot. A size of zero is not known yet, and is left out."""
    return report.ReportedSnapshotStatus(
        snapshot_id=full_id(provider, snapshot.id),
        state=SNAPSHOT_STATES.get(snapshot.status.state),
        size=format_amount(STORAGE, snapshot.status.size) if snapshot.status.size else None,
    )


def _truth(status: str) -> Literal["True", "False", "Unknown"] | None:
    """The status of a runtime's condition, if it is one of the three words of a report. None for any other text: such a condition is left out."""
    match status:
        case "True" | "False" | "Unknown":
            return status
        case _:
            return None
