"""Clocks of a process that a test sets while the process runs. `clocks.c` says how."""

from __future__ import annotations

import struct
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

SOURCE = Path(__file__).with_name("clocks.c")
SECOND_NS = 1_000_000_000


def compile_clocks(folder: Path) -> Path:
    library = folder / "clocks.so"
    command = ("cc", "-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o", str(library), str(SOURCE))
    subprocess.run(command, check=True)
    return library


@dataclass
class Clocks:
    """Of one process; its children have them too. All are right at first."""

    library: Path
    path: Path
    offsets: list[int] = field(default_factory=lambda: [0, 0, 0])

    def __post_init__(self) -> None:
        self._write()

    @property
    def environment(self) -> dict[str, str]:
        return {"LD_PRELOAD": str(self.library), "CLOCK_OFFSETS": str(self.path)}

    def pass_time(self, seconds: float) -> None:
        """So much time goes by, as a process finds it that did not run meanwhile."""
        self._add(seconds, seconds, seconds)

    def suspend(self, seconds: float) -> None:
        """As a process finds it when its machine was suspended for so long: CLOCK_MONOTONIC stood still."""
        self._add(seconds, 0, seconds)

    def set_time(self, seconds: float) -> None:
        """The time of day is set forward, or back. No other clock follows."""
        self._add(seconds, 0, 0)

    def time(self) -> float:
        """The time of day as the process has it."""
        return time.time() + self.offsets[0] / SECOND_NS

    def _add(self, *seconds: float) -> None:
        self.offsets = [old + round(new * SECOND_NS) for old, new in zip(self.offsets, seconds, strict=True)]
        self._write()

    def _write(self) -> None:
        """In place: the process has the file mapped."""
        with self.path.open("r+b" if self.path.exists() else "wb") as file:
            file.write(struct.pack("3q", *self.offsets))
