"""After a boot of the host: guests stay off until `live` was asked, or start as the operator said.

Theory of operation. A host may come back from an older disk image, or after it was given up: what is on its disk may run elsewhere by
now. So gitvirt's runtimes hold their starts at each boot from the first call of this module on (HoldStarts), and the guests start

    the last landed report       `boot`   guests start
    is younger than `bootAge`    any      all of them, at once
    is older, or unknown         ask      one by one, when a pass applies `live` and orders their power (decide)
    is older, or unknown         start    the same; but all of them if no `live` was applied within `bootWait`

By a pass each machine that `live` assigns to this host is ordered On, one that it assigns elsewhere is ordered Off (fences.py), and one
that it does not name stays off. The time of the last landed report is in a file beside the mirror (`LandedFile`): a disk image has an
older one, and a lost mirror has none.

`start` trades safety for a site whose Git server runs on these very hosts. It must be refused on pools with fencing, where another host
may run the machines without this host's word; `may_start_unasked` is the place for that rule.

Limits: it changes no single machine. A runtime without the Host service starts its guests as it likes.

Must never happen: guests are released after this run applied `live`; a runtime holds its starts for ever because a call to it failed.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from iri.errors import IRIError, Unimplemented
from iri.runtime import Runtime
from poollet.clock import Clock
from reconciler.gitstore.objects.tree import ObjectId

log = logging.getLogger(__name__)

RETRY_SECONDS = 1.0
BootMode = Literal["ask", "start"]


class LandedFile:
    """Which report of this host landed last, and when, in Unix milliseconds. It may be lost, and is never newer than that."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path, self._clock = path, clock

    def write(self, commit: ObjectId, asks: str = "") -> None:
        """Called after each report that landed, with what it `asks`. A disk that is full must not keep the host from reporting."""
        try:
            partial = self._path.with_suffix(".partial")
            with partial.open("w", encoding="ascii") as file:
                file.write(f"{self._clock.now_ms()} {commit} {asks}".rstrip() + "\n")
                file.flush()
                os.fsync(file.fileno())  # after a power failure an older note would have this host ask
            partial.replace(self._path)
        except OSError as error:
            log.warning("cannot note when the report landed path=%s error=%s", self._path, error)

    def question_of(self, commit: ObjectId | None) -> str | None:
        """What the report on the ref asks, often nothing, if it is the last one of this host that landed. None if it is another: where this
        file was lost or is older, as on a disk that was restored; or where the ref is, as on a Git server that was."""
        words = self._words()
        if len(words) not in (2, 3) or words[1] != commit:
            return None
        return words[2] if len(words) == 3 else ""

    def age_ms(self) -> int | None:
        """None where it is not known: no file, one that cannot be read, a report that asks, or a time to come."""
        words = self._words()
        if len(words) not in (1, 2) or not words[0].isdecimal():
            return None
        age_ms = self._clock.now_ms() - int(words[0])
        return age_ms if age_ms >= 0 else None

    def _words(self) -> list[str]:
        """The time, the commit and what it asks; the time alone in the file of an earlier version."""
        try:
            return self._path.read_text("ascii").split()
        except (OSError, ValueError):
            return []


@dataclass(frozen=True, slots=True)
class BootRule:
    """The operator's settings: `boot`, `intervals.bootAge` and `intervals.bootWait`."""

    mode: BootMode = "ask"
    age_ms: int = 0
    wait_ms: int = 120_000

    def is_recent(self, age_ms: int | None) -> bool:
        """Whether nothing can have been given away since the last report."""
        return age_ms is not None and age_ms < self.age_ms

    def may_start_unasked(self, waited_ms: int) -> bool:
        """Whether the guests start although no `live` was applied."""
        return self.mode == "start" and waited_ms >= self.wait_ms


class BootStarts:
    """One poollet's. `begin` and `end` from the main thread; `on_applied` from the agent's."""

    def __init__(
        self, name: str, runtimes: Mapping[str, Runtime], rule: BootRule, landed: LandedFile, clock: Clock
    ) -> None:
        self._name, self._runtimes, self._rule, self._clock = name, runtimes, rule, clock
        self._is_recent = rule.is_recent(landed.age_ms())
        self._began_ms = clock.moment_ms()
        self._holding: set[str] = set()  # runtimes that know of the hold
        self._errors: dict[str, str] = {}  # of runtimes that did not take the call, as they were logged
        self._is_applied = threading.Event()
        self._is_over = threading.Event()
        self._has_warned = False
        self._thread = threading.Thread(target=self._serve, name=f"boot-{name}", daemon=True)

    def begin(self) -> None:
        """The first calls are made before it returns, so that a short run makes them too."""
        if not self.attempt():
            self._thread.start()

    def on_applied(self) -> None:
        """A pass applied `live`: from here on its orders say which guests run."""
        self._is_applied.set()

    def end(self) -> None:
        """A call that hangs ends by its deadline, in a daemon thread."""
        self._is_over.set()

    def attempt(self) -> bool:
        """One call to each runtime that needs one; whether nothing is left to do."""
        waited_ms = self._clock.moment_ms() - self._began_ms
        is_applied = self._is_applied.is_set()
        release = self._is_recent or (not is_applied and self._rule.may_start_unasked(waited_ms))
        for name, runtime in self._runtimes.items():
            if release or name not in self._holding:
                self._call(name, runtime, release=release)
        if release and self._holding == self._runtimes.keys():
            return True
        if not is_applied and waited_ms >= self._rule.wait_ms and not self._has_warned:
            self._has_warned = True
            log.warning(
                "no live was applied since the start, so guests that were off stay off name=%s; `boot: start` in poollet.yaml starts them without waiting for live",
                self._name,
            )
        return is_applied and self._holding == self._runtimes.keys()

    def _call(self, name: str, runtime: Runtime, *, release: bool) -> None:
        """A runtime without the call starts its guests as it likes; one that does not answer is called again, every second.

        Its words are logged once: a runtime that is off for a day would fill the log of the host with one line."""
        self._holding.discard(name)
        try:
            runtime.hold_starts(release=release)
        except Unimplemented:
            log.info("runtime cannot hold starts runtime=%s", name)
        except IRIError as error:
            if self._errors.get(name) != str(error):
                log.info(
                    "runtime cannot hold starts yet, and is called again runtime=%s error=%s", name, error
                )
            self._errors[name] = str(error)
            return
        self._errors.pop(name, None)
        self._holding.add(name)
        if release:
            log.info("guests that the boot of the host left off start runtime=%s", name)

    def _serve(self) -> None:
        while not self._is_over.wait(RETRY_SECONDS) and not self.attempt():
            continue
