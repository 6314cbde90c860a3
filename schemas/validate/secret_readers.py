"""Who can open an encrypted Secret and who has to: recipients that are missing, one too many, or stale. Needs no private key.

The settings and the pools of the whole tree decide, so only `gitvirt validate` asks this; the reconciler asks at each placement whether the
host of a pool can open what a machine needs (`SecretNotReadable`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from schemas.encryption.locks import Lock, read_locks
from schemas.encryption.recipients import parse_recipient, shorten
from schemas.encryption.sealed_error import SealedError
from schemas.kinds import Kind
from schemas.model import Secret
from schemas.problem import Severity
from schemas.settings.secret_keys import SecretKeys
from schemas.validate.finding import Finding, shorten_list
from schemas.validate.inputs import ValidationPolicy
from schemas.validate.secret_uses import SecretUse, consumer_keys, find_secret_uses
from schemas.validate.tree import AnyDeclaration, Tree

ADMINS = "admins"
# A volume keeps its passphrase: another value in Git does not change the volume, and does not open it.
NEW_VOLUME = (
    "declare a new volume with a new Secret for its passphrase (encryptionKey), which is not to be changed"
)
# Where no file says which hosts have a pool for what uses a Secret.
DECLARE_A_PLACE = (
    "declare a pool where it may be placed, with its labels, or pin it to one; "
    "for a volume without a selector, poollets.NAME.volumePools in gitvirt.yaml is enough"
)


@dataclass(frozen=True, slots=True)
class ReaderReport:
    """By names of hosts, and `admins`. `stale` are recipients that gitvirt.yaml does not have. `keyless` are hosts without any key."""

    missing: tuple[str, ...] = ()
    surplus: tuple[str, ...] = ()
    stale: tuple[str, ...] = ()
    keyless: tuple[str, ...] = ()
    readers: tuple[str, ...] = ()
    can_none: bool = False  # no host that may need it can open it

    @property
    def is_right(self) -> bool:
        return not (self.missing or self.surplus or self.stale)


def findings(tree: Tree, policy: ValidationPolicy) -> Iterator[Finding]:
    """GV512 to GV518, for all Secrets of the tree."""
    secrets = tree.by_kind[Kind.SECRET]
    keys = policy.secret_keys
    if keys is None or not secrets:
        return
    uses = find_secret_uses(tree, keys, policy.has_open_pools)
    for name, entry in secrets.items():
        use = uses.get(name)
        if use is None and entry.object.is_encrypted:  # in plain text it is refused, or of a test repo
            yield entry.finding(
                "GV515", "/metadata/name", "no machine and no volume uses this Secret",
                f"declare what uses it, then {_rekey_command(entry, policy)}; "
                "or remove it, and change the value where it is valid: Git keeps it", Severity.NOTICE,
            )  # fmt: skip
        yield from of_secret(entry, use or SecretUse(), keys, _rekey_command(entry, policy))
        if policy.find_tampering is not None and (fault := policy.find_tampering(entry)):
            cure = "restore the file from its history, and use `gitvirt secret edit`"
            yield entry.finding("GV518", "/sops/mac" if entry.object.sops else "", fault, cure)


def _rekey_command(entry: AnyDeclaration, policy: ValidationPolicy) -> str:
    where = "--worktree " if policy.is_checkout else ""
    return f"run `gitvirt secret rekey {where}{entry.key.namespace}/{entry.key.name}`"


def of_secret(entry: AnyDeclaration, use: SecretUse, keys: SecretKeys, command: str) -> Iterator[Finding]:
    """What is wrong with the recipients of one Secret. `command` encrypts it again."""
    secret = entry.object
    assert isinstance(secret, Secret)
    try:
        locks = read_locks(secret.data, secret.string_data, secret.sops)
    except SealedError as error:
        yield entry.finding(
            "GV517", "/sops" if secret.sops else "", f"it cannot be opened: {error}", "encrypt it again"
        )
        return
    if locks:
        yield from describe(entry, use, compare_readers(locks, use, keys), command)


def describe(entry: AnyDeclaration, use: SecretUse, found: ReaderReport, command: str) -> Iterator[Finding]:
    """The findings about one Secret: that no host can open it says more than each host by itself."""
    users = shorten_list([str(key) for key in consumer_keys(use)])
    where = "/sops/age" if isinstance(entry.object, Secret) and entry.object.sops else ""
    if found.can_none:
        first = "add poollets.NAME.age to gitvirt.yaml, then " if found.keyless else ""
        cure = f"{first}{command}"
        if not use.hosts.known:  # what hosts announced is known to the command, and not here
            cure += f"; if it finds no host, {DECLARE_A_PLACE}, and run it again"
        yield entry.finding("GV512", where, f"no host can open it for {users}{_why_none(found)}", cure)
        return
    if found.missing:
        names = shorten_list(list(found.missing))
        message = f"{names} cannot open it and may have to, for {users or 'an edit'}"
        yield entry.finding("GV512", where, message, command)
    if found.keyless:
        names = shorten_list(list(found.keyless))
        message = f"{names} has no key in gitvirt.yaml, so {users} cannot be placed there"
        cure = f"add poollets.NAME.age, then {command}"
        yield entry.finding("GV516", where, message, cure, Severity.WARNING)
    yield from _describe_readers(
        entry, where, found, f"{command}, and {NEW_VOLUME if use.has_passphrase else 'change the value'}"
    )


def _why_none(found: ReaderReport) -> str:
    """The hosts that it is about, and what they lack."""
    hosts = [name for name in (*found.keyless, *found.missing) if name != ADMINS]
    if not hosts:
        return ", because no file says which hosts have a pool for it"
    why = "no key in gitvirt.yaml" if len(found.keyless) == len(hosts) else "it is not encrypted for them"
    return f" ({shorten_list(hosts)}: {why})"


def _describe_readers(entry: AnyDeclaration, where: str, found: ReaderReport, cure: str) -> Iterator[Finding]:
    """Who can open it and does not have to."""
    if found.surplus:
        names = shorten_list(list(found.surplus))
        message = f"{names} can open it, and nothing that uses it may be placed there"
        yield entry.finding("GV513", where, message, cure, Severity.WARNING)
    if found.stale:
        names = shorten_list([shorten(one) for one in found.stale])
        message = f"whoever has the key {names} can open it, and gitvirt.yaml does not have that key"
        yield entry.finding("GV514", where, message, cure, Severity.WARNING)


def compare_readers(locks: tuple[Lock, ...], use: SecretUse, keys: SecretKeys) -> ReaderReport:
    """Who can, against who has to. What a text does not say counts as right."""
    required = sorted(use.hosts.known)
    keyless = tuple(name for name in required if not keys.hosts.get(name))
    missing = [name for name in required if keys.hosts.get(name) and not opens_all(locks, keys.hosts[name])]
    candidates = [name for name in (*required, *use.hosts.unknown) if keys.hosts.get(name)]
    can_none = bool(use.consumers) and not any(opens_all(locks, keys.hosts[name]) for name in candidates)
    if not all(lock.opens(key) is not False for key in keys.admins for lock in locks):
        missing.insert(0, ADMINS)
    listed = [parse_recipient(one) or one for lock in locks for one in lock.recipients]
    holders = {key: keys.holders.get(key) for key in dict.fromkeys(listed)}
    allowed = use.hosts.known | use.hosts.unknown | {""}
    named = {name for key, name in holders.items() if name is not None}
    tagged = {
        name
        for name, own in keys.hosts.items()
        if any(lock.tags and lock.opens_any(own) is True for lock in locks)
    }
    has_admin = any(lock.opens_any(keys.admins) is True for lock in locks)
    return ReaderReport(
        missing=tuple(missing),
        surplus=tuple(sorted((named | tagged) - allowed)),
        stale=tuple(key for key, name in holders.items() if name is None),
        keyless=keyless,
        readers=(*((ADMINS,) if has_admin else ()), *sorted((named | tagged) - {""})),
        can_none=can_none,
    )


def opens_all(locks: Collection[Lock], own: Collection[str]) -> bool:
    """Whether a host with these keys may be able to open every part."""
    return all(lock.opens_any(own) is not False for lock in locks)


def required_recipients(use: SecretUse, keys: SecretKeys, before: Collection[str] = ()) -> tuple[str, ...]:
    """Who a Secret is encrypted for: the admins, and the hosts that may need it. Of a host that is unknown, a key that could open it before
    stays."""
    hosts = {key for name in use.hosts.known for key in keys.hosts.get(name, ())}
    kept = {key for name in use.hosts.unknown for key in keys.hosts.get(name, ()) if key in before}
    return (*sorted(keys.admins), *sorted((hosts | kept) - keys.admins))
