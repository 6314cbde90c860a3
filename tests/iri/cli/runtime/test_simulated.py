"""`gitvirt runtime simulated` as a process: ready, stopped, killed, started again."""

from __future__ import annotations

import argparse
import json
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from iri.address import UnixAddress
from iri.cli.runtime.serve import parse_streaming
from iri.cli.runtime.settings_file import read_profile, resolve_quantities
from iri.client import Client
from iri.machine import RuntimeMachine, RuntimeMachineSpec
from reconciler.cli import main
from reconciler.cli.exits import Exit

UID = "machinepoollet.ironcore.dev/machine-uid"


class Process:
    """The verb in a process of its own."""

    def __init__(self, *argv: str) -> None:
        command = [sys.executable, "-m", "reconciler", "runtime", "simulated", *argv]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.ready = self.process.stdout.readline()

    def stop(self, number: signal.Signals = signal.SIGTERM) -> tuple[int, str]:
        """Its exit code and its standard error."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        _, answer = self.process.communicate(timeout=90)
        return self.process.returncode, answer


@pytest.fixture
def directory() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="sim") as directory:
        yield Path(directory)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_runtime_announces_its_sockets_and_removes_them(directory: Path, number: signal.Signals) -> None:
    process = Process("--listen", str(directory / "s"), "--listen", "127.0.0.1:0")
    try:
        unix, tcp = process.ready.split()[1:]
        assert unix == f"unix://{directory / 's'}"
        with Client(UnixAddress(directory / "s")) as client:
            assert client.about().name == "gitvirt-simulated"
        assert main(["iri", "--address", tcp, "get", "version"]) == Exit.OK
    finally:
        assert process.stop(number) == (0, "")
    assert list(directory.iterdir()) == []


def test_a_killed_runtime_continues_where_it_was(directory: Path) -> None:
    argv = ("--listen", str(directory / "s"), "--state", str(directory / "state"))
    process = Process(*argv)
    try:
        with Client(UnixAddress(directory / "s")) as client:
            ids = {
                client.create(
                    RuntimeMachine(labels={UID: f"m{number}"}, spec=RuntimeMachineSpec(class_name="small"))
                ).id
                for number in range(20)
            }
    finally:
        assert process.stop(signal.SIGKILL)[0] == -signal.SIGKILL
    again = Process(*argv)
    try:
        with Client(UnixAddress(directory / "s")) as client:
            assert set(client.objects(RuntimeMachine)) == ids
    finally:
        again.stop()


def test_a_socket_or_a_state_in_use_is_named(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = Process("--listen", str(directory / "s"), "--state", str(directory / "state"))
    try:
        assert main(["runtime", "simulated", "--listen", str(directory / "s")]) == Exit.FAILED
        assert str(directory / "s") in capsys.readouterr().err
        argv = ["--listen", str(directory / "t"), "--state", str(directory / "state")]
        assert main(["runtime", "simulated", *argv]) == Exit.FAILED
        assert "another simulated runtime" in capsys.readouterr().err
    finally:
        assert first.stop()[0] == 0


def test_the_same_seed_is_the_same_host(directory: Path) -> None:
    def first_id(seed: str) -> str:
        process = Process("--listen", str(directory / "s"), "--seed", seed)
        try:
            with Client(UnixAddress(directory / "s")) as client:
                return client.create(RuntimeMachine(spec=RuntimeMachineSpec(class_name="small"))).id
        finally:
            process.stop()

    assert first_id("7") == first_id("7") != first_id("8")


def test_a_profile_may_use_quantities(tmp_path: Path) -> None:
    path = tmp_path / "profile.yaml"
    path.write_text(
        """
host: rack-1
capacity: {cpu: 64, memory: 256Gi, nvidia.com/gpu: "4"}
overcommit: {cpu: 4}
times: {boot: [0.5, 1, 3]}
classes:
  machines: [{name: small, resources: {cpu: 1, memory: 1Gi}}]
  volumes: [{name: fast, tps: 100Mi, iops: 1000}]
behavior: stock-libvirt
"""
    )
    profile = read_profile(str(path))
    assert profile.capacity == {"cpu": 64, "memory": 256 << 30, "nvidia.com/gpu": 4}
    assert profile.classes.volumes[0].tps == 100 << 20
    assert profile.times.boot.most == 3
    path.write_text(json.dumps({"capacity": {"cpu": 1}}))
    assert read_profile(str(path)).capacity == {"cpu": 1}


def test_only_counts_are_counted() -> None:
    values = {"host": "4Gi", "labels": {"rack": "12"}}
    assert resolve_quantities(values) == values


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("hots: x", "hots"),
        ("capacity: {cpu: many}", "many"),
        ("times: {boot: [3, 2, 1]}", "least <= usual"),
        ("behavior: stock-vmware", "stock-vmware"),
        ("a: [", ".yaml:1:"),
        ("{}\n---\n{}", "2 documents"),
        ("1: 2", "1"),
        ("- a", "JSON object"),
    ],
)
def test_a_wrong_profile_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, wanted: str
) -> None:
    path = tmp_path / "p.yaml"
    path.write_text(text)
    argv = ["runtime", "simulated", "--listen", str(tmp_path / "s"), "--profile", str(path)]
    assert main(argv) == Exit.PROBLEMS
    answer = capsys.readouterr().err
    assert wanted in answer
    assert "p.yaml" in answer


@pytest.mark.parametrize(
    "argv", [["--seed", "-1"], ["--seed", "x"], ["--listen", "example.com:80"], ["--listen", ""], ["--frob"]]
)
def test_a_wrong_call_is_wrong_usage(argv: list[str]) -> None:
    assert main(["runtime", "simulated", *argv]) == Exit.USAGE


def test_consoles_are_served_where_the_operator_says(directory: Path) -> None:
    process = Process(
        *("--listen", str(directory / "s"), "--streaming-address", "127.0.0.1:0"),
        *("--streaming-base-url", "https://rack-1.example.org/consoles"),
    )
    try:
        with Client(UnixAddress(directory / "s")) as client:
            machine = client.create(RuntimeMachine(spec=RuntimeMachineSpec(class_name="small")))
            assert client.console_url(machine.id).startswith("https://rack-1.example.org/consoles/exec/")
    finally:
        assert process.stop() == (0, "")


def test_an_address_for_consoles_that_is_in_use_is_named_with_its_cure(directory: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        process = Process("--listen", str(directory / "s"), "--streaming-address", f"127.0.0.1:{port}")
        code, error = process.stop()
    assert code == Exit.FAILED
    assert f"cannot serve consoles at 127.0.0.1 port {port}" in error
    assert "choose another --streaming-address" in error
    assert list(directory.iterdir()) == []


@pytest.mark.parametrize("option", ["--streaming-address=rack-1", "--streaming-base-url=rack-1"])
def test_an_address_for_consoles_that_is_none_is_wrong_usage(directory: Path, option: str) -> None:
    assert main(["runtime", "simulated", "--listen", str(directory / "s"), option]) == Exit.USAGE


@pytest.mark.parametrize(("address", "is_warned"), [("127.0.0.1:0", False), ("192.0.2.1:20251", True)])
def test_an_address_for_consoles_that_other_hosts_reach_is_warned_of(
    address: str, is_warned: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    parse_streaming(argparse.Namespace(streaming_address=address, streaming_base_url=""))
    assert ("in clear text" in capsys.readouterr().err) is is_warned
