"""Calls a runtime over its socket. `Client` is itself a Runtime; `discover` finds the socket.

endpoint           which address: an argument, the environment, or a well-known socket
client             the methods of Runtime, each as one call
list_decoder, details           responses in -> structs, identical ones for unchanged objects
remote_watch, websocket_console      the two calls that last: notices, and a console

Limits: must not import a runtime or the server, and does not know which runtime answers.
"""

from iri.client.client import Client
from iri.client.endpoint import MACHINE, VOLUME, Endpoint, discover

__all__ = ["MACHINE", "VOLUME", "Client", "Endpoint", "discover"]
