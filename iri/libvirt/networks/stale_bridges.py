"""Bridges that libvirtd has left on the host, when it was killed while it started or stopped one of our networks.

It knows nothing of them afterwards, and cannot start the network again while they are there. Only bridges that bear one of
our names and that nothing is plugged into are ever removed.
"""

from __future__ import annotations

import json
import logging
import re
import socket
import subprocess
from collections.abc import Iterable

log = logging.getLogger(__name__)
OURS = re.compile(r"gv[0-9a-f]{12}")
SECONDS = 10


def our_bridges() -> frozenset[str]:
    """Of this host, whoever uses them."""
    return frozenset(name for _, name in socket.if_nameindex() if OURS.fullmatch(name))


def remove(bridge: str) -> bool:
    """Whether it is gone. False for what is in use, is not ours, or cannot be removed here."""
    if not OURS.fullmatch(bridge):
        return False
    try:
        if json.loads(_ip("-j", "link", "show", "master", bridge) or "[]"):
            return False
        _ip("link", "delete", bridge, "type", "bridge")
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        log.warning("bridge stays name=%s error=%s", bridge, error)
        return False
    log.info("bridge removed that was left over name=%s", bridge)
    return True


def _ip(*arguments: str) -> str:
    return subprocess.run(
        ["ip", *arguments], check=True, capture_output=True, text=True, timeout=SECONDS
    ).stdout


class StaleBridges:
    """Bridges without a network, seen twice in a row: the first time, libvirtd may be about to start it."""

    def __init__(self) -> None:
        self._before: frozenset[str] = frozenset()

    def confirm(self, active: Iterable[str]) -> frozenset[str]:
        now = our_bridges() - frozenset(active)
        confirm = now & self._before
        self._before = now
        return confirm
