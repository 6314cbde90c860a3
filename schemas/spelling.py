"""Near misses: which of the words that would be right is close to the one that was written. Knows no kinds, no fields."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

_LONGEST = 64  # A longer word is no slip of the pen, and distance costs the product of the lengths.


def nearest(word: str, candidates: Iterable[str], slips: int | None = None) -> str | None:
    """The candidate that `word` was most likely meant to be, or None. Ties are broken by order.

    With `slips` only that many are forgiven; without, as many as the length allows, and an abbreviation is understood.
    """
    if not word or len(word) > _LONGEST:
        return None
    folded = _fold(word)
    best: tuple[int, str] | None = None
    for candidate in candidates:
        other = _fold(candidate)
        cost = _cost(folded, other) if slips is None else _within(folded, other, slips)
        if cost is not None and (best is None or cost < best[0]):
            best = (cost, candidate)
    return best[1] if best else None


def _fold(word: str) -> str:
    return word.lower().replace("_", "").replace("-", "").replace(" ", "")


def _cost(word: str, other: str) -> int | None:
    longest = max(len(word), len(other))
    found = _within(word, other, max(1, min(3, longest // 3)))
    if found is not None:
        return found
    if min(len(word), len(other)) >= 3 and (other.startswith(word) or word.startswith(other)):
        return 4 + longest
    return None


def _within(word: str, other: str, slips: int) -> int | None:
    if abs(len(word) - len(other)) > slips:
        return None
    letters, others = set(word), set(other)
    if (
        max(len(letters - others), len(others - letters)) > slips
    ):  # each slip brings or loses one letter at most
        return None
    found = distance(word, other)
    return found if found <= slips else None


@lru_cache(maxsize=2048)
def distance(left: str, right: str) -> int:
    """Insertions, deletions, replacements and swaps of neighbours that turn one word into the other."""
    before: list[int] = []
    last = list(range(len(right) + 1))
    for row, letter in enumerate(left, 1):
        line = [row]
        for column, other in enumerate(right, 1):
            cost = min(last[column] + 1, line[column - 1] + 1, last[column - 1] + (letter != other))
            if row > 1 and column > 1 and letter == right[column - 2] and left[row - 2] == other:
                cost = min(cost, before[column - 2] + 1)
            line.append(cost)
        before, last = last, line
    return last[-1]
