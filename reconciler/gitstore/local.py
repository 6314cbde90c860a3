"""The git program on the mirror alone, with nobody's configuration: for work that never leaves this machine."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from pathlib import Path

from reconciler.gitstore import process

_PASSES = ("PATH", "TMPDIR")
_ENVIRONMENT = {
    "LC_ALL": "C",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_TERMINAL_PROMPT": "0",
}


def git(repo: Path, arguments: Sequence[str], lock: int, seconds: float, given: bytes = b"") -> process.Ended:
    """Its end, whatever its status. `lock` stays held until it is over, even when we are killed."""
    passed = {name: os.environ[name] for name in _PASSES if name in os.environ}
    command = ["git", f"--git-dir={repo}", *arguments]
    match process.run(command, passed | _ENVIRONMENT, seconds, given, inherit=(lock,)):
        case process.Ended() as ended:
            return ended
        case process.Expired():
            raise OSError(errno.ETIMEDOUT, f"git {arguments[0]} took more than {seconds:.0f} s")
        case process.Missing(reason):
            raise OSError(errno.ENOENT, reason)
