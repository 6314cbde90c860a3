"""Which calls of a simulated host are slow or fail, on request.

Theory of operation. A fault is a rule that a caller of the control service adds. For each call the rules are asked twice,
once before the call has its effect and once after it; the first rule that hits is applied:

    effect   code    what the caller sees                          what the host has done
    BEFORE   set     that error, after the delay                   nothing
    BEFORE   empty   the call, later; TimedOut, where the delay    the call, after the delay, also where the caller gave it up
                     is longer than its deadline
    AFTER    set     that error: only the answer is lost           the call
    AFTER    empty   the answer, later                             the call

    a rule is passed over while   it names another call, or has the other effect
                                  `skip` is above 0, which this call counts down
                                  its probability decides against it (by the seed, so that a run can be repeated)
    a rule that hits              counts `times` down; at the last one it is gone. 0 means always

Must never happen: a control call is delayed or fails (see fault_injection), or a delay outlives the server: `release`
ends all of them.
"""

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
from iri.wire import error_status

# The names of gRPC's codes, and the more precise reasons beside them.
CODES: Mapping[str, type[errors.IRIError]] = {
    code.name: error for error, code in error_status.CODES.items()
} | error_status.ERRORS_BY_REASON
ANY_CALL = ("", "*")
LIMIT = 1000


class FaultEffect(IntEnum):
    """The numbers are those of the control service."""

    BEFORE = 0
    AFTER = 1


class FaultRule(msgspec.Struct, frozen=True, kw_only=True):
    """As the control service has it; the table above says what each field does."""

    id: str = ""
    call: str = ""  # a call of the runtime interface, such as "CreateMachine"; empty or "*" is any
    effect: FaultEffect = FaultEffect.BEFORE
    code: str = ""  # empty: the call succeeds, after the delay
    message: str = ""
    delay_nanoseconds: int = 0  # of real time: it exists to test deadlines, which are real
    skip: int = 0
    times: int = 0  # 0: always
    probability: float = 0  # 0 means 1

    def __post_init__(self) -> None:
        if self.code and self.code not in CODES:
            raise ValueError(f"unknown fault code {self.code!r}; there are {', '.join(CODES)}")
        if min(self.delay_nanoseconds, self.skip, self.times) < 0 or not 0 <= self.probability <= 1:
            raise ValueError("delay, skip and times are not negative, a probability is between 0 and 1")


class FaultRules:
    """Thread-safe. Also counts the calls, because a test that makes calls fail asks how often each was made."""

    def __init__(self, random: SeededRandom) -> None:
        self._random = random
        self._rules: dict[str, FaultRule] = {}
        self._count = 0
        self._calls: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._over = threading.Event()

    def add(self, rule: FaultRule) -> FaultRule:
        """The rule with its id. Rules are asked in the order in which they were added."""
        with self._lock:
            if len(self._rules) >= LIMIT:
                raise errors.ResourceExhausted(f"there are {LIMIT} faults, which is the limit")
            self._count += 1
            rule = replace(rule, id=f"fault-{self._count}")
            self._rules[rule.id] = rule
            return rule

    def list_rules(self) -> tuple[FaultRule, ...]:
        """Those that can still hit, with what is left of `skip` and `times`."""
        with self._lock:
            return tuple(self._rules.values())

    def clear(self, id: str = "") -> None:
        """One rule, or all."""
        with self._lock:
            if not id:
                self._rules.clear()
            elif self._rules.pop(id, None) is None:
                raise errors.NotFound(f"fault {id} does not exist")

    def calls(self) -> Mapping[str, int]:
        """How often each call was made since the start, failed ones included."""
        with self._lock:
            return dict(self._calls)

    def release(self) -> None:
        """Ends every delay, now and later: the server is stopping."""
        self._over.set()

    @contextmanager
    def wrap(self, call: str) -> Iterator[None]:
        """Around one call, with the call's effect in the block."""
        with self._lock:
            self._calls[call] += 1
        self._apply(call, FaultEffect.BEFORE)
        yield
        self._apply(call, FaultEffect.AFTER)

    def _apply(self, call: str, effect: FaultEffect) -> None:
        """The delay comes first, then the error."""
        if not self._rules:
            return
        rule = self._use_rule(call, effect)
        if rule is None:
            return
        if rule.delay_nanoseconds:
            self._over.wait(rule.delay_nanoseconds / SECOND_NS)
        if rule.code:
            raise CODES[rule.code](rule.message or f"{call} fails because of {rule.id}")

    def _use_rule(self, call: str, effect: FaultEffect) -> FaultRule | None:
        """The first rule that hits, counted down."""
        with self._lock:
            for rule in self._rules.values():
                if rule.effect is not effect or (rule.call != call and rule.call not in ANY_CALL):
                    continue
                if rule.skip:
                    self._rules[rule.id] = replace(rule, skip=rule.skip - 1)
                    continue
                if rule.probability and self._is_spared(rule):
                    continue
                self._count_down(rule)
                return rule
        return None

    def _is_spared(self, rule: FaultRule) -> bool:
        """By chance, with another draw for each call; the same seed and the same calls give the same hits."""
        self._count += 1
        return self._random.share("fault", rule.id, self._count) >= rule.probability

    def _count_down(self, rule: FaultRule) -> None:
        """With the lock held. A rule that has hit `times` times is dropped; one without a count stays."""
        if rule.times == 1:
            del self._rules[rule.id]
        elif rule.times:
            self._rules[rule.id] = replace(rule, times=rule.times - 1)
