"""Refuses calls that need a network or an image file which the profile calls unavailable.

Only what a real host knows at once is refused here. An image that has to be pulled is found missing later: the machine
or the volume is created and says so in a condition.
"""

from __future__ import annotations

from collections.abc import Iterable

from iri.errors import ImageNotResolvable, Internal, NetworkNotReady
from iri.machine import RuntimeNetworkInterface
from iri.simulated.host import SimulatedHost


def refuse_networks(host: SimulatedHost, interfaces: Iterable[RuntimeNetworkInterface]) -> None:
    """NetworkNotReady for the first network that is unavailable."""
    for interface in interfaces:
        if interface.network_id in host.profile.unavailable_networks:
            error = Internal if host.model.quirks.gives_no_reasons else NetworkNotReady
            raise error(
                f"network {interface.network_id!r} does not exist: take it out of the profile's unavailable_networks"
            )


def refuse_images(host: SimulatedHost, images: Iterable[str]) -> None:
    """ImageNotResolvable for the first image that is an unavailable file."""
    for image in images:
        if image.startswith("/") and image in host.profile.unavailable_images:
            error = Internal if host.model.quirks.gives_no_reasons else ImageNotResolvable
            raise error(f"image {image} does not exist: take it out of the profile's unavailable_images")
