"""From a recorded machine to a domain that can start: its devices are made ready, then it is defined with all of them."""

from __future__ import annotations

from msgspec.structs import replace

from iri.libvirt.device_sources import NicSource, PreparedDisk
from iri.libvirt.domain.document import DomainPlan, document
from iri.libvirt.domain.record import MachineRecord, wish
from iri.libvirt.machines.deps import MachineDeps
from iri.libvirt.machines.guest import Guest
from iri.libvirt.protocols import SeedFiles
from iri.machine import Disk, RuntimeNetworkInterface


def recorded(site: MachineDeps, id: str, record: MachineRecord) -> str:
    """The document of a machine that has nothing yet but its wish."""
    return document(plan(site, id, record))


def plan(site: MachineDeps, id: str, record: MachineRecord) -> DomainPlan:
    classes = site.parts.classes
    traits = classes.traits(record.spec.class_name)
    return DomainPlan(
        id=id, record=record, traits=traits, platform=classes.platform(), folder=site.folder(id)
    )


def built(site: MachineDeps, guest: Guest) -> Guest | None:
    """None when it went away meanwhile. Whatever fails here leaves the machine as it was: recorded, without devices."""
    spec = guest.record.spec
    disks = ready_disks(site, guest)
    nics = ready_interfaces(site, guest)
    seed = seeded(site, guest)
    with site.roster.one(guest.id):
        latest = site.roster.find(guest.id)
        if latest is None or latest.record.deleted_at or latest.record.spec.volumes != spec.volumes:
            return None  # woken again by whoever changed it
        if latest.record.spec.network_interfaces != spec.network_interfaces:
            return None
        image_ref = next((prepared.image_ref for _, prepared in disks if prepared.image_ref), "")
        record = replace(latest.record, is_built=True, image_ref=image_ref)
        whole = replace(plan(site, guest.id, record), disks=disks, nics=nics, seed=seed)
        site.domains.define(document(whole))
        site.roster.update(guest.id, lambda found: replace(found, record=record))
    return site.roster.look(guest.id)


def ready_disks(site: MachineDeps, guest: Guest) -> tuple[tuple[Disk, PreparedDisk], ...]:
    return tuple((disk, site.parts.disks.prepare(guest.id, disk)) for disk in guest.record.spec.volumes)


def ready_interfaces(
    site: MachineDeps, guest: Guest
) -> tuple[tuple[RuntimeNetworkInterface, NicSource], ...]:
    interfaces = guest.record.spec.network_interfaces
    return tuple((nic, site.parts.interfaces.connect(guest.id, nic)) for nic in interfaces)


def seeded(site: MachineDeps, guest: Guest) -> SeedFiles:
    folder = site.folder(guest.id)
    folder.mkdir(mode=0o711, parents=True, exist_ok=True)
    return site.parts.seeds.write(wish(guest.record, guest.id), folder)
