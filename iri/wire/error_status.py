"""The one place where our errors and gRPC's statuses meet, in both directions.

A status has few codes. What is more precise travels beside it as google.rpc.ErrorInfo, which other callers may read or pass over.
"""

from __future__ import annotations

import grpc
from google.protobuf.message import DecodeError

from iri.errors import (
    AlreadyExists,
    FailedPrecondition,
    ImageNotResolvable,
    Internal,
    InvalidArgument,
    IRIError,
    NetworkNotOffered,
    NetworkNotReady,
    NotFound,
    ResourceExhausted,
    TimedOut,
    Unavailable,
    Unimplemented,
)
from iri.proto.gitvirt.status.v1.api_pb2 import ErrorInfo, Status

DETAILS = "grpc-status-details-bin"
DOMAIN = "gitvirt.dev"
ERROR_INFO = "type.googleapis.com/google.rpc.ErrorInfo"
CODES: dict[type[IRIError], grpc.StatusCode] = {
    NotFound: grpc.StatusCode.NOT_FOUND,
    AlreadyExists: grpc.StatusCode.ALREADY_EXISTS,
    InvalidArgument: grpc.StatusCode.INVALID_ARGUMENT,
    FailedPrecondition: grpc.StatusCode.FAILED_PRECONDITION,
    ResourceExhausted: grpc.StatusCode.RESOURCE_EXHAUSTED,
    Unimplemented: grpc.StatusCode.UNIMPLEMENTED,
    Unavailable: grpc.StatusCode.UNAVAILABLE,
    TimedOut: grpc.StatusCode.DEADLINE_EXCEEDED,
    Internal: grpc.StatusCode.INTERNAL,
}
# Statuses that our runtimes never send, by what a caller should make of them.
FOREIGN_CODES: dict[grpc.StatusCode, type[IRIError]] = {
    grpc.StatusCode.OUT_OF_RANGE: InvalidArgument,
    grpc.StatusCode.ABORTED: Unavailable,
    grpc.StatusCode.CANCELLED: Unavailable,
    grpc.StatusCode.PERMISSION_DENIED: FailedPrecondition,
    grpc.StatusCode.UNAUTHENTICATED: FailedPrecondition,
    grpc.StatusCode.DATA_LOSS: Internal,
    grpc.StatusCode.UNKNOWN: Internal,
}
ERRORS_BY_CODE: dict[grpc.StatusCode, type[IRIError]] = {
    code: error for error, code in CODES.items()
} | FOREIGN_CODES


REASONS: dict[type[IRIError], str] = {
    NetworkNotReady: "NETWORK_NOT_READY",
    NetworkNotOffered: "NETWORK_NOT_OFFERED",
    ImageNotResolvable: "IMAGE_NOT_RESOLVABLE",
}
ERRORS_BY_REASON: dict[str, type[IRIError]] = {reason: error for error, reason in REASONS.items()}


def status_code(error: IRIError) -> grpc.StatusCode:
    return next(CODES[kind] for kind in type(error).__mro__ if kind in CODES)


def encode_details(error: IRIError, message: str) -> bytes | None:
    """What the trailer `DETAILS` says of it; None when the code says all."""
    reason = next((REASONS[kind] for kind in type(error).__mro__ if kind in REASONS), None)
    if reason is None:
        return None
    number: int = status_code(error).value[0]
    status = Status(code=number, message=message)
    info = ErrorInfo(reason=reason, domain=DOMAIN)
    status.details.add(type_url=ERROR_INFO, value=info.SerializeToString())
    return status.SerializeToString()


def decode_error(code: grpc.StatusCode, message: str, details: bytes = b"") -> IRIError:
    kind = ERRORS_BY_CODE.get(code, Internal)
    precise = decode_details(details)
    return (precise if precise is not None and issubclass(precise, kind) else kind)(message)


def decode_details(details: bytes) -> type[IRIError] | None:
    """None for what is nobody's, another's, or of a newer runtime: the code stands for it then."""
    try:
        for any in Status.FromString(details).details:
            if any.type_url != ERROR_INFO:
                continue
            info = ErrorInfo.FromString(any.value)
            if info.domain == DOMAIN and info.reason in ERRORS_BY_REASON:
                return ERRORS_BY_REASON[info.reason]
    except DecodeError:
        return None
    return None
