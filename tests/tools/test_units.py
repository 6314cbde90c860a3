"""The systemd units that ship: confined as they say, by systemd's own verdict, and each really starts as it is written.

There is no systemd here to start them: the test does, with the unit's arguments, its capabilities and a supervisor's socket.
"""

from __future__ import annotations

import re
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import pytest

from tests.iri.libvirt.world import micro_settings
from tests.poollet.cli.process import FleetRepo, until
from tests.servers.libvirtd import libvirtd

pytestmark = pytest.mark.timeout(600)
FOLDER = Path(__file__).parents[2] / "docs" / "systemd"
PROGRAM = "/opt/gitvirt/bin/gitvirt"
UNITS = ("gitvirt-reconciler.service", "gitvirt-poollet.service", "gitvirt-runtime.service")
MOST_EXPOSURE = {UNITS[0]: "20", UNITS[1]: "20", UNITS[2]: "40"}  # of 100
SECONDS = 180.0  # so that a slow machine makes no failure; each wait ends when the thing happens

# What each must be, from systemd.exec(5), systemd.service(5) and systemd.kill(5).
ALL = {
    "Type": "notify",
    "NoNewPrivileges": "yes",
    "AmbientCapabilities": "",
    "ProtectHome": "yes",
    "PrivateTmp": "yes",
    "RestrictNamespaces": "yes",
    "MemoryDenyWriteExecute": "yes",
    "SystemCallArchitectures": "native",
    "Restart": "on-failure",
    "StartLimitIntervalSec": "0",
    "OOMPolicy": "continue",
}
WITHOUT_RIGHTS = {
    "User": "gitvirt",
    "CapabilityBoundingSet": "",
    "ProtectSystem": "strict",
    "PrivateDevices": "yes",
    "PrivateUsers": "yes",
    "RestrictAddressFamilies": "AF_UNIX AF_INET AF_INET6",
    "UMask": "0077",
    "TimeoutStartSec": "infinity",
}
RULES = {
    UNITS[0]: ALL | WITHOUT_RIGHTS | {"MemoryMax": "4G"},
    UNITS[1]: ALL | WITHOUT_RIGHTS | {"KillMode": "process", "MemoryMax": "2G"},
    UNITS[2]: ALL
    | {"MemoryMax": "4G", "User": "root", "Group": "gitvirt", "ProtectSystem": "full", "UMask": "0022"},
}


def directives(unit: str) -> dict[str, str]:
    found = re.findall(r"^([A-Za-z]+)=(.*)$", (FOLDER / unit).read_text(), re.MULTILINE)
    return {name: value for name, value in reversed(found)}


@pytest.mark.parametrize(
    ("unit", "name", "want"), [(unit, *rule) for unit, rules in RULES.items() for rule in rules.items()]
)
def test_it_may_do_no_more_than_it_must(unit: str, name: str, want: str) -> None:
    assert directives(unit)[name] == want


@pytest.mark.parametrize("unit", UNITS)
def test_systemd_finds_nothing_wrong_with_it(unit: str, tmp_path: Path) -> None:
    """All of them side by side, since they name each other; a program that is there in place of ours."""
    for name in UNITS:
        (tmp_path / name).write_text((FOLDER / name).read_text().replace(PROGRAM, "/bin/true"))
    place = str(tmp_path / unit)
    options = ["--offline=yes", f"--threshold={MOST_EXPOSURE[unit]}", "--no-pager"]
    judged = run("systemd-analyze", "security", *options, place)
    assert judged.returncode == 0, judged.stdout + judged.stderr
    verified = run("systemd-analyze", "verify", place)
    assert (verified.returncode, verified.stderr) == (0, "")


def test_the_account_and_the_folder_of_settings_are_made(tmp_path: Path) -> None:
    for name in ("sysusers", "tmpfiles"):
        (tmp_path / f"gitvirt.{name}").write_text((FOLDER / f"gitvirt.{name}").read_text())
    root = tmp_path / "root"
    (root / "etc").mkdir(parents=True)
    made = run("systemd-sysusers", f"--root={root}", str(tmp_path / "gitvirt.sysusers"))
    assert made.returncode == 0, made.stderr
    account = (root / "etc/passwd").read_text().strip().split(":")
    assert (account[0], account[6]) == ("gitvirt", "/usr/sbin/nologin")
    made = run("systemd-tmpfiles", f"--root={root}", "--create", str(tmp_path / "gitvirt.tmpfiles"))
    assert made.returncode == 0, made.stderr
    settings = (root / "etc/gitvirt").stat()
    assert (settings.st_mode & 0o777, settings.st_uid, settings.st_gid) == (0o750, 0, int(account[3]))


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, capture_output=True, text=True, check=False)


