"""Durations as people write them (`90s`, `10m`) and as tables show them (`3m10s`). Whole seconds.

For options of verbs that wait. Settings and `gitvirt run` take durations in the form of
`schemas.settings.duration`, which knows milliseconds and wants a unit.
"""

from __future__ import annotations

import argparse

SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def parse_duration(text: str) -> int:
    """`90s`, `60m`, `2h` or `1d`, in seconds; a bare number is seconds too. The type of an argument."""
    number, unit = (text[:-1], text[-1]) if text[-1:] in SECONDS else (text, "s")
    if not (number.isascii() and number.isdecimal()):
        raise argparse.ArgumentTypeError(f"invalid duration {text!r}; write 90s, 60m, 2h or 1d")
    return int(number) * SECONDS[unit]


def format_age(seconds: float) -> str:
    """The two largest units that are not zero: 45s, 3m10s, 2h5m, 4d1h."""
    whole = max(0, int(seconds))
    parts = ((whole // 86400, "d"), (whole // 3600 % 24, "h"), (whole // 60 % 60, "m"), (whole % 60, "s"))
    first = next((index for index, (count, _) in enumerate(parts) if count), len(parts) - 1)
    return "".join(f"{count}{unit}" for count, unit in parts[first : first + 2] if count) or "0s"
