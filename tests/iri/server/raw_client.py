"""A client without checks: any bytes to any call, and the status of the answer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
from google.protobuf import message_factory
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message import Message

from iri.address import UnixAddress
from iri.proto.gitvirt.host.v1alpha1 import api_pb2 as host_pb
from iri.proto.machine.v1alpha1 import api_pb2 as machine_pb
from iri.proto.volume.v1alpha1 import api_pb2 as volume_pb
from iri.runtime import Runtime
from iri.server import Server

MACHINE = machine_pb.DESCRIPTOR.services_by_name["MachineRuntime"]
VOLUME = volume_pb.DESCRIPTOR.services_by_name["VolumeRuntime"]
HOST = host_pb.DESCRIPTOR.services_by_name["Host"]
METHODS: dict[str, MethodDescriptor] = {
    f"{service.name}.{method.name}": method
    for service in (MACHINE, VOLUME, HOST)
    for method in service.methods
}
SECONDS = 60
SIZE = 128 * 1024 * 1024


class Raw:
    def __init__(self, path: Path) -> None:
        self.channel = grpc.insecure_channel(
            f"unix:{path}",
            options=[("grpc.max_send_message_length", SIZE), ("grpc.max_receive_message_length", SIZE)],
        )

    def send(self, method: MethodDescriptor, data: bytes) -> tuple[grpc.StatusCode, str, bytes]:
        """Status, message and response; of a stream the first response, after which the stream is cancelled."""
        path = f"/{method.containing_service.full_name}/{method.name}"
        try:
            if method.server_streaming:
                stream = self.channel.unary_stream(path, None, None)(data, timeout=SECONDS)
                response = next(iter(stream))
                stream.cancel()  # type: ignore[no-untyped-call]
            else:
                response = self.channel.unary_unary(path, None, None)(data, timeout=SECONDS)
        except grpc.RpcError as error:
            return error.code(), error.details() or "", b""
        return grpc.StatusCode.OK, "", response

    def call(self, name: str, request: Message) -> Any:
        """The response to a call that must succeed."""
        method = METHODS[name]
        code, words, data = self.send(method, request.SerializeToString())
        assert code is grpc.StatusCode.OK, (name, code, words)
        return message_factory.GetMessageClass(method.output_type).FromString(data)

    def refusal(self, name: str, request: Message) -> tuple[grpc.StatusCode, str]:
        return self.send(METHODS[name], request.SerializeToString())[:2]


@contextmanager
def raw(runtime: Runtime, path: Path, **options: Any) -> Iterator[Raw]:
    with Server(runtime, [UnixAddress(path)], **options):
        client = Raw(path)
        try:
            yield client
        finally:
            client.channel.close()
