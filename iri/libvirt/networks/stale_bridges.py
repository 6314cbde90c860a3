"""Bridges that a killed libvirtd left on the host, while it started or stopped one of our networks.

libvirtd knows nothing of them afterwards, and cannot start the network while its bridge exists. Only bridges with one of our
names and without a port are ever removed.

Uses the program `ip`, because libvirt knows nothing of these bridges. One that cannot be removed is logged and left: the next
collection tries again.
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
    """All bridges of this host with one of our names."""
    return frozenset(name for _, name in socket.if_nameindex() if OURS.fullmatch(name))


def remove(bridge: str) -> bool:
    """Removes the bridge and returns True. False when it is in use, is not ours, or cannot be removed."""
    if not OURS.fullmatch(bridge):
        return False
    try:
        if json.loads(_ip("-j", "link", "show", "master", bridge) or "[]"):
            return False
        _ip("link", "delete", bridge, "type", "bridge")
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        log.warning("cannot remove stale bridge name=%s error=%s", bridge, error)
        return False
    log.info("removed stale bridge name=%s", bridge)
    return True


def _ip(*arguments: str) -> str:
    """Raises CalledProcessError when `ip` fails, and FileNotFoundError without the program."""
    return subprocess.run(
        ["ip", *arguments], check=True, capture_output=True, text=True, timeout=SECONDS
    ).stdout


class StaleBridges:
    """Confirms bridges without a network once they are seen twice in a row: at first, libvirtd may be about to start it."""

    def __init__(self) -> None:
        self._before: frozenset[str] = frozenset()

    def confirm(self, active: Iterable[str]) -> frozenset[str]:
        """`active`: the bridges of running networks. Returns those that were unused now and the last time."""
        now = our_bridges() - frozenset(active)
        confirmed = now & self._before
        self._before = now
        return confirmed
