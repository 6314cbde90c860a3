"""Who has to be able to read a Secret: the hosts where what needs it may be placed, by pins, selectors and the pools of gitvirt.yaml.

A machine needs the Secrets that it names, on the host where it runs. A volume needs its own on the host that stores it, and on those of the
machines that attach it. Taints, cordons, classes and room do not count: they change by the hour, and a key cannot be taken back.

    the object                        pools of a host that are declared    a host without a declared pool of the kind
    pinned to a pool                  that pool's host                     the host that the name of the pool belongs to
    selects by labels                 pools with these labels              unknown: its labels are in no file
    neither                           every pool                           machines: yes. Volumes: yes if it lists volumePools, else unknown

What hosts announced counts as declared, where the newest is known. What was announced before (`is_old`) adds hosts and takes none away: a host
with such a pool stays unknown where its labels do not match.

Where pools are `declared`, a host without a declared pool has none. A host that is unknown is neither missing nor one too many.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from schemas.kinds import Key, Kind
from schemas.model import Machine, Volume
from schemas.settings.secret_keys import SecretKeys
from schemas.validate.references import references
from schemas.validate.tree import AnyDeclaration, Name, Tree

PoolLabels = Mapping[tuple[Kind, str], Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class PossibleHosts:
    """`known` may get the object; of `unknown` that cannot be said."""

    known: frozenset[str] = frozenset()
    unknown: frozenset[str] = frozenset()

    def __or__(self, other: PossibleHosts) -> PossibleHosts:
        known = self.known | other.known
        return PossibleHosts(known, (self.unknown | other.unknown) - known)


@dataclass(slots=True)
class SecretUse:
    """What needs a Secret, and where that may be. A volume keeps its passphrase: another value does not change it."""

    consumers: dict[Key, AnyDeclaration] = field(default_factory=dict)
    hosts: PossibleHosts = field(default_factory=PossibleHosts)
    has_passphrase: bool = False

    def add(self, consumer: AnyDeclaration, hosts: PossibleHosts) -> None:
        self.consumers[consumer.key] = consumer
        self.hosts = self.hosts | hosts


@dataclass
class _Placing:
    """The hosts for each pin and selector, each computed once."""

    keys: SecretKeys
    labels: PoolLabels
    old: Collection[tuple[Kind, str]]  # pools that were announced once
    has_open_pools: bool
    cache: dict[tuple[Kind, str, tuple[tuple[str, str], ...]], PossibleHosts] = field(default_factory=dict)

    def hosts(self, kind: Kind, pin: str, selector: Mapping[str, str]) -> PossibleHosts:
        question = (kind, pin, tuple(sorted(selector.items())))
        if question not in self.cache:
            self.cache[question] = self._find(*question)
        return self.cache[question]

    def _find(self, kind: Kind, pin: str, selector: tuple[tuple[str, str], ...]) -> PossibleHosts:
        owners = self.keys.pools if kind is Kind.MACHINE_POOL else self.keys.volume_pools
        if pin:
            owner = owners.owner(pin)
            return PossibleHosts(frozenset((owner,)) if owner else frozenset())
        declared = {name: labels for (of, name), labels in self.labels.items() if of is kind}
        by_pool = {name: owners.owner(name) for name in declared}
        known = {
            by_pool[name]
            for name, labels in declared.items()
            if all(labels.get(key) == value for key, value in selector)
        }
        declaring = {owner for name, owner in by_pool.items() if (kind, name) not in self.old}
        silent = set(self.keys.hosts) - declaring if self.has_open_pools else set()
        unknown = silent if selector else set()
        if not selector and kind is Kind.VOLUME_POOL:
            unknown = silent - self.keys.lists_volume_pools
        return PossibleHosts(frozenset((known | (silent - unknown)) - {""}), frozenset(unknown - known))


def find_secret_uses(
    tree: Tree,
    keys: SecretKeys,
    has_open_pools: bool,
    announced: PoolLabels | None = None,
    *,
    is_old: bool = False,
) -> dict[Name, SecretUse]:
    """By namespace and name of the Secret. `announced` are labels of pools that hosts announce, where a reader of `live` knows them; `is_old`
    where that may be of another day."""
    labels: dict[tuple[Kind, str], Mapping[str, str]] = dict(announced or {})
    for kind in (Kind.MACHINE_POOL, Kind.VOLUME_POOL):
        for (_, name), pool in tree.by_kind[kind].items():
            labels[kind, name] = {**labels.get((kind, name), {}), **pool.object.metadata.labels}
    declared = {
        (kind, name) for kind in (Kind.MACHINE_POOL, Kind.VOLUME_POOL) for _, name in tree.by_kind[kind]
    }
    old = labels.keys() - declared if is_old else frozenset()
    placing = _Placing(keys, labels, old, has_open_pools)
    uses: dict[Name, SecretUse] = defaultdict(SecretUse)
    for secret, consumer, hosts in _needs(tree, placing):
        uses[secret].add(consumer, hosts)
    for source in tree.volume_sources:
        if source.spec.encryption is not None:
            uses[source.entry.key.namespace, source.spec.encryption.secret_ref.name].has_passphrase = True
    return dict(uses)


def _needs(tree: Tree, placing: _Placing) -> Iterator[tuple[Name, AnyDeclaration, PossibleHosts]]:
    users: dict[Name, list[AnyDeclaration]] = defaultdict(list)
    for machine in tree.of(Machine).values():
        hosts = machine_hosts(machine.object, placing)
        for reference in references(machine):
            if reference.kind is Kind.SECRET:
                yield (reference.namespace, reference.name), machine, hosts
        for entry in machine.object.spec.volumes:
            if entry.volume_ref is not None:
                users[machine.key.namespace, entry.volume_ref.name].append(machine)
    for source in tree.volume_sources:
        if source.spec.encryption is None:
            continue
        namespace = source.entry.key.namespace
        secret = (namespace, source.spec.encryption.secret_ref.name)
        pin = source.spec.volume_pool_ref.name if source.spec.volume_pool_ref else ""
        yield secret, source.entry, placing.hosts(Kind.VOLUME_POOL, pin, source.spec.volume_pool_selector)
        if isinstance(source.entry.object, Volume):
            for user in users[namespace, source.name]:
                yield secret, user, machine_hosts(user.object, placing)


def machine_hosts(machine: object, placing: _Placing) -> PossibleHosts:
    assert isinstance(machine, Machine)
    pin = machine.spec.machine_pool_ref.name if machine.spec.machine_pool_ref else ""
    return placing.hosts(Kind.MACHINE_POOL, pin, machine.spec.machine_pool_selector)


def consumer_keys(use: SecretUse) -> list[Key]:
    return sorted(use.consumers)
