"""A server in a process of its own, to be killed: `python -m tests.iri.client.server_process SOCKET`."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

from iri.address import UnixAddress
from iri.server import Server
from iri.simulated.runtime import SimulatedRuntime
from tests.iri.quick_host import quick_host


def spawn(path: Path) -> subprocess.Popen[str]:
    """Returns once it serves."""
    command = [sys.executable, "-m", "tests.iri.client.server_process", str(path)]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).resolve().parents[3]
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "serving\n"
    return process


def end(process: subprocess.Popen[str], number: int = signal.SIGKILL) -> None:
    process.send_signal(number)
    process.wait(60)
    assert process.stdout is not None
    process.stdout.close()


def main(path: str) -> None:
    server = Server(SimulatedRuntime(quick_host()), [UnixAddress(Path(path))])
    server.start()
    print("serving", flush=True)
    signal.pause()


if __name__ == "__main__":
    main(sys.argv[1])
