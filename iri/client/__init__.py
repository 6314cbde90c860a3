"""Talks to a runtime over its socket. `Client` is itself a Runtime; `discover` finds the socket."""

from iri.client.client import Client
from iri.client.endpoint import MACHINE, VOLUME, Endpoint, discover

__all__ = ["MACHINE", "VOLUME", "Client", "Endpoint", "discover"]
