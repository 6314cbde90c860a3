"""volume.v1alpha1.VolumeRuntime over any runtime: one method per call, as in machine_service."""

from __future__ import annotations

from iri.change import ExpandVolume
from iri.proto.volume.v1alpha1 import api_pb2 as pb
from iri.runtime import Runtime
from iri.server import request_checks
from iri.server.call_handlers import Call
from iri.server.list_encoder import ListEncoder
from iri.volume import Resources, RuntimeSnapshot, RuntimeVolume
from iri.wire.events import select_events
from iri.wire.message_codec import fill, freeze


class VolumeService:
    """Thread-safe, as the runtime is."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._volumes = ListEncoder(RuntimeVolume, encode_volume)
        self._snapshots = ListEncoder(RuntimeSnapshot, encode_snapshot)

    def list_calls(self) -> dict[str, Call]:
        return {
            "Version": self.version,
            "ListEvents": self.list_events,
            "ListVolumes": self.list_volumes,
            "CreateVolume": self.create_volume,
            "ExpandVolume": self.expand_volume,
            "DeleteVolume": self.delete_volume,
            "CreateVolumeSnapshot": self.create_volume_snapshot,
            "DeleteVolumeSnapshot": self.delete_volume_snapshot,
            "ListVolumeSnapshots": self.list_volume_snapshots,
            "Status": self.status,
        }

    def version(self, _: pb.VersionRequest) -> pb.VersionResponse:
        about = self._runtime.about()
        return pb.VersionResponse(runtime_name=about.name, runtime_version=about.version)

    def list_events(self, request: pb.ListEventsRequest) -> pb.ListEventsResponse:
        """Of volumes and snapshots: snapshots have no service of their own."""
        return pb.ListEventsResponse(
            events=select_events(self._runtime.events(), (RuntimeVolume, RuntimeSnapshot), request.filter)
        )

    def list_volumes(self, request: pb.ListVolumesRequest) -> bytes:
        query = request.filter
        return self._volumes.encode(self._runtime.objects(RuntimeVolume), query.id, query.label_selector)

    def create_volume(self, request: pb.CreateVolumeRequest) -> pb.CreateVolumeResponse:
        request_checks.require_part(request, "volume", "volume")
        request_checks.check_volume(request.volume)
        volume = self._runtime.create(freeze(RuntimeVolume, request.volume))
        return pb.CreateVolumeResponse(volume=encode_volume(volume))

    def expand_volume(self, request: pb.ExpandVolumeRequest) -> pb.ExpandVolumeResponse:
        request_checks.require_id(request.volume_id, "volume_id")
        request_checks.require_part(request, "resources", "resources")
        request_checks.check_storage(request.resources, "resources")
        self._runtime.change(request.volume_id, ExpandVolume(freeze(Resources, request.resources)))
        return pb.ExpandVolumeResponse()

    def delete_volume(self, request: pb.DeleteVolumeRequest) -> pb.DeleteVolumeResponse:
        request_checks.require_id(request.volume_id, "volume_id")
        self._runtime.remove(RuntimeVolume, request.volume_id)
        return pb.DeleteVolumeResponse()

    def create_volume_snapshot(
        self, request: pb.CreateVolumeSnapshotRequest
    ) -> pb.CreateVolumeSnapshotResponse:
        request_checks.require_part(request, "volume_snapshot", "volume_snapshot")
        request_checks.check_snapshot(request.volume_snapshot)
        snapshot = self._runtime.create(freeze(RuntimeSnapshot, request.volume_snapshot))
        return pb.CreateVolumeSnapshotResponse(volume_snapshot=encode_snapshot(snapshot))

    def delete_volume_snapshot(
        self, request: pb.DeleteVolumeSnapshotRequest
    ) -> pb.DeleteVolumeSnapshotResponse:
        request_checks.require_id(request.volume_snapshot_id, "volume_snapshot_id")
        self._runtime.remove(RuntimeSnapshot, request.volume_snapshot_id)
        return pb.DeleteVolumeSnapshotResponse()

    def list_volume_snapshots(self, request: pb.ListVolumeSnapshotsRequest) -> bytes:
        query = request.filter
        return self._snapshots.encode(self._runtime.objects(RuntimeSnapshot), query.id, query.label_selector)

    def status(self, _: pb.StatusRequest) -> pb.StatusResponse:
        response = pb.StatusResponse()
        for offer in self._runtime.offers().volumes:
            fill(response.volume_class_status.add(), offer)
        return response


def encode_volume(volume: RuntimeVolume) -> pb.Volume:
    message = pb.Volume()
    fill(message, volume)
    return message


def encode_snapshot(snapshot: RuntimeSnapshot) -> pb.VolumeSnapshot:
    message = pb.VolumeSnapshot()
    fill(message, snapshot)
    return message
