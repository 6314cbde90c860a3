"""`gitvirt logs` at a simulated guest: by name, the last lines, the start before, following, and at a terminal."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from iri.address import UnixAddress
from iri.client import Client
from iri.console_log import LogRequest
from iri.errors import ResourceExhausted
from iri.proto.gitvirt.sim.v1alpha1 import api_pb2 as sim_pb
from iri.server.host_service import MOST_LOGS
from iri.simulated.control import ControlService
from reconciler.cli.exits import Exit
from tests.iri.cli.iri.conftest import Command
from tests.iri.cli.iri.test_console import GITVIRT, machine
from tests.iri.contract.subject import eventually
from tests.iri.exec.screen import Screen

FIRST = "simulated guest web-1, start 1\r\nweb-1 login: \r\n"


def power(gitvirt: Command, id: str, to: str) -> None:
    gitvirt("iri", "update", "power", "--machine-id", id, "--power", to)
    state = "Running" if to == "on" else "Suspended"
    gitvirt.until(lambda answer: state in answer, "iri", "get", "machine", id)


def test_a_log_is_found_by_name_and_ends_at_its_end(gitvirt: Command, tmp_path: Path) -> None:
    id = machine(gitvirt, tmp_path, "web-1")
    for name in ("web-1", "default/web-1", "machine/web-1", id):
        assert gitvirt.run_ok("logs", name) == FIRST
    assert gitvirt.run_ok("logs", "--tail", "1", "web-1") == "web-1 login: \r\n"
    assert gitvirt.run_ok("logs", "--tail", "0", "web-1") == ""


def test_the_log_of_the_start_before(gitvirt: Command, tmp_path: Path) -> None:
    id = machine(gitvirt, tmp_path, "web-1")
    answer = gitvirt("logs", "--previous", "web-1")
    assert answer.code == Exit.FAILED
    assert "was started only once: it has no previous log" in answer.err
    power(gitvirt, id, "off")
    assert gitvirt.run_ok("logs", "web-1") == f"{FIRST}web-1: power down\r\n"
    power(gitvirt, id, "on")
    assert gitvirt.run_ok("logs", "-p", "web-1") == f"{FIRST}web-1: power down\r\n"


def test_a_machine_that_never_ran(gitvirt: Command, tmp_path: Path) -> None:
    machine(gitvirt, tmp_path, "web-1", power="off")
    answer = gitvirt("logs", "web-1")
    assert (answer.code, answer.out) == (Exit.FAILED, "")
    assert "was never started: it has no log" in answer.err


def test_a_previous_log_cannot_be_followed(gitvirt: Command) -> None:
    answer = gitvirt("logs", "-f", "--previous", "web-1")
    assert answer.code == Exit.USAGE
    assert "a previous log grows no more" in answer.err


def test_a_runtime_without_logs_is_named_plainly(gitvirt: Command, tmp_path: Path) -> None:
    machine(gitvirt, tmp_path, "web-1")
    control = ControlService(gitvirt.server.host, gitvirt.server.faults)
    flags = {"has_no_host_service": True}
    control.set_behavior(sim_pb.SetBehaviorRequest(behavior=sim_pb.Behavior(flags=flags)))
    answer = gitvirt("logs", "web-1")
    assert answer.code == Exit.FAILED
    assert "the runtime of this host keeps no console logs" in answer.err


def test_at_a_terminal_a_log_is_followed_until_the_reader_leaves(gitvirt: Command, tmp_path: Path) -> None:
    id = machine(gitvirt, tmp_path, "web-1")
    screen = Screen([*GITVIRT, "logs", "-f", "web-1"], dict(os.environ))
    try:
        screen.expect(b"web-1 login: ")
        power(gitvirt, id, "off")
        screen.expect(b"web-1: power down")
        power(gitvirt, id, "on")
        screen.expect(b"start 2")
        gitvirt.run_ok("iri", "delete", "machine", id)
        assert screen.end() == Exit.OK
    finally:
        screen.close()


def test_readers_that_stay_are_limited_and_one_that_leaves_makes_room(
    gitvirt: Command, tmp_path: Path
) -> None:
    id = machine(gitvirt, tmp_path, "web-1")
    address = UnixAddress(gitvirt.socket)
    with Client(address) as client:
        logs = [client.console_log(id, LogRequest(follow=True)) for _ in range(MOST_LOGS)]
        assert all(log.read() for log in logs)
        with pytest.raises(ResourceExhausted, match="8 console logs are read at the moment"):
            client.console_log(id, LogRequest()).read()
        logs.pop().close()
        eventually(lambda: read_or_refusal(client, id), bool, 60, "be read")
        for log in logs:
            log.close()


def read_or_refusal(client: Client, id: str) -> bytes:
    try:
        return client.console_log(id, LogRequest()).read()
    except ResourceExhausted:
        return b""
