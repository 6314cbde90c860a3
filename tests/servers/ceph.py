"""A Ceph of one monitor and one OSD in memory, with cephx, on loopback; it ends with the test.

Without a manager: it knows nothing of how full it is.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.servers.daemon import bare, free_port, running

CONF = """
[global]
fsid = {fsid}
mon host = [v2:127.0.0.1:{v2}/0,v1:127.0.0.1:{v1}/0]
mon initial members = a
auth cluster required = cephx
auth service required = cephx
auth client required = cephx
keyring = {folder}/keyring
run dir = {folder}/run
log file = {folder}/$name.log
admin socket = {folder}/run/$name.asok
pid file = {folder}/run/$name.pid
public network = 127.0.0.0/8
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 8
osd crush chooseleaf type = 0
mon allow pool size one = true
mon warn on pool no redundancy = false
auth allow insecure global id reclaim = false
osd objectstore = memstore
memstore device bytes = 1073741824
osd memory target = 939524096
mon data avail crit = 1
[mon.a]
mon data = {folder}/mon
[osd.0]
osd data = {folder}/osd
keyring = {folder}/osd/keyring
"""


@dataclass(frozen=True)
class Ceph:
    folder: Path
    port: int
    pids: dict[str, int] = field(default_factory=dict)

    @property
    def monitor(self) -> str:
        return f"127.0.0.1:{self.port}"

    def run(self, *arguments: str, text: str | None = None) -> str:
        command = [arguments[0], "-c", str(self.folder / "ceph.conf"), *arguments[1:]]
        done = subprocess.run(command, env=bare(), input=text, text=True, capture_output=True)
        assert done.returncode == 0, f"{arguments}: {done.stderr}"
        return done.stdout

    @contextlib.contextmanager
    def osd_stopped(self) -> Iterator[None]:
        """It is there and does not answer."""
        os.kill(self.pids["osd"], signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(self.pids["osd"], signal.SIGCONT)

    def images(self, pool: str) -> list[str]:
        found: list[str] = json.loads(self.run("rbd", "ls", pool, "--format", "json"))
        return sorted(found)

    def pool(self, name: str) -> Path:
        """A pool, and the key file of a user of that name who may use it."""
        self.run("ceph", "osd", "pool", "create", name, "8", "8")
        self.run("ceph", "osd", "pool", "application", "enable", name, "rbd")
        caps = ("mon", "profile rbd", "osd", f"profile rbd pool={name}")
        self.run("ceph", "auth", "get-or-create", f"client.{name}", *caps)
        key = self.folder / f"{name}.key"
        key.write_text(self.run("ceph", "auth", "get-key", f"client.{name}"))
        return key


@contextlib.contextmanager
def ceph() -> Iterator[Ceph]:
    folder = Path(tempfile.mkdtemp(prefix="ceph-", dir="/tmp"))
    for name in ("mon", "osd", "run"):
        (folder / name).mkdir()
    made = Ceph(folder, free_port())
    conf, keyring = folder / "ceph.conf", folder / "keyring"
    conf.write_text(CONF.format(fsid=uuid.uuid4(), v1=made.port, v2=free_port(), folder=folder))
    _monitor_made(made, keyring)
    log = folder / "start.log"
    try:
        with running(["ceph-mon", "-f", "-c", conf, "-i", "a"], lambda: _answers(made), log):
            _osd_made(made)
            with running(["ceph-osd", "-f", "-c", conf, "-i", "0"], lambda: _has_osd(made), log) as osd:
                made.pids["osd"] = osd
                yield made
    finally:
        shutil.rmtree(folder)


def _monitor_made(made: Ceph, keyring: Path) -> None:
    every = ("--cap", "mon", "allow *", "--cap", "osd", "allow *", "--cap", "mgr", "allow *")
    conf = made.folder / "ceph.conf"
    fsid = conf.read_text().partition("fsid = ")[2].split()[0]
    addresses = conf.read_text().partition("mon host = ")[2].split()[0]
    for command in (
        ["ceph-authtool", "--create-keyring", str(keyring), "--gen-key", "-n", "mon.", "--cap", "mon", "allow *"],
        ["ceph-authtool", str(keyring), "--gen-key", "-n", "client.admin", *every],
        ["monmaptool", "--create", "--fsid", fsid, "--addv", "a", addresses, str(made.folder / "monmap")],
        ["ceph-mon", "-c", str(conf), "--mkfs", "-i", "a", "--monmap", str(made.folder / "monmap"), "--keyring", str(keyring)],
    ):  # fmt: skip
        subprocess.run(command, check=True, capture_output=True, env=bare())


def _osd_made(made: Ceph) -> None:
    key = subprocess.run(
        ["ceph-authtool", "--gen-print-key"], check=True, capture_output=True, text=True
    ).stdout.strip()
    id = str(uuid.uuid4())
    made.run("ceph", "osd", "new", id, "-i", "-", text=json.dumps({"cephx_secret": key}))
    keyring = made.folder / "osd" / "keyring"
    subprocess.run(
        ["ceph-authtool", "--create-keyring", str(keyring), "--name", "osd.0", "--add-key", key],
        check=True,
        capture_output=True,
    )
    conf = str(made.folder / "ceph.conf")
    subprocess.run(
        ["ceph-osd", "-c", conf, "-i", "0", "--mkfs", "--osd-uuid", id],
        check=True,
        capture_output=True,
        env=bare(),
    )


def _answers(made: Ceph) -> bool:
    command = ["ceph", "-c", str(made.folder / "ceph.conf"), "--connect-timeout", "2", "mon", "stat"]
    return subprocess.run(command, env=bare(), capture_output=True).returncode == 0


def _has_osd(made: Ceph) -> bool:
    return bool(json.loads(made.run("ceph", "osd", "stat", "--format", "json"))["num_up_osds"])
