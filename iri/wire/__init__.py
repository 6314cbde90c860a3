"""Frozen structs to messages and back, without loss. Both ends of a socket use it; runtimes never need to."""
