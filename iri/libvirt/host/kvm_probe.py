"""Whether KVM runs guests here, by booting one. Capabilities prove nothing: under some hypervisors the device exists, libvirt offers
KVM, a domain even starts, and its guest never executes an instruction.

The guest is one boot sector (kvm_probe.S) that writes a line to the serial port, from long mode with paging: on some hosts a guest
reaches real mode and no kernel ever boots. The domain is transient and libvirt destroys it when this process ends.

    observation                            result
    the line appears within 10 s           KVM works
    the guest stays silent                 KVM does not work
    libvirt refuses to start the domain    KVM does not work
    libvirt does not answer                Unavailable: nothing is proven, and the probe is repeated later
"""

from __future__ import annotations

import contextlib
import logging
import os
import time
from collections.abc import Callable
from pathlib import Path

from iri.errors import IRIError, NotFound, Unavailable
from iri.libvirt import xml
from iri.libvirt.connect.node import LibvirtNode

log = logging.getLogger(__name__)
MARKER = b"GITVIRT-PROOF"
NAME = "gitvirt-proof"
SECTOR = 512
SECONDS = 10.0  # a guest that runs needs less than one
POLL_SECONDS = 0.02
# kvm_probe.S, assembled.
CODE = bytes.fromhex(
    "fa31c08ed88ec0fc66bf001000000f22df6631c066b9000c000066f3abc70600"
    "100320c70600200330c706003083000f20e00c200f22e066b9800000c00f3280"
    "cc010f300f0116807c0f20c0660d010000800f22c0ea5a7c0800488d35250000"
    "0066baf803ac84c07403eeebf8f4ebfd000000000000000000000000009a2000"
    "0f00707c0000474954564952542d50524f4f460d0a00"
)


def boot_sector() -> bytes:
    """The whole disk of the probe guest. The BIOS starts a sector that ends with these two bytes."""
    return CODE.ljust(SECTOR - 2, b"\0") + b"\x55\xaa"


def probe_domain(domain_type: str, disk: Path, output: Path) -> xml.Element:
    """As little as boots: no network, no USB, no display. The serial port writes to a file."""
    root = xml.element("domain", type_=domain_type)
    xml.child(root, "name", NAME)
    xml.child(root, "memory", "8", unit="MiB")
    xml.child(root, "vcpu", "1")
    system = xml.child(root, "os")
    xml.child(system, "type", "hvm", arch="x86_64", machine="pc")
    xml.child(system, "boot", dev="hd")
    if domain_type == "kvm":
        # The processor that machines get: some hosts run KVM with another one only.
        xml.child(root, "cpu", mode="host-passthrough")
    xml.child(root, "on_reboot", "destroy")
    devices = xml.child(root, "devices")
    xml.child(devices, "controller", type_="usb", model="none")
    drive = xml.child(devices, "disk", type_="file", device="disk")
    xml.child(drive, "driver", name="qemu", type_="raw")
    xml.child(drive, "source", file=str(disk))
    xml.child(drive, "target", dev="hda", bus="ide")
    xml.child(xml.child(devices, "serial", type_="file"), "source", path=str(output))
    xml.child(devices, "memballoon", model="none")
    return root


class KvmProbe:
    """`folder` holds the probe's files, and QEMU must be able to enter it; `logs` has libvirt's log of the probe."""

    def __init__(
        self,
        node: LibvirtNode,
        folder: Path,
        logs: Path,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._node = node
        self._folder = folder
        self._log = logs / f"{NAME}.log"
        self._clock = clock

    def can_boot(self, domain_type: str) -> bool:
        """Whether a probe guest boots. Raises Unavailable when libvirt does not answer, which proves nothing."""
        disk, output = self._folder / "proof.img", self._folder / "proof.log"
        self._end()
        for path, content in ((disk, boot_sector()), (output, b"")):
            path.unlink(missing_ok=True)  # QEMU's user may own it
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(content)
        try:
            self._node.start_briefly(xml.text(probe_domain(domain_type, disk, output)))
            return self._has_booted(output)
        except Unavailable:
            raise
        except IRIError as error:
            log.info("probe guest does not start domain_type=%s error=%s", domain_type, error)
            return False
        finally:
            with contextlib.suppress(Unavailable):
                self._end()
            disk.unlink(missing_ok=True)
            output.unlink(missing_ok=True)
            self._delete_log()

    def _has_booted(self, output: Path) -> bool:
        """Polls the file: libvirt reports no event for what a guest writes."""
        until = self._clock() + SECONDS
        while self._clock() < until:
            if MARKER in output.read_bytes():
                return True
            time.sleep(POLL_SECONDS)
        return False

    def _delete_log(self) -> None:
        """libvirt's log of the probe. KVM is used even where the log cannot be deleted."""
        try:
            self._log.unlink(missing_ok=True)
        except PermissionError as error:
            log.info("cannot delete log file=%s error=%s", self._log, error)

    def _end(self) -> None:
        """Also ends a probe guest that a killed runtime left."""
        with contextlib.suppress(NotFound):
            self._node.end(NAME)
