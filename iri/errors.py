"""The errors of the runtime interface, classed by what a caller does next.

Runtimes raise them, the server maps each to a gRPC status, and the client maps each status back: both sides of a socket
see the same exception.

    error                         meaning                                                next step of a caller
    IRIError
    +-- NotFound                  the object does not exist                              create it, or done
    +-- AlreadyExists             an object with that name exists                        use that one
    +-- InvalidArgument           the request can never succeed                          correct it
    |   +-- NetworkNotOffered     this host does not offer the network                   another host
    +-- FailedPrecondition        the request cannot succeed in the object's state       later
    |   +-- NetworkNotReady       an offered network does not exist at present           later
    |   +-- ImageNotResolvable    no image has this name, as far as the host can tell    correct it, or later
    +-- ResourceExhausted         the host or a limit is full                            another host, later, or less
    +-- Unimplemented             this runtime does not support the call                 do without
    +-- Unavailable               no usable answer                                       the same call, later
    |   +-- TimedOut              no answer in time; the call may have taken effect      the same call, later
    +-- Internal                  a bug of the runtime                                   report it

Must never happen: a message contains a field's value that could be a secret. Messages are shown and logged.
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
