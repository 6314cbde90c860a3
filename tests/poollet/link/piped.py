"""A server, a poollet with a simulated runtime behind it, and clients: pipes from one end to the other over real TLS."""

from __future__ import annotations

import random
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from iri.errors import IRIError
from iri.identity import UID_LABELS
from iri.machine import MachineState, RuntimeMachine, RuntimeMachineSpec
from iri.proto.gitvirt.link.v1alpha1.agent_pb2 import Chunk, OpenPipe
from iri.proto.gitvirt.link.v1alpha1.controller_pb2 import ConsoleRequest, InstanceRef, LogsRequest
from iri.runtime import Console, ConsoleLog
from iri.simulated.runtime import SimulatedRuntime
from poollet.clock import Clock
from poollet.link.host_pipes import PipeEnd, PipeRefusedError
from poollet.link.link_thread import LinkThread
from poollet.link.poollet_link import LinkEvents, LinkIdentity, PoolletLink
from poollet.runtimes.forward_end import ForwardEnd
from poollet.runtimes.pipe_ends import open_end
from poollet.runtimes.runtime_client import MACHINE_KINDS, RuntimeClient
from poollet.runtimes.usage_message import to_message
from poollet.runtimes.usage_reader import UsageReader
from reconciler.picture.fleet_picture import FleetPicture, PictureNews
from reconciler.picture.instance import InstancePicture, InstanceState
from schemas.kinds import Key, Kind
from tests.iri.contract.subject import eventually
from tests.iri.quick_host import quick_host
from tests.poollet.link.test_poollet_link import FAST, fleet_settings
from tests.reconciler.link.client import ApiClient, Watch, api_client, list_client
from tests.reconciler.link.serving import Served, serving, wait_for
from tests.servers.link_certificates import make_certificate

NAME = "rack-a1"
HOST, ANN, BOB = make_certificate(NAME), make_certificate("ann"), make_certificate("bob")
ALL = ("read", "logs", "console", "forward")
NAMES = {"web": "default", "db": "default", "job": "staging"}


class WatchedRuntime(SimulatedRuntime):
    """Knows which of its consoles and logs are open."""

    def __init__(self) -> None:
        super().__init__(quick_host())
        self.opened: list[Any] = []
        self.error: IRIError | None = None

    def console(self, machine_id: str) -> Console:
        if self.error is not None:
            raise self.error
        console: Console = self._watch(super().console(machine_id))
        return console

    def console_log(self, machine_id: str, request: Any) -> ConsoleLog:
        log: ConsoleLog = self._watch(super().console_log(machine_id, request))
        return log

    def _watch(self, end: Any) -> Any:
        close = end.close

        def close_and_forget() -> None:
            close()
            if end in self.opened:
                self.opened.remove(end)

        end.close = close_and_forget
        self.opened.append(end)
        return end


@dataclass
class PipedHost:
    """One poollet's link, and its runtime with a machine for each of NAMES, or for those that are given."""

    folder: Path
    runtime: Any = field(default_factory=WatchedRuntime)
    names: Mapping[str, str] = field(default_factory=lambda: NAMES)
    ids: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.client = RuntimeClient("sim", self.runtime, MACHINE_KINDS, lambda: 0)
        for name, namespace in self.names.items():
            labels = {
                UID_LABELS[RuntimeMachine]: f"uid-{name}",
                "machinepoollet.ironcore.dev/machine-namespace": namespace,
                "machinepoollet.ironcore.dev/machine-name": name,
            }
            spec = RuntimeMachineSpec(class_name="small")
            self.ids[name] = self.runtime.create(RuntimeMachine(labels=labels, spec=spec)).id
        eventually(
            lambda: self.runtime.objects(RuntimeMachine).values(),
            lambda found: all(each.status.state is MachineState.RUNNING for each in found),
            120,
            "run",
        )
        self.client.fetch_lists()
        key, pem = HOST.write(self.folder, NAME)
        self.thread = LinkThread()
        who = LinkIdentity(NAME, "host-1", "run-1", {}, key, pem)
        self.link = PoolletLink(who, self.thread, Clock(), random.Random(1))
        usage = UsageReader({"sim": self.client}, Clock().moment_ms)
        self.link.events = LinkEvents(
            standing=lambda _: "c" * 40,
            open_end=self.open_end,
            measure=lambda: to_message(found) if (found := usage.read(60)) is not None else None,
        )
        self.thread.start()

    def open_end(self, wanted: OpenPipe) -> PipeEnd:
        """A port of a machine is one of this computer: the twin has no network."""
        if wanted.HasField("forward"):
            try:
                return ForwardEnd(socket.create_connection(("127.0.0.1", wanted.forward.port)))
            except OSError as error:
                raise PipeRefusedError("FailedPrecondition", str(error.strerror)) from None
        return open_end({"sim": self.client}, wanted)

    def end(self) -> None:
        self.link.leave(None)
        self.thread.stop()

    def is_free(self) -> bool:
        return not self.runtime.opened


