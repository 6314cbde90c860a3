"""Deleting machines, wholly: the guest first, then all that was made for it, the domain with its record last."""

from __future__ import annotations

import contextlib
import shutil

from iri.errors import FailedPrecondition, IRIError, NotFound
from iri.libvirt.domain.names import domain_name
from iri.libvirt.machines import power
from iri.libvirt.machines.deps import MachineDeps
from iri.libvirt.machines.guest import Guest


def remove_step(deps: MachineDeps, guest: Guest) -> float | None:
    """Gives the seconds until the next step; None once it is gone."""
    if guest.observed.is_on:
        if has_data_that_stays(guest):
            return power.stop_step(deps, guest)
        with contextlib.suppress(FailedPrecondition):
            deps.domains.force_off(guest.id)
        found = deps.store.observe(guest.id)
        if found is not None and found.observed.is_on:
            return 1.0
    delete_host_objects(deps, guest)
    with contextlib.suppress(NotFound):
        deps.domains.undefine(guest.id)
    forget_machine(deps, guest)
    return None


def has_data_that_stays(guest: Guest) -> bool:
    """Whether it has data that stays: the guest may write it down, if it listens."""
    return any(disk.connection is not None for disk in guest.record.spec.volumes)


def delete_host_objects(deps: MachineDeps, guest: Guest) -> None:
    """All that was made for it but its domain, in which the order stands until the end."""
    deps.providers.disks.forget(guest.id)
    delete_host_files(deps, guest)


def delete_host_files(deps: MachineDeps, guest: Guest) -> None:
    """All but its data."""
    deps.machine_secrets.put(guest.id, b"")
    shutil.rmtree(deps.folder(guest.id), ignore_errors=True)
    delete_log(deps, guest)


def delete_log(deps: MachineDeps, guest: Guest) -> None:
    """libvirt writes it and leaves it."""
    name = domain_name(guest.id, guest.record.labels)
    (deps.folders.qemu_logs / f"{name}.log").unlink(missing_ok=True)


def forget_machine(deps: MachineDeps, guest: Guest) -> None:
    # The last line of a guest that ended is written by a thread of libvirt's own, maybe only after all else was cleared.
    delete_log(deps, guest)
    deps.record_event(guest, "Removed", "Remove", "the machine is gone")
    deps.store.drop(guest.id)
    with contextlib.suppress(IRIError):  # the next sweep does it
        deps.providers.interfaces.prune(deps.desired_interfaces)
        deps.providers.disks.wake_waiting()


def handle_undefined(deps: MachineDeps, guest: Guest) -> None:
    """Somebody else has undefined it. Its data goes only by order: without one, it is there when the machine is made again."""
    if guest.record.deleted_at:
        deps.record_event(guest, "Lost", "Look", "somebody has undefined the domain", is_warning=True)
        delete_host_objects(deps, guest)
    else:
        message = "somebody has undefined the domain; its local disks are kept"
        deps.record_event(guest, "Lost", "Look", message, is_warning=True)
        delete_host_files(deps, guest)
    forget_machine(deps, guest)
