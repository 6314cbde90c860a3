"""The demo's guest boots, shows its disk, and obeys on its console."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from iri.libvirt.private_libvirtd.demo_guest import (
    CMDLINE,
    DISK_TEXT,
    MEMORY_BYTES,
    MODULES,
    DemoGuest,
    build_guest,
)
from iri.libvirt.private_libvirtd.host_kernel import find_kernel
from tests.guests.linux import KERNEL

PATIENCE_SECONDS = 90.0


class Line:
    """The serial line of a guest."""

    def __init__(self, end: socket.socket) -> None:
        self.end = end
        self.said = b""

    def until(self, text: bytes) -> None:
        ends = time.monotonic() + PATIENCE_SECONDS
        while text not in self.said:
            self.end.settimeout(max(0.1, ends - time.monotonic()))
            data = self.end.recv(4096)
            assert data, self.said
            self.said += data


@contextlib.contextmanager
def boot(guest: DemoGuest, folder: Path) -> Iterator[tuple[subprocess.Popen[bytes], Line]]:
    ours, theirs = socket.socketpair()
    command = [
        "qemu-system-x86_64",
        "-M",
        "q35",
        "-m",
        str(MEMORY_BYTES >> 20),
        "-display",
        "none",
        "-nodefaults",
    ]
    command += [
        "-no-reboot",
        "-kernel",
        str(guest.kernel),
        "-initrd",
        str(guest.initramfs),
        "-append",
        CMDLINE,
    ]
    command += ["-drive", f"file={guest.disk},if=none,id=root,format=raw"]
    command += ["-device", "virtio-blk-pci,drive=root,serial=oda"]
    command += ["-chardev", f"socket,id=line,fd={theirs.fileno()}", "-serial", "chardev:line"]
    with ours, (folder / "qemu.log").open("wb") as log:
        process = subprocess.Popen(command, stderr=log, pass_fds=(theirs.fileno(),))
        theirs.close()
        try:
            yield process, Line(ours)
        finally:
            process.kill()
            process.wait()


def test_demo_guest_boots_shows_its_disk_and_powers_off(tmp_path: Path) -> None:
    guest = build_guest(find_kernel(MODULES, root=tmp_path, unpacked=KERNEL), Path("/bin/busybox"), tmp_path)
    with boot(guest, tmp_path) as (process, line):
        line.until(b"(none): up")
        assert b"disk oda, 4 MiB: " + DISK_TEXT.strip() in line.said
        line.until(b":/# ")
        line.end.sendall(b"echo $((6 * 7)) answers; poweroff -f\n")
        line.until(b"42 answers")
        assert process.wait(PATIENCE_SECONDS) == 0
