"""Every state that a model can reach, breadth first: the shortest way to a bad one, and the states from which no good one can be reached.

Must not know what it explores. Cost: one visit of each state.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

S = TypeVar("S", bound=Hashable)
Steps = Callable[[S], Iterable[tuple[str, S]]]


@dataclass
class Explored(Generic[S]):
    """`before` has each state that was reached, with the step and the state that led there first."""

    start: S
    before: dict[S, tuple[str, S] | None] = field(default_factory=dict)
    after: dict[S, list[tuple[str, S]]] = field(default_factory=dict)
    bad: S | None = None

    @property
    def count(self) -> int:
        return len(self.before)

    def way_to(self, state: S) -> list[str]:
        """The steps from the start."""
        found: list[str] = []
        while (each := self.before[state]) is not None:
            step, state = each
            found.append(step)
        return found[::-1]

    def list_lost(self, is_good: Callable[[S], bool], may_happen: Callable[[str], bool]) -> list[S]:
        """The states from which no good one can be reached by the steps that may still happen. Only for a model that was explored to its end."""
        into: dict[S, list[S]] = {}
        for state, following in self.after.items():
            for step, each in following:
                if may_happen(step):
                    into.setdefault(each, []).append(state)
        saved = {state for state in self.before if is_good(state)}
        waiting = deque(saved)
        while waiting:
            for each in into.get(waiting.popleft(), ()):
                if each not in saved:
                    saved.add(each)
                    waiting.append(each)
        return [state for state in self.before if state not in saved]


def explore(
    start: S, steps: Steps[S], is_bad: Callable[[S], bool], fold: Callable[[S], S], most: int
) -> Explored[S]:
    """Ends at the first bad state. `fold` chooses one of the states that are alike, so that the parties in a step may have changed their numbers.
    A model with more than `most` states is an error: it would not be explored to its end."""
    found = Explored(start, {start: None})
    waiting = deque([start])
    while waiting:
        state = waiting.popleft()
        if is_bad(state):
            found.bad = state
            return found
        following = found.after[state] = []
        for step, following_state in steps(state):
            each = fold(following_state)
            following.append((step, each))
            if each not in found.before:
                found.before[each] = (step, state)
                waiting.append(each)
        if found.count > most:
            raise AssertionError(f"the model has more than {most:,} states")
    return found
