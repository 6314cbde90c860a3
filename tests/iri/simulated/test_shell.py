"""A guest's console: a real pty, a login, and commands that see and change the machine."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from iri import errors
from iri.change import SetPower
from iri.machine import MachineState, Power, RuntimeGuestConfig, RuntimeMachine
from iri.runtime import Console
from iri.simulated import machine_calls
from iri.simulated.machine_calls import GuestAction
from iri.simulated.machine_lifecycle import SimulatedMachine
from tests.iri.simulated.world import World, interface, local, machine


class Line:
    """A user at the console."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.seen = b""

    def expect(self, wanted: str) -> str:
        while wanted.encode() not in self.seen:
            data = self.console.read(4096)
            assert data, f"ended after {self.seen!r}, before {wanted!r}"
            self.seen += data
        before, _, self.seen = self.seen.partition(wanted.encode())
        return before.decode()

    def run(self, command: str) -> str:
        """What a command prints."""
        self.console.write(command.encode() + b"\r")
        self.expect(f"{command}\r\n")
        return self.expect("$ ").rpartition("\r\n")[0]

    def until_the_end(self) -> str:
        while data := self.console.read(4096):
            self.seen += data
        return self.seen.decode()


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def line(world: World) -> Iterator[Line]:
    wanted = machine("m1", local(device="oda"), interface("eth0"))
    wanted = replace(wanted, spec=replace(wanted.spec, guest_config=RuntimeGuestConfig(hostname="web-1")))
    line = Line(world.runtime.console(world.running(wanted).id))
    line.expect("web-1 login: ")
    line.console.write(b"ada\r")
    line.expect("ada@web-1:~$ ")
    yield line
    line.console.close()


def the_machine(world: World) -> RuntimeMachine:
    return next(iter(world.runtime.objects(RuntimeMachine).values()))


def test_the_shell_shows_its_machine(world: World, line: Line) -> None:
    made = the_machine(world)
    assert line.run("hostname") == "web-1"
    observed = line.run("ip")
    assert made.detail.network_interfaces[0].ips[0] in observed
    assert made.detail.network_interfaces[0].mac in observed
    assert "oda" in line.run("lsblk")
    assert "booted once" in line.run("uptime")
    assert "poweroff" in line.run("help")


def test_the_shell_echoes_and_splits_words(line: Line) -> None:
    assert line.run("echo 'a  b' c # d") == "a  b c"
    assert line.run("") == ""
    assert line.run("echo 'a") == "syntax error: No closing quotation"


def test_an_unknown_command_has_a_status(line: Line) -> None:
    assert line.run("rm") == "rm: command not found"
    assert line.run("status") == "127"


def test_the_window_is_the_ptys(line: Line) -> None:
    line.console.resize(132, 43)
    assert line.run("size") == "132 columns, 43 rows"


def test_keys_edit_the_line(line: Line) -> None:
    line.console.write(b"echo wrong\x15echo right\r")
    assert "\r\nright\r\n" in line.expect("$ ")
    line.console.write(b"echo never\x03")
    assert "never\r\n" not in line.expect("$ ")
    assert line.run("echo again") == "again"


@pytest.mark.parametrize(("keys", "status"), [("exit 7", 7), ("exit", 0), ("\x04", 0), ("exit nonsense", 0)])
def test_the_shell_ends_with_an_exit_status(line: Line, keys: str, status: int) -> None:
    line.console.write(keys.encode() + b"\r")
    line.until_the_end()
    assert line.console.exit_status() == status


@pytest.mark.parametrize(
    ("command", "state"),
    [
        ("poweroff", MachineState.TERMINATED),
        ("crash", MachineState.TERMINATED),
        ("reboot", MachineState.RUNNING),
    ],
)
def test_commands_in_the_guest_act_on_its_machine(
    world: World, line: Line, command: str, state: MachineState
) -> None:
    line.console.write(command.encode() + b"\r")
    line.until_the_end()
    world.pass_seconds(10)
    assert the_machine(world).status.state is state
    assert the_machine(world).detail.boots == (2 if command == "reboot" else 1)


@pytest.mark.parametrize("action", ["off", "remove", "crash", "host"])
def test_the_shell_ends_with_the_machine(world: World, line: Line, action: str) -> None:
    id = the_machine(world).id
    reading = threading.Thread(target=line.until_the_end)
    reading.start()
    if action == "off":
        world.runtime.change(id, SetPower(Power.OFF))
    elif action == "remove":
        world.runtime.remove(RuntimeMachine, id)
    elif action == "crash":
        with world.host.lock() as now_ns:
            machine_calls.act(world.host, world.host.find(SimulatedMachine, id), GuestAction.CRASH, now_ns)
    else:
        world.restart_host(1)
    world.pass_seconds(20)
    world.host.run_due()
    reading.join(60)
    assert not reading.is_alive()


def test_there_is_no_console_without_a_running_guest(world: World) -> None:
    off = world.running(machine("m1", power=Power.OFF))
    with pytest.raises(errors.FailedPrecondition, match="it is not running"):
        world.runtime.console(off.id)
    with pytest.raises(errors.NotFound):
        world.runtime.console("nope")
    hung = world.running(machine("m2"))
    with world.host.lock() as now_ns:
        machine_calls.act(world.host, world.host.find(SimulatedMachine, hung.id), GuestAction.HANG, now_ns)
    with pytest.raises(errors.FailedPrecondition):
        world.runtime.console(hung.id)


def test_many_consoles_leave_nothing_behind(world: World) -> None:
    made = world.running(machine("m1"))
    before = threading.active_count()
    for _ in range(50):
        line = Line(world.runtime.console(made.id))
        line.expect("login: ")
        line.console.close()
    for _ in range(3000):
        if threading.active_count() <= before:
            break
        threading.Event().wait(0.02)
    assert threading.active_count() <= before
    assert world.host._consoles == {}
