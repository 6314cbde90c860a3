"""Images as wishes name them: whatever keeps one from being had is ImageNotResolvable, and says which one and what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from iri.errors import FailedPrecondition, ImageNotResolvable, InvalidArgument, NotFound, Unavailable
from iri.libvirt.images.http_fetch import path_of
from iri.libvirt.images.images import Images, LocalImage, Tell

LONGEST_NAME = 200
CURE = "correct its name, or have it where this host finds it"


def refuse(images: Images, text: str) -> None:
    """What is known at once, without asking any server."""
    with resolving(text):
        images.refuse(text)


def ensured(images: Images, text: str, architecture: str, tell: Tell) -> LocalImage:
    with resolving(text):
        return images.ensure(text, architecture, tell)


@contextmanager
def resolving(text: str) -> Iterator[None]:
    """A cache that is full stays ResourceExhausted: that is no fault of the name."""
    try:
        yield
    except (InvalidArgument, NotFound, FailedPrecondition, Unavailable) as error:
        # What follows the path of a URL may be the key to it.
        raise ImageNotResolvable(f"image {path_of(text)[:LONGEST_NAME]}: {error}; {CURE}") from error
