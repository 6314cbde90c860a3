"""Hosts that exist as numbers only: the runtime is `gitvirt runtime simulated`. They keep their machines over a
restart, in a state file, so a host that fails comes back with them. The seed and the times are fixed, so the demo
looks alike on every machine."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from reconciler.cli.demo.hosts import NAMES, Hosts

PROFILE = """{{"host": "{name}", "capacity": {{"cpu": 16, "memory": 68719476736, "storage": 1099511627776}},
"times": {{"boot": [0.4, 0.8, 1.5], "pull": [0.3, 0.5, 1.0], "clone": [0.2, 0.3, 0.5]}}}}
"""


class SimulatedHosts(Hosts):
    title = "A reconciler, and a poollet on each host. They take their orders from Git"
    failing = "Now the hypervisor of {name} dies"
    keys = ("root", "hostname", "uptime")

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def prepare(self) -> None:
        for name in NAMES:
            home = self._folder / name
            home.mkdir()
            (home / "profile.json").write_text(PROFILE.format(name=name))

    def runtime(self, name: str, socket: Path) -> Sequence[str]:
        home = self._folder / name
        options = ("--profile", str(home / "profile.json"), "--state", str(home / "state"), "--seed", "7")
        return sys.executable, "-m", "reconciler", "runtime", "simulated", "--listen", str(socket), *options