class Service:
    """A unit's command with its folders below `folder`, its capabilities alone, and a socket for its notifications."""

    def __init__(self, unit: str, folder: Path, more: Sequence[str] = ()) -> None:
        unit_settings = directives(unit)
        self._ears = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._ears.bind(str(folder / "notify"))
        self._ears.settimeout(SECONDS)
        program, *words = shlex.split(unit_settings["ExecStart"])
        assert program == PROGRAM
        below = [re.sub(r"^/(etc|run|var/lib)/", f"{folder}/\\1/", word) for word in words]
        kept = [
            f"+{name.removeprefix('CAP_').lower()}" for name in unit_settings["CapabilityBoundingSet"].split()
        ]
        confined = ["setpriv", "--no-new-privs", f"--bounding-set={','.join(['-all', *kept])}"]
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "NOTIFY_SOCKET": str(folder / "notify")}
        if file := unit_settings.get("EnvironmentFile"):
            lines = Path(f"{folder}{file}").read_text().splitlines()
            environment |= {name: value for name, _, value in (line.partition("=") for line in lines)}
            environment["GITVIRT_CACHE"] = str(folder / "cache")
        self.log = folder / "log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [*confined, sys.executable, "-m", "reconciler", *below, *more],
                env=environment,
                stdout=log,
                stderr=log,
                umask=int(unit_settings["UMask"], 8),
            )

    def next_notification(self) -> str:
        try:
            return self._ears.recv(4096).decode()
        except TimeoutError:
            raise AssertionError(self.log.read_text()) from None

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(SECONDS)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._ears.close()


@contextmanager
def service(unit: str, folder: Path, more: Sequence[str] = ()) -> Iterator[Service]:
    made = Service(unit, folder, more)
    try:
        yield made
    finally:
        made.close()


@pytest.fixture
def folder() -> Iterator[Path]:
    """Short, for the paths of sockets, with what systemd makes for units."""
    with TemporaryDirectory(prefix="unit") as made:
        for name in ("etc/gitvirt", "run/gitvirt", "var/lib/gitvirt-poollet"):
            (Path(made) / name).mkdir(parents=True)
        yield Path(made)


def test_the_reconciler_is_ready_once_a_tick_has_ended_well(folder: Path) -> None:
    fleet_repo = FleetRepo(folder)
    (folder / "etc/gitvirt/reconciler.env").write_text(f"GITVIRT_REPO={fleet_repo.repo}\n")
    fleet_repo.begin()
    fleet_repo.commit({"gitvirt.yaml": (ground_settings(fleet_repo))}, branch="main")
    with service(UNITS[0], folder) as made:
        assert made.next_notification() == "READY=1"
        assert made.stop() == 0, made.log.read_text()
        assert made.next_notification() == "STOPPING=1"


def ground_settings(fleet_repo: FleetRepo) -> str:
    return subprocess.run(
        ["git", f"--git-dir={fleet_repo.repo}", "cat-file", "blob", "live:gitvirt.yaml"],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip


def test_the_poollet_is_ready_once_its_report_is_pushed(folder: Path) -> None:
    fleet_repo = FleetRepo(folder)
    fleet_repo.begin()
    (folder / "etc/gitvirt/poollet.yaml").write_text(
        f"name: host-1\nhostID: h\nrepo: {{url: {fleet_repo.repo}}}\n"
        f"runtimes: [{{name: sim, machine: {folder}/run/gitvirt/s, volume: {folder}/run/gitvirt/s, start: simulated}}]\n"
    )
    with service(UNITS[1], folder, ["--end-runtimes"]) as made:
        assert made.next_notification() == "READY=1"
        assert fleet_repo.head("refs/poollets/host-1")
        assert (folder / "var/lib/gitvirt-poollet/mirror").is_dir()
        assert made.stop() == 0, made.log.read_text()
        assert made.next_notification() == "STOPPING=1"
        until(lambda: not (folder / "run/gitvirt/s").exists(), SECONDS)


def test_the_runtime_is_ready_once_its_socket_listens_for_its_group(folder: Path) -> None:
    with libvirtd() as daemon:
        file = folder / "etc/gitvirt/libvirt.yaml"
        file.write_bytes(msgspec.json.encode(micro_settings(daemon)))
        place = folder / "run/gitvirt/runtime.sock"
        with service(UNITS[2], folder, ["--settings", str(file)]) as made:
            assert made.next_notification() == "READY=1"
            assert place.stat().st_mode & 0o777 == 0o660
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(str(place))
            assert made.stop() == 0, made.log.read_text()
            assert made.next_notification() == "STOPPING=1"
