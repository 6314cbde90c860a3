"""What the call Join asks for: a seam, so that the link knows neither Git nor tokens. `reconciler.cli.controller` implements it."""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol

import grpc

from iri.proto.gitvirt.link.v1alpha1.agent_pb2 import JoinRequest, JoinResponse
from schemas.settings.fleet import FleetSettings


class JoinRefusal(StrEnum):
    """Labels of a metric (docs/link.md)."""

    MALFORMED = "malformed"
    PROOF = "proof"
    UNSIGNED = "unsigned"
    OTHER_FLEET = "other_fleet"
    OTHER_LINK = "other_server"
    OTHER_NAME = "other_name"
    EXPIRED = "expired"
    LONG = "too_long"
    USED = "used"
    TAKEN = "name_taken"
    KEY_TAKEN = "key_taken"
    OLD_TLS = "old_tls"
    TOO_MANY = "too_many"
    FAILED = "failed"


STATUS = {
    JoinRefusal.MALFORMED: grpc.StatusCode.INVALID_ARGUMENT,
    JoinRefusal.USED: grpc.StatusCode.ALREADY_EXISTS,
    JoinRefusal.TAKEN: grpc.StatusCode.ALREADY_EXISTS,
    JoinRefusal.KEY_TAKEN: grpc.StatusCode.ALREADY_EXISTS,
    JoinRefusal.OLD_TLS: grpc.StatusCode.UNAUTHENTICATED,
    JoinRefusal.TOO_MANY: grpc.StatusCode.RESOURCE_EXHAUSTED,
    JoinRefusal.FAILED: grpc.StatusCode.FAILED_PRECONDITION,
}


class JoinRefusedError(Exception):
    """`cause` and `cure` are for the host. `detail` is for the log of this server alone: what no stranger should read. `status` is that of the
    reason, unless another one says more."""

    def __init__(
        self,
        reason: JoinRefusal,
        cause: str,
        cure: str,
        *,
        detail: str = "",
        status: grpc.StatusCode | None = None,
    ) -> None:
        super().__init__(cause)
        self.reason, self.cause, self.cure, self.detail = reason, cause, cure, detail
        self.status = status or STATUS.get(reason, grpc.StatusCode.PERMISSION_DENIED)


class JoinDesk(Protocol):
    def follow(self, settings: FleetSettings) -> None:
        """These settings are in force: a tick ended well with them. From the thread that ticks."""
        ...

    def join(self, request: JoinRequest, server: str) -> JoinResponse:
        """Proposes the host's entry, or raises JoinRefusedError. `server` is the identity of the certificate of this server. Blocks, and is
        called in a thread of its own, for one request after the other."""
        ...
