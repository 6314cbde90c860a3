"""What the tests start hears Ctrl-C and a hangup, also where the tests run in the background or under nohup."""

from __future__ import annotations

import signal
import subprocess
import sys

PROBE = "import signal; print([name for name in ('SIGINT', 'SIGHUP', 'SIGTERM') if signal.getsignal(signal.Signals[name]) is signal.SIG_IGN])"


def test_what_is_started_ignores_nothing() -> None:
    done = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_neither_in_the_background() -> None:
    inner = f"{__file__}::{test_what_is_started_ignores_nothing.__name__}"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", inner],
        capture_output=True,
        text=True,
        preexec_fn=_ignore,
        check=False,
    )
    assert "1 passed" in done.stdout, done.stdout


def _ignore() -> None:
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
