"""Durations as people write them in options: what settings take (`schemas.settings.duration`), and a bare number as seconds."""

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
