"""Problems of a repo that a person has to fix. Each error has the cause, the cure and a problem code.

A conflict or a missing network is not here: those are outcomes, values that the caller expects.

The tree is flat, since no caller tells these apart but by code: a verb prints cause and cure and ends, the loop makes a Failed of them. The one
exception is DamageError, which the store answers by a thorough check of the mirror before its next fetch.

A new error needs an entry in docs/problems.md under its code, and texts that were cleaned of credentials where they quote git or a server.
"""

from __future__ import annotations


class RepoError(Exception):
    """`code` is explained in docs/problems.md; neither text ever holds a credential."""

    code = "GV800"

    def __init__(self, cause: str, cure: str = "") -> None:
        super().__init__(cause)
        self.cause = cause
        self.cure = cure


class NotARepoError(RepoError):
    code = "GV801"


class UnknownRevisionError(RepoError):
    code = "GV802"


class OwnershipError(RepoError):
    code = "GV803"


class FormatError(RepoError):
    code = "GV804"


class MalformedError(RepoError):
    """An object whose content fits its id, but is not what Git defines: it was written that way."""

    code = "GV808"


class DamageError(RepoError):
    """An object that must be there is missing, or is not what its name says."""

    code = "GV805"


class NotACommitError(RepoError):
    code = "GV806"


class TooLargeError(RepoError):
    """More than its reader allows, found out before it was read."""

    code = "GV809"


class InUseError(RepoError):
    code = "GV807"
