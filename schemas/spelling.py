"""Spelling suggestions: which of the correct words is closest to the written one. Knows no kinds and no fields."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

# A longer word is not a typing mistake, and computing a distance costs the product of the lengths.
_LONGEST = 64


def nearest(word: str, candidates: Iterable[str], typos: int | None = None) -> str | None:
    """The candidate that `word` was most likely meant to be, or None. The first one wins a tie.

    `typos` limits the number of mistakes. Without it the limit depends on the length, and abbreviations match too.
    """
    if not word or len(word) > _LONGEST:
        return None
    folded = _fold(word)
    best: tuple[int, str] | None = None
    for candidate in candidates:
        other = _fold(candidate)
        cost = _cost(folded, other) if typos is None else _bounded_distance(folded, other, typos)
        if cost is not None and (best is None or cost < best[0]):
            best = (cost, candidate)
    return best[1] if best else None


def _fold(word: str) -> str:
    """Case and separators do not count as mistakes."""
    return word.lower().replace("_", "").replace("-", "").replace(" ", "")


def _cost(word: str, other: str) -> int | None:
    """The distance if it is small enough for the length; abbreviations cost more than any typing mistake."""
    longest = max(len(word), len(other))
    found = _bounded_distance(word, other, max(1, min(3, longest // 3)))
    if found is not None:
        return found
    if min(len(word), len(other)) >= 3 and (other.startswith(word) or word.startswith(other)):
        return 4 + longest
    return None


def _bounded_distance(word: str, other: str, typos: int) -> int | None:
    """The distance, or None if it exceeds `typos`."""
    if abs(len(word) - len(other)) > typos:
        return None
    letters, others = set(word), set(other)
    # Each mistake adds or removes at most one letter: a cheap test before the expensive one.
    if max(len(letters - others), len(others - letters)) > typos:
        return None
    found = distance(word, other)
    return found if found <= typos else None


@lru_cache(maxsize=2048)
def distance(left: str, right: str) -> int:
    """How many insertions, deletions, replacements and swaps of neighbors turn one word into the other."""
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
