"""Networks for machines: created with the first interface that needs one, removed after the last.

Theory of operation. Users are not counted here. Which networks are needed follows from the machines' specs, which `prune` gets, and
from the interfaces of running guests, which libvirt knows. So whatever a crash leaves, the next prune finds it.

    libvirt has          needed by a spec   used by a guest   step
    nothing              yes                                  define and start it (connect)
    defined, stopped     yes                no                start it (connect)
    other addresses      yes                no                stop it, define it again, start it (connect)
    other addresses      yes                yes               NetworkNotReady, until no guest uses it (connect)
    running              no                 yes               keep it (prune)
    running or stopped   no                 no                stop and undefine it (prune)

Connecting and pruning hold one lock, and prune asks for the specs while it holds the lock. Must never happen: a network is removed
between `connect` and the start of the guest that needs it; a network without our metadata is changed; a new network overlaps a
route of the host.

Limits: only networks with our metadata, and bridges with one of our names, are changed or removed. What the operator made is looked
at and never touched.
"""

from __future__ import annotations

import ipaddress
import logging
import threading
from collections.abc import Callable, Iterable
from pathlib import Path

from iri.errors import (
    FailedPrecondition,
    InvalidArgument,
    IRIError,
    NetworkNotReady,
    NotFound,
    ResourceExhausted,
)
from iri.libvirt import xml
from iri.libvirt.connect.networks import LibvirtNetworks
from iri.libvirt.device_sources import BridgeNic, NetworkNic, NicSource
from iri.libvirt.networks import stale_bridges
from iri.libvirt.networks.host_routes import TABLE, overlapping_route
from iri.libvirt.networks.interface_request import InterfaceRequest, isolated_identity, parse_request
from iri.libvirt.networks.isolated_network import IsolatedNetwork
from iri.libvirt.networks.network_policy import NetworkPolicy
from iri.libvirt.networks.network_xml import ObservedNetwork, parse_network, render_network
from iri.machine import RuntimeNetworkInterface

log = logging.getLogger(__name__)
DesiredInterfaces = Callable[[], Iterable[tuple[str, RuntimeNetworkInterface]]]


def host_routes() -> str:
    """The kernel's routing table, in the network namespace of this process."""
    return Path(TABLE).read_text(encoding="ascii")


