"""The life of a server: where it listens, how it describes itself, and how it stops."""

from __future__ import annotations

import logging
import socket
import stat
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import grpc
import pytest
from google.protobuf import message_factory
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase

from iri.address import TcpAddress, UnixAddress
from iri.client import Client
from iri.errors import (
    FailedPrecondition,
    ImageNotResolvable,
    Internal,
    IRIError,
    Unavailable,
    Unimplemented,
)
from iri.host import Offers
from iri.machine import RuntimeMachine, RuntimeMachineSpec
from iri.proto.machine.v1alpha1 import api_pb2 as machine_pb
from iri.server import Server
from iri.server.server import CALLS
from iri.simulated.runtime import SimulatedRuntime
from iri.wire.calls import VOLUME_SERVICE
from tests.iri.contract.subject import eventually
from tests.iri.quick_host import quick_host
from tests.iri.server.raw_client import METHODS, raw


@pytest.fixture
def path(socket_directory: Path) -> Path:
    return socket_directory / "s"


def new_runtime() -> SimulatedRuntime:
    return SimulatedRuntime(quick_host())


def test_socket_is_the_owner_s_alone_and_gone_afterwards(path: Path) -> None:
    with Server(new_runtime(), [UnixAddress(path)]):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not path.exists()


def test_second_server_is_refused_and_the_first_goes_on(path: Path) -> None:
    address = UnixAddress(path)
    with Server(new_runtime(), [address]), Client(address) as client:
        with pytest.raises(FailedPrecondition, match="in use by process"):
            Server(new_runtime(), [address]).start()
        assert client.about().name


def test_one_server_listens_in_several_places(path: Path) -> None:
    other = path.with_name("t")
    with (
        Server(new_runtime(), [UnixAddress(path), UnixAddress(other), TcpAddress("127.0.0.1", 0)]) as server,
        Client(UnixAddress(path)) as one,
        Client(server.addresses[2]) as two,
        Client(UnixAddress(other)) as three,
    ):
        assert isinstance(server.addresses[2], TcpAddress)
        assert server.addresses[2].port > 0
        id = one.create(RuntimeMachine(spec=RuntimeMachineSpec(class_name="small"))).id
        assert id in two.objects(RuntimeMachine)
        assert id in three.objects(RuntimeMachine)


def test_busy_tcp_port_is_refused() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = TcpAddress("127.0.0.1", taken.getsockname()[1])
        with pytest.raises(FailedPrecondition, match=f"cannot listen on {address}"):
            Server(new_runtime(), [address]).start()


def test_service_that_is_not_served_is_unimplemented(path: Path) -> None:
    with raw(new_runtime(), path, services=[VOLUME_SERVICE]) as client:
        assert client.refusal("MachineRuntime.Status", machine_pb.StatusRequest())[0] is (
            grpc.StatusCode.UNIMPLEMENTED
        )
    with (
        Server(new_runtime(), [UnixAddress(path)], services=[VOLUME_SERVICE]),
        Client(UnixAddress(path)) as c,
    ):
        assert c.objects(RuntimeMachine) == {}
        assert c.offers().machines == ()
        with pytest.raises(Unimplemented):
            c.remove(RuntimeMachine, "x")


def test_health_is_serving_for_every_service(path: Path) -> None:
    with raw(new_runtime(), path) as client:
        stub = health_pb2_grpc.HealthStub(client.channel)
        for name in ("", "machine.v1alpha1.MachineRuntime", "volume.v1alpha1.VolumeRuntime"):
            answer = stub.Check(health_pb2.HealthCheckRequest(service=name), timeout=60)
            assert answer.status == health_pb2.HealthCheckResponse.SERVING


def test_client_without_proto_files_uses_reflection(path: Path) -> None:
    """As grpcurl does: names of services, their descriptors, and a call built from these alone."""
    with raw(new_runtime(), path) as client:
        database = ProtoReflectionDescriptorDatabase(client.channel)
        assert set(database.get_services()) >= {
            "machine.v1alpha1.MachineRuntime",
            "volume.v1alpha1.VolumeRuntime",
            "gitvirt.host.v1alpha1.Host",
            "grpc.health.v1.Health",
            "grpc.reflection.v1alpha.ServerReflection",
        }
        pool = DescriptorPool(database)
        service = pool.FindServiceByName("machine.v1alpha1.MachineRuntime")
        assert service.file.name == "machine/v1alpha1/api.proto"
        method = service.methods_by_name["CreateMachine"]
        request = message_factory.GetMessageClass(method.input_type)()
        setattr(request.machine.spec, "class", "small")  # type: ignore[attr-defined]
        code, answer, data = client.send(method, request.SerializeToString())
        assert code is grpc.StatusCode.OK, answer
        created = message_factory.GetMessageClass(method.output_type).FromString(data)
        assert created.machine.metadata.id  # type: ignore[attr-defined]


