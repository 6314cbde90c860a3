"""gitvirt.yaml: the settings of a fleet, in its repository.

They apply as of the last reconciled source commit. So a commit cannot loosen the limits, signers or owners by which it is
itself judged: the reconciler compares it with the settings before it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from fnmatch import fnmatchcase
from typing import Literal

import msgspec

from schemas.encryption.recipients import parse_recipient
from schemas.problem import Problem, Violation, json_pointer
from schemas.settings.duration import milliseconds
from schemas.settings.link import (
    CertificateEntry,
    ClientEntry,
    LinkSettings,
    check_certificates,
    check_link,
    list_entries,
)
from schemas.settings.settings_file import Section, load, locate_problems

PATH = "gitvirt.yaml"
ID_CURE = "restore the old fleet.id; for a fork, run gitvirt init --refork and delete the target branch copied with it"
MIN_HEARTBEAT_TIMEOUT_MILLISECONDS = 50_000
MISSED_HEARTBEATS = 5
LEAST_LINK_HEARTBEAT_MILLISECONDS = 500
# Over the link: a host pushes its report only so often once it was connected to every server for so long without a break. An end of a
# connection is noticed after so many missed heartbeats.
LINKED_INTERVAL = "5m"
LINK_STEADY_MILLISECONDS = 30_000
LINK_MISSED_HEARTBEATS = 3


class FleetIdentity(Section, frozen=True):
    """The UUID that tells fleets apart, so that two fleets never change each other's objects."""

    id: str


class BranchSettings(Section, frozen=True):
    """The branch that people write, and the one that the reconciler writes. Never the same one: each has one writer."""

    source: str = "main"
    target: str = "live"


class ReportSettings(Section, frozen=True):
    """Where hosts push their reports."""

    ref: str = "refs/poollets/"


DEFAULT_INPUTS = "refs/gitvirt/inputs/"
OUTGOING = "refs/gitvirt/outgoing/"  # of a local copy: pushes that are under way


class AuditSettings(Section, frozen=True):
    """Where the reconciler records what each commit on the target branch was made from. An empty `ref` records nothing."""

    ref: str = ""
    keep: str = "90d"

    @property
    def keep_days(self) -> float:
        return milliseconds(self.keep) / 86_400_000


class PoolletEntry(Section, frozen=True):
    """The pools that a poollet owns, who signs its reports, what it opens Secrets with, and how the link recognizes it. None means the pools named like it or `<poollet>-*`, but for those that
    another poollet has a better claim to."""

    pools: tuple[str, ...] | None = None
    volume_pools: tuple[str, ...] | None = None
    signers: tuple[str, ...] = ()
    age: tuple[str, ...] = ()
    certificates: tuple[str, ...] = ()


class DeleteLimit(Section, frozen=True):
    """Deletions beyond both limits await approval, and so does the deletion of all machines of one group. `groups` are keys of labels: the
    machines of a namespace with the same value of one of them are a group."""

    count: int = 10
    percent: int = 20
    groups: tuple[str, ...] = ()


class LimitSettings(Section, frozen=True):
    """Limits of one tick (deletions, evictions), and the least time between two pushes of the reconciler."""

    delete: DeleteLimit = DeleteLimit()
    evict: int = 5
    undo: str = "10m"
    push_interval: str = "0s"

    @property
    def undo_milliseconds(self) -> int:
        """How long a machine with local data is kept after its removal from the source; 0: not at all."""
        return milliseconds(self.undo)

    @property
    def push_interval_milliseconds(self) -> int:
        return milliseconds(self.push_interval)


class HeartbeatSettings(Section, frozen=True):
    """How often hosts push a report that did not change, and how often they send a heartbeat over the link."""

    interval: str = "15s"
    link: str = "2s"

    @property
    def timeout_milliseconds(self) -> int:
        return heartbeat_timeout_milliseconds(self.interval)

    @property
    def link_milliseconds(self) -> int:
        return milliseconds(self.link)


class ScoringSettings(Section, frozen=True):
    """Which of several fitting pools is preferred."""

    policy: Literal["MostFree", "BinPack", "Spread"] = "MostFree"


class SecretSettings(Section, frozen=True):
    """Whether Secrets in plain text are allowed, and who can read every encrypted one."""

    plain: Literal["deny", "allow"] = "deny"
    admins: tuple[str, ...] = ()


class SignatureSettings(Section, frozen=True):
    """Which commits must be signed, and by which keys."""

    mode: Literal["off", "warn", "enforce"] = "off"
    signers: tuple[str, ...] = ()


