"""How machines are switched: times that would force a guest off at once are refused."""

from __future__ import annotations

import pytest

from iri.errors import InvalidArgument
from iri.libvirt.machines.power_settings import RETRIES, PowerSettings
from iri.libvirt.settings import decode_settings


@pytest.mark.parametrize(
    ("rules", "reason"),
    [
        ("stopTimeout: 0", "stopTimeout must be more than 0 seconds"),
        ("stopTimeout: -5", "stopTimeout must be more than 0 seconds"),
        ("press: 0", "press must be more than 0 seconds"),
        ("firstRestart: 0", "firstRestart must be more than 0 seconds"),
        ("longestRestart: 1", "longestRestart must not be less than firstRestart"),
        ("steady: -1", "steady must not be negative"),
    ],
)
def test_invalid_times_are_refused(rules: str, reason: str) -> None:
    name, value = rules.split(": ")
    with pytest.raises(InvalidArgument, match=reason):
        decode_settings(f'{{"power": {{"{name}": {value}}}}}'.encode())


def test_delay_of_restarts_grows_up_to_the_longest() -> None:
    rules = PowerSettings(first_restart=2.0, longest_restart=10.0)
    assert [rules.restarts.delay(n) for n in (0, 1, 2, 3, 1000)] == [2.0, 4.0, 8.0, 10.0, 10.0]


def test_delay_of_retries_grows_up_to_a_minute() -> None:
    assert [RETRIES.delay(n) for n in (0, 1, 2, 5, 6, 1000)] == [1.0, 2.0, 4.0, 32.0, 60.0, 60.0]
