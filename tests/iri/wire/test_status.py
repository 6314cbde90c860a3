"""Every error has a status and every status an error."""

from __future__ import annotations

import grpc
import pytest

from iri.errors import Internal, IRIError, TimedOut, Unavailable
from iri.wire.status import CODES, code_of, error_of


@pytest.mark.parametrize("kind", CODES, ids=lambda kind: kind.__name__)
def test_error_crosses_the_wire_as_itself(kind: type[IRIError]) -> None:
    error = error_of(code_of(kind("words")), "words")
    assert type(error) is kind
    assert str(error) == "words"


@pytest.mark.parametrize("code", [code for code in grpc.StatusCode if code is not grpc.StatusCode.OK])
def test_every_status_is_an_error(code: grpc.StatusCode) -> None:
    assert isinstance(error_of(code, "words"), IRIError)


def test_kind_of_an_error_is_sent_as_its_nearest() -> None:
    class Special(Unavailable):
        pass

    assert code_of(Special("words")) is grpc.StatusCode.UNAVAILABLE


def test_tree() -> None:
    assert issubclass(TimedOut, Unavailable)
    assert type(error_of(grpc.StatusCode.UNKNOWN, "")) is Internal
