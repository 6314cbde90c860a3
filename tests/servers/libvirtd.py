"""A libvirtd of the tests' own; nothing of it outlives the test process. Needs root."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from iri.libvirt.private_libvirtd.private_libvirtd import PrivateLibvirtd
from tests.servers.daemon import bare

READY_SECONDS = 60.0


class Libvirtd(PrivateLibvirtd):
    def start(self) -> None:
        super().start()
        until = time.monotonic() + READY_SECONDS
        while self.virsh("version", check=False).returncode:
            assert time.monotonic() < until, (self.folder / "libvirtd.log").read_text(errors="replace")
            time.sleep(0.05)

    def revive(self) -> None:
        """As a service manager would, one that ended by itself."""
        if not self.is_answering():
            self.kill()
            self.start()

    def crashes(self) -> str:
        return (self.folder / "first.log").read_text(errors="replace")

    def kill_guest(self, uuid: str) -> None:
        os.kill(self.guests()[uuid], signal.SIGKILL)

    def virsh(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["virsh", "-q", "-c", self.uri, *arguments],
            env=bare(),
            check=check,
            text=True,
            capture_output=True,
        )


@contextlib.contextmanager
def libvirtd(*, has_own_network: bool = True) -> Iterator[Libvirtd]:
    """Without a network of its own it is in that of the tests, and changes its rules."""
    folder = Path(tempfile.mkdtemp(prefix="lv-", dir="/tmp"))
    folder.chmod(0o755)
    made = Libvirtd(folder, has_own_network=has_own_network)
    try:
        made.start()
        yield made
    finally:
        made.close()
        shutil.rmtree(folder)