class Networks:
    """Thread-safe. `routes` gives the kernel's routing table as text."""

    def __init__(
        self, store: LibvirtNetworks, policy: NetworkPolicy, routes: Callable[[], str] = host_routes
    ) -> None:
        self._store = store
        self._policy = policy
        self._routes = routes
        self._lock = threading.Lock()
        self._suspects = stale_bridges.StaleBridges()

    def require(self, machine_id: str, interface: RuntimeNetworkInterface) -> None:
        """Changes nothing. Raises InvalidArgument for what this host does not allow, with the setting that would, and
        NetworkNotReady while a network of the operator is missing or stopped."""
        where = parse_request(machine_id, interface, self._policy).where
        # A network on demand is created when it is needed, and libvirt reports a missing bridge then.
        if isinstance(where, NetworkNic):
            self._require(where.network)

    def connect(self, machine_id: str, interface: RuntimeNetworkInterface) -> NicSource:
        """Creates the network and its reservations if needed. Idempotent. NetworkNotReady and Unavailable are worth a retry."""
        request = parse_request(machine_id, interface, self._policy)
        where = request.where
        match where:
            case NetworkNic(network=name):
                self._require(name)
            case BridgeNic():
                pass  # libvirt reports a missing bridge when the guest starts
            case IsolatedNetwork() as network:
                with self._lock:
                    self._ensure_ready(network)
                    self._reserve(network.name, request)
                where = NetworkNic(network=network.name)
        return NicSource(where=where, mac=request.mac)

    def prune(self, desired: DesiredInterfaces) -> None:
        """Removes networks and reservations that no interface needs. Asks for all interfaces while nothing can be connected."""
        with self._lock:
            interfaces = tuple(desired())
            needed = _needed_reservations(interfaces, self._policy)
            networks = self._store.all()
            for bridge in self._suspects.confirm(each.bridge for each in networks if each.is_active):
                stale_bridges.remove(bridge)
            for network in networks:
                # libvirt's count of users stays too high when a guest ends while libvirtd is away.
                if not network.identity or (network.users and self._store.is_used(network.name)):
                    continue
                reservations = needed.get(network.identity)
                try:
                    if network.identity not in needed:
                        self._remove(network)
                    elif reservations is not None:
                        self._release_reservations(network, reservations)
                except NotFound:
                    continue  # it is gone already
                except IRIError as error:
                    log.warning("cannot remove network name=%s error=%s", network.name, error)

    def _require(self, name: str) -> None:
        """Says which of the two is wrong, because their cures differ."""
        network = self._store.find(name)
        if network is None:
            raise NetworkNotReady(
                f"the host has no libvirt network {name!r}; its operator must define it (virsh net-define, net-start)"
            )
        if not network.is_active:
            raise NetworkNotReady(
                f"the host's libvirt network {name!r} is stopped; its operator must start it (virsh net-start {name})"
            )

    def _ensure_ready(self, network: IsolatedNetwork) -> None:
        """Every obstacle is one of the host's present state: NetworkNotReady, which is retried."""
        try:
            self._ensure(network)
        except FailedPrecondition as error:
            raise NetworkNotReady(f"network {network.identity}: {error}") from error

    def _ensure(self, network: IsolatedNetwork) -> None:
        """The rows of the table above. FailedPrecondition while the network cannot change."""
        observed = self._store.find(network.name)
        if observed is not None and observed.uuid != network.uuid:
            raise FailedPrecondition(
                f"the host has another libvirt network {network.name}: remove or rename it"
            )
        document = render_network(network)
        if observed is None:
            self._create(network, xml.text(document))
        elif observed.shape != parse_network(document, is_active=False).shape:
            if observed.users:
                raise FailedPrecondition(
                    f"network {network.identity} is in use with other addresses ({', '.join(observed.shape)});"
                    " the change is made once no guest uses it"
                )
            self._store.stop(network.name)
            self._create(network, xml.text(document))
        elif not observed.is_active:
            self._start(network)

    def _create(self, network: IsolatedNetwork, document: str) -> None:
        """Removes the definition again when the network does not start, so that the next attempt starts from nothing."""
        self._refuse_overlap(network)
        self._store.define(document)
        try:
            self._start(network)
        except IRIError:
            self._store.undefine(network.name)
            raise
        log.info("created network name=%s bridge=%s", network.name, network.bridge)

    def _start(self, network: IsolatedNetwork) -> None:
        """Removes a bridge of that name which a killed libvirtd left, and tries once more."""
        try:
            self._store.start(network.name)
        except FailedPrecondition as error:
            if "File exists" not in str(error) or not stale_bridges.remove(network.bridge):
                raise
            self._store.start(network.name)

    def _refuse_overlap(self, network: IsolatedNetwork) -> None:
        """Checked when the network is created, because routes of the host change."""
        others = [other for other in self._store.all() if other.identity and other.name != network.name]
        if len(others) >= self._policy.on_demand.most:
            raise ResourceExhausted(
                f"the host has {len(others)} isolated networks, the limit set by networks.onDemand.most"
            )
        if network.subnet is None:
            return
        subnet = ipaddress.IPv4Network(network.subnet.network)
        for other in others:
            if any(subnet.overlaps(taken) for taken in other.subnets):
                raise FailedPrecondition(
                    f"{subnet} overlaps the addresses of {other.identity} on this host: choose another cidr"
                )
        route = overlapping_route(str(subnet), self._routes(), network.bridge)
        if route is not None:
            raise FailedPrecondition(
                f"{subnet} overlaps {route.network}, which this host reaches through {route.device}: choose another cidr"
            )

    def _reserve(self, name: str, request: InterfaceRequest) -> None:
        """A MAC address has at most one reservation: an old one is released first."""
        observed = self._store.find(name)
        known = observed.reservations if observed else frozenset()
        for mac, address in known:
            if mac == request.mac and address not in request.reserved:
                self._store.release(name, mac, address)
        for address in request.reserved:
            if (request.mac, address) not in known:
                self._store.reserve(name, request.mac, address)

    def _release_reservations(self, network: ObservedNetwork, needed: frozenset[tuple[str, str]]) -> None:
        """Those that no interface needs any more; only while no running guest uses the network."""
        for mac, address in network.reservations - needed:
            self._store.release(network.name, mac, address)

    def _remove(self, network: ObservedNetwork) -> None:
        """Only networks with our metadata come here."""
        self._store.stop(network.name)
        self._store.undefine(network.name)
        log.info("removed network name=%s", network.name)


def _needed_reservations(
    interfaces: Iterable[tuple[str, RuntimeNetworkInterface]], policy: NetworkPolicy
) -> dict[str, frozenset[tuple[str, str]] | None]:
    """The reservations to keep, by identity. None: keep all, because the policy no longer allows an interface that is connected."""
    needed: dict[str, frozenset[tuple[str, str]] | None] = {}
    for machine_id, interface in interfaces:
        identity = isolated_identity(interface.network_id)
        if not identity:
            continue
        before = needed.get(identity, frozenset())
        try:
            request = parse_request(machine_id, interface, policy)
        except InvalidArgument:
            needed[identity] = None
            continue
        if before is not None:
            needed[identity] = before | {(request.mac, address) for address in request.reserved}
    return needed
