"""IronCore's two services over any runtime: machine.v1alpha1.MachineRuntime and volume.v1alpha1.VolumeRuntime.

Each call checks its request, calls one method of the runtime, and answers at once: it has recorded an order, not carried
it out. The calls of all kinds and of all changes are alike, so each sort of call is one function here, over the tables
of iri.wire.calls. All are safe to call from several threads, as the runtime is.

Must never happen: a request reaches the runtime before all of it is checked.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message import Message

from iri.change import RuntimeChange
from iri.errors import NotFound
from iri.machine import MachineState, RuntimeMachine
from iri.proto.machine.v1alpha1 import api_pb2 as machine_pb
from iri.proto.volume.v1alpha1 import api_pb2 as volume_pb
from iri.runtime import AnyObject, Console, Runtime, RuntimeKind
from iri.server import request_checks
from iri.server.call_handlers import Call, ObjectCall
from iri.server.list_encoder import ListEncoder
from iri.volume import RuntimeSnapshot, RuntimeVolume
from iri.wire.calls import (
    CHANGE_CALLS,
    MACHINE_CALLS,
    MACHINES,
    SNAPSHOT_CALLS,
    VOLUME_CALLS,
    VOLUMES,
    Methods,
    ObjectCalls,
    build_response,
    id_field,
)
from iri.wire.events import select_events
from iri.wire.message_codec import encode, freeze

# Hands out a one-time URL for a machine; the console is opened when the URL is used.
OfferConsole = Callable[[str, Callable[[], Console]], str]


def build_machine_calls(runtime: Runtime, offer_console: OfferConsole) -> dict[str, Call]:
    """All calls of the machine service by their names."""

    def status(_: machine_pb.StatusRequest) -> machine_pb.StatusResponse:
        offers = [encode(machine_pb.MachineClassStatus, offer) for offer in runtime.offers().machines]
        return machine_pb.StatusResponse(machine_class_status=offers)

    def exec(request: machine_pb.ExecRequest) -> machine_pb.ExecResponse:
        machine_id = request.machine_id
        request_checks.require_id(machine_id, "machine_id")
        if machine_id not in runtime.objects(RuntimeMachine):
            raise NotFound(f"machine {machine_id} does not exist")
        return machine_pb.ExecResponse(url=offer_console(machine_id, lambda: runtime.console(machine_id)))

    return {
        **build_common_calls(runtime, MACHINES, (RuntimeMachine,)),
        **build_object_calls(runtime, MACHINE_CALLS, request_checks.check_machine, encode_machine),
        **build_change_calls(runtime, MACHINES),
        "Status": status,
        "Exec": exec,
    }


def build_volume_calls(runtime: Runtime) -> dict[str, Call]:
    """All calls of the volume service by their names. Snapshots have no service of their own."""

    def status(_: volume_pb.StatusRequest) -> volume_pb.StatusResponse:
        offers = [encode(volume_pb.VolumeClassStatus, offer) for offer in runtime.offers().volumes]
        return volume_pb.StatusResponse(volume_class_status=offers)

    return {
        **build_common_calls(runtime, VOLUMES, (RuntimeVolume, RuntimeSnapshot)),
        **build_object_calls(runtime, VOLUME_CALLS, request_checks.check_volume, VOLUME_CALLS.encode),
        **build_object_calls(runtime, SNAPSHOT_CALLS, request_checks.check_snapshot, SNAPSHOT_CALLS.encode),
        **build_change_calls(runtime, VOLUMES),
        "Status": status,
    }


def build_common_calls(runtime: Runtime, service: Methods, kinds: Collection[RuntimeKind]) -> dict[str, Call]:
    """What both services have; events are those about the service's kinds."""

    def version(_: Message) -> Message:
        about = runtime.about()
        return build_response(service["Version"], runtime_name=about.name, runtime_version=about.version)

    def list_events(request: Any) -> Message:
        events = select_events(runtime.events(), kinds, request.filter)
        return build_response(service["ListEvents"], events=events)

    return {"Version": version, "ListEvents": list_events}


def build_object_calls(
    runtime: Runtime,
    calls: ObjectCalls[AnyObject],
    check: Callable[[Any], None],
    encode_object: Callable[[AnyObject], Message],
) -> dict[str, Call]:
    """List, create and delete objects of one kind. `check` refuses an object that cannot be created."""
    kind, field = calls.kind, calls.field
    encoder = ListEncoder(kind, encode_object)

    def list_objects(request: Any) -> bytes:
        query = request.filter
        return encoder.encode(runtime.objects(kind), query.id, query.label_selector)

    def create(request: Any) -> Message:
        request_checks.require_part(request, field, field)
        check(getattr(request, field))
        created = runtime.create(freeze(kind, getattr(request, field)))
        return build_response(calls.create, **{field: encode_object(created)})

    def remove(request: Any, assignment: str) -> Message:
        id = getattr(request, f"{field}_id")
        request_checks.require_id(id, f"{field}_id")
        runtime.remove(kind, id, assignment=assignment)
        return build_response(calls.remove)

    return {calls.list.name: list_objects, calls.create.name: create, calls.remove.name: ObjectCall(remove)}


def build_change_calls(runtime: Runtime, service: Methods) -> dict[str, Call]:
    """The changes that this service carries."""
    return {
        method.name: build_change_call(runtime, change, method)
        for change, method in CHANGE_CALLS.items()
        if method.name in service
    }


def build_change_call(runtime: Runtime, change: type[RuntimeChange], method: MethodDescriptor) -> Call:
    """One function for each call that changes an object: id, check, change. The answer is empty: the change is recorded, not made."""
    field = id_field(method)

    def apply(request: Any, assignment: str) -> Message:
        id = getattr(request, field)
        request_checks.require_id(id, field)
        request_checks.CHANGE_CHECKS[change](request)
        runtime.change(id, freeze(change, request), assignment=assignment)
        return build_response(method)

    return ObjectCall(apply)


def encode_machine(machine: RuntimeMachine) -> machine_pb.Machine:
    """With one deviation from the struct, for existing clients."""
    message = encode(machine_pb.Machine, machine)
    # Existing clients fail on a whole list when one machine in it is STOPPED.
    if machine.status.state is MachineState.STOPPED:
        message.status.state = machine_pb.MACHINE_SUSPENDED
    return message
