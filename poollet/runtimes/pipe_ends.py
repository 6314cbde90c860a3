"""Ends of pipes on this host: the console of a machine, its log, and its ports (forward_end). Errors of a runtime become refusals of the link here.

A machine is found by its uid among those that a runtime lists, with the name that the poollet gave it. So a pipe leads to no machine of others,
and to none that took a name since.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from iri.console_log import LogRequest
from iri.errors import IRIError
from iri.machine import RuntimeMachine
from iri.proto.gitvirt.link.v1alpha1.agent_pb2 import LogsTarget, MachineTarget, OpenPipe
from iri.runtime import Console, ConsoleLog
from poollet.link.host_pipes import PipeEnd, PipeRefusedError
from poollet.runtimes.forward_end import open_forward
from poollet.runtimes.runtime_client import RuntimeClient
from poollet.runtimes.runtime_lists import Listing, ListKey
from poollet.runtimes.usage_reader import NAME_LABEL, NAMESPACE_LABEL, UID_LABEL

READ_BYTES = 64 * 1024


class ConsoleEnd:
    """A console as the runtime opens it: one user at a time."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def read(self) -> bytes:
        with refusing():
            return self._console.read(READ_BYTES)

    def write(self, data: bytes) -> None:
        self._console.write(data)

    def end_input(self) -> None:
        """A serial line has no end that a guest could see; its output goes on."""

    def resize(self, columns: int, rows: int) -> None:
        self._console.resize(columns, rows)

    def close(self) -> None:
        self._console.close()

    def exit_status(self) -> int | None:
        return self._console.exit_status()


class LogEnd:
    """A log has one direction: what is written to it is dropped."""

    def __init__(self, log: ConsoleLog) -> None:
        self._log = log

    def read(self) -> bytes:
        with refusing():
            return self._log.read()

    def write(self, data: bytes) -> None:
        """Nothing reads it."""

    def end_input(self) -> None:
        """Likewise."""

    def resize(self, columns: int, rows: int) -> None:
        """Likewise."""

    def close(self) -> None:
        self._log.close()

    def exit_status(self) -> int | None:
        return None


def open_end(clients: Mapping[str, RuntimeClient], wanted: OpenPipe) -> PipeEnd:
    """Blocks. Raises PipeRefusedError."""
    match wanted.WhichOneof("kind"):
        case "console":
            client, machine = find_machine(clients, wanted.console.machine)
            with refusing():
                return ConsoleEnd(client.runtime.console(machine.id))
        case "logs":
            client, machine = find_machine(clients, wanted.logs.machine)
            with refusing():
                return LogEnd(client.runtime.console_log(machine.id, to_request(wanted.logs)))
        case "forward":
            _, machine = find_machine(clients, wanted.forward.machine)
            return open_forward(machine, wanted.forward.port)
        case _:
            raise PipeRefusedError(
                "Unimplemented", "the poollet of this host is older than the server; update it"
            )


def to_request(wanted: LogsTarget) -> LogRequest:
    return LogRequest(tail_lines=wanted.tail_lines, follow=wanted.follow, previous=wanted.previous)


def find_machine(
    clients: Mapping[str, RuntimeClient], wanted: MachineTarget
) -> tuple[RuntimeClient, RuntimeMachine]:
    """By uid, namespace and name alike. Raises PipeRefusedError."""
    labels = {UID_LABEL: wanted.uid, NAMESPACE_LABEL: wanted.namespace, NAME_LABEL: wanted.name}
    for name, client in clients.items():
        listing = client.lists.get(ListKey(name, RuntimeMachine))
        objects = listing.objects if isinstance(listing, Listing) else {}
        for machine in objects.values():
            is_it = all(machine.labels.get(label) == value for label, value in labels.items())
            if is_it and isinstance(machine, RuntimeMachine):
                return client, machine
    words = f"machine {wanted.namespace}/{wanted.name} is not at a runtime of this host, or the runtime does not answer"
    raise PipeRefusedError("NotFound", words)


@contextmanager
def refusing() -> Iterator[None]:
    """An error of the runtime as a refusal, by the name of its class."""
    try:
        yield
    except IRIError as error:
        raise PipeRefusedError(type(error).__name__, str(error)) from None
