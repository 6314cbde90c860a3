"""The one place where our errors and gRPC's statuses meet, in both directions."""

from __future__ import annotations

import grpc

from iri.errors import (
    AlreadyExists,
    FailedPrecondition,
    Internal,
    InvalidArgument,
    IRIError,
    NotFound,
    ResourceExhausted,
    TimedOut,
    Unavailable,
    Unimplemented,
)

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
FOREIGN: dict[grpc.StatusCode, type[IRIError]] = {
    grpc.StatusCode.OUT_OF_RANGE: InvalidArgument,
    grpc.StatusCode.ABORTED: Unavailable,
    grpc.StatusCode.CANCELLED: Unavailable,
    grpc.StatusCode.PERMISSION_DENIED: FailedPrecondition,
    grpc.StatusCode.UNAUTHENTICATED: FailedPrecondition,
    grpc.StatusCode.DATA_LOSS: Internal,
    grpc.StatusCode.UNKNOWN: Internal,
}
ERRORS: dict[grpc.StatusCode, type[IRIError]] = {code: error for error, code in CODES.items()} | FOREIGN


def code_of(error: IRIError) -> grpc.StatusCode:
    return next(CODES[kind] for kind in type(error).__mro__ if kind in CODES)


def error_of(code: grpc.StatusCode, message: str) -> IRIError:
    return ERRORS.get(code, Internal)(message)
