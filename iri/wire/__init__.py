"""What both ends of a socket share: structs in -> messages out, and back. Runtimes never need it.

- message_codec    frozen structs <-> messages, by field name
- list_items       lists whose items stay encoded, so that an item seen before costs nothing
- calls            a kind or a change in -> the call and its request
- events           events <-> messages, and which of them a request selects
- error_status     our errors <-> gRPC statuses
- connection       one connection to one server (the client's side)

Limits: imports neither a runtime nor the server or the client. Decides nothing: what can be decoded is passed on, whatever it
asks for.
"""

import os

# gRPC's C core writes to stderr when a server stops; whatever matters arrives as an exception.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")
