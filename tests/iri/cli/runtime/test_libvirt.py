"""`gitvirt runtime libvirt` as a process: ready, stopped, killed, started again; its guests never notice."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from iri.address import UnixAddress
from iri.client import Client
from iri.machine import MachineState, RuntimeMachine, RuntimeMachineSpec
from reconciler.cli import main
from reconciler.cli.exits import Exit
from tests.iri.contract.subject import eventually, uid_labels
from tests.iri.libvirt.world import micro_settings
from tests.servers.leftovers import leftovers
from tests.servers.libvirtd import Libvirtd, libvirtd


@pytest.fixture(scope="module")
def daemon() -> Iterator[Libvirtd]:
    """One that no other test uses."""
    with libvirtd() as made:
        yield made


class Process:
    """The verb in a process of its own."""

    def __init__(self, settings: Path, socket: Path) -> None:
        command = [sys.executable, "-m", "reconciler", "runtime", "libvirt"]
        self.process = subprocess.Popen(
            [*command, "--settings", str(settings), "--listen", str(socket)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        self.ready = self.process.stdout.readline()

    def stop(self, number: signal.Signals = signal.SIGTERM) -> tuple[int, str]:
        if self.process.poll() is None:
            self.process.send_signal(number)
        _, answer = self.process.communicate(timeout=90)
        return self.process.returncode, answer


def test_machines_outlive_the_runtime_that_is_stopped_or_killed(daemon: Libvirtd) -> None:
    settings = micro_settings(daemon)
    folder = Path(settings.folder)
    file, socket = folder / "settings.json", folder / "s"
    file.write_bytes(msgspec.json.encode(settings))
    process = Process(file, socket)
    assert process.ready == f"ready unix://{socket}\n"
    with Client(UnixAddress(socket)) as client:
        wanted = RuntimeMachine(
            labels=uid_labels(RuntimeMachine),
            spec=RuntimeMachineSpec(class_name="small", ignition_data=b"key"),
        )
        id = client.create(wanted).id
        eventually(lambda: state(client, id), lambda found: found is MachineState.RUNNING, 10, "run")
        pid = daemon.guests()[id]
        for number, code in ((signal.SIGTERM, 0), (signal.SIGKILL, -signal.SIGKILL)):
            assert process.stop(number)[0] == code
            process = Process(file, socket)
            assert client.objects(RuntimeMachine)[id].spec == wanted.spec
            assert daemon.guests()[id] == pid
        client.remove(RuntimeMachine, id)
        eventually(lambda: client.objects(RuntimeMachine), lambda found: not found, 10, "be gone")
        assert main(["iri", "--address", str(socket), "get", "machine"]) == Exit.OK
    assert process.stop() == (0, "")
    assert not leftovers(daemon, folder)
    assert not socket.exists()


def test_second_runtime_of_a_folder_says_who_has_it_and_ends(daemon: Libvirtd) -> None:
    settings = micro_settings(daemon)
    folder = Path(settings.folder)
    file = folder / "settings.json"
    file.write_bytes(msgspec.json.encode(settings))
    first = Process(file, folder / "s")
    assert first.ready.startswith("ready ")
    second = Process(file, folder / "other")
    code, answer = second.stop()
    assert (code, second.ready) == (Exit.FAILED, "")
    pid = first.process.pid
    assert f"the runtime's folder at {folder} is in use by another runtime (pid {pid})" in answer
    assert "stop that runtime first" in answer
    assert "Traceback" not in answer
    assert first.stop() == (0, "")


def test_pool_that_cannot_be_opened_is_reported_with_a_cure(daemon: Libvirtd, tmp_path: Path) -> None:
    folder = Path(micro_settings(daemon).folder)
    (folder / "volumes").write_text("in the way")
    file = tmp_path / "settings.json"
    pool = {"type": "dir", "name": "blocked", "path": str(folder / "volumes")}
    settings = {"uri": daemon.uri, "folder": str(folder), "host": {"accelerator": "tcg"}}
    file.write_text(json.dumps(settings | {"storage": {"pools": [pool]}}))
    code, answer = Process(file, folder / "s").stop()
    assert code == Exit.FAILED
    assert "storage pool blocked" in answer
    assert "virsh pool-info blocked" in answer
    assert "--listen" not in answer
    daemon.virsh("pool-undefine", "blocked")


def state(client: Client, id: str) -> MachineState:
    return client.objects(RuntimeMachine)[id].status.state


def test_no_libvirtd_is_reported_with_a_cure(daemon: Libvirtd, tmp_path: Path) -> None:
    file = tmp_path / "settings.yaml"
    file.write_text(
        json.dumps(
            {"uri": "qemu+unix:///system?socket=/nonexistent/s", "folder": str(daemon.folder / "none")}
        )
    )
    code = subprocess.run(
        [
            sys.executable,
            "-m",
            "reconciler",
            "runtime",
            "libvirt",
            "--settings",
            str(file),
            "--listen",
            str(tmp_path / "s"),
        ],
        capture_output=True,
        text=True,
        timeout=90,
    )
    assert code.returncode == Exit.FAILED
    assert "libvirt does not answer at qemu+unix:///system?socket=/nonexistent/s" in code.stderr
    assert "start libvirtd" in code.stderr
    assert "Traceback" not in code.stderr


def test_folder_too_deep_for_sockets_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "settings.yaml"
    file.write_text(json.dumps({"folder": "/" + "x" * 60}))
    run = subprocess.run(
        [sys.executable, "-m", "reconciler", "runtime", "libvirt", "--settings", str(file)],
        capture_output=True,
        text=True,
        timeout=90,
    )
    assert run.returncode == Exit.PROBLEMS
    assert "too long for the sockets in it" in run.stderr


def test_folder_that_cannot_be_used_is_reported_with_a_cure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = tmp_path / "settings.yaml"
    settings.write_text(json.dumps({"folder": "/dev/null"}))
    listen = ["--listen", str(tmp_path / "s")]
    assert main(["runtime", "libvirt", "--settings", str(settings), *listen]) == Exit.FAILED
    answer = capsys.readouterr().err.splitlines()
    assert answer[0] == "error: /dev/null/images/blobs: Not a directory"
    assert "run it as root" in answer[1]
    assert len(answer) == 2


def test_pools_that_this_runtime_does_not_serve_are_a_matter_of_the_settings(
    daemon: Libvirtd, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pool = {"type": "logical", "name": "fast", "volumeGroup": "vg", "records": "/srv/records"}
    settings = tmp_path / "settings.yaml"
    folder = str(daemon.folder / "logical")
    settings.write_text(json.dumps({"folder": folder, "storage": {"pools": [pool]}}))
    assert main(["runtime", "libvirt", "--settings", str(settings)]) == Exit.PROBLEMS
    answer = capsys.readouterr().err
    assert "Invalid value 'logical'" in answer
    assert "storage.pools[0].type" in answer
    assert "docs/libvirt.md" in answer