class FleetSettings(Section, frozen=True):
    """All settings of a fleet, with defaults."""

    fleet: FleetIdentity
    branches: BranchSettings = BranchSettings()
    reports: ReportSettings = ReportSettings()
    audit: AuditSettings = AuditSettings()
    pools: Literal["open", "declared"] = "open"
    poollets: dict[str, PoolletEntry | None] = msgspec.field(default_factory=dict)
    limits: LimitSettings = LimitSettings()
    heartbeat: HeartbeatSettings = HeartbeatSettings()
    scoring: ScoringSettings = ScoringSettings()
    secrets: SecretSettings = SecretSettings()
    signatures: SignatureSettings = SignatureSettings()
    link: LinkSettings = LinkSettings()
    clients: dict[str, ClientEntry] = msgspec.field(default_factory=dict)

    def certificate_entries(self) -> tuple[CertificateEntry, ...]:
        """All certificates that count, each with its owner: the link, then hosts and clients by name."""
        hosts = ((name, entry) for name, entry in sorted(self.poollets.items()) if entry is not None)
        return (
            *list_entries(("link",), self.link.certificates),
            *(each for name, entry in hosts for each in list_entries(("poollets", name), entry.certificates)),
            *(
                each
                for name, client in sorted(self.clients.items())
                for each in list_entries(("clients", name), client.certificates)
            ),
        )

    def owns(self, poollet: str, pool: str, reporting: Collection[str] = ()) -> bool:
        """Whether the poollet may report on this machine pool. `reporting` are the names of all poollets that report."""
        return self._owns(poollet, pool, "pools", reporting)

    def owns_volumes(self, poollet: str, pool: str, reporting: Collection[str] = ()) -> bool:
        """Whether the poollet may report on this volume pool."""
        return self._owns(poollet, pool, "volume_pools", reporting)

    def _owns(self, poollet: str, pool: str, field: str, reporting: Collection[str]) -> bool:
        """A pool has one owner: the poollet with the best claim. Of `rack` and `rack-a`, pool `rack-a-1` belongs to `rack-a`."""
        own = self._claim(poollet, pool, field)
        if own is None:
            return False
        named = {name for name in prefixes(pool) if name in reporting}
        claims = {other: self._claim(other, pool, field) for other in {*self.poollets, *named} - {poollet}}
        return all(
            claim is None or claim < own or (claim == own and poollet < other)
            for other, claim in claims.items()
        )

    def _claim(self, poollet: str, pool: str, field: str) -> tuple[bool, bool, int] | None:
        """What a poollet's claim to a pool rests on, the better one being greater: a list of pools before the name, a whole name in a
        list before a pattern, and then the longer one."""
        patterns = self._patterns(poollet, field)
        if patterns is None:
            return (False, False, len(poollet)) if is_named_like(poollet, pool) else None
        fitting = [(True, each == pool, len(each)) for each in patterns if fnmatchcase(pool, each)]
        return max(fitting, default=None)

    def _patterns(self, poollet: str, field: str) -> tuple[str, ...] | None:
        """The poollet's own list of pools, or None for the default."""
        entry = self.poollets.get(poollet) or PoolletEntry()
        found: tuple[str, ...] | None = getattr(entry, field)
        return found


def parse(data: bytes, path: str = PATH) -> FleetSettings | tuple[Problem, ...]:
    """The settings in a gitvirt.yaml, or every problem."""
    checks = (
        check_branches,
        lambda loaded: check_signatures(loaded.signatures),
        check_pool_owners,
        check_audit_ref,
        check_link_heartbeat,
        check_recipients,
        lambda loaded: check_link(loaded.link),
        lambda loaded: check_certificates(loaded.certificate_entries()),
    )
    return load(path, data, "fleet.json", FleetSettings, *checks)


def check_fleet_id(data: bytes, before: FleetSettings, then: str, path: str = PATH) -> tuple[Problem, ...]:
    """The problem of a fleet.id that differs from the one of `before`, at the revision named `then`.

    The reconciler does not use a commit with another fleet.id.
    """
    now = parse(data, path)
    if not isinstance(now, FleetSettings) or now.fleet.id == before.fleet.id:
        return ()
    message = (
        f"fleet.id: {before.fleet.id} -> {now.fleet.id} since {then}; the reconciler will not use this commit"
    )
    found = Violation("/fleet/id", "GV816", message, ID_CURE)
    return locate_problems((found,), path, data.decode("utf-8"))


def heartbeat_timeout_milliseconds(interval: str) -> int:
    """How long a report may stay unchanged until its heartbeat has expired. `interval` is the one that the report names.

    Five missed heartbeats, and never less than 50 seconds: a push that is retried, or a remote that is slow for a moment, must
    not make a host count as lost.
    """
    return max(MIN_HEARTBEAT_TIMEOUT_MILLISECONDS, MISSED_HEARTBEATS * milliseconds(interval))


def linked_interval(interval: str) -> str:
    """What the report of a host that is connected over the link names as its interval; `interval` is the fleet's for hosts without it."""
    return max(interval, LINKED_INTERVAL, key=milliseconds)


