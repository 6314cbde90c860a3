"""A runtime that carries out calls long after their callers gave up: it hung, or its process was suspended and went on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from msgspec.structs import replace

from iri.change import AttachVolume, RuntimeChange
from iri.errors import IRIError, TimedOut
from iri.identity import UID_LABELS
from iri.runtime import AnyObject, Runtime
from iri.server.call_handlers import CallWrapper
from iri.simulated.faults.fault_injection import FaultInjectingRuntime
from iri.volume import RuntimeVolume
from poollet.decide.late_creation import LATE_MS
from tests.poollet.stage import Time


@dataclass(frozen=True)
class LateCall:
    """A call that waits in the runtime since then."""

    name: str
    since_ms: int
    act: Callable[[], object]
    is_attach: bool = False


class SlowRuntime(FaultInjectingRuntime):
    """The next `slow` calls that change something are answered by nothing, and wait until `land`.

    A stock provider knows no ended assignments. So a poollet waits LATE_MS before it says that an object is gone, and for so long at most
    a call to such a provider is late here; nor does it create a second object of one uid. No runtime knows of a volume that it is for another
    machine by now: the poollet waits as long, and so an attach is late by no more than that either.
    """

    def __init__(
        self, runtime: Runtime, around: CallWrapper, time: Time, *, is_stock: bool, is_shared: bool
    ) -> None:
        super().__init__(runtime, around)
        self._time, self._is_stock = time, is_stock
        self.is_shared = is_shared
        self.slow = 0
        self.late: list[LateCall] = []

    def objects(self, kind: type[AnyObject]) -> Mapping[str, AnyObject]:
        """With access data that are good on every host, where the storage is shared."""
        found = super().objects(kind)
        if kind is not RuntimeVolume or not self.is_shared:
            return found
        made: dict[str, Any] = {id: share(cast("Any", one)) for id, one in found.items()}
        return made

    def create(self, desired: AnyObject) -> AnyObject:
        self._give_up(f"create {type(desired).__name__}", lambda: self._create_late(desired))
        return super().create(desired)

    def change(self, id: str, change: RuntimeChange, *, assignment: str = "") -> None:
        self._give_up(
            f"{type(change).__name__} {id}",
            lambda: super(SlowRuntime, self).change(id, change, assignment=assignment),
            is_attach=isinstance(change, AttachVolume),
        )
        super().change(id, change, assignment=assignment)

    def remove(self, kind: type[AnyObject], id: str, *, assignment: str = "") -> None:
        self._give_up(
            f"remove {kind.__name__} {id}",
            lambda: super(SlowRuntime, self).remove(kind, id, assignment=assignment),
        )
        super().remove(kind, id, assignment=assignment)

    def land(self, number: int) -> tuple[str, bool]:
        """Carries out one late call: which one it was, and whether it had an effect."""
        call = self.late.pop(number)
        if (self._is_stock or call.is_attach) and self._time.ms - call.since_ms >= LATE_MS:
            return call.name, False
        try:
            call.act()
        except IRIError:
            return call.name, False
        return call.name, True

    def _create_late(self, desired: AnyObject) -> None:
        label = UID_LABELS[type(desired)]
        there = {one.labels.get(label) for one in self._runtime.objects(type(desired)).values()}
        if not self._is_stock or desired.labels.get(label) not in there:
            super().create(desired)

    def _give_up(self, name: str, act: Callable[[], object], *, is_attach: bool = False) -> None:
        if self.slow:
            self.slow -= 1
            self.late.append(LateCall(name, self._time.ms, act, is_attach))
            raise TimedOut(f"{name} was not answered within its deadline")


def share(volume: RuntimeVolume) -> RuntimeVolume:
    """A simulated host serves its own volumes to itself alone, which it knows by driver and handle."""
    access = volume.status.access
    if access is None:
        return volume
    access = replace(access, driver="shared", handle=f"shared-{access.handle}")
    return replace(volume, status=replace(volume.status, access=access))
