"""Which machine holds which of the host's own volumes: one at a time, until the disk is really out of the guest."""

from __future__ import annotations

from iri.errors import FailedPrecondition
from iri.machine import Disk
from iri.simulated.machine_lifecycle import SimulatedMachine
from iri.simulated.volume_lifecycle import DRIVER, volume_handle


class Attachments:
    def __init__(self) -> None:
        self._volumes: dict[str, str] = {}  # by handle
        self._holders: dict[str, set[str]] = {}  # machines by handle

    def add_volume(self, volume_id: str) -> None:
        self._volumes[volume_handle(volume_id)] = volume_id

    def drop_volume(self, volume_id: str) -> None:
        self._volumes.pop(volume_handle(volume_id), None)

    def is_held(self, volume_id: str) -> bool:
        return bool(self._holders.get(volume_handle(volume_id)))

    def refuse(self, disk: Disk, machine_id: str) -> None:
        """A disk that is a volume of this host must be there, and nobody else's."""
        if disk.connection is None or disk.connection.driver != DRIVER:
            return
        handle = disk.connection.handle
        if handle not in self._volumes:
            raise FailedPrecondition(f"volume {disk.name}: this host has no volume with handle {handle!r}")
        others = self._holders.get(handle, set()) - {machine_id}
        if others:
            raise FailedPrecondition(
                f"volume {disk.name} is attached to machine {min(others)}; detach it there first"
            )

    def change(
        self, machine_id: str, before: SimulatedMachine | None, after: SimulatedMachine | None
    ) -> list[str]:
        """Keeps up with a machine; returns the volumes that nobody holds any more."""
        if before is not None and after is not None:
            was, now = before.machine, after.machine
            if was.spec is now.spec and was.status.volumes is now.status.volumes:
                return []
        had, has = self._handles(before), self._handles(after)
        if had == has:
            return []
        for handle in has - had:
            self._holders.setdefault(handle, set()).add(machine_id)
        for handle in had - has:
            self._holders[handle].discard(machine_id)
            if not self._holders[handle]:
                del self._holders[handle]
        return [self._volumes[handle] for handle in sorted(had - has) if handle not in self._holders]

    def _handles(self, guest: SimulatedMachine | None) -> set[str]:
        if guest is None or not (guest.machine.spec.volumes or guest.machine.status.volumes):
            return set()
        wanted = {
            disk.connection.handle for disk in guest.machine.spec.volumes if disk.connection is not None
        }
        there = {entry.handle for entry in guest.machine.status.volumes}
        return (wanted | there) & self._volumes.keys()
