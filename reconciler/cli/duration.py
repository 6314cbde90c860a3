"""Durations as people write them in options (`90s`, `1h30m`, `5`) and as tables show them (`3m10s`).

Options take what settings take (`schemas.settings.duration`), and a bare number as seconds.
"""

from __future__ import annotations

import argparse

from schemas.settings.duration import milliseconds


def parse_duration(text: str) -> float:
    """`90s`, `500ms`, `1h30m`, or a bare number of seconds. The type of an argument."""
    try:
        return milliseconds(f"{text}s" if text.isascii() and text.isdecimal() else text) / 1000
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"invalid duration {text!r}; write 90s, 5m or 1h30m; a bare number is seconds"
        ) from None


def format_age(seconds: float) -> str:
    """The two largest units that are not zero: 45s, 3m10s, 2h5m, 4d1h."""
    whole = max(0, int(seconds))
    parts = ((whole // 86400, "d"), (whole // 3600 % 24, "h"), (whole // 60 % 60, "m"), (whole % 60, "s"))
    first = next((index for index, (count, _) in enumerate(parts) if count), len(parts) - 1)
    return "".join(f"{count}{unit}" for count, unit in parts[first : first + 2] if count) or "0s"
