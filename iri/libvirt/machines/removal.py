"""Deleting machines, wholly: the guest first, then all that was made for it, the domain with its record last."""

from __future__ import annotations

import contextlib
import shutil

from iri.errors import FailedPrecondition, IRIError, NotFound
from iri.libvirt.domain.names import domain_name
from iri.libvirt.machines import power
from iri.libvirt.machines.deps import MachineDeps
from iri.libvirt.machines.guest import Guest


def step(site: MachineDeps, guest: Guest) -> float | None:
    """Gives the seconds until the next step; None once it is gone."""
    if guest.seen.is_on:
        if outlives(guest):
            return power.off(site, guest)
        with contextlib.suppress(FailedPrecondition):
            site.domains.force_off(guest.id)
        found = site.roster.look(guest.id)
        if found is not None and found.seen.is_on:
            return 1.0
    clear(site, guest)
    with contextlib.suppress(NotFound):
        site.domains.undefine(guest.id)
    forget(site, guest)
    return None


def outlives(guest: Guest) -> bool:
    """Whether it has data that stays: the guest may write it down, if it listens."""
    return any(disk.connection is not None for disk in guest.record.spec.volumes)


def clear(site: MachineDeps, guest: Guest) -> None:
    """All that was made for it but its domain, in which the order stands until the end."""
    site.parts.disks.forget(guest.id)
    clear_host(site, guest)


def clear_host(site: MachineDeps, guest: Guest) -> None:
    """All but its data."""
    site.vault.put(guest.id, b"")
    shutil.rmtree(site.folder(guest.id), ignore_errors=True)
    clear_log(site, guest)


def clear_log(site: MachineDeps, guest: Guest) -> None:
    """libvirt writes it and leaves it."""
    name = domain_name(guest.id, guest.record.labels)
    (site.folders.qemu_logs / f"{name}.log").unlink(missing_ok=True)


def forget(site: MachineDeps, guest: Guest) -> None:
    # The last line of a guest that ended is written by a thread of libvirt's own, maybe only after all else was cleared.
    clear_log(site, guest)
    site.tell(guest, "Removed", "Remove", "the machine is gone")
    site.roster.drop(guest.id)
    with contextlib.suppress(IRIError):  # the next sweep does it
        site.parts.interfaces.prune(site.wanted_interfaces)
        site.parts.disks.let_go()


def lost(site: MachineDeps, guest: Guest) -> None:
    """Somebody else has undefined it. Its data goes only by order: without one, it is there when the machine is made again."""
    if guest.record.deleted_at:
        site.tell(guest, "Lost", "Look", "somebody has undefined the domain", is_warning=True)
        clear(site, guest)
    else:
        message = "somebody has undefined the domain; its local disks are kept"
        site.tell(guest, "Lost", "Look", message, is_warning=True)
        clear_host(site, guest)
    forget(site, guest)
