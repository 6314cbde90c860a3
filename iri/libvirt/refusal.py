"""What keeps the runtime from starting, for the person who has to mend it."""

from __future__ import annotations

from iri.errors import FailedPrecondition


class NotStarted(FailedPrecondition):
    """`cure` says what to do."""

    def __init__(self, cause: str, cure: str) -> None:
        super().__init__(cause)
        self.cure = cure
