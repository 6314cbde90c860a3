"""The exit codes that all verbs share, and the error that carries one. They are a public contract: scripts and CI
read them.

A code may be added, but never gets another meaning. What is not in the list (137, 141, 143 and the like) is 128 and
the signal that ended the process. Imports nothing of ours, so that any module can raise the error.
"""

from enum import IntEnum


class Exit(IntEnum):
    OK = 0
    FAILED = 1  # could not do it: network, Git, runtime
    USAGE = 2
    PROBLEMS = 3  # found in manifests
    CHANGES = 4  # pending (plan --exit-code)
    UNPLACEABLE = 5
    TIMED_OUT = 6


class CommandError(Exception):
    """A failure that a person can act on: one line of cause, one of cure, never a traceback.

    `cause` names the subject and the value, `cure` is an instruction or a command to type. Neither has a final
    stop, a line break or a secret. Code below the CLI raises errors of its own; they become this one in the verb,
    once.
    """

    def __init__(self, cause: str, cure: str = "", exit_code: Exit = Exit.FAILED) -> None:
        super().__init__(cause)
        self.cause = cause
        self.cure = cure
        self.exit_code = exit_code
