"""Every error has a status, and every status has an error."""

from __future__ import annotations

import grpc
import pytest
from google.rpc.error_details_pb2 import ErrorInfo
from google.rpc.status_pb2 import Status

from iri.errors import (
    FailedPrecondition,
    Internal,
    IRIError,
    NetworkNotReady,
    TimedOut,
    Unavailable,
)
from iri.wire.error_status import CODES, REASONS, decode_error, encode_details, status_code

FAILED_PRECONDITION = grpc.StatusCode.FAILED_PRECONDITION


@pytest.mark.parametrize("kind", [*CODES, *REASONS], ids=lambda kind: kind.__name__)
def test_error_crosses_the_wire_as_itself(kind: type[IRIError]) -> None:
    error = decode_error(status_code(kind("words")), "words", encode_details(kind("words"), "words") or b"")
    assert type(error) is kind
    assert str(error) == "words"


@pytest.mark.parametrize("kind", REASONS, ids=lambda kind: kind.__name__)
def test_callers_that_know_only_codes_get_the_nearest_error(kind: type[IRIError]) -> None:
    error = decode_error(status_code(kind("words")), "words")
    assert type(error) in CODES
    assert issubclass(kind, type(error))


def read_published(reason: str, domain: str = "gitvirt.dev") -> bytes:
    status = Status(code=9, message="words")
    status.details.add().Pack(ErrorInfo(reason=reason, domain=domain, metadata={"network": "lan"}))
    return bytes(status.SerializeToString())


def test_details_are_those_of_the_published_types() -> None:
    made = encode_details(NetworkNotReady("words"), "words")
    assert made is not None
    status = Status.FromString(made)
    info = ErrorInfo()
    assert (status.code, status.message) == (9, "words")
    assert status.details[0].Unpack(info)
    assert (info.reason, info.domain) == ("NETWORK_NOT_READY", "gitvirt.dev")
    assert (
        type(decode_error(FAILED_PRECONDITION, "words", read_published("NETWORK_NOT_READY")))
        is NetworkNotReady
    )


@pytest.mark.parametrize(
    "details",
    [
        b"\xff\xff",
        read_published("NETWORK_NOT_READY", domain="example.org"),
        read_published("NEWER_THAN_THIS"),
        read_published("NETWORK_NOT_OFFERED"),  # of another code
    ],
    ids=["garbage", "of others", "newer", "of another code"],
)
def test_unknown_details_leave_the_error_to_the_code(details: bytes) -> None:
    assert type(decode_error(FAILED_PRECONDITION, "words", details)) is FailedPrecondition


def test_an_error_that_its_code_tells_fully_has_no_details() -> None:
    assert encode_details(FailedPrecondition("words"), "words") is None


@pytest.mark.parametrize("code", [code for code in grpc.StatusCode if code is not grpc.StatusCode.OK])
def test_every_status_is_an_error(code: grpc.StatusCode) -> None:
    assert isinstance(decode_error(code, "words"), IRIError)


def test_kind_of_an_error_is_sent_as_its_nearest() -> None:
    class Special(Unavailable):
        pass

    assert status_code(Special("words")) is grpc.StatusCode.UNAVAILABLE


def test_timeout_is_unavailable_and_unknown_code_is_internal() -> None:
    assert issubclass(TimedOut, Unavailable)
    assert type(decode_error(grpc.StatusCode.UNKNOWN, "")) is Internal
