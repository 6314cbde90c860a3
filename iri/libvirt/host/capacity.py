"""What the host has, and how many machines of a class fit on it when it is empty. Pure.

Huge pages are memory that only classes backed by them can use; the rest of the memory is for the other classes. The operator may
reserve a part of each resource for the host, and promise more than there is of each (`overcommit`), but never more huge pages.

Quantities are those of the empty host: the reconciler subtracts what it has placed, and the runtime itself refuses no machine by them.

    class             its memory comes from                            overcommit
    ordinary          memory that is not huge pages, less reserved     as the operator set it
    on huge pages     huge pages alone                                 never: a page is there or not
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from iri.host import RuntimeMachineClass
from iri.libvirt.host.settings import HostSettings

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
CPU, MEMORY, STORAGE = "cpu", "memory", "storage"
HUGE = "hugepages-"


class HostFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What libvirt says of the host. `huge_pages`: their number by size in bytes, used ones included."""

    uuid: str = ""
    name: str = ""
    architecture: str = ""
    cpu_model: str = ""
    cpus: int = 0
    memory_bytes: int = 0
    huge_pages: Mapping[int, int] = {}
    hypervisor: str = ""
    hypervisor_version: str = ""

    @property
    def huge_bytes(self) -> int:
        return sum(size * count for size, count in self.huge_pages.items())


def capacity(facts: HostFacts, storage_bytes: int, settings: HostSettings) -> dict[str, int]:
    """The totals of the empty host, less what the operator reserves."""
    totals = {CPU: facts.cpus, MEMORY: facts.memory_bytes, STORAGE: storage_bytes}
    totals |= {
        f"{HUGE}{_page_size_name(size)}": size * count for size, count in facts.huge_pages.items() if count
    }
    return {
        resource: max(0, total - settings.reserved.get(resource, 0)) for resource, total in totals.items()
    }


def quantity(
    wanted: RuntimeMachineClass, facts: HostFacts, storage_bytes: int, settings: HostSettings
) -> int:
    """How many machines of the class fit; 0 for a class that needs a resource that the host lacks."""
    has = capacity(facts, storage_bytes, settings)
    traits = settings.traits.get(wanted.name)
    if traits is not None and traits.is_hugepages:
        has[MEMORY] = facts.huge_bytes
    elif facts.huge_bytes:
        has[MEMORY] = max(0, has[MEMORY] - facts.huge_bytes)
    limits = {resource: int(count * settings.overcommit.get(resource, 1)) for resource, count in has.items()}
    if traits is not None and traits.is_hugepages:
        limits[MEMORY] = facts.huge_bytes  # pages cannot be overcommitted
    shares = [limits.get(resource, 0) // need for resource, need in wanted.resources.items() if need > 0]
    return min(shares, default=0)


def _page_size_name(size: int) -> str:
    """As Kubernetes names them: hugepages-2Mi, hugepages-1Gi."""
    for unit, name in ((GIB, "Gi"), (MIB, "Mi"), (KIB, "Ki")):
        if size % unit == 0:
            return f"{size // unit}{name}"
    return str(size)
