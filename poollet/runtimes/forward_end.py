"""A TCP connection to a port of a guest, as an end of a pipe.

Theory of operation
-------------------
A guest may claim any address: its agent says it, and the host believes what it shows to people. A connection made on that word could reach the host
itself, or a server that only hosts may reach. So an address is used only if the machine that answers there is the guest:

    an address of the machine that is loopback, link-local, multicast or unspecified    passed over
    nothing answers there                                                               the next one is tried
    it answers, and the kernel has the MAC address of the machine for it                connected
    it answers, and is another machine, this host, or behind a router                   closed before a byte passes; the next one is tried

The MAC address is the runtime's, and not what the guest says. So a guest is reached on networks that its host is on; for others there is ssh.

Must never happen: a byte of a client reaches an address before it was checked.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress

from iri.machine import RuntimeMachine
from poollet.link.host_pipes import PipeRefusedError
from poollet.runtimes.neighbors import find_hardware_addresses

CONNECT_SECONDS = 2.0
MOST_ADDRESSES = 4  # a guest can claim any number, and a pipe is to be open within ten seconds
READ_BYTES = 64 * 1024
HIGHEST_PORT = 65535

FindHardware = Callable[[str], Collection[str]]


class ForwardEnd:
    """Reads and writes may be in two threads; `close` ends both."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line
        self._has_ended = False  # the guest's half

    def read(self) -> bytes:
        try:
            data = self._line.recv(READ_BYTES)
        except OSError as error:
            raise PipeRefusedError(
                "Unavailable", f"the connection in the guest broke: {error.strerror}"
            ) from None
        self._has_ended = not data
        return data

    def write(self, data: bytes) -> None:
        """Raises PipeRefusedError where the guest takes no more, after it has ended its half. Before that, `read` reports it."""
        try:
            self._line.sendall(data)
        except OSError as error:
            self.close()
            if self._has_ended:
                raise PipeRefusedError("Unavailable", f"the guest takes no more: {error.strerror}") from None

    def end_input(self) -> None:
        """The guest sees the end, and may still answer."""
        try:
            self._line.shutdown(socket.SHUT_WR)
        except OSError:
            self.close()

    def resize(self, columns: int, rows: int) -> None:
        """A connection has no window."""

    def close(self) -> None:
        """Shut down first: a thread that waits in `read` wakes up before the descriptor can be used again."""
        with suppress(OSError):  # not connected any more
            self._line.shutdown(socket.SHUT_RDWR)
        self._line.close()

    def exit_status(self) -> int | None:
        return None


def open_forward(
    machine: RuntimeMachine, port: int, find_hardware: FindHardware = find_hardware_addresses
) -> ForwardEnd:
    """Blocks. Raises PipeRefusedError with what became of each address."""
    if not 0 < port <= HIGHEST_PORT:
        raise PipeRefusedError("FailedPrecondition", f"{port} is not a port")
    macs = frozenset(each.mac.lower() for each in machine.detail.network_interfaces if each.mac)
    tried: list[str] = []
    for address in list_addresses(machine):
        found = try_address(address, port, macs, find_hardware)
        if isinstance(found, ForwardEnd):
            return found
        tried.append(f"{address}: {found}")
    words = "; ".join(tried) or "its host knows no address of it"
    raise PipeRefusedError("FailedPrecondition", f"port {port} of the machine cannot be reached: {words}")


def list_addresses(machine: RuntimeMachine) -> Iterator[str]:
    """At most MOST_ADDRESSES that may be a guest's."""
    texts = [ip for each in machine.detail.network_interfaces for ip in each.ips]
    count = 0
    for text in dict.fromkeys(texts):
        try:
            address = ipaddress.ip_address(text)
        except ValueError:
            continue
        is_special = address.is_loopback or address.is_link_local or address.is_multicast
        if is_special or address.is_unspecified or count >= MOST_ADDRESSES:
            continue
        count += 1
        yield str(address)


def try_address(
    address: str, port: int, macs: Collection[str], find_hardware: FindHardware
) -> ForwardEnd | str:
    """The connection; or why there is none."""
    try:
        line = socket.create_connection((address, port), CONNECT_SECONDS)
    except TimeoutError:
        return "no answer"
    except OSError as error:
        return error.strerror or "no connection"
    try:
        hardware = frozenset(find_hardware(address))
    except OSError as error:
        hardware = frozenset()
        problem = f"its MAC address cannot be looked up: {error.strerror}"
    else:
        problem = "another machine answers there" if hardware else "it is not on a network of the host"
    if not hardware or not hardware <= frozenset(macs):
        line.close()
        return problem
    line.settimeout(None)
    line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return ForwardEnd(line)
