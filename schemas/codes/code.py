"""What a problem code says."""

from typing import NamedTuple


class Code(NamedTuple):
    title: str
    cause: str
    cure: str
