"""The Containerfile, and the program that carries it out: it leaves nothing, however it ends."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.tools.demo import processes_of

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "tools" / "prove-containerfile"
# As slow as one likes, and it says that it has started: from then on there are namespaces, a mount and a child to get rid of.
SLOW = """#!/bin/sh
for place in "$@"; do :; done
mkdir "$place"
mount -t tmpfs none "$place"
echo "$place" > "$BEGUN"
exec sleep 1000
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    with TemporaryDirectory(prefix="image") as folder:
        yield Path(folder)


def until(holds: Callable[[], bool]) -> None:
    ends = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < ends
        time.sleep(0.05)


def text() -> str:
    return (ROOT / "Containerfile").read_text()


def test_the_image_says_which_version_it_is() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert f'org.opencontainers.image.version="{version}"' in text()


def test_it_is_not_root_and_takes_its_base_from_where_the_engine_does() -> None:
    assert "\nUSER 10001\n" in text()
    assert text().count("FROM ${DEBIAN}") == text().count("FROM ") == 2


def test_engines_are_sent_all_that_it_copies() -> None:
    copied = {
        source
        for line in text().splitlines()
        if line.startswith("COPY ") and "--from" not in line
        for source in line.split()[1:-1]
    }
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    assert {line.removeprefix("!") for line in lines if line.startswith("!")} == copied


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL])
def test_nothing_is_left_however_it_ends(folder: Path, number: signal.Signals) -> None:
    slow = folder / "bin" / "mmdebstrap"
    slow.parent.mkdir()
    slow.write_text(SLOW)
    slow.chmod(0o755)
    started = folder / "begun"
    environment = os.environ | {
        "TMPDIR": str(folder), "BEGUN": str(started), "PATH": f"{slow.parent}:{os.environ['PATH']}"
    }  # fmt: skip
    process = subprocess.Popen(
        [sys.executable, PROGRAM],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    until(lambda: (started.exists() and started.read_text().endswith("\n")) or process.poll() is not None)
    assert started.exists(), process.communicate()[0]
    process.send_signal(number)
    process.communicate()
    assert process.returncode == (-number if number == signal.SIGKILL else 128 + number)
    until(lambda: processes_of(folder) == [])
    assert str(folder) not in Path("/proc/self/mounts").read_text()
    if number != signal.SIGKILL:
        assert sorted(place.name for place in folder.iterdir()) == ["begun", "bin"]


def test_a_base_that_cannot_be_created_is_an_error(folder: Path) -> None:
    failing = folder / "mmdebstrap"
    failing.write_text("#!/bin/sh\necho the mirror is away\nexit 25\n")
    failing.chmod(0o755)
    done = subprocess.run(
        [sys.executable, PROGRAM],
        env=os.environ | {"TMPDIR": str(folder), "PATH": f"{folder}:{os.environ['PATH']}"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "the mirror is away" in done.stderr
    assert "ended with 25" in done.stderr
    assert [place.name for place in folder.iterdir()] == ["mmdebstrap"]


def carried_out(folder: Path) -> subprocess.CompletedProcess[str]:
    """The folder's Containerfile, with what the folder has for programs."""
    environment = {
        "TMPDIR": str(folder),
        "PATH": f"{folder}:{os.environ['PATH']}",
        "GITVIRT_CONTAINERFILE": str(folder / "Containerfile"),
    }
    return subprocess.run(
        [sys.executable, PROGRAM],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_an_unknown_instruction_is_an_error(folder: Path) -> None:
    (folder / "mmdebstrap").write_text('#!/bin/sh\nfor place in "$@"; do :; done\nmkdir "$place"\n')
    (folder / "mmdebstrap").chmod(0o755)
    (folder / "Containerfile").write_text("ARG D=debian:12-slim\nFROM ${D}\nSTOPSIGNAL 9\n")
    done = carried_out(folder)
    assert done.returncode == 1
    assert "STOPSIGNAL is unknown here" in done.stderr


def test_what_it_runs_has_processes_terminals_and_shared_memory_of_its_own(folder: Path) -> None:
    shell = shutil.which("busybox")
    assert shell is not None
    making = 'for place in "$@"; do :; done\nmkdir -p "$place/bin" "$place/dev" "$place/etc" "$place/proc" "$place/tmp"\n'
    making += f'mkdir -p "$place/etc/ssl/certs"\ncp {shell} "$place/bin/sh"\n'
    (folder / "mmdebstrap").write_text(f"#!/bin/sh\n{making}")
    (folder / "mmdebstrap").chmod(0o755)
    looks = (
        'test "$$" = 1',
        "exec 3<>/dev/ptmx",
        "test -c /dev/pts/0",
        "test ! -e /dev/pts/1",
        ": > /dev/shm/file",
        ": > /dev/null",
    )
    steps = "".join(f"RUN {look}\n" for look in (" && ".join(looks), "test ! -e /dev/shm/file"))
    (folder / "Containerfile").write_text(f"ARG D=debian:12-slim\nFROM ${{D}}\n{steps}STOPSIGNAL 9\n")
    done = carried_out(folder)
    assert "STOPSIGNAL is unknown here" in done.stderr  # so all before it went well
    assert done.stdout.count("final: RUN") == 2


def test_what_it_needs_of_this_machine_is_there() -> None:
    assert [
        name for name in ("unshare", "setpriv", "mount", "chroot", "du") if shutil.which(name) is None
    ] == []
