"""All Secrets of a source with the objects that use them: who can open each, and who has to.

Where something cannot be read, it is unknown who uses a Secret. Then no access is taken away, so `is_complete` is asked before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from reconciler.gitstore.memory import MemoryObjects, MemoryRemote, MemoryTransport
from reconciler.gitstore.objects.tree import ObjectId
from reconciler.gitstore.repo import Refs, Repo
from reconciler.gitstore.store import Store
from reconciler.gitstore.worktree import revision
from reconciler.query.documents import Progress, WorkerLostError, load
from reconciler.query.ignored_paths import read_ignored_paths
from reconciler.query.inventory import read_inventory
from reconciler.query.policy import read_policy
from reconciler.query.source import ManifestSource
from schemas import live_layout
from schemas.encryption.locks import Lock, read_locks
from schemas.encryption.sealed_error import SealedError
from schemas.kinds import Kind
from schemas.model import Secret
from schemas.problem import Problem
from schemas.settings.secret_keys import SecretKeys
from schemas.validate import AnyDeclaration, Tree, files
from schemas.validate.secret_readers import ReaderReport, compare_readers
from schemas.validate.secret_uses import PoolLabels, SecretUse, find_secret_uses
from schemas.validate.secrets import is_encrypted
from schemas.validate.tree import Name


@dataclass(frozen=True)
class FleetSecrets:
    """`problems` are those of gitvirt.yaml; `keys` is None where it cannot be used."""

    tree: Tree
    keys: SecretKeys | None
    uses: Mapping[Name, SecretUse]
    problems: tuple[Problem, ...]
    allows_plain: bool = False

    @property
    def is_complete(self) -> bool:
        """Whether every object that may use a Secret was read."""
        return not self.tree.invalid and not self.tree.unreadable

    @property
    def secrets(self) -> Mapping[Name, AnyDeclaration]:
        """By namespace and name, in order."""
        found: dict[Name, AnyDeclaration] = self.tree.by_kind[Kind.SECRET]
        return dict(sorted(found.items()))

    def use(self, name: Name) -> SecretUse:
        return self.uses.get(name) or SecretUse()

    def compare(self, name: Name, locks: tuple[Lock, ...]) -> ReaderReport:
        """Who can open it, against who has to."""
        assert self.keys is not None, "the settings were checked"
        return compare_readers(locks, self.use(name), self.keys)


def read_fleet_secrets(
    source: ManifestSource,
    branch: str,
    progress: Progress,
    announced: PoolLabels | None = None,
    *,
    is_old: bool = False,
) -> FleetSecrets:
    """`announced` are the labels of pools that hosts announce, by `read_announced_labels`; `is_old` by `read_fetched_labels`."""
    policy, problems = read_policy(source, branch)
    is_ignored, _ = read_ignored_paths(source)
    listing = source.listing(is_ignored)
    manifests = [path for path in listing.files if files.is_declaring(path, policy)]
    try:
        loaded = load(source, manifests, policy, {}, progress)
    except WorkerLostError:
        loaded = load(source, manifests, policy, {}, progress, may_fork=False)
    tree = Tree(tuple(loaded.entries), frozenset(loaded.refused), tuple(loaded.unreadable))
    keys = policy.secret_keys
    uses = (
        find_secret_uses(tree, keys, policy.has_open_pools, announced, is_old=is_old)
        if keys is not None
        else {}
    )
    return FleetSecrets(tree, keys, uses, problems, policy.allows_plain_secrets)


def read_announced_labels(repo: Repo, target: ObjectId | None) -> PoolLabels:
    """Of pools that no file declares, as their hosts reported them to `live`."""
    return {
        (item.key.kind, item.key.name): item.object.metadata.labels
        for kind in (Kind.MACHINE_POOL, Kind.VOLUME_POOL)
        for item in read_inventory(repo, target, kind).of(kind)
        if item.path.startswith(live_layout.ANNOUNCED)
    }


def read_fetched_labels(root: Path, target: str) -> PoolLabels:
    """Of a checkout with this top: as the target branch was fetched last. Empty where it is not there. Raises RepoError for objects that
    are missing."""
    around = revision.find_checkout(root)
    if around is None or around.root not in (None, root.resolve()):
        return {}
    refs = revision.list_refs(root)
    found = refs.get(f"refs/remotes/origin/{target}") or refs.get(f"refs/heads/{target}")
    objects = MemoryObjects(MemoryRemote(fallback=revision.object_lookup(root)))
    return read_announced_labels(Store(objects, MemoryTransport(objects), Refs()), found)


def is_plain(entry: AnyDeclaration) -> bool:
    """Whether everyone can read a value of it, and none of its values is encrypted."""
    secret = entry.object
    assert isinstance(secret, Secret)
    values = [("data", value) for value in secret.data.values() if value]
    values += [("stringData", value) for value in secret.string_data.values() if value]
    return not secret.sops and bool(values) and not any(is_encrypted(field, value) for field, value in values)


def locks_of(entry: AnyDeclaration) -> tuple[Lock, ...] | SealedError:
    """Of one Secret; empty where it is in plain text."""
    secret = entry.object
    assert isinstance(secret, Secret)
    try:
        return read_locks(secret.data, secret.string_data, secret.sops)
    except SealedError as error:
        return error
