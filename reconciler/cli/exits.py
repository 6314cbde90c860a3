"""The exit codes that all verbs share. They are a public contract: scripts and CI read them."""

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
    """A failure that a person can act on: one line of cause, one of cure, never a traceback."""

    def __init__(self, cause: str, cure: str = "", exit_code: Exit = Exit.FAILED) -> None:
        super().__init__(cause)
        self.cause = cause
        self.cure = cure
        self.exit_code = exit_code
