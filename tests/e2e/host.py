"""A host of the fleet: a place on the network, a libvirtd with guests, `gitvirt runtime libvirt` and `gitvirt poollet`."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.e2e.network import Place
from tests.e2e.process import Process
from tests.guests.linux import CMDLINE, linux_kernel
from tests.guests.micro import micro_kernel
from tests.servers.leftovers import Leftovers, leftovers
from tests.servers.libvirtd import Libvirtd, libvirtd


@dataclass
class Host:
    """`repo` is that part of its poollet.yaml."""

    name: str
    libvirtd: Libvirtd
    place: Place
    repo: Mapping[str, str]
    processes: dict[str, Process] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        return self.libvirtd.folder / "gitvirt"

    def prepare(self) -> None:
        self.folder.mkdir(mode=0o711)
        micro = {"kernel": str(micro_kernel(self.libvirtd.folder)), "hotplugPorts": 4}
        kernel, initramfs = map(str, linux_kernel(self.libvirtd.folder))
        linux = {"kernel": kernel, "initramfs": initramfs, "cmdline": CMDLINE, "hotplugPorts": 4}
        settings = {
            "uri": self.libvirtd.uri,
            "folder": str(self.folder),
            "qemuLogs": str(self.libvirtd.folder / "log" / "qemu"),
            "host": {
                "accelerator": "tcg",
                "reserved": {},
                "overcommit": {"cpu": 8},
                "traits": {"micro": micro, "linux": linux},
                "addresses": [{"type": "InternalIP", "address": self.place.address}],
            },
            "power": {"stopTimeout": 3.0, "press": 0.3, "firstRestart": 2.0},
        }
        (self.folder / "libvirt.yaml").write_text(json.dumps(settings))
        socket = str(self.folder / "s")
        poollet = {
            "name": self.name,
            "hostID": self.name,
            "repo": {**self.repo, "mirror": str(self.folder / "mirror")},
            "runtimes": [{"name": "libvirt", "machine": socket, "volume": socket}],
            "pools": [{"name": self.name}, {"name": self.name, "kind": "VolumePool"}],
            "intervals": {"poll": "4s", "list": "1s"},
        }
        (self.folder / "poollet.yaml").write_text(json.dumps(poollet))

    def start(self) -> None:
        """As it comes up: the poollet may be there before its runtime, and has to wait for it."""
        folder = self.folder
        runtime = ("runtime", "libvirt", "--settings", f"{folder}/libvirt.yaml", "--listen", f"{folder}/s")
        poollet = ("poollet", "--config", f"{folder}/poollet.yaml")
        self.run("runtime", runtime)
        self.run("poollet", poollet)

    def run(self, role: str, arguments: tuple[str, ...]) -> None:
        log = self.libvirtd.folder / f"{role}.log"
        self.processes[role] = Process(log, self.place.inside, arguments, {"GITVIRT_SSH_CONFIG": "/dev/null"})

    def die(self) -> None:
        """Everything of gitvirt and libvirt is gone at once; the guests keep running, as they do."""
        for process in self.processes.values():
            process.kill()
        self.libvirtd.kill()

    def come_back(self) -> None:
        self.libvirtd.start()
        self.start()

    def stop(self) -> None:
        for role in ("poollet", "runtime"):
            if role in self.processes:
                self.processes[role].stop()

    @property
    def guests(self) -> dict[str, int]:
        return self.libvirtd.guests()

    def guest_output(self, machine: str) -> list[str]:
        """What the Linux guest of that uid shown on its console so far."""
        folder = self.folder / "machines" / machine
        logs = [log for log in (folder / "previous.log", folder / "console.log") if log.exists()]
        text = "".join(log.read_text(errors="replace") for log in logs)
        return [line.strip() for line in re.findall(r"GUEST ([^\r\n]*)[\r\n]", text)]

    def leftovers(self) -> Leftovers:
        return leftovers(self.libvirtd, self.folder)

    def logs(self) -> str:
        parts = [f"--- {self.name} {role}\n{process.log_text}" for role, process in self.processes.items()]
        return "\n".join(parts)


@contextlib.contextmanager
def host(name: str, place: Callable[[int], Place], repo: Mapping[str, str]) -> Iterator[Host]:
    """`place` gives the network namespace of a process its place on the network."""
    with libvirtd() as daemon:
        made = Host(name, daemon, place(daemon.pid), repo)
        made.prepare()
        try:
            yield made
        finally:
            made.stop()
