"""Which domains use a disk, and what only they can do to it while they run: grow it, and copy it as of one moment.

Volumes must not be deleted or attached a second time while a domain has them, and a file that a QEMU has open must be changed
through that QEMU. Both questions are answered from libvirt's documents and not from our records, because a guest can still use a
disk that its machine has detached, and a person can have made a domain with `virsh`.

Both configurations of each domain count: a domain that is off has its disks too.

Cost: a call reads the document of every domain of the host. So callers ask when something is created, attached or deleted, not in
each reconciliation.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import libvirt
import msgspec

from iri.errors import FailedPrecondition, TimedOut
from iri.libvirt.connect.libvirt_errors import default_if_missing
from iri.libvirt.connect.link import LibvirtLink
from iri.libvirt.device_sources import DataSource, FileSource
from iri.libvirt.xml import Element, attribute, child, element, parse, text

JOB_POLL_SECONDS = 0.05
JOB_SECONDS = 6 * 3600


class DiskUser(msgspec.Struct, frozen=True):
    """A domain that has the disk, and the disk's target name in it."""

    domain_id: str
    target: str  # vda
    is_running: bool


class DiskUsers:
    """Looks at all domains at each call: a list kept here would be stale after any use of virsh."""

    def __init__(self, link: LibvirtLink) -> None:
        self._link = link

    def find(self, where: DataSource) -> tuple[DiskUser, ...]:
        """All domains that have it as a disk, running or not, ours or not."""
        found: dict[str, DiskUser] = {}
        for id, root, is_running in self._list_documents("looking for users of a volume"):
            for disk in root.iterfind("devices/disk"):
                source = disk.find("source")
                if source is not None and _is(source, where):
                    found.setdefault(id, DiskUser(id, attribute(disk, "target", "dev"), is_running))
        return tuple(found.values())

    def find_running(self, where: DataSource) -> DiskUser | None:
        """The running guest that has it open."""
        return next((user for user in self.find(where) if user.is_running), None)

    def referenced_files(self) -> frozenset[str]:
        """Paths of all files that domains refer to, ours or not: disks, kernels, initial RAM disks."""
        documents = self._list_documents("listing the files of domains")
        return frozenset(path for _, root, _ in documents for path in _files(root))

    def _list_documents(self, doing: str) -> list[tuple[str, Element, bool]]:
        """Id, document and whether it runs with that, of all domains: the present one before that of the next start."""

        def list_documents(raw: libvirt.virConnect) -> list[tuple[str, Element, bool]]:
            return [
                (domain.UUIDString(), parse(description), is_running)
                for domain in raw.listAllDomains(0)
                for description, is_running in default_if_missing(
                    libvirt.VIR_ERR_NO_DOMAIN, [], _descriptions, domain
                )
            ]

        return self._link.call(list_documents, doing)

    def grow(self, user: DiskUser, size_bytes: int) -> None:
        """Grows the data, and tells the guest the new size in the same step."""

        def grow(raw: libvirt.virConnect) -> None:
            domain = raw.lookupByUUIDString(user.domain_id)
            domain.blockResize(user.target, size_bytes, libvirt.VIR_DOMAIN_BLOCK_RESIZE_BYTES)

        self._link.call(grow, "growing a volume in use")

    def copy(self, user: DiskUser, into: str, secret_id: str) -> None:
        """Copies the disk as of now into a new qcow2 file without a backing file. Blocks until it is complete."""
        job = text(_backup(user.target, into, secret_id))

        self._link.call(
            lambda raw: raw.lookupByUUIDString(user.domain_id).backupBegin(job, None, 0),
            "copying a volume in use",
        )
        self._wait(user)

    def _wait(self, user: DiskUser) -> None:
        """Polls the job, because a lost connection would lose its event. The result is read from the statistics of the ended
        job."""
        until = time.monotonic() + JOB_SECONDS
        while self._link.call(lambda raw: _is_copying(raw, user.domain_id), "copying a volume in use"):
            if time.monotonic() > until:
                raise TimedOut("copying a volume in use takes too long")
            time.sleep(JOB_POLL_SECONDS)

        def result(raw: libvirt.virConnect) -> dict[str, object]:
            flags = libvirt.VIR_DOMAIN_JOB_STATS_COMPLETED
            return dict(raw.lookupByUUIDString(user.domain_id).jobStats(flags))

        stats = self._link.call(result, "copying a volume in use")
        if not stats.get(libvirt.VIR_DOMAIN_JOB_SUCCESS):
            raise FailedPrecondition(
                f"copying a volume in use: {stats.get(libvirt.VIR_DOMAIN_JOB_ERRMSG, 'the job failed')}"
            )


def _backup(target: str, into: str, secret_id: str) -> Element:
    """A backup job that pushes one disk into a file. The copy of an encrypted disk is encrypted with the same secret."""
    root = element("domainbackup", mode="push")
    disk = child(child(root, "disks"), "disk", name=target, backup="yes", type="file")
    file = child(disk, "target", file=into)
    if secret_id:
        child(child(file, "encryption", format="luks"), "secret", type="passphrase", uuid=secret_id)
    child(disk, "driver", type="qcow2")
    return root


def _is_copying(raw: libvirt.virConnect, domain_id: str) -> bool:
    """Whether a job runs on the domain; libvirt allows one at a time."""
    return bool(raw.lookupByUUIDString(domain_id).jobInfo()[0] != libvirt.VIR_DOMAIN_JOB_NONE)


def _descriptions(domain: libvirt.virDomain) -> list[tuple[str, bool]]:
    """What it has now, and whether it runs with that, before what it will have at its next start."""
    is_running = bool(domain.isActive())
    descriptions = [(domain.XMLDesc(0), is_running)]
    if is_running and domain.isPersistent():
        descriptions.append((domain.XMLDesc(libvirt.VIR_DOMAIN_XML_INACTIVE), False))
    return descriptions


def _files(domain: Element) -> Iterator[str]:
    """With the backing files of its disks, which a running domain's document lists."""
    yield from (source.get("file", "") for source in domain.iterfind("devices/disk//source"))
    yield from (domain.findtext(f"os/{name}", "") for name in ("kernel", "initrd"))


def _is(source: Element, where: DataSource) -> bool:
    """By the path or the image alone. Two clusters may have an image of the same name; such a volume counts as in use, which is safe."""
    if isinstance(where, FileSource):
        return source.get("file") == where.path
    return source.get("protocol") == "rbd" and source.get("name") == where.image
