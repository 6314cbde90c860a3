"""What a runtime's refusal to make an object is about: a network, an image, or the object as a whole. Pure.

Runtimes of ours say so by the class of the error. Others have only words, in which the name of the network or image stands: that is
taken for the same, so that people read one reason whoever runs their machines.
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
# They say themselves what it is about, whatever else their message quotes.
CLASSIFIED = frozenset((NETWORK_NOT_READY, IMAGE_NOT_RESOLVABLE))
# No answer to the wish itself, or one that says no to it for certain: never taken for anything else.
UNAMBIGUOUS = frozenset(
    ("Unavailable", "TimedOut", "ResourceExhausted", "Unimplemented", "NetworkNotOffered", "InvalidArgument")
)
# A no of this host, whatever it waits for; another one may say yes.
REJECTING = frozenset(("ResourceExhausted", "InvalidArgument", "NetworkNotOffered", "Unimplemented"))


class CreateErrors(NamedTuple):
    """Why it is not made yet, by what has to be mended."""

    networks: tuple[CallError, ...] = ()
    images: tuple[CallError, ...] = ()
    others: tuple[CallError, ...] = ()

    @property
    def rejections(self) -> tuple[CallError, ...]:
        """Those for which another host may be better."""
        return tuple(fault for fault in self.others if fault.code in REJECTING)


def group_errors(faults: Iterable[CallError], wanted: RuntimeObject) -> CreateErrors:
    found = tuple(classify_error(fault, wanted) for fault in faults)
    return CreateErrors(
        networks=tuple(one for one in found if one.code == NETWORK_NOT_READY),
        images=tuple(one for one in found if one.code == IMAGE_NOT_RESOLVABLE),
        others=tuple(one for one in found if one.code not in CLASSIFIED),
    )


def classify_error(fault: CallError, wanted: RuntimeObject) -> CallError:
    """By its code where that says it; else by the first name of `wanted` that its message quotes, images first."""
    if fault.code in UNAMBIGUOUS or fault.code in CLASSIFIED:
        return fault
    if any(is_quoted(image, fault.message) for image in list_images(wanted)):
        return fault._replace(code=IMAGE_NOT_RESOLVABLE)
    if any(is_quoted(id, fault.message) for id in list_networks(wanted)):
        return fault._replace(code=NETWORK_NOT_READY)
    return fault


def list_images(wanted: RuntimeObject) -> Iterable[str]:
    match wanted:
        case RuntimeMachine():
            disks = (disk.local_disk for disk in wanted.spec.volumes)
            return [disk.image.image for disk in disks if disk is not None and disk.image is not None]
        case RuntimeVolume():
            source = wanted.spec.volume_data_source
            image = source.image_data_source if source is not None else None
            return [image.image] if image is not None else []
        case _:
            return []


def list_networks(wanted: RuntimeObject) -> Iterable[str]:
    """As they are sent, and as the host itself calls them."""
    if not isinstance(wanted, RuntimeMachine):
        return []
    ids = [interface.network_id for interface in wanted.spec.network_interfaces]
    return [*ids, *(name for id in ids if (name := id.partition(":")[2]))]


def is_quoted(name: str, message: str) -> bool:
    """As a whole, so that `lan` is not found in `vlan2`."""
    return name != "" and re.search(rf"(?<![\w./:-]){re.escape(name)}(?![\w/-])", message) is not None
