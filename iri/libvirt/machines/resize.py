"""Bringing a machine to another class: the next boot's configuration at once, the running guest as far as it goes."""

from __future__ import annotations

import contextlib

from iri.errors import IRIError
from iri.libvirt.domain.document import regraded
from iri.libvirt.machines.define import plan
from iri.libvirt.machines.deps import MachineDeps
from iri.libvirt.machines.guest import Guest, wanted_cpus, wanted_memory


def resized(site: MachineDeps, guest: Guest) -> Guest | None:
    cpus, memory = wanted_cpus(guest.record), wanted_memory(guest.record)
    following = guest.seen.next
    if (following.cpus, following.memory_bytes) != (cpus, memory):
        # A wish that is recorded in between would be lost with the older document.
        with site.roster.one(guest.id):
            latest = site.roster.get(guest.id)
            document = regraded(site.domains.next_document(guest.id), plan(site, guest.id, latest.record))
            site.domains.define(document)
        site.tell(guest, "Resized", "Resize", f"the next boot has {cpus} processors and {memory >> 20} MiB")
        found = site.roster.look(guest.id)
        if found is None:
            return None
        guest = found
    if guest.has_class_pending:
        grow_running(site, guest, cpus, memory)
        return site.roster.look(guest.id)
    return guest


def grow_running(site: MachineDeps, guest: Guest, cpus: int, memory: int) -> None:
    """More processors as far as it was built for; memory within what it was started with. The rest waits for a boot."""
    live = guest.seen.live
    assert live is not None
    if cpus > live.cpus:
        with contextlib.suppress(IRIError):
            site.domains.set_cpus(guest.id, cpus)
    if memory < live.memory_bytes and memory != live.balloon_bytes:
        with contextlib.suppress(IRIError):
            site.domains.set_memory(guest.id, memory)
