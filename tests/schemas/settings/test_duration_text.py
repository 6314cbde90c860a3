"""The one form of durations in texts: what settings and options take."""

from __future__ import annotations

import pytest

from schemas.settings.duration import format_duration, milliseconds


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-1, "0s"),
        (0, "0s"),
        (0.04, "0.0s"),
        (0.4, "0.4s"),
        (6.66, "6.7s"),
        (7, "7s"),
        (9.96, "10.0s"),
        (12.9, "12s"),
        (59, "59s"),
        (60, "1m"),
        (61, "1m1s"),
        (90.5, "1m30s"),
        (7200, "2h"),
        (7260, "2h1m"),
        (90061, "1d1h"),
    ],
)
def test_a_duration_shows_its_two_largest_units(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


@pytest.mark.parametrize("seconds", [0.3, 7, 75, 3600, 90061])
def test_settings_take_what_texts_show(seconds: float) -> None:
    assert milliseconds(format_duration(seconds)) <= seconds * 1000
