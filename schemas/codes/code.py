"""What a problem code says."""

from typing import NamedTuple


class Code(NamedTuple):
    """Title, usual cause and cure of one problem code. Each is a sentence for users, without the details of one case."""

    title: str
    cause: str
    cure: str
