"""Calls that are slow or fail, by order: before they have an effect, or after it, when only the answer is lost."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import IntEnum

import msgspec
from msgspec.structs import replace

from iri import errors
from iri.simulated.clock import SECOND_NS
from iri.simulated.seeded_random import SeededRandom

CODES: Mapping[str, type[errors.IRIError]] = {
    "NOT_FOUND": errors.NotFound,
    "ALREADY_EXISTS": errors.AlreadyExists,
    "INVALID_ARGUMENT": errors.InvalidArgument,
    "FAILED_PRECONDITION": errors.FailedPrecondition,
    "RESOURCE_EXHAUSTED": errors.ResourceExhausted,
    "UNIMPLEMENTED": errors.Unimplemented,
    "UNAVAILABLE": errors.Unavailable,
    "DEADLINE_EXCEEDED": errors.TimedOut,
    "INTERNAL": errors.Internal,
    "NETWORK_NOT_READY": errors.NetworkNotReady,
    "NETWORK_NOT_OFFERED": errors.NetworkNotOffered,
    "IMAGE_NOT_RESOLVABLE": errors.ImageNotResolvable,
}
ANY_CALL = ("", "*")
LIMIT = 1000


class FaultEffect(IntEnum):
    BEFORE = 0
    AFTER = 1


class FaultRule(msgspec.Struct, frozen=True, kw_only=True):
    id: str = ""
    call: str = ""  # an IRI call such as "CreateMachine"; empty or "*" is any
    effect: FaultEffect = FaultEffect.BEFORE
    code: str = ""  # empty: the call succeeds, after the delay
    message: str = ""
    delay_ns: int = 0  # of real time: it is there to try deadlines, which are real
    skip: int = 0
    times: int = 0  # 0: always
    probability: float = 0  # 0 means 1

    def __post_init__(self) -> None:
        if self.code and self.code not in CODES:
            raise ValueError(f"no fault code is called {self.code!r}; there are {', '.join(CODES)}")
        if min(self.delay_ns, self.skip, self.times) < 0 or not 0 <= self.probability <= 1:
            raise ValueError("delay, skip and times are not negative, a probability is between 0 and 1")


class FaultRules:
    """Thread-safe. Also counts the calls, because whoever makes them fail wants to know."""

    def __init__(self, chance: SeededRandom) -> None:
        self._chance = chance
        self._faults: dict[str, FaultRule] = {}
        self._count = 0
        self._calls: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._over = threading.Event()

    def add(self, fault: FaultRule) -> FaultRule:
        with self._lock:
            if len(self._faults) >= LIMIT:
                raise errors.ResourceExhausted(f"there are {LIMIT} faults, which is the limit")
            self._count += 1
            fault = replace(fault, id=f"fault-{self._count}")
            self._faults[fault.id] = fault
            return fault

    def all(self) -> tuple[FaultRule, ...]:
        """Those that can still strike, with what is left of `skip` and `times`."""
        with self._lock:
            return tuple(self._faults.values())

    def clear(self, id: str = "") -> None:
        with self._lock:
            if not id:
                self._faults.clear()
            elif self._faults.pop(id, None) is None:
                raise errors.NotFound(f"there is no fault {id}")

    def calls(self) -> Mapping[str, int]:
        with self._lock:
            return dict(self._calls)

    def release(self) -> None:
        """Nobody waits any more: the process is going."""
        self._over.set()

    @contextmanager
    def around(self, call: str) -> Iterator[None]:
        with self._lock:
            self._calls[call] += 1
        self._strike(call, FaultEffect.BEFORE)
        yield
        self._strike(call, FaultEffect.AFTER)

    def _strike(self, call: str, effect: FaultEffect) -> None:
        if not self._faults:
            return
        fault = self._struck_by(call, effect)
        if fault is None:
            return
        if fault.delay_ns:
            self._over.wait(fault.delay_ns / SECOND_NS)
        if fault.code:
            raise CODES[fault.code](fault.message or f"{call} fails by order of {fault.id}")

    def _struck_by(self, call: str, effect: FaultEffect) -> FaultRule | None:
        with self._lock:
            for fault in self._faults.values():
                if fault.effect is not effect or (fault.call != call and fault.call not in ANY_CALL):
                    continue
                if fault.skip:
                    self._faults[fault.id] = replace(fault, skip=fault.skip - 1)
                    continue
                if fault.probability and self._is_lucky(fault):
                    continue
                self._used(fault)
                return fault
        return None

    def _is_lucky(self, fault: FaultRule) -> bool:
        self._count += 1
        return self._chance.share("fault", fault.id, self._count) >= fault.probability

    def _used(self, fault: FaultRule) -> None:
        if fault.times == 1:
            del self._faults[fault.id]
        elif fault.times:
            self._faults[fault.id] = replace(fault, times=fault.times - 1)
