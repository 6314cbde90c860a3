"""What a runtime can answer instead of doing it. Runtimes raise these, the server maps each to a gRPC status and the
client maps each status back, so that both sides of a socket see the same exception.

    IRIError
    +-- NotFound              the object is not there, or no longer
    +-- AlreadyExists         something of that name is there
    +-- InvalidArgument       the request can never succeed: correct it
    |   +-- NetworkNotOffered     this host's operator gives no such network: another host's may
    +-- FailedPrecondition    the request cannot succeed in the object's present state
    |   +-- NetworkNotReady       a network that this host gives is not there at present
    |   +-- ImageNotResolvable    an image's name leads to no image, as far as can be told
    +-- ResourceExhausted     the host or a limit is full: elsewhere, later, or less
    +-- Unimplemented         this runtime does not do that
    +-- Unavailable           no answer worth anything: later
    |   +-- TimedOut          the answer did not come in time; the call may or may not have taken effect
    +-- Internal              a bug of the runtime

Messages are shown to people and written to logs: never put a field's value in one that could be a secret.
"""

from __future__ import annotations


class IRIError(Exception):
    """`str()` is the message for people."""


class NotFound(IRIError):
    pass


class AlreadyExists(IRIError):
    pass


class InvalidArgument(IRIError):
    pass


class NetworkNotOffered(InvalidArgument):
    pass


class FailedPrecondition(IRIError):
    pass


class NetworkNotReady(FailedPrecondition):
    pass


class ImageNotResolvable(FailedPrecondition):
    pass


class StartupError(FailedPrecondition):
    """Keeps a runtime from starting. `cure` tells the operator what to do."""

    def __init__(self, cause: str, cure: str) -> None:
        super().__init__(cause)
        self.cure = cure


class ResourceExhausted(IRIError):
    pass


class Unimplemented(IRIError):
    pass


class Unavailable(IRIError):
    pass


class TimedOut(Unavailable):
    pass


class Internal(IRIError):
    pass
