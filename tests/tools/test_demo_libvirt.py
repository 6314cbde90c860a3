"""`gitvirt demo --runtime libvirt`: real guests, and nothing of them or of their hosts is left, however it ends."""

from __future__ import annotations

import re
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from reconciler.cli.demo.hosts import needs
from reconciler.cli.demo.hosts.libvirt import FITTING, IMAGE
from reconciler.cli.demo.processes import site
from reconciler.cli.demo.scenario import WEB_3
from reconciler.cli.exits import CommandError
from tests.tools.demo import playing

OPTIONS = ("--runtime", "libvirt", "--accelerator", "tcg")
PACKAGES = Path(__file__).parents[2] / "tools" / "packages.libvirt"
FIRST, HOSTS, PLACED, RUNNING, DOWN = (
    "A fleet is",
    "A reconciler",
    "Pending on rack-",
    ": Running on rack-",
    "The reconciler noticed after",
)
MOMENTS = (FIRST, HOSTS, PLACED, RUNNING, DOWN)
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
EACH_ONCE = {(signal.SIGINT, PLACED), (signal.SIGTERM, HOSTS), (signal.SIGKILL, RUNNING)}

pytestmark = pytest.mark.timeout(900)


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="d", dir="/tmp") as folder:  # short, for the paths of sockets
        yield Path(folder)


@pytest.mark.early
def test_real_guests_come_and_go_and_outlive_libvirtd(folder: Path) -> None:
    with playing(folder, *OPTIONS) as demo:
        demo.until("machine default/web-1: Running on rack-")
        namespaces = demo.namespaces()
        assert len(namespaces) == 6, "three hosts, each with a network and processes of its own"
        assert demo.end() == 0, demo.said
        for part in (
            "a libvirtd",
            "All machines run after",
            "web-3 runs on rack-",
            "Now libvirtd and the runtime of rack-",
            "in the same QEMU process",
            "Gone after",
            "# hostname\n  web-1\n",
            "disk oda, 32 MiB: made from the image of gitvirt's demo",
            "Ada: add web-3",
            "What to try next",
        ):
            assert part in demo.said, demo.said
        assert re.search(r"Its (guest keeps|\d guests keep) running, so gitvirt leaves them alone", demo.said)
        assert re.search(r"^  Linux \S+, 1 cpu, \d+ MiB$", demo.said, re.MULTILINE)
        assert "Traceback" not in demo.said
        demo.assert_nothing_is_left(namespaces)


@pytest.mark.parametrize(
    ("number", "moment"),
    [
        pytest.param(
            number,
            moment,
            id=f"{number.name} at {moment}",
            marks=() if (number, moment) in EACH_ONCE else pytest.mark.long,
        )
        for number in SIGNALS
        for moment in MOMENTS
    ],
)
def test_interrupted_it_leaves_nothing(folder: Path, number: signal.Signals, moment: str) -> None:
    with playing(folder, *OPTIONS) as demo:
        demo.until(moment)
        namespaces = demo.namespaces()
        assert namespaces
        demo.process.send_signal(number)
        code = -number if number is signal.SIGKILL else 128 + number
        assert demo.end() == code, demo.said
        assert "Traceback" not in demo.said
        demo.assert_nothing_is_left(namespaces)


def test_each_fitting_has_something_to_fit() -> None:
    texts = [path.read_text() for path in Path(str(site())).glob("[!.]*/*.yaml")]
    for usual in (*FITTING, IMAGE):
        assert any(usual in text for text in texts), usual
    assert IMAGE in WEB_3


def test_make_installs_what_the_demo_needs() -> None:
    lines = [line.split() for line in PACKAGES.read_text().splitlines() if not line.startswith("#")]
    installed = {package for _, package in lines}
    assert {*needs.PACKAGES.values(), *needs.BUILD_PACKAGES} == installed
    assert {
        thing: package for thing, package in lines if package in needs.PACKAGES.values()
    } == needs.PACKAGES


@pytest.mark.parametrize(
    ("architecture", "user", "cause", "cure"),
    [
        ("aarch64", 0, "the demo needs an x86-64 machine; this is aarch64", "gitvirt demo"),
        (
            "x86_64",
            1000,
            "only root can create hosts",
            "demo --runtime libvirt; `gitvirt demo` shows the same",
        ),
    ],
)
def test_unfit_machines_are_refused_with_a_cure(architecture: str, user: int, cause: str, cure: str) -> None:
    with pytest.raises(CommandError, match=cause) as refused:
        needs.refuse(architecture, user)
    assert cure in refused.value.cure
    needs.refuse("x86_64", 0)


def test_missing_packages_are_named_with_their_install_command() -> None:
    assert needs.place("/usr/sbin/libvirtd") == Path("/usr/sbin/libvirtd")
    assert needs.place("/nowhere/libvirtd") is None
    assert needs.place("no-such-program") is None
    assert needs.install_hint("qemu-utils", "busybox-static") == (
        "apt-get update && apt-get install -y --no-install-recommends busybox-static qemu-utils"
    )


def test_a_program_with_libraries_is_none_for_a_guest() -> None:
    assert needs.is_static(Path("/bin/busybox"))
    assert not needs.is_static(Path(sys.executable).resolve())


def test_a_folder_too_deep_for_sockets_is_refused(folder: Path) -> None:
    deep = folder / ("d" * 40)
    deep.mkdir()
    with playing(deep, *OPTIONS) as demo:
        assert demo.end() == 1
        assert "paths that are too long" in demo.said
        assert "TMPDIR=/tmp" in demo.said
        demo.assert_nothing_is_left()
