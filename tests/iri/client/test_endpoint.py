"""Where a client looks for a runtime, and in which order."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from iri.address import TcpAddress, UnixAddress
from iri.client import MACHINE, VOLUME, Endpoint, discover
from iri.errors import InvalidArgument, Unavailable


def listening(path: Path) -> socket.socket:
    made = socket.socket(socket.AF_UNIX)
    made.bind(str(path))
    return made


@pytest.fixture
def endpoint(socket_directory: Path) -> Endpoint:
    return Endpoint("IRI_TEST", (socket_directory / "broker", socket_directory / "provider"))


def test_well_known_places() -> None:
    assert MACHINE.variable == "IRI_MACHINE_RUNTIME_ENDPOINT"
    assert VOLUME.variable == "IRI_VOLUME_RUNTIME_ENDPOINT"
    assert list(map(str, MACHINE.sockets)) == [
        "/var/run/iri-machinebroker.sock",
        "/var/run/iri-machineprovider.sock",
    ]
    assert list(map(str, VOLUME.sockets)) == [
        "/var/run/iri-volumebroker.sock",
        "/var/run/iri-volumeprovider.sock",
    ]


def test_argument_comes_before_environment_before_well_known_sockets(endpoint: Endpoint) -> None:
    with listening(endpoint.sockets[0]):
        environment = {"IRI_TEST": "unix:///from/environment"}
        assert discover(endpoint, "127.0.0.1:1", environment) == TcpAddress("127.0.0.1", 1)
        assert discover(endpoint, None, environment) == UnixAddress(Path("/from/environment"))
        assert discover(endpoint, None, {}) == UnixAddress(endpoint.sockets[0])


def test_broker_comes_before_provider(endpoint: Endpoint) -> None:
    with listening(endpoint.sockets[1]):
        assert discover(endpoint, None, {}) == UnixAddress(endpoint.sockets[1])
        with listening(endpoint.sockets[0]):
            assert discover(endpoint, None, {}) == UnixAddress(endpoint.sockets[0])


def test_plain_file_is_not_found_as_a_socket(endpoint: Endpoint) -> None:
    endpoint.sockets[0].touch()
    with pytest.raises(Unavailable, match="IRI_TEST"):
        discover(endpoint, None, {})


def test_nonsense_in_the_environment_is_refused(endpoint: Endpoint) -> None:
    with pytest.raises(InvalidArgument):
        discover(endpoint, None, {"IRI_TEST": "nonsense"})
