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
    """The object does not exist. A caller that wants it gone is done."""


class AlreadyExists(IRIError):
    """An object with that name exists; the caller may use that one."""


class InvalidArgument(IRIError):
    """No retry of the same request can succeed, whatever the state of the host."""


class NetworkNotOffered(InvalidArgument):
    """The operator did not set up this network on this host: another host may have it."""


class FailedPrecondition(IRIError):
    """The same request may succeed once the object or the host is in another state."""


class NetworkNotReady(FailedPrecondition):
    """The operator set up this network, and its bridge or its libvirt network does not exist now."""


class ImageNotResolvable(FailedPrecondition):
    """No image has this name; a registry may still get one."""


class StartupError(FailedPrecondition):
    """Keeps a runtime from starting. `cure` tells the operator what to do."""

    def __init__(self, cause: str, cure: str) -> None:
        super().__init__(cause)
        self.cure = cure


class ResourceExhausted(IRIError):
    """The host or a limit is full; the message names each resource that is short."""


class Unimplemented(IRIError):
    """This runtime never supports the call, so a retry is useless."""


class Unavailable(IRIError):
    """There is no usable answer; the same call may succeed later."""


class TimedOut(Unavailable):
    """No answer came in time. The call may have taken effect: only idempotent calls are safe to repeat."""


class Internal(IRIError):
    """A bug of the runtime; its log has the stack, which never travels."""