def picture(hosts: Mapping[str, str] | None = None) -> PictureNews:
    """All machines on the one host, or as `hosts` says."""
    machines = [
        InstancePicture(
            Key(Kind.MACHINE, namespace, name),
            f"uid-{name}",
            InstanceState.RUNNING,
            poollet=(hosts or {}).get(name, NAME),
        )
        for name, namespace in NAMES.items()
    ]
    return PictureNews(FleetPicture(instances={each.key: each for each in machines}))


@dataclass
class PipedSite:
    served: Served
    host: PipedHost

    def permit(self, rights: tuple[str, ...] = ALL, namespaces: tuple[str, ...] = ("default",)) -> None:
        """What ann may do; bob may do all."""
        entries = list_client("ann", ANN, rights, namespaces) + list_client("bob", BOB, ALL, ("*",))
        self.served.follow({NAME: HOST}, f"{FAST}clients:\n{entries}")

    def connect(self) -> None:
        self.host.link.follow(fleet_settings([self.served], HOST, FAST))
        wait_for(lambda: NAME in self.served.server.read().signs)

    @contextmanager
    def client(self, own: Any = ANN, *options: tuple[str, object]) -> Iterator[ApiClient]:
        with api_client(self.served.server.address, self.served.link, own, *options) as found:
            yield found


@contextmanager
def piped_site(folder: Path, host: PipedHost | None = None) -> Iterator[PipedSite]:
    host = host or PipedHost(folder / "host")
    try:
        with serving(folder) as served:
            made = PipedSite(served, host)
            made.permit()
            served.server.show(picture())
            made.connect()
            yield made
    finally:
        host.end()


class PersonAtConsole:
    """Types, and reads what comes."""

    def __init__(self, client: ApiClient, name: str, namespace: str = "") -> None:
        self.sent: SimpleQueue[ConsoleRequest | None] = SimpleQueue()
        self.sent.put(ConsoleRequest(instance=InstanceRef(namespace=namespace, name=name)))
        self.watch = Watch(client.call("Console", iter(self.sent.get, None), seconds=120))
        self.shown = b""

    def attach(self) -> PersonAtConsole:
        first = self.watch.next()
        assert first == Chunk()
        return self

    def type(self, keys: bytes) -> None:
        self.sent.put(ConsoleRequest(chunk=Chunk(data=keys)))

    def until(self, wanted: bytes) -> bytes:
        while wanted not in self.shown:
            self.shown += self.watch.next().data
        return self.shown

    def leave(self) -> None:
        self.sent.put(None)
        self.watch.call.cancel()


def read_log(client: ApiClient, name: str, namespace: str = "", **more: Any) -> bytes:
    request = LogsRequest(instance=InstanceRef(namespace=namespace, name=name), **more)
    return b"".join(each.data for each in client.call("Logs", request, seconds=60))
