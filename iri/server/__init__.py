"""Serves any runtime over the runtime interface. `Server` is the door; the other modules are a service each."""

from iri.server.server import ExtraService, Server, Service

__all__ = ["ExtraService", "Server", "Service"]
