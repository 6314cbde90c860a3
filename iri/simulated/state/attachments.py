"""Which machine has which of the host's own volumes.

A volume belongs to one machine at a time: from the moment that spec names it until the guest has really released the
disk, so from the union of spec and status. Only then may another machine attach it, and only then is it removed.
"""

from __future__ import annotations

from iri.errors import FailedPrecondition
from iri.machine import Disk
from iri.simulated.machine_lifecycle import SimulatedMachine
from iri.simulated.volume_lifecycle import DRIVER, volume_handle


class Attachments:
    """Computed from the records, and kept by `update`, `add_volume` and `drop_volume`."""

    def __init__(self) -> None:
        self._volumes: dict[str, str] = {}  # by handle
        self._machines: dict[str, set[str]] = {}  # ids by handle

    def add_volume(self, volume_id: str) -> None:
        """From its first record on: a machine may name a volume by its handle before the volume is ready."""
        self._volumes[volume_handle(volume_id)] = volume_id

    def drop_volume(self, volume_id: str) -> None:
        self._volumes.pop(volume_handle(volume_id), None)

    def is_attached(self, volume_id: str) -> bool:
        """By the spec or by the status of any machine."""
        return bool(self._machines.get(volume_handle(volume_id)))

    def require_free(self, disk: Disk, machine_id: str) -> None:
        """Raises FailedPrecondition unless the volume of the disk exists and no other machine has it. Other disks pass."""
        if disk.connection is None or disk.connection.driver != DRIVER:
            return
        handle = disk.connection.handle
        if handle not in self._volumes:
            raise FailedPrecondition(f"volume {disk.name}: this host has no volume with handle {handle!r}")
        others = self._machines.get(handle, set()) - {machine_id}
        if others:
            raise FailedPrecondition(
                f"volume {disk.name} is attached to machine {min(others)}; detach it there first"
            )

    def update(
        self, machine_id: str, before: SimulatedMachine | None, after: SimulatedMachine | None
    ) -> list[str]:
        """Follows one machine's record; returns the volumes that no machine has any more."""
        if before is not None and after is not None:
            was, now = before.machine, after.machine
            if was.spec is now.spec and was.status.volumes is now.status.volumes:
                return []
        had, has = self._handles(before), self._handles(after)
        if had == has:
            return []
        for handle in has - had:
            self._machines.setdefault(handle, set()).add(machine_id)
        for handle in had - has:
            self._machines[handle].discard(machine_id)
            if not self._machines[handle]:
                del self._machines[handle]
        return [self._volumes[handle] for handle in sorted(had - has) if handle not in self._machines]

    def _handles(self, guest: SimulatedMachine | None) -> set[str]:
        """Of spec and of status: a volume is in use until the guest has released it."""
        if guest is None or not (guest.machine.spec.volumes or guest.machine.status.volumes):
            return set()
        desired = {
            disk.connection.handle for disk in guest.machine.spec.volumes if disk.connection is not None
        }
        attached = {entry.handle for entry in guest.machine.status.volumes}
        return (desired | attached) & self._volumes.keys()
