"""No core dumps of processes that hold values of Secrets in memory: a dump is a file on a disk, which a crash writes.

Two steps, because the kernel ignores the limit where it pipes dumps to a program (`core_pattern` with `|`, as with systemd-coredump):

    no dump of this process, by the kernel's own mark     not inherited by another program that it starts; also closes its files below
                                                          /proc to other processes of its account
    a limit of 0 bytes                                    inherited

A step that fails is logged, and the process goes on: a unit may forbid the call.
"""

from __future__ import annotations

import ctypes
import logging
import os
import resource

log = logging.getLogger(__name__)
DUMPABLE = 4  # PR_SET_DUMPABLE of linux/prctl.h


def refuse_core_dumps() -> None:
    """For this process and, by the limit, for those that it starts. The hard limit too, so that none of them raises it again."""
    try:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    except (OSError, ValueError) as error:
        log.warning("cannot limit core dumps, those of started programs may be written error=%s", error)
    prctl = getattr(ctypes.CDLL(None, use_errno=True), "prctl", None)
    if prctl is None:
        log.warning("this system has no prctl: a core dump that is piped to a program is not refused")
    elif prctl(DUMPABLE, 0, 0, 0, 0):
        reason = os.strerror(ctypes.get_errno())
        log.warning("core dumps of this process are not refused error=%s", reason)
