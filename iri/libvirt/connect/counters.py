"""Counters as libvirt keeps them: of running domains by id, and of the host's processors and memory.

One call answers for all domains. It does not wait for a domain that libvirt is busy with: what would have to be asked of its QEMU is missing then.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import libvirt

from iri.libvirt.connect.link import LibvirtLink

KIB = 1024
ALL = -1  # processors or memory cells together
KINDS = (
    libvirt.VIR_DOMAIN_STATS_CPU_TOTAL
    | libvirt.VIR_DOMAIN_STATS_BALLOON
    | libvirt.VIR_DOMAIN_STATS_INTERFACE
    | libvirt.VIR_DOMAIN_STATS_BLOCK
)
RUNNING = libvirt.VIR_CONNECT_GET_ALL_DOMAINS_STATS_ACTIVE | libvirt.VIR_CONNECT_GET_ALL_DOMAINS_STATS_NOWAIT

Stats = Mapping[str, Any]


class LibvirtCounters:
    """Thread-safe: it keeps nothing. Every method may raise an IRIError."""

    def __init__(self, link: LibvirtLink) -> None:
        self._link = link

    def domains(self) -> Mapping[str, Stats]:
        """Of all that run, also those of others: the caller takes its own. Names as of virConnectGetAllDomainStats."""

        def measure(raw: libvirt.virConnect) -> Mapping[str, Stats]:
            return {domain.UUIDString(): stats for domain, stats in raw.getAllDomainStats(KINDS, RUNNING)}

        return self._link.call(measure, "measuring the machines")

    def cpu_time_ns(self) -> int:
        """That the processors of the host worked, for guests and for everything else."""
        found = self._link.call(lambda raw: raw.getCPUStats(ALL, 0), "measuring the processors")
        return int(found.get("user", 0)) + int(found.get("kernel", 0))

    def memory_bytes(self) -> tuple[int, int]:
        """In total, and in use: what is neither free nor a cache that the kernel would give back."""
        found = self._link.call(lambda raw: raw.getMemoryStats(ALL, 0), "measuring the memory")
        total = int(found.get("total", 0))
        unused = sum(int(found.get(name, 0)) for name in ("free", "buffers", "cached"))
        return total * KIB, max(0, total - unused) * KIB
