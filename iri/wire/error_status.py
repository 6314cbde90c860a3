"""The one place where our errors become gRPC statuses, and back.

A status has few codes, and several of our errors share one. The more precise error travels beside the code, as a
google.rpc.ErrorInfo with a reason, which other clients may read or ignore:

    error in -> code + message (+ details with a reason) -> the same error class out

Without details, or with those of another domain, the code decides: a foreign runtime's error becomes the class that
says what a caller should do next. A reason never widens an error: it counts only if its class is one of the code's.
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
ERRORS_BY_CODE: dict[grpc.StatusCode, type[IRIError]] = {
    **{code: error for error, code in CODES.items()},
    # Statuses that our runtimes never send, by what a caller should do about them.
    grpc.StatusCode.OUT_OF_RANGE: InvalidArgument,
    grpc.StatusCode.ABORTED: Unavailable,
    grpc.StatusCode.CANCELLED: Unavailable,
    grpc.StatusCode.PERMISSION_DENIED: FailedPrecondition,
    grpc.StatusCode.UNAUTHENTICATED: FailedPrecondition,
    grpc.StatusCode.DATA_LOSS: Internal,
    grpc.StatusCode.UNKNOWN: Internal,
}
REASONS: dict[type[IRIError], str] = {
    NetworkNotReady: "NETWORK_NOT_READY",
    NetworkNotOffered: "NETWORK_NOT_OFFERED",
    ImageNotResolvable: "IMAGE_NOT_RESOLVABLE",
}
ERRORS_BY_REASON: dict[str, type[IRIError]] = {reason: error for error, reason in REASONS.items()}


def status_code(error: IRIError) -> grpc.StatusCode:
    """The code of the nearest class of the error that has one."""
    return next(CODES[kind] for kind in type(error).__mro__ if kind in CODES)


def encode_details(error: IRIError, message: str) -> bytes | None:
    """The value of the trailer `DETAILS`; None when the code alone tells the error."""
    reason = next((REASONS[kind] for kind in type(error).__mro__ if kind in REASONS), None)
    if reason is None:
        return None
    number: int = status_code(error).value[0]
    status = Status(code=number, message=message)
    info = ErrorInfo(reason=reason, domain=DOMAIN)
    status.details.add(type_url=ERROR_INFO, value=info.SerializeToString())
    return status.SerializeToString()


def decode_error(code: grpc.StatusCode, message: str, details: bytes = b"") -> IRIError:
    """The error to raise for a status."""
    kind = ERRORS_BY_CODE.get(code, Internal)
    precise = decode_details(details)
    return (precise if precise is not None and issubclass(precise, kind) else kind)(message)


def decode_details(details: bytes) -> type[IRIError] | None:
    """The class that the details name. None without details, and for those of another domain or a newer runtime."""
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
