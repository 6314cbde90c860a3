"""What one party of a soak meets on the way to the remote: it is away, answers are lost, late or old, and the party is killed at a call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from reconciler.gitstore.remote.transport import RemoteErrorKind, RemoteUnavailable
from tests.poollet.simulation import Kill, KillSwitch, When

AWAY = RemoteUnavailable(RemoteErrorKind.NETWORK, "the remote is away", "wait")
LOST = RemoteUnavailable(RemoteErrorKind.NETWORK, "the answer was lost", "wait", is_unknown=True)
LATE = RemoteUnavailable(RemoteErrorKind.NETWORK, "no answer within the deadline", "wait", is_unknown=True)


@dataclass
class Weather(KillSwitch):
    """Between one party and the remote. `meanwhile` happens in the middle of its next call, `late_answer` between the effect of its next
    call of that name and the answer, which is then older than the truth."""

    is_away: bool = False
    lost: int = 0  # answers to pushes that will not arrive
    late: int = 0  # pushes that the remote carries out only when it is told to
    meanwhile: Callable[[], None] | None = None
    late_answer: tuple[str, Callable[[], None]] | None = None

    def transport(self, call: str, when: When) -> RemoteUnavailable | None:
        super().transport(call, when)
        if when == "before" and self.meanwhile is not None:
            act, self.meanwhile = self.meanwhile, None
            act()
        if when == "after" and self.late_answer is not None and self.late_answer[0] == call:
            (_, act), self.late_answer = self.late_answer, None
            act()
        if self.is_away:
            return AWAY
        if call == "push" and when == "before" and self.late:
            self.late -= 1
            return LATE
        if call == "push" and when == "after" and self.lost:
            self.lost -= 1
            return LOST
        return None

    def doom(self, who: str, calls: int, when: When) -> None:
        self.kills |= {Kill(who, self.calls + calls, when)}

    def clear_up(self) -> None:
        self.kills, self.is_away, self.lost, self.late = frozenset(), False, 0, 0
        self.meanwhile = self.late_answer = None
