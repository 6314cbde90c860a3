"""No core dumps of processes that hold values of Secrets in memory: a dump is a file on a disk, which a crash writes."""

from __future__ import annotations

import resource


def refuse_core_dumps() -> None:
    """For this process and those that it starts. The hard limit too, so that none of them raises it again."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
