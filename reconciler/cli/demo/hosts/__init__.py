"""What the demo's hosts are: simulated, or each with a hypervisor and guests of its own. Owns what lies below a runtime."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

NAMES = ("rack-a1", "rack-a2", "rack-b1")


class Hosts(Protocol):
    """`title` and `failing` are for the audience, `keys` what is typed at a machine's console, which is silent when it
    says nothing before Enter is pressed.

    Everything that is begun here ends with `close`, and with this process.
    """

    title: str
    failing: str
    keys: Sequence[str]
    is_silent: bool

    def fit_manifest(self, text: str) -> str:
        """A manifest of the example repo, as these hosts can run it."""
        ...

    def prepare(self) -> None:
        """Before anybody else plays. CommandError says what this machine lacks."""
        ...

    def is_ready(self, name: str, /) -> bool:
        """Whether its runtime may start."""
        ...

    def runtime(self, name: str, socket: Path, /) -> Sequence[str]:
        """The whole command of its runtime."""
        ...

    def inside(self, name: str, /) -> Sequence[str]:
        """The words that take a command to where its console can be reached."""
        ...

    def fail(self, name: str, /) -> None:
        """What dies with its runtime. Guests go on."""
        ...

    def come_back(self, name: str, /) -> None: ...

    def guests(self, name: str, /) -> frozenset[int]:
        """Processes of guests, where guests are."""
        ...

    def close(self) -> None: ...
