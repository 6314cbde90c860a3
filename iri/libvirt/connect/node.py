"""What libvirt knows about the host that it runs on.

libvirt's own answers are preferred to reading /proc: the runtime may run in a container, or speak to a libvirtd whose host it
cannot see. Where a libvirt cannot answer (its library may be older than the call), a coarser question is asked instead.
"""

from __future__ import annotations

import contextlib

import libvirt

from iri.errors import IRIError, Unavailable
from iri.libvirt import xml
from iri.libvirt.connect.link import LibvirtLink
from iri.libvirt.connect.versions import format_version
from iri.libvirt.host.capacity import HostFacts

KIB = 1024
ARCHITECTURE, MEMORY_MIB, CPUS = 0, 1, 2  # of what virNodeGetInfo answers


class LibvirtNode:
    """Questions about the host, and guests that end with this process. Thread-safe: it keeps nothing."""

    def __init__(self, link: LibvirtLink) -> None:
        self._link = link

    def facts(self) -> HostFacts:
        """Totals of the host, guests included. Changes only by a restart of the host, so the caller keeps them."""
        return self._link.call(_facts, "asking about the host")

    def offers_kvm(self, architecture: str) -> bool:
        """Whether libvirt offers KVM. That alone proves little: see iri.libvirt.host.kvm_probe."""
        try:
            self._link.call(
                lambda raw: raw.getDomainCapabilities(None, architecture, None, "kvm", 0), "asking about KVM"
            )
        except Unavailable:
            raise
        except IRIError:
            return False
        return True

    def start_briefly(self, document: str) -> None:
        """Starts a domain that ends with this process."""
        self._link.call(
            lambda raw: raw.createXML(document, libvirt.VIR_DOMAIN_START_AUTODESTROY),
            "starting a probe guest",
        )

    def end(self, name: str) -> None:
        """Ends a transient domain; a persistent one of that name is a person's and stays. Raises NotFound without one."""

        def end_guest(raw: libvirt.virConnect) -> None:
            domain = raw.lookupByName(name)
            if not domain.isPersistent():
                domain.destroy()

        self._link.call(end_guest, "ending a probe guest")


def _facts(raw: libvirt.virConnect) -> HostFacts:
    """Pages of the smallest size are ordinary memory; larger ones are huge pages, which the operator reserved at boot."""
    capabilities = xml.parse(raw.getCapabilities())
    counted: dict[int, int] = {}
    for cell in capabilities.iterfind("host/topology/cells/cell"):
        for page in cell.iterfind("pages"):
            size = int(page.get("size", "0")) * KIB
            counted[size] = counted.get(size, 0) + int(page.text or "0")
    smallest = min(counted, default=0)
    return HostFacts(
        uuid=capabilities.findtext("host/uuid", ""),
        name=raw.getHostname(),
        architecture=str(raw.getInfo()[ARCHITECTURE]),
        cpu_model=" ".join(
            capabilities.findtext(f"host/cpu/{tag}", "") for tag in ("vendor", "model")
        ).strip(),
        cpus=_cpus(raw),
        memory_bytes=_memory(raw),
        huge_pages={size: count for size, count in counted.items() if size != smallest},
        hypervisor=raw.getType(),
        hypervisor_version=format_version(raw.getVersion()),
    )


def _cpus(raw: libvirt.virConnect) -> int:
    """Processors that are online."""
    with contextlib.suppress(libvirt.libvirtError):
        return int(sum(raw.getCPUMap()[1]))
    return int(raw.getInfo()[CPUS])


def _memory(raw: libvirt.virConnect) -> int:
    """As the kernel counts it: libvirt's sum over NUMA nodes leaves out memory that was added later."""
    with contextlib.suppress(libvirt.libvirtError):
        return int(raw.getMemoryStats(libvirt.VIR_NODE_MEMORY_STATS_ALL_CELLS)["total"]) * KIB
    return int(raw.getInfo()[MEMORY_MIB]) << 20
