"""Durations (`15s`, `1h30m`, `500ms`): those of settings as exact milliseconds, and the one form in which all texts show them."""

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


def format_duration(seconds: float) -> str:
    """The two largest units that are not zero: 45s, 3m10s, 2h5m, 4d1h. Below ten seconds with tenths, unless the number is whole: 0.3s, 7s."""
    whole = max(0, int(seconds))
    if whole < 10 and seconds > whole:
        return f"{seconds:.1f}s"
    parts = ((whole // 86400, "d"), (whole // 3600 % 24, "h"), (whole // 60 % 60, "m"), (whole % 60, "s"))
    first = next((index for index, (count, _) in enumerate(parts) if count), len(parts) - 1)
    return "".join(f"{count}{unit}" for count, unit in parts[first : first + 2] if count) or "0s"
