"""`gitvirt forward`: ports of a machine on this computer, over the link. `--stdio` is one connection, for ProxyCommand of ssh.

Each connection is a call of its own, so one that is slow holds up no other. Only this computer can connect: the ports are on 127.0.0.1.
"""

from __future__ import annotations

import argparse
import os
import queue
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import Any

from reconciler.cli.api_client import (
    LinkServers,
    add_client,
    call,
    open_servers,
    parse_instance,
    translate,
)
from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.fleet_repo import add_repo
from reconciler.cli.interrupt import end_at_once
from reconciler.cli.objects.references import MACHINES, parse_reference
from reconciler.cli.terminal import err, out, printable
from schemas.settings.link import HIGHEST_PORT

EXAMPLES = """examples:
  gitvirt forward web-1 8080:80            http://127.0.0.1:8080 is port 80 of web-1, until Ctrl-C
  gitvirt forward web-1 5432 8080:80       several ports; 5432 has the same number on both ends
  ssh -o ProxyCommand='gitvirt forward --stdio web-1 22' admin@web-1

It needs a client of the API with the right forward (--client). A machine is reached on networks that its host is on. To log in, there is
`gitvirt ssh web-1 --over-link`."""

LOCAL = "127.0.0.1"
CHUNK_BYTES = 64 * 1024
WAITING = 16  # chunks on their way to the link; more wait at their source


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("machine", metavar="MACHINE", help="[NAMESPACE/]NAME")
    parser.add_argument(
        "ports", nargs="+", type=parse_ports, metavar="[LOCAL:]PORT", help="port here, and of the machine"
    )
    parser.add_argument("-n", "--namespace", metavar="NS", help="of the machine (default: default)")
    parser.add_argument(
        "--stdio", action="store_true", help="one connection, between standard input and output"
    )
    add_client(parser)
    add_repo(parser)


def parse_ports(text: str) -> tuple[int, int]:
    """Here, and of the machine."""
    here, _, there = text.rpartition(":")
    numbers = [int(each) if each.isascii() and each.isdecimal() else 0 for each in (here or there, there)]
    if not all(0 < number <= HIGHEST_PORT for number in numbers):
        raise argparse.ArgumentTypeError(f"{text!r} is not PORT or LOCAL:PORT")
    return numbers[0], numbers[1]


def run(arguments: argparse.Namespace) -> int:
    key = parse_reference(arguments.machine, MACHINES, arguments)
    machine = f"{key.namespace}/{key.name}"
    with end_at_once(), ExitStack() as stack:
        servers = stack.enter_context(open_servers(arguments))
        if arguments.stdio:
            return relay_stdio(servers, machine, arguments.ports)
        for here, there in arguments.ports:
            listener = stack.enter_context(listen(here))
            out().line(f"{LOCAL}:{here} is port {there} of {printable(machine)}")
            start(lambda listener=listener, there=there: accept(listener, servers, machine, there))  # type: ignore[misc]
        out().stream.flush()
        threading.Event().wait()
    return Exit.OK


def relay_stdio(servers: LinkServers, machine: str, ports: list[tuple[int, int]]) -> int:
    if len(ports) != 1:
        raise CommandError("--stdio takes one port", "name the port of the machine", Exit.USAGE)
    connection = servers.open(lambda channel: ForwardCall(channel, machine, ports[0][1]))
    source, sink = sys.stdin.fileno(), sys.stdout.fileno()
    start(lambda: connection.send_from(lambda: os.read(source, CHUNK_BYTES)))
    connection.receive_to(lambda data: write_all(sink, data), lambda: close_output(sink))
    return Exit.OK


def close_output(descriptor: int) -> None:
    """Whoever reads it sees its end, and may still write to this process. The number stays taken, for what the interpreter does at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)


def listen(port: int) -> socket.socket:
    try:
        return socket.create_server((LOCAL, port))
    except OSError as error:
        cause = f"cannot listen on {LOCAL}:{port}: {error.strerror}"
        raise CommandError(cause, f"choose another port here: {port + 1}:PORT") from None


def accept(listener: socket.socket, servers: LinkServers, machine: str, port: int) -> None:
    """Until the process ends. A connection that is refused is named, and the next one is taken."""
    while True:
        try:
            line, _ = listener.accept()
        except OSError:  # closed: the process ends
            return
        start(lambda line=line: relay_socket(line, servers, machine, port))  # type: ignore[misc]


def relay_socket(line: socket.socket, servers: LinkServers, machine: str, port: int) -> None:
    """Each direction until its own end: what the program here still sends after the machine has closed its half is sent on."""
    with line:
        try:
            connection = servers.open(lambda channel: ForwardCall(channel, machine, port))
            start(lambda: connection.send_from(lambda: line.recv(CHUNK_BYTES)))
            connection.receive_to(line.sendall, lambda: line.shutdown(socket.SHUT_WR))
            line.shutdown(socket.SHUT_RDWR)
        except CommandError as error:
            err().line(f"{error.cause}; {error.cure}" if error.cure else error.cause)
            err().stream.flush()
        except OSError:
            return  # the program here has left


class ForwardCall:
    """One connection. Open when it is made; raises CommandError where that is refused."""

    def __init__(self, channel: Any, machine: str, port: int) -> None:
        import grpc

        from iri.proto.gitvirt.link.v1alpha1.controller_pb2 import ForwardRequest

        self._waiting: queue.Queue[ForwardRequest | None] = queue.Queue(WAITING)
        self._waiting.put(ForwardRequest(instance=parse_instance(machine), port=port))
        self._call = call(channel, "Forward")(iter(self._waiting.get, None))
        try:
            next(self._call, None)
        except grpc.RpcError as error:
            self._waiting.put(None)
            raise translate(error) from None

    def send_from(self, read: Callable[[], bytes]) -> None:
        """Until the source ends, which the other end is told, or until the connection is over."""
        from iri.proto.gitvirt.link.v1alpha1.agent_pb2 import Chunk
        from iri.proto.gitvirt.link.v1alpha1.controller_pb2 import ForwardRequest

        with suppress(OSError):  # the program here has left: that is an end too
            while data := read():
                self._put(ForwardRequest(chunk=Chunk(data=data)))
        self._put(None)

    def receive_to(self, write: Callable[[bytes], object], end: Callable[[], object]) -> None:
        """Until the connection is over; `end` is called when the machine has closed its half. Raises CommandError where it was cut off."""
        import grpc

        try:
            for chunk in self._call:
                if chunk.data:
                    write(chunk.data)
                if chunk.is_end:
                    end()
        except grpc.RpcError as error:
            raise translate(error) from None
        finally:
            self._call.cancel()
            self._put(None)

    def _put(self, message: Any) -> None:
        """Waits while the link takes nothing; dropped once the call is over."""
        while self._call.is_active() or message is None:
            with suppress(queue.Full):
                self._waiting.put(message, timeout=0.2)
                return
            if not self._call.is_active():
                return


def start(work: Callable[[], None]) -> None:
    """In a thread that does not keep the process from ending."""
    threading.Thread(target=work, daemon=True).start()


def write_all(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
