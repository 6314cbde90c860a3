"""An ssh-agent that holds one key."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.servers.daemon import running


@contextlib.contextmanager
def ssh_agent(folder: Path, key: Path) -> Iterator[Path]:
    """Yields what SSH_AUTH_SOCK must be."""
    folder.mkdir(parents=True)
    socket = folder / "agent"
    with running(["ssh-agent", "-D", "-a", socket], socket.exists, folder / "agent.log"):
        environment = {"PATH": os.environ["PATH"], "SSH_AUTH_SOCK": str(socket)}
        subprocess.run(["ssh-add", "-q", str(key)], env=environment, check=True, capture_output=True)
        yield socket
