"""What the demo's hosts are: simulated, or each with a hypervisor and guests of its own. Owns what lies below a runtime."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

NAMES = ("rack-a1", "rack-a2", "rack-b1")


class Hosts(ABC):
    """`title` and `failing` are for the audience, `keys` what is typed at a machine's console, which is silent when it
    says nothing before Enter is pressed.

    Everything that is begun here ends with `close`, and with this process. What is not abstract is enough for hosts without
    guests of their own.
    """

    title: ClassVar[str]
    failing: ClassVar[str]
    keys: ClassVar[Sequence[str]]
    is_silent = False

    @abstractmethod
    def prepare(self) -> None:
        """Before anybody else plays. CommandError says what this machine lacks."""

    @abstractmethod
    def runtime(self, name: str, socket: Path, /) -> Sequence[str]:
        """The whole command of its runtime."""

    def fit_manifest(self, text: str) -> str:
        """A manifest of the example repo, as these hosts can run it."""
        return text

    def is_ready(self, _name: str, /) -> bool:
        """Whether its runtime may start."""
        return True

    def inside(self, _name: str, /) -> Sequence[str]:
        """The words that take a command to where its console can be reached."""
        return ()

    def fail(self, name: str, /) -> None:  # noqa: B027 - nothing dies with a runtime that has no hypervisor
        """What dies with its runtime. Guests go on."""

    def come_back(self, name: str, /) -> None:  # noqa: B027
        """What `fail` ended."""

    def guests(self, _name: str, /) -> frozenset[int]:
        """Processes of guests, where guests are."""
        return frozenset()

    def close(self) -> None:  # noqa: B027
        """Ends what `prepare` began."""
