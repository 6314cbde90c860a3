"""No request is a bug of the server: every call answers it, or refuses it with a fitting status."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest
from google.protobuf.descriptor import MethodDescriptor
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from iri.proto.machine.v1alpha1 import api_pb2 as machine_pb
from iri.server.call_handlers import list_calls
from iri.simulated.control import SERVICE, ControlService
from iri.simulated.faults.fault_rules import FaultRules
from iri.simulated.runtime import SimulatedRuntime
from iri.simulated.seeded_random import SeededRandom
from tests.iri.proto.messages import messages
from tests.iri.quick_host import quick_host
from tests.iri.server.raw_client import METHODS, Raw, raw

FITTING = {
    grpc.StatusCode.OK,
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.NOT_FOUND,
    grpc.StatusCode.ALREADY_EXISTS,
    grpc.StatusCode.FAILED_PRECONDITION,
    grpc.StatusCode.RESOURCE_EXHAUSTED,
    grpc.StatusCode.UNIMPLEMENTED,
}
# The server is shared by the examples of a test, on purpose.
SHARED = [HealthCheck.function_scoped_fixture]
CONTROL = {f"Control.{method.name}": method for method in SERVICE.methods}


@pytest.fixture
def client() -> Iterator[Raw]:
    """One per test, for all its examples: a random SetClasses would leave other tests without their class."""
    with (
        tempfile.TemporaryDirectory(prefix="iri") as directory,
        raw(SimulatedRuntime(quick_host()), Path(directory) / "s") as connected,
    ):
        yield connected


@pytest.fixture
def control_calls() -> Iterator[Raw]:
    host = quick_host()
    extra = {SERVICE: list_calls(SERVICE, ControlService(host, FaultRules(SeededRandom(7))))}
    with (
        tempfile.TemporaryDirectory(prefix="iri") as directory,
        raw(SimulatedRuntime(host), Path(directory) / "s", extra_calls=extra) as connected,
    ):
        yield connected


def refuse_unfitting(client: Raw, method: MethodDescriptor, data: bytes) -> None:
    code, answer, _ = client.send(method, data)
    assert code in FITTING, answer
    assert (code is grpc.StatusCode.OK) == (answer == "")


@pytest.mark.parametrize("name", METHODS)
@settings(max_examples=25, deadline=None, suppress_health_check=SHARED)
@given(data=st.data())
def test_any_message_is_answered_or_refused(client: Raw, name: str, data: st.DataObject) -> None:
    request = data.draw(messages(METHODS[name].input_type))
    refuse_unfitting(client, METHODS[name], request.SerializeToString())


@pytest.mark.parametrize("name", CONTROL)
@settings(max_examples=10, deadline=None, suppress_health_check=SHARED)
@given(data=st.data())
def test_any_message_of_the_control_service_is_answered_or_refused(
    control_calls: Raw, name: str, data: st.DataObject
) -> None:
    request = data.draw(messages(CONTROL[name].input_type))
    refuse_unfitting(control_calls, CONTROL[name], request.SerializeToString())


@settings(max_examples=100, deadline=None, suppress_health_check=SHARED)
@given(name=st.sampled_from(sorted(METHODS)), data=st.binary(max_size=64))
def test_any_bytes_are_a_request_or_an_invalid_argument(client: Raw, name: str, data: bytes) -> None:
    refuse_unfitting(client, METHODS[name], data)


@settings(max_examples=25, deadline=None, suppress_health_check=SHARED)
@given(data=st.data())
def test_any_device_of_an_existing_machine_is_attached_or_refused(client: Raw, data: st.DataObject) -> None:
    """The calls that a random id never reaches."""
    request = machine_pb.CreateMachineRequest()
    setattr(request.machine.spec, "class", "small")
    id = client.call("MachineRuntime.CreateMachine", request).machine.metadata.id
    try:
        for call in ("AttachVolume", "UpdateVolume", "AttachNetworkInterface", "UpdateMachinePower"):
            method = METHODS[f"MachineRuntime.{call}"]
            device = data.draw(messages(method.input_type))
            device.machine_id = id  # type: ignore[attr-defined]
            refuse_unfitting(client, method, device.SerializeToString())
    finally:
        client.call("MachineRuntime.DeleteMachine", machine_pb.DeleteMachineRequest(machine_id=id))
