"""From a recorded machine to a domain that can start: its devices are prepared, then the domain is defined with all of them.

    state      the domain has                 left by
    recorded   metadata and the class alone   all devices are prepared, then one definition with all of them -> built
    built      all devices                    `hotplug` from then on; a domain is never built twice

Preparing may take long (an image is fetched), and the machine's lock is not held meanwhile. So the record is compared again before the
definition: a machine that has changed is prepared once more. A prepared device that is not used then is released when the change is
reconciled, or found by the garbage collection.
"""

from __future__ import annotations

from msgspec.structs import replace

from iri.libvirt.device_sources import NicSource, PreparedDisk, SeedFiles
from iri.libvirt.domain.document import DomainPlan, render_domain
from iri.libvirt.domain.record import MachineRecord, desired_machine
from iri.libvirt.machines.deps import MachineDeps
from iri.libvirt.machines.guest import Guest
from iri.machine import Disk, RuntimeNetworkInterface


def domain_plan(deps: MachineDeps, id: str, record: MachineRecord) -> DomainPlan:
    """The domain of a machine that is only recorded: no devices yet."""
    classes = deps.classes
    traits, platform = classes.traits(record.spec.class_name), classes.platform()
    return DomainPlan(id=id, record=record, traits=traits, platform=platform, folder=deps.folder(id))


def define_with_devices(deps: MachineDeps, guest: Guest) -> Guest | None:
    """Prepares all devices, then defines the domain with them, in one step.

    Returns None when the machine changed or went away meanwhile. A failure leaves the machine recorded, without devices."""
    spec = guest.record.spec
    disks = prepare_disks(deps, guest)
    nics = connect_interfaces(deps, guest)
    seed = write_seed(deps, guest)
    with deps.store.lock(guest.id):
        latest = deps.store.find(guest.id)
        if latest is None or latest.record.deleted_at or latest.record.spec.volumes != spec.volumes:
            return None  # the call that changed it has woken it again
        if latest.record.spec.network_interfaces != spec.network_interfaces:
            return None
        image_ref = next((prepared.image_ref for _, prepared in disks if prepared.image_ref), "")
        record = replace(latest.record, is_built=True, image_ref=image_ref)
        whole = replace(domain_plan(deps, guest.id, record), disks=disks, nics=nics, seed=seed)
        deps.domains.define(render_domain(whole))
        deps.store.update(guest.id, lambda found: replace(found, record=record))
    return deps.store.observe(guest.id)


def prepare_disks(deps: MachineDeps, guest: Guest) -> tuple[tuple[Disk, PreparedDisk], ...]:
    """Idempotent, and called before each start too: what a disk needs on the host may be gone since the last one."""
    return tuple((disk, deps.disks.prepare(guest.id, disk)) for disk in guest.record.spec.volumes)


def connect_interfaces(
    deps: MachineDeps, guest: Guest
) -> tuple[tuple[RuntimeNetworkInterface, NicSource], ...]:
    """Idempotent, and called before each start too: a network may have been stopped since the last one."""
    nics = guest.record.spec.network_interfaces
    return tuple((nic, deps.interfaces.connect(guest.id, nic)) for nic in nics)


def write_seed(deps: MachineDeps, guest: Guest) -> SeedFiles:
    """Into the machine's own folder, which QEMU's user may enter and not list; what comes of a Secret onto tmpfs. Idempotent, and called
    before each start too: tmpfs is empty after a boot of the host."""
    folder = deps.folder(guest.id)
    folder.mkdir(mode=0o711, parents=True, exist_ok=True)
    return deps.seeds.write(desired_machine(guest.record, guest.id), folder)
