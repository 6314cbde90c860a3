"""machine.v1alpha1.MachineRuntime over any runtime: one method per call.

Each method checks its request, calls one method of the runtime, and answers at once: the call has recorded an order, not
carried it out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from iri.change import (
    AttachInterface,
    AttachVolume,
    DetachInterface,
    DetachVolume,
    SetAnnotations,
    SetPower,
    UpdateVolume,
)
from iri.errors import NotFound, Unimplemented
from iri.machine import Disk, MachineState, Power, RuntimeMachine, RuntimeNetworkInterface
from iri.proto.machine.v1alpha1 import api_pb2 as pb
from iri.runtime import Console, Runtime
from iri.server import request_checks
from iri.server.call_handlers import Call
from iri.server.list_encoder import ListEncoder
from iri.wire.events import select_events
from iri.wire.message_codec import fill, freeze


class ConsoleUrls(Protocol):
    """Hands out one-time URLs; the console is opened when its URL is used."""

    def offer(self, machine_id: str, open_console: Callable[[], Console]) -> str: ...


class MachineService:
    """Thread-safe, as the runtime is."""

    def __init__(self, runtime: Runtime, consoles: ConsoleUrls | None) -> None:
        self._runtime = runtime
        self._consoles = consoles
        self._lists = ListEncoder(RuntimeMachine, encode_machine)

    def list_calls(self) -> dict[str, Call]:
        return {
            "Version": self.version,
            "ListEvents": self.list_events,
            "ListMachines": self.list_machines,
            "CreateMachine": self.create_machine,
            "DeleteMachine": self.delete_machine,
            "UpdateMachineAnnotations": self.update_machine_annotations,
            "UpdateMachinePower": self.update_machine_power,
            "AttachVolume": self.attach_volume,
            "DetachVolume": self.detach_volume,
            "UpdateVolume": self.update_volume,
            "AttachNetworkInterface": self.attach_network_interface,
            "DetachNetworkInterface": self.detach_network_interface,
            "Status": self.status,
            "Exec": self.exec,
        }

    def version(self, _: pb.VersionRequest) -> pb.VersionResponse:
        about = self._runtime.about()
        return pb.VersionResponse(runtime_name=about.name, runtime_version=about.version)

    def list_events(self, request: pb.ListEventsRequest) -> pb.ListEventsResponse:
        return pb.ListEventsResponse(
            events=select_events(self._runtime.events(), (RuntimeMachine,), request.filter)
        )

    def list_machines(self, request: pb.ListMachinesRequest) -> bytes:
        query = request.filter
        return self._lists.encode(self._runtime.objects(RuntimeMachine), query.id, query.label_selector)

    def create_machine(self, request: pb.CreateMachineRequest) -> pb.CreateMachineResponse:
        request_checks.require_part(request, "machine", "machine")
        request_checks.check_machine(request.machine)
        machine = self._runtime.create(freeze(RuntimeMachine, request.machine))
        return pb.CreateMachineResponse(machine=encode_machine(machine))

    def delete_machine(self, request: pb.DeleteMachineRequest) -> pb.DeleteMachineResponse:
        request_checks.require_id(request.machine_id, "machine_id")
        self._runtime.remove(RuntimeMachine, request.machine_id)
        return pb.DeleteMachineResponse()

    def update_machine_annotations(
        self, request: pb.UpdateMachineAnnotationsRequest
    ) -> pb.UpdateMachineAnnotationsResponse:
        request_checks.require_id(request.machine_id, "machine_id")
        request_checks.check_size(request, "annotations")
        request_checks.check_keys(request.annotations, "annotations")
        self._runtime.change(request.machine_id, SetAnnotations(dict(request.annotations)))
        return pb.UpdateMachineAnnotationsResponse()

    def update_machine_power(self, request: pb.UpdateMachinePowerRequest) -> pb.UpdateMachinePowerResponse:
        request_checks.require_id(request.machine_id, "machine_id")
        request_checks.check_power(request.power, "power")
        self._runtime.change(request.machine_id, SetPower(Power(request.power)))
        return pb.UpdateMachinePowerResponse()

    def attach_volume(self, request: pb.AttachVolumeRequest) -> pb.AttachVolumeResponse:
        self._runtime.change(request.machine_id, AttachVolume(decode_disk(request)))
        return pb.AttachVolumeResponse()

    def update_volume(self, request: pb.UpdateVolumeRequest) -> pb.UpdateVolumeResponse:
        self._runtime.change(request.machine_id, UpdateVolume(decode_disk(request)))
        return pb.UpdateVolumeResponse()

    def detach_volume(self, request: pb.DetachVolumeRequest) -> pb.DetachVolumeResponse:
        request_checks.require_id(request.machine_id, "machine_id")
        request_checks.require_id(request.name, "name")
        self._runtime.change(request.machine_id, DetachVolume(request.name))
        return pb.DetachVolumeResponse()

    def attach_network_interface(
        self, request: pb.AttachNetworkInterfaceRequest
    ) -> pb.AttachNetworkInterfaceResponse:
        request_checks.require_id(request.machine_id, "machine_id")
        request_checks.require_part(request, "network_interface", "network_interface")
        request_checks.check_network_interface(request.network_interface, "network_interface")
        interface = freeze(RuntimeNetworkInterface, request.network_interface)
        self._runtime.change(request.machine_id, AttachInterface(interface))
        return pb.AttachNetworkInterfaceResponse()

    def detach_network_interface(
        self, request: pb.DetachNetworkInterfaceRequest
    ) -> pb.DetachNetworkInterfaceResponse:
        request_checks.require_id(request.machine_id, "machine_id")
        request_checks.require_id(request.name, "name")
        self._runtime.change(request.machine_id, DetachInterface(request.name))
        return pb.DetachNetworkInterfaceResponse()

    def status(self, _: pb.StatusRequest) -> pb.StatusResponse:
        response = pb.StatusResponse()
        for offer in self._runtime.offers().machines:
            fill(response.machine_class_status.add(), offer)
        return response

    def exec(self, request: pb.ExecRequest) -> pb.ExecResponse:
        """The console itself is opened when the URL is used."""
        request_checks.require_id(request.machine_id, "machine_id")
        machine_id = request.machine_id
        if machine_id not in self._runtime.objects(RuntimeMachine):
            raise NotFound(f"machine {machine_id} does not exist")
        if self._consoles is None:
            raise Unimplemented("this runtime serves no consoles")
        return pb.ExecResponse(
            url=self._consoles.offer(machine_id, lambda: self._runtime.console(machine_id))
        )


def decode_disk(request: pb.AttachVolumeRequest | pb.UpdateVolumeRequest) -> Disk:
    request_checks.require_id(request.machine_id, "machine_id")
    request_checks.require_part(request, "volume", "volume")
    request_checks.check_disk(request.volume, "volume")
    return freeze(Disk, request.volume)


def encode_machine(machine: RuntimeMachine) -> pb.Machine:
    """With one deviation from the struct, for existing clients."""
    message = pb.Machine()
    fill(message, machine)
    # Existing clients fail on a whole list when one machine in it is STOPPED.
    if machine.status.state is MachineState.STOPPED:
        message.status.state = pb.MACHINE_SUSPENDED
    return message