def is_named_like(poollet: str, pool: str) -> bool:
    """Whether the poollet owns the pool by default."""
    return pool == poollet or pool.startswith(f"{poollet}-")


def prefixes(pool: str) -> Iterator[str]:
    """The names of poollets that own the pool by default: those that it is named like."""
    yield pool
    yield from (pool[:end] for end, letter in enumerate(pool) if letter == "-")


def check_branches(settings: FleetSettings) -> Iterator[Violation]:
    """GV602: source and target must differ."""
    source, target = settings.branches.source, settings.branches.target
    if source == target:
        where = "/branches/source" if target == BranchSettings().target else "/branches/target"
        hint = "people write the source and gitvirt writes the target: name two branches, e.g. main and live"
        yield Violation(where, "GV602", f"source and target are the same branch, {source}", hint)


def check_signatures(signatures: SignatureSettings) -> Iterator[Violation]:
    """GV603: with enforced signatures and no signer, no commit could ever be accepted."""
    if signatures.mode == "enforce" and not signatures.signers:
        hint = "list the keys under signatures.signers, or use the mode warn first"
        yield Violation("/signatures/mode", "GV603", "mode is enforce, but signatures.signers is empty", hint)


def check_audit_ref(settings: FleetSettings) -> Iterator[Violation]:
    """GV630: a record that is read as a report, or as a branch of people, or that the local copy uses for itself."""
    ref, reports = settings.audit.ref, settings.reports.ref
    branches = [f"refs/heads/{each}" for each in (settings.branches.source, settings.branches.target)]
    hint = f"name a folder that nothing else is in: {DEFAULT_INPUTS}, or refs/heads/gitvirt/inputs/ where a forge knows branches alone"
    if not ref:
        return
    if ref.startswith(reports) or reports.startswith(ref):
        yield Violation("/audit/ref", "GV630", f"{ref} and reports.ref ({reports}) overlap", hint)
    elif taken := [each for each in branches if each.startswith(ref) or ref.startswith(f"{each}/")]:
        yield Violation("/audit/ref", "GV630", f"{ref} and the branch {taken[0]} overlap", hint)
    elif OUTGOING.startswith(ref) or ref.startswith(OUTGOING):
        yield Violation(
            "/audit/ref", "GV630", f"{ref} and {OUTGOING}, which gitvirt uses itself, overlap", hint
        )


def check_link_heartbeat(settings: FleetSettings) -> Iterator[Violation]:
    """GV627: a thousand hosts with an interval of nothing would do nothing else."""
    if settings.heartbeat.link_milliseconds < LEAST_LINK_HEARTBEAT_MILLISECONDS:
        hint = f"write {LEAST_LINK_HEARTBEAT_MILLISECONDS}ms or more; 2s is the default"
        yield Violation("/heartbeat/link", "GV627", f"{settings.heartbeat.link} is too often", hint)


def check_recipients(settings: FleetSettings) -> Iterator[Violation]:
    """GV631: a key with a typing mistake would encrypt for no one."""
    lists: list[tuple[tuple[str, ...], tuple[str, ...]]] = [(("secrets", "admins"), settings.secrets.admins)]
    for name, entry in sorted(settings.poollets.items()):
        lists.append((("poollets", name, "age"), entry.age if entry is not None else ()))
    for path, keys in lists:
        for index, key in enumerate(keys):
            if parse_recipient(key) is None:
                hint = (
                    "copy the whole public key: `age-keygen -y FILE`, or the line of an ssh-ed25519 .pub file"
                )
                yield Violation(
                    json_pointer((*path, index)),
                    "GV631",
                    f"{quote_key(key)} is not a public key of age or ssh-ed25519",
                    hint,
                )


def quote_key(key: str) -> str:
    """The beginning of a public key; nothing of a private one, which people paste by mistake."""
    is_private = "PRIVATE KEY" in key.upper() or "SECRET-KEY" in key.upper()
    return "a private key, which is in Git now," if is_private else f"{key[:24]}..."


def check_pool_owners(settings: FleetSettings) -> Iterator[Violation]:
    """GV604: a pool has one owner. Only equal patterns are found, not overlapping ones."""
    owners: dict[tuple[str, str], str] = {}
    for poollet in sorted(settings.poollets):
        entry = settings.poollets[poollet] or PoolletEntry()
        for field, patterns in (("pools", entry.pools), ("volumePools", entry.volume_pools)):
            for index, pattern in enumerate(patterns or ()):
                owner = owners.setdefault((field, pattern), poollet)
                if owner != poollet:
                    where = json_pointer(("poollets", poollet, field, index))
                    hint = "a pool has one poollet: remove it from one of the two entries"
                    yield Violation(where, "GV604", f"{pattern} already belongs to {owner}", hint)
