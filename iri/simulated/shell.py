"""The operating system of a simulated guest at its serial console: a login, a prompt, a few commands.

It runs in a thread on the slave side of a real pty, so that echo, line editing and window sizes are the kernel's own.

One thread for each open console, which waits for a line most of the time. The other side of the pty is a PtyConsole (iri.exec); whichever
side hangs up first ends the thread. The shell sees the machine through GuestAccess alone, and each use of that locks the host, so a
command prints the machine as it is now.

Limits: a command is a method of Shell. Nothing that is typed starts a program or reaches a file of the real host.
"""

from __future__ import annotations

import os
import pty
import shlex
import termios
import threading
from collections.abc import Callable, Mapping
from typing import NamedTuple

from iri.exec.pty_console import PtyConsole, window_size
from iri.machine import RuntimeMachine
from iri.runtime import Console
from iri.simulated.machine_calls import GuestAction

INTERRUPT = b"\x03"
LINE_BYTES = 4096
NOT_FOUND_STATUS = 127


class GuestAccess(NamedTuple):
    """What the guest can see of its own machine and do to it."""

    machine: Callable[[], RuntimeMachine]
    now_ns: Callable[[], int]
    act: Callable[[GuestAction], None]


class _SessionOverError(Exception):
    """The line is closed, or the session has ended."""


def open_console(access: GuestAccess, closed: Callable[[Console], None]) -> Console:
    """A console with a shell behind it; `closed` is called when the shell has ended."""
    master, slave = pty.openpty()
    settings = termios.tcgetattr(slave)
    # Ctrl-C ends the line instead of raising a signal, which no process here would receive.
    settings[3] &= ~termios.ISIG
    settings[6][termios.VEOL] = INTERRUPT
    termios.tcsetattr(slave, termios.TCSANOW, settings)
    shell = Shell(slave, access)
    console = PtyConsole(master, shell.exit_status)
    thread = threading.Thread(
        target=shell.run, args=(lambda: closed(console),), name="guest-shell", daemon=True
    )
    thread.start()
    return console


