"""Durations in settings (`15s`, `1h30m`, `500ms`) as exact milliseconds."""

from __future__ import annotations

import re

MILLISECONDS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
PATTERN = r"^([0-9]{1,9}(\.[0-9]{1,3})?(ms|s|m|h|d))+$"
PART = re.compile(r"([0-9]+)(?:\.([0-9]{1,3}))?(ms|s|m|h|d)")


def milliseconds(text: str) -> int:
    """Exact. Raises ValueError for a fraction of a millisecond and for text that PATTERN does not match."""
    if not re.fullmatch(PATTERN, text):
        raise ValueError(f"invalid duration {text!r}: write 15s, 5m or 1h30m")
    total = 0
    for whole, fraction, unit in PART.findall(text):
        scale = MILLISECONDS[unit]
        thousandths = int(whole) * 1000 + int(fraction.ljust(3, "0") or "0")
        product = thousandths * scale
        if product % 1000:
            raise ValueError(f"{text!r} is finer than a millisecond")
        total += product // 1000
    return total
