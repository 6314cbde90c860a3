"""A running guest that has a disk: QEMU alone, which never boots, so it costs nothing."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.servers.libvirtd import Libvirtd

DOMAIN = """
<domain type='qemu'><name>{name}</name><uuid>{name}</uuid><memory unit='MiB'>2</memory><os><type machine='pc'>hvm</type></os>
<features><acpi/></features>
<devices><controller type='usb' model='none'/><memballoon model='none'/>{disk}</devices></domain>
"""
DISK = """<disk type='file' device='disk'><driver name='qemu' type='qcow2'/><source file='{path}'>{encryption}</source>
<target dev='vda' bus='virtio'/></disk>"""


@dataclass(frozen=True)
class Guest:
    daemon: Libvirtd
    name: str

    def capacity(self, target: str) -> int:
        lines = self.daemon.virsh("domblkinfo", self.name, target).stdout.splitlines()
        return int(lines[0].split()[1])


@contextlib.contextmanager
def guest(daemon: Libvirtd, folder: Path, path: Path, encryption: str = "") -> Iterator[Guest]:
    """Defined and running; paused, so that it does not even look for something to boot."""
    name = str(uuid.uuid4())
    definition = folder / f"{name}.xml"
    definition.write_text(DOMAIN.format(name=name, disk=DISK.format(path=path, encryption=encryption)))
    daemon.virsh("define", str(definition))
    daemon.virsh("start", name, "--paused")
    try:
        yield Guest(daemon, name)
    finally:
        daemon.virsh("destroy", name)
        daemon.virsh("undefine", name)
        # libvirt keeps the log of a domain that is gone; other tests on this daemon look for leftovers.
        (daemon.folder / "log" / "qemu" / f"{name}.log").unlink(missing_ok=True)
