"""The gRPC side of the agent: lists of the runtimes in, calls out."""
