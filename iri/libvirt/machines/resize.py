"""Brings a machine to another class: the next boot's configuration at once, the running guest as far as it can go.

    resource     the running guest
    processors   grow up to the number that the domain was defined with; shrink at the next boot
    memory       changes by the balloon, up to what the guest was started with; more at the next boot

What a running guest cannot do yet is listed as a pending change of the class; it is not an error, and the machine is not restarted
for it. A guest that refuses (it has no balloon driver) is left as it is.
"""

from __future__ import annotations

import contextlib

from iri.errors import IRIError
from iri.libvirt.domain.document import resized_document
from iri.libvirt.machines.define import domain_plan
from iri.libvirt.machines.deps import MachineDeps
from iri.libvirt.machines.guest import Guest


def resize_machine(deps: MachineDeps, guest: Guest) -> Guest | None:
    """Returns the guest after the last observation, or None when the machine went away."""
    cpus, memory = guest.record.cpus, guest.record.memory_bytes
    following = guest.observed.next_boot
    if (following.cpus, following.memory_bytes) != (cpus, memory):
        # A record written in between would be overwritten by the older document.
        with deps.store.lock(guest.id):
            latest = deps.store.get(guest.id)
            plan = domain_plan(deps, guest.id, latest.record)
            deps.domains.define(resized_document(deps.domains.next_boot_document(guest.id), plan))
        deps.record_event(
            guest, "Resized", "Resize", f"the next boot has {cpus} processors and {memory >> 20} MiB"
        )
        found = deps.store.observe(guest.id)
        if found is None:
            return None
        guest = found
    if guest.has_class_pending:
        grow_running(deps, guest, cpus, memory)
        return deps.store.observe(guest.id)
    return guest


def grow_running(deps: MachineDeps, guest: Guest, cpus: int, memory: int) -> None:
    """Adds processors up to what the guest was built for, and memory up to what it was started with. The rest waits for a boot."""
    live = guest.observed.live
    assert live is not None
    if cpus > live.cpus:
        with contextlib.suppress(IRIError):
            deps.domains.set_cpus(guest.id, cpus)
    if memory < live.memory_bytes and memory != live.balloon_bytes:
        with contextlib.suppress(IRIError):
            deps.domains.set_memory(guest.id, memory)