def test_reflection_sends_the_published_file_names(path: Path) -> None:
    with raw(new_runtime(), path) as client:
        stub = reflection_pb2_grpc.ServerReflectionStub(client.channel)
        wanted = reflection_pb2.ServerReflectionRequest(file_containing_symbol="machine.v1alpha1.Machine")
        (answer,) = list(stub.ServerReflectionInfo(iter([wanted]), timeout=60))
        files = [
            FileDescriptorProto.FromString(data)
            for data in answer.file_descriptor_response.file_descriptor_proto
        ]
        assert files[0].name == "machine/v1alpha1/api.proto"
        (spec,) = (each for each in files[0].message_type if each.name == "MachineSpec")
        names = {field.name: field.json_name for field in spec.field}
        assert names["network_interfaces"] == "networkInterfaces"
        assert all(
            field.HasField("json_name")
            for file in files
            for message in file.message_type
            for field in message.field
        )


def is_refused(client: Client) -> bool:
    try:
        client.create(RuntimeMachine(spec=RuntimeMachineSpec(class_name="small")))
    except Unavailable:
        return True
    return False


def test_stop_finishes_calls_under_way_and_refuses_new_ones(path: Path) -> None:
    entered, leave = threading.Event(), threading.Event()

    @contextmanager
    def slow(call: str) -> Iterator[None]:
        if call == "Status":
            entered.set()
            leave.wait(60)
        yield

    address = UnixAddress(path)
    server = Server(new_runtime(), [address], wrapper=slow)
    server.start()
    statuses: list[object] = []
    with Client(address) as client:
        caller = threading.Thread(target=lambda: statuses.append(client.offers()))
        caller.start()
        assert entered.wait(60)
        stopping = threading.Thread(target=server.stop)
        stopping.start()
        eventually(lambda: is_refused(client), bool, 60, "refuse new calls")
        leave.set()
        caller.join(60)
        stopping.join(60)
    assert len(statuses) == 1
    assert not stopping.is_alive()


def test_calls_beyond_the_limit_are_refused_and_the_others_answered(path: Path) -> None:
    leave = threading.Event()

    @contextmanager
    def slow(call: str) -> Iterator[None]:
        leave.wait(60)
        yield

    with raw(new_runtime(), path, wrapper=slow) as client:
        call = client.channel.unary_unary("/machine.v1alpha1.MachineRuntime/Version", None, None)
        calls = [call.future(b"", timeout=60) for _ in range(CALLS + 50)]
        # All of them have arrived once the last to be refused is.
        eventually(lambda: sum(done.done() for done in calls), lambda count: count == 50, 60, "be refused")
        leave.set()
        codes = Counter(done.code() for done in calls)
        assert codes[grpc.StatusCode.OK] == CALLS
        assert codes[grpc.StatusCode.RESOURCE_EXHAUSTED] == 50


def test_stop_ends_watches_at_once(path: Path) -> None:
    address = UnixAddress(path)
    server = Server(new_runtime(), [address])
    server.start()
    with Client(address) as client:
        watch = client.watch()
        watch.next(5)
        start = time.monotonic()
        server.stop(20)
        assert time.monotonic() - start < 10
        watch.close()


SECRET = "s3cr3t"


class Leaky(SimulatedRuntime):
    """A runtime with a bug whose text quotes the request."""

    def offers(self) -> Offers:
        raise KeyError(SECRET)


def test_bug_of_a_runtime_is_internal_and_quotes_nothing(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with Server(Leaky(quick_host()), [UnixAddress(path)]), Client(UnixAddress(path)) as client:
        with pytest.raises(Internal, match="KeyError") as caught:
            client.offers()
        assert client.about().name, "the server goes on"
    assert SECRET not in str(caught.value)
    assert "test_server.py" in caplog.text
    assert SECRET not in caplog.text


def test_nothing_of_a_request_is_logged(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with raw(new_runtime(), path) as client:
        request = machine_pb.CreateMachineRequest()
        setattr(request.machine.spec, "class", "small")
        request.machine.spec.ignition_data = b"s3cr3t"
        request.machine.metadata.annotations["s3cr3t"] = "s3cr3t"
        client.call("MachineRuntime.CreateMachine", request)
        setattr(request.machine.spec, "class", "no-such-class")
        client.refusal("MachineRuntime.CreateMachine", request)
        client.send(METHODS["MachineRuntime.CreateMachine"], b"s3cr3t")
    assert SECRET not in caplog.text


class Refusing(SimulatedRuntime):
    error: IRIError

    def offers(self) -> Offers:
        raise self.error


@pytest.mark.parametrize("kind", [FailedPrecondition, ImageNotResolvable], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize(
    ("message", "want"),
    [
        ("no such image", "no such image"),
        ("a" * 2000, "a" * 1500),
        ("ü" * 2000, "ü" * 750),
        ("a" + "ü" * 2000, "a" + "ü" * 749),
        ("日" * 2000, "日" * 500),
        ("\n" * 2000, "\n" * 1500),
        ("%" * 2000, "%" * 1500),
        ("\udcff", "?"),
    ],
    ids=["short", "ascii", "two bytes", "cut between", "three bytes", "lines", "percent", "no text"],
)
def test_long_refusal_arrives_as_far_as_headers_carry_it(
    path: Path, kind: type[IRIError], message: str, want: str
) -> None:
    runtime = Refusing(quick_host())
    runtime.error = kind(message)
    with Server(runtime, [UnixAddress(path)]), Client(UnixAddress(path)) as client:
        with pytest.raises(IRIError) as caught:
            client.offers()
        assert type(caught.value) is kind
        assert str(caught.value) == want
