"""Hosts that exist as numbers only. They keep their machines over a restart."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from reconciler.cli.demo.hosts import NAMES

PROFILE = """{{"host": "{name}", "capacity": {{"cpu": 16, "memory": 68719476736, "storage": 1099511627776}},
"times": {{"boot": [0.4, 0.8, 1.5], "pull": [0.3, 0.5, 1.0], "clone": [0.2, 0.3, 0.5]}}}}
"""


class SimulatedHosts:
    title = "A reconciler, and a poollet on each host. They take their orders from Git"
    failing = "Now the hypervisor of {name} dies"
    keys: Sequence[str] = ("root", "hostname", "uptime")
    is_silent = False

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def fit_manifest(self, text: str) -> str:
        return text

    def prepare(self) -> None:
        for name in NAMES:
            home = self._folder / name
            home.mkdir()
            (home / "profile.json").write_text(PROFILE.format(name=name))

    def is_ready(self, _name: str) -> bool:
        return True

    def runtime(self, name: str, socket: Path) -> Sequence[str]:
        home = self._folder / name
        options = ("--profile", str(home / "profile.json"), "--state", str(home / "state"), "--seed", "7")
        return sys.executable, "-m", "reconciler", "runtime", "simulated", "--listen", str(socket), *options

    def inside(self, _name: str) -> Sequence[str]:
        return ()

    def fail(self, _name: str) -> None:
        pass

    def come_back(self, _name: str) -> None:
        pass

    def guests(self, _name: str) -> frozenset[int]:
        return frozenset()

    def close(self) -> None:
        pass