class Shell:
    """One login session at one terminal.

    Commands are methods that return an exit status, None for 0. Their docstrings are what `help` prints.
    """

    def __init__(self, terminal: int, access: GuestAccess) -> None:
        self._terminal = terminal
        self._access = access
        self._status = 0
        self._is_ended = threading.Event()
        self._user = ""

    def exit_status(self) -> int:
        """Waits for the end of the session, at most a second: the console is read to its end a moment before."""
        self._is_ended.wait(1)
        return self._status

    def run(self, closed: Callable[[], None]) -> None:
        """Until the session ends or the line is closed; then closes the terminal and calls `closed`."""
        try:
            self._session()
        except (_SessionOverError, OSError):  # OSError: the other side hung up
            pass
        finally:
            self._is_ended.set()
            os.close(self._terminal)
            closed()

    def say(self, text: str) -> None:
        """An OSError means that the line was hung up, and ends the session."""
        os.write(self._terminal, f"{text}\n".encode())

    def _session(self) -> None:
        """A login, then a prompt for each line."""
        machine = self._access.machine()
        self.say(f"\ngitvirt simulated machine {machine.id}")
        while not self._user:
            self._user = self._ask(f"{self._hostname()} login: ").strip()[:32]
        self.say(f"Welcome, {self._user}. `help` lists the commands.")
        while True:
            line = self._ask(f"{self._user}@{self._hostname()}:~$ ")
            try:
                words = shlex.split(line, comments=True)
            except ValueError as error:
                self.say(f"syntax error: {error}")
                continue
            if words:
                self._status = self._run(words)

    def _ask(self, prompt: str) -> str:
        """One line of input; empty after Ctrl-C."""
        os.write(self._terminal, prompt.encode())
        line = os.read(self._terminal, LINE_BYTES)
        if not line:  # Ctrl-D, or hung up
            raise _SessionOverError
        if line.endswith(INTERRUPT):
            self.say("")
            return ""
        return line.decode("utf-8", "replace")

    def _run(self, words: list[str]) -> int:
        """By the first word. The result is what `status` prints next, and in the end the status of the session."""
        command = COMMANDS.get(words[0])
        if command is None:
            self.say(f"{words[0]}: command not found")
            return NOT_FOUND_STATUS
        return command(self, words[1:]) or 0

    def _hostname(self) -> str:
        """Of the guest configuration, else the machine's name, else the start of its id."""
        machine = self._access.machine()
        config = machine.spec.guest_config
        named = config.hostname if config is not None else ""
        return named or machine.labels.get("machinepoollet.ironcore.dev/machine-name", "") or machine.id[:8]

    def echo(self, words: list[str]) -> None:
        """Print the arguments."""
        self.say(" ".join(words))

    def help(self, _words: list[str]) -> None:
        """This list."""
        for name, command in sorted(COMMANDS.items()):
            self.say(f"  {name:<10}{command.__doc__}")

    def print_hostname(self, _words: list[str]) -> None:
        """The name of this machine."""
        self.say(self._hostname())

    def print_addresses(self, _words: list[str]) -> None:
        """Interfaces and their addresses."""
        self.say("lo        127.0.0.1")
        for interface in self._access.machine().detail.network_interfaces:
            self.say(f"{interface.name:<9} {' '.join(interface.ips) or '-'}  {interface.mac}")

    def print_disks(self, _words: list[str]) -> None:
        """The disks that are attached."""
        machine = self._access.machine()
        there = {entry.name: entry.handle for entry in machine.status.volumes if entry.handle}
        for disk in machine.spec.volumes:
            if disk.name in there:
                self.say(f"{disk.device or '-':<5} {disk.name:<12} {there[disk.name]}")

    def print_uptime(self, _words: list[str]) -> None:
        """Since when, and how many boots."""
        machine = self._access.machine()
        seconds = (self._access.now_ns() - machine.created_at) // 1_000_000_000
        boots = machine.detail.boots
        self.say(f"created {seconds}s ago, booted {'once' if boots == 1 else f'{boots} times'}")

    def print_size(self, _words: list[str]) -> None:
        """The size of your terminal."""
        columns, rows = window_size(self._terminal)
        self.say(f"{columns} columns, {rows} rows")

    def print_status(self, _words: list[str]) -> None:
        """The exit status of the last command."""
        self.say(str(self._status))

    def exit(self, words: list[str]) -> int:
        """Leave, with a status if you like."""
        self._status = int(words[0]) & 0xFF if words and words[0].isdecimal() else self._status
        raise _SessionOverError

    def power_off(self, _words: list[str]) -> None:
        """Switch the machine off from inside."""
        self.say("The system is going down.")
        self._leave(GuestAction.POWEROFF)

    def reboot(self, _words: list[str]) -> None:
        """Restart the system."""
        self.say("The system is restarting.")
        self._leave(GuestAction.REBOOT)

    def crash(self, _words: list[str]) -> None:
        """Make the kernel panic."""
        self.say("Kernel panic - not syncing: requested at the console")
        self._leave(GuestAction.CRASH)

    def _leave(self, action: GuestAction) -> None:
        """Runs the action and ends the session with status 0."""
        self._status = 0
        self._access.act(action)
        raise _SessionOverError


COMMANDS: Mapping[str, Callable[[Shell, list[str]], int | None]] = {
    "crash": Shell.crash,
    "echo": Shell.echo,
    "exit": Shell.exit,
    "help": Shell.help,
    "hostname": Shell.print_hostname,
    "ip": Shell.print_addresses,
    "lsblk": Shell.print_disks,
    "poweroff": Shell.power_off,
    "reboot": Shell.reboot,
    "size": Shell.print_size,
    "status": Shell.print_status,
    "uptime": Shell.print_uptime,
}
