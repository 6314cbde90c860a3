"""Serves any runtime over the runtime interface.

A call passes through these modules in this order:

    server, listening_socket     a socket with the right mode, limits, health, and an orderly stop
    call_handlers                bytes -> request; afterwards response or error -> bytes
    request_checks               what is wrong with a request, whatever the runtime
    object_services, host_service      one function per call -> a method of Runtime
    list_encoder                 objects -> an encoded list, unchanged objects encoded once

Limits: knows the Runtime protocol and never which runtime it serves. Must not import the client.
"""

from iri.server.server import Server

__all__ = ["Server"]
