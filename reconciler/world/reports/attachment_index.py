"""Which machines are reported with a volume attached, by volume. An index, so that a volume asks at the cost of what it finds.

A host reports what is attached to its own machines. The host of a volume knows only the machines beside it; of shared storage, a machine
on any host may have it attached. Whether a report counts is not known here: `View.accepted_reports` is asked.
"""

from __future__ import annotations

from collections.abc import Iterator

from reconciler.world.reports.object_report import ObjectReport
from schemas.kinds import Key, Kind
from schemas.report.objects import ReportedMachineStatus


class AttachmentIndex:
    """By the handle of the volume, and by its key where the host knows it: one that was just adopted has no handle on `live` yet."""

    def __init__(self) -> None:
        self._machines: dict[str | Key, set[tuple[str, Key]]] = {}

    def machines(self, *volume: str | Key) -> tuple[Key, ...]:
        """The machines under any of these, sorted."""
        return tuple(sorted({key for each in volume for _, key in self._machines.get(each, ())}))

    def replace(
        self, poollet: str, key: Key, before: ObjectReport | None, after: ObjectReport | None
    ) -> None:
        """The entry of one report about one object."""
        if key.kind is not Kind.MACHINE:
            return
        for volume in _volumes(key, before):
            found = self._machines.get(volume, set())
            found.discard((poollet, key))
            if not found:
                self._machines.pop(volume, None)
        for volume in _volumes(key, after):
            self._machines.setdefault(volume, set()).add((poollet, key))


def _volumes(machine: Key, report: ObjectReport | None) -> Iterator[str | Key]:
    """A local disk cannot be told from a volume that the machine names no longer."""
    if report is None or not isinstance(report.status, ReportedMachineStatus):
        return
    for disk in report.status.volumes:
        if disk.handle:
            yield disk.handle
            if disk.volume_ref is not None:
                yield Key(Kind.VOLUME, machine.namespace, disk.volume_ref.name)
