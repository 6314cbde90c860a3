"""How machines are started and stopped, and how long each step waits. Frozen; the operator may set the struct, not the constants.

A guest that ends by itself is started again after `first_restart`, then after twice that, up to `longest_restart`. A run of `steady`
seconds resets the delay. After CRASH_LOOP restarts in a row the machine has the condition CrashLoop, and is still restarted.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from iri.backoff import ExponentialDelay


class PowerSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """Times in seconds."""

    stop_timeout: float = 60.0  # from the first press of the power button until the guest is forced off
    press: float = 5.0  # between presses: a press before the guest listens is lost
    guest_poweroff: Literal["restart", "stay"] = "restart"  # when it powers itself off while its power is On
    first_restart: float = 2.0  # until a guest that ended is started again; doubled each time
    longest_restart: float = 300.0
    steady: float = 60.0  # a guest that has run for so long is not in a crash loop

    def __post_init__(self) -> None:
        for name, seconds in (
            ("stopTimeout", self.stop_timeout),
            ("press", self.press),
            ("firstRestart", self.first_restart),
        ):
            if seconds <= 0:
                raise ValueError(f"{name} must be more than 0 seconds")
        if self.longest_restart < self.first_restart or self.steady < 0:
            raise ValueError(
                "longestRestart must not be less than firstRestart, and steady must not be negative"
            )

    @property
    def restarts(self) -> ExponentialDelay:
        """The delay of a restart, by the number of restarts in a row before it."""
        return ExponentialDelay(self.first_restart, self.longest_restart)


CRASH_LOOP = 3  # restarts in a row that make a crash loop
RETRIES = ExponentialDelay(1.0, 60.0)  # of a step that failed
UNPLUG_SECONDS = 5.0  # until a guest is asked again to release a device
RESUME_SECONDS = 5.0  # until a guest that an I/O error paused is resumed again
