"""What a runtime's refusal to create an object is about: a network, an image, or the object as a whole. Pure.

gitvirt's own runtimes say so by the class of the error. Other runtimes have only a message; if the message quotes the name of one of
the object's networks or images, the error is classified as if the runtime had said so. So the reason that people read does
not depend on the runtime.

This is the one exception to the rule that no program reads a message which was written for people (`is_quoted` says why). Its bound:
it chooses which condition shows an error, and under which reason. Errors that reject an assignment (REJECTING) are never classified
by their text, and no removal and no pause between tries looks at the result.

Must never happen: a text makes an error one that rejects, or keeps it from being one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from iri.errors import ImageNotResolvable, NetworkNotReady
from iri.machine import RuntimeMachine
from iri.runtime import RuntimeObject
from iri.volume import RuntimeVolume
from poollet.decide.actions import CallError

NETWORK_NOT_READY, IMAGE_NOT_RESOLVABLE = NetworkNotReady.__name__, ImageNotResolvable.__name__
# Classified by the runtime itself, whatever its message quotes.
CLASSIFIED = frozenset((NETWORK_NOT_READY, IMAGE_NOT_RESOLVABLE))
# Never classified otherwise: the runtime did not look at the object, or refuses it for certain.
UNAMBIGUOUS = frozenset(
    ("Unavailable", "TimedOut", "ResourceExhausted", "Unimplemented", "NetworkNotOffered", "InvalidArgument")
)
# This host refuses the object; another host may take it.
REJECTING = frozenset(("ResourceExhausted", "InvalidArgument", "NetworkNotOffered", "Unimplemented"))


class CreateErrors(NamedTuple):
    """Why the object is not created yet, by what has to be fixed."""

    networks: tuple[CallError, ...] = ()
    images: tuple[CallError, ...] = ()
    others: tuple[CallError, ...] = ()

    @property
    def rejections(self) -> tuple[CallError, ...]:
        """Errors for which the assignment is rejected, so that another host is tried."""
        return tuple(error for error in self.others if error.code in REJECTING)


NO_ERRORS = CreateErrors()


def group_errors(errors: Iterable[CallError], desired: RuntimeObject) -> CreateErrors:
    """The errors of a creation by what has to be fixed: the networks, the images, or something else."""
    found = tuple(classify_error(error, desired) for error in errors)
    return CreateErrors(
        networks=tuple(one for one in found if one.code == NETWORK_NOT_READY),
        images=tuple(one for one in found if one.code == IMAGE_NOT_RESOLVABLE),
        others=tuple(one for one in found if one.code not in CLASSIFIED),
    )


def classify_error(error: CallError, desired: RuntimeObject) -> CallError:
    """By the error's code if that is unambiguous, else by the first name of `desired` that its message quotes, images first."""
    if error.code in UNAMBIGUOUS or error.code in CLASSIFIED:
        return error
    if any(is_quoted(image, error.message) for image in list_images(desired)):
        return error._replace(code=IMAGE_NOT_RESOLVABLE)
    if any(is_quoted(id, error.message) for id in list_networks(desired)):
        return error._replace(code=NETWORK_NOT_READY)
    return error


def list_images(desired: RuntimeObject) -> Iterable[str]:
    """Every image that the runtime has to find to create the object."""
    match desired:
        case RuntimeMachine():
            disks = (disk.local_disk for disk in desired.spec.volumes)
            return [disk.image.image for disk in disks if disk is not None and disk.image is not None]
        case RuntimeVolume():
            source = desired.spec.volume_data_source
            image = source.image_data_source if source is not None else None
            return [image.image] if image is not None else []
        case _:
            return []


def list_networks(desired: RuntimeObject) -> Iterable[str]:
    """By the id that was sent, and by the name that the host itself uses."""
    if not isinstance(desired, RuntimeMachine):
        return []
    ids = [interface.network_id for interface in desired.spec.network_interfaces]
    return [*ids, *(name for id in ids if (name := id.partition(":")[2]))]


def is_quoted(name: str, message: str) -> bool:
    """As a whole word, so that `lan` is not found in `vlan2`.

    The exception to "no program reads a message": the runtimes of others answer with a gRPC status that has no field for what was
    missing, so their text is all there is. Only names that we sent are looked for, never the wording. A wrong answer shows a person
    the error under the wrong condition, with its full text; it changes no rejection and no removal.
    """
    return name != "" and re.search(rf"(?<![\w./:-]){re.escape(name)}(?![\w/-])", message) is not None
