"""What the host is known at once not to have: networks, and images that are files of its own. Pure.

An image that has to be pulled is found missing later, and then told by a condition.
"""

from __future__ import annotations

from collections.abc import Iterable

from iri.errors import ImageNotResolvable, Internal, NetworkNotReady
from iri.machine import RuntimeNetworkInterface
from iri.simulated.host import SimulatedHost


def refuse_networks(host: SimulatedHost, interfaces: Iterable[RuntimeNetworkInterface]) -> None:
    for interface in interfaces:
        if interface.network_id in host.profile.unavailable_networks:
            error = Internal if host.nature.behaviour.gives_no_reasons else NetworkNotReady
            raise error(
                f"network {interface.network_id!r} is not there: take it out of the profile's unavailable_networks"
            )


def refuse_images(host: SimulatedHost, images: Iterable[str]) -> None:
    for image in images:
        if image.startswith("/") and image in host.profile.unavailable_images:
            error = Internal if host.nature.behaviour.gives_no_reasons else ImageNotResolvable
            raise error(f"image {image} is not there: take it out of the profile's unavailable_images")
