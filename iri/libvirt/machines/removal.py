"""Deletes a machine: the guest first, then everything made for it, and the domain with the record last.

The record carries the order to delete, so it must outlive everything else: after a crash the order is found again.

    step                                  why in this order
    stop the guest                        it must not write to disks that are deleted; with a volume it gets the stop timeout
    local disks and their secrets         while the domain's metadata still says that they may be deleted
    secrets, folder and log               nothing reads them any more
    the domain, and the record in it      from now on a restarted runtime does not find the machine
    networks and volumes are woken        they may have waited for the machine

A domain that a person undefines without an order is forgotten, and its local disks stay.
"""

from __future__ import annotations

import contextlib
import shutil

from iri.errors import FailedPrecondition, IRIError, NotFound
from iri.libvirt.domain.names import domain_name
from iri.libvirt.machines import power
from iri.libvirt.machines.deps import MachineDeps
from iri.libvirt.machines.guest import Guest


def remove_step(deps: MachineDeps, guest: Guest) -> float | None:
    """Returns the seconds until the next step, or None once the machine is gone."""
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
    """Whether a volume outlives the machine: then the guest gets the stop timeout to write its data to it."""
    return any(disk.connection is not None for disk in guest.record.spec.volumes)


def delete_host_objects(deps: MachineDeps, guest: Guest) -> None:
    """Deletes local disks, files and secrets; the domain stays, because it carries the order."""
    deps.disks.forget(guest.id)
    delete_host_files(deps, guest)


def delete_host_files(deps: MachineDeps, guest: Guest) -> None:
    """Deletes what the host holds for the machine, and none of its data."""
    deps.machine_secrets.put(guest.id, b"")
    shutil.rmtree(deps.folder(guest.id), ignore_errors=True)
    deps.seeds.forget(guest.id)
    delete_log(deps, guest)


def delete_log(deps: MachineDeps, guest: Guest) -> None:
    """libvirt writes the log and never removes it."""
    name = domain_name(guest.id, guest.record.labels)
    (deps.qemu_logs / f"{name}.log").unlink(missing_ok=True)


def forget_machine(deps: MachineDeps, guest: Guest) -> None:
    """The end of a machine whose domain is gone: its log, its last event, its place in the lists, and what waited for it."""
    # A thread of libvirt writes the last line of a guest that ended, maybe after the first deletion of the log.
    delete_log(deps, guest)
    deps.record_event(guest, "Removed", "Remove", "the machine is deleted")
    deps.store.drop(guest.id)
    with contextlib.suppress(IRIError):  # the next garbage collection does it
        deps.interfaces.prune(deps.desired_interfaces)
        deps.disks.wake_waiting()


def handle_undefined(deps: MachineDeps, guest: Guest) -> None:
    """Handles a domain that a person has undefined. Its data is deleted only by order: without one, a recreated machine finds it."""
    if guest.record.deleted_at:
        deps.warn(guest, "DomainUndefined", "Observe", "the domain was undefined on the host")
        delete_host_objects(deps, guest)
    else:
        message = "the domain was undefined on the host; its local disks are kept"
        deps.warn(guest, "DomainUndefined", "Observe", message)
        delete_host_files(deps, guest)
    forget_machine(deps, guest)
