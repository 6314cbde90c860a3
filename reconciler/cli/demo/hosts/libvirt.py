"""Hosts with a libvirtd, a network and guests of their own on this machine. Needs root.

Each host is a private libvirtd in namespaces of its own (`iri.libvirt.private_libvirtd`), with a bridge that leads
nowhere. Guests boot a kernel of this machine and an initramfs with a shell, as small as they can be, so three hosts
fit on a laptop. The manifests of the example repo are rewritten by FITTING to fit them.

Must never happen: the system's libvirt, its networks or its storage are touched. When a host fails, its libvirtd
and its runtime die and its guests go on, as in a real crash of the daemon.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from iri.errors import Unavailable
from iri.libvirt.private_libvirtd.demo_guest import CMDLINE, MEMORY_BYTES, DemoGuest, build_guest
from iri.libvirt.private_libvirtd.private_libvirtd import PrivateLibvirtd
from reconciler.cli.demo.hosts import NAMES, Hosts
from reconciler.cli.demo.hosts.needs import check_needs
from reconciler.cli.exits import CommandError

BRIDGE = "br0"  # of the house's network in the example repo
LONGEST_PATH = 107  # of a unix socket
CONSOLE = "machines/00000000-0000-0000-0000-000000000000/console.sock"
MEMORY = f"{MEMORY_BYTES >> 20}Mi"
# The example repo is for hosts of a rack. Guests of the demo are as small as they can be.
FITTING = {
    "  cpu: 1\n  memory: 2Gi": f"  cpu: 1\n  memory: {MEMORY}",
    "  cpu: 2\n  memory: 4Gi": f"  cpu: 1\n  memory: {MEMORY}",
    "  cpu: 4\n  memory: 16Gi": f"  cpu: 2\n  memory: {MEMORY}",
    '    cpu: "4"': '    cpu: "8"',
    "    memory: 2Gi": "    memory: 64Mi",
    "sizeLimit: 10Gi": "sizeLimit: 32Mi",
    "sizeLimit: 20Gi": "sizeLimit: 64Mi",
    "storage: 40Gi": "storage: 64Mi",
    "storage: 100Gi": "storage: 96Mi",
}
IMAGE = "registry.example.org/images/debian:12"
CLASSES = ("small", "medium", "large")


class LibvirtHosts(Hosts):
    title = "A reconciler, and on each host a libvirtd, a runtime that drives it, and a poollet that reads the repo"
    failing = "Now libvirtd and the runtime of {name} die"
    keys = ("hostname", "cat /etc/issue")
    is_silent = True

    def __init__(self, folder: Path, held: int, accelerator: str) -> None:
        self._folder = folder
        self._held = held
        self._accelerator = accelerator
        self._libvirtds: dict[str, PrivateLibvirtd] = {}
        self._disk = folder / "images" / "disk.raw"

    def fit_manifest(self, text: str) -> str:
        for usual, small in FITTING.items():
            text = text.replace(usual, small)
        return text.replace(IMAGE, str(self._disk))

    def prepare(self) -> None:
        kernel, busybox = check_needs()
        longest = max(len(str(self._folder / name / CONSOLE)) for name in NAMES)
        if longest > LONGEST_PATH:
            raise CommandError(
                f"sockets in {self._folder} would have paths that are too long", "set TMPDIR=/tmp"
            )
        self._disk.parent.mkdir()
        guest = build_guest(kernel, busybox, self._disk.parent)
        for name in NAMES:
            below = self._folder / name / "libvirt"
            below.mkdir(parents=True)
            self._libvirtds[name] = PrivateLibvirtd(below, held=(self._held,))
        for name, libvirtd in self._libvirtds.items():
            try:
                libvirtd.start()
            except Unavailable as error:
                raise CommandError(
                    str(error), "run it as root, outside of a container or in one that is allowed to mount"
                ) from None
            libvirtd.inside("ip", "link", "add", BRIDGE, "type", "bridge")
            libvirtd.inside("ip", "link", "set", BRIDGE, "up")
            self._settings(name).write_text(json.dumps(self._make_settings(name, guest)))

    def _settings(self, name: str) -> Path:
        return self._folder / name / "libvirt.yaml"

    def _make_settings(self, name: str, guest: DemoGuest) -> dict[str, object]:
        traits = {
            "kernel": str(guest.kernel),
            "initramfs": str(guest.initramfs),
            "cmdline": CMDLINE,
            "hotplugPorts": 2,
            "mostCpus": 2,
        }
        return {
            "uri": self._libvirtds[name].uri,
            "folder": str(self._folder / name),
            "qemuLogs": str(self._libvirtds[name].folder / "log" / "qemu"),
            "host": {
                "accelerator": self._accelerator,
                "reserved": {},
                "traits": dict.fromkeys(CLASSES, traits),
            },
            "networks": {"bridges": {BRIDGE: {}}},
            "images": {"paths": [str(self._disk.parent)]},
        }

    def is_ready(self, name: str) -> bool:
        return self._libvirtds[name].is_answering()

    def runtime(self, name: str, socket: Path) -> Sequence[str]:
        command = ("runtime", "libvirt", "--settings", str(self._settings(name)), "--listen", str(socket))
        return *self.inside(name), sys.executable, "-m", "reconciler", *command

    def inside(self, name: str) -> Sequence[str]:
        return "nsenter", f"--net={self._libvirtds[name].netns}"

    def fail(self, name: str) -> None:
        self._libvirtds[name].kill()

    def come_back(self, name: str) -> None:
        self._libvirtds[name].start()

    def guests(self, name: str) -> frozenset[int]:
        return frozenset(self._libvirtds[name].guests().values())

    def close(self) -> None:
        """All at once: what ends last is waited for."""
        for libvirtd in self._libvirtds.values():
            libvirtd.end()
        for libvirtd in self._libvirtds.values():
            libvirtd.close()
