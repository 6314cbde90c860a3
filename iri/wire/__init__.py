"""Frozen structs to messages and back, without loss. Both ends of a socket use it; runtimes never need to."""

import os

# gRPC's C core writes to stderr when a server stops, which is nobody's business: what matters comes as an exception.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")
