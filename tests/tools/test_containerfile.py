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
# As slow as one likes, and it says that it has begun: from then on there are namespaces, a mount and a child to get rid of.
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
    begun = folder / "begun"
    environment = os.environ | {
        "TMPDIR": str(folder), "BEGUN": str(begun), "PATH": f"{slow.parent}:{os.environ['PATH']}"
    }  # fmt: skip
    process = subprocess.Popen(
        [sys.executable, PROGRAM],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    until(lambda: (begun.exists() and begun.read_text().endswith("\n")) or process.poll() is not None)
    assert begun.exists(), process.communicate()[0]
    process.send_signal(number)
    process.communicate()
    assert process.returncode == (-number if number == signal.SIGKILL else 128 + number)
    until(lambda: processes_of(folder) == [])
    assert str(folder) not in Path("/proc/self/mounts").read_text()
    if number != signal.SIGKILL:
        assert sorted(place.name for place in folder.iterdir()) == ["begun", "bin"]


def test_a_base_that_cannot_be_made_is_told(folder: Path) -> None:
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


def test_an_instruction_that_it_does_not_know_is_told(folder: Path) -> None:
    (folder / "mmdebstrap").write_text('#!/bin/sh\nfor place in "$@"; do :; done\nmkdir "$place"\n')
    (folder / "mmdebstrap").chmod(0o755)
    (folder / "Containerfile").write_text("ARG D=debian:12-slim\nFROM ${D}\nSTOPSIGNAL 9\n")
    done = subprocess.run(
        [sys.executable, PROGRAM],
        env=os.environ
        | {
            "TMPDIR": str(folder),
            "PATH": f"{folder}:{os.environ['PATH']}",
            "GITVIRT_CONTAINERFILE": str(folder / "Containerfile"),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "STOPSIGNAL is unknown here" in done.stderr


def test_what_it_needs_of_this_machine_is_there() -> None:
    assert [
        name for name in ("unshare", "setpriv", "mount", "chroot", "du") if shutil.which(name) is None
    ] == []
