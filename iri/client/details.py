"""Machine details, which come from another service than the machines, and machines that have theirs filled in.

A merged machine is the identical one as last time as long as both of its halves are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec
from msgspec.structs import replace

from iri.client.lists import Decoded
from iri.errors import Unimplemented
from iri.machine import Machine, MachineDetail
from iri.proto.gitvirt.host.v1alpha1 import api_pb2 as pb
from iri.wire.mirror import freeze

NOTHING = MachineDetail()


class Description(msgspec.Struct, frozen=True):
    machine_id: str
    detail: MachineDetail


class Details:
    def __init__(self) -> None:
        self._known = Decoded(decode)
        self._merged: dict[str, tuple[Machine, MachineDetail, Machine]] = {}

    def decoded(self, response: bytes) -> Mapping[str, MachineDetail]:
        found = self._known.items(response, is_complete=True)
        return {description.machine_id: description.detail for description in found}

    def merged(
        self, machines: Mapping[str, Machine], describe: Callable[[], Mapping[str, MachineDetail]]
    ) -> Mapping[str, Machine]:
        try:
            details = describe() if machines else {}
        except Unimplemented:
            return machines
        known, fresh = self._merged, {}
        for id, machine in machines.items():
            detail = details.get(id, NOTHING)
            before = known.get(id)
            if before is None or before[0] is not machine or before[1] is not detail:
                before = machine, detail, replace(machine, detail=detail)
            fresh[id] = before
        self._merged = fresh
        return {id: parts[2] for id, parts in fresh.items()}


def decode(data: bytes) -> Description:
    message = pb.MachineDescription.FromString(data)
    return Description(message.machine_id, freeze(MachineDetail, message))
