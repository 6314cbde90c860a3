"""Builds a poollet's process: settings of this host -> repo, runtimes, agents, threads. Owns what is opened.

Several poollets may share a process when they use one repo: they share its mirror, its index of `live` and
its pushes. Each has its own name, report ref, runtimes and agent.

    fleet_settings   gitvirt.yaml of the fleet: the prefix of report refs must be known before any ref is fetched
    lock_name        one poollet of a name on a host
    build_threads    one repo and one GitSync, then for each poollet build_worker, then the threads

Settings that contradict each other or this host end the process here, as SetupError with a cure.

Limits: it starts no thread, makes no call to a runtime, and decides nothing about objects.
"""

from __future__ import annotations

import fcntl
import os
import random
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from iri.address import Address
from iri.address import parse as parse_runtime
from iri.client import MACHINE, VOLUME, Client, discover
from iri.errors import IRIError, Unavailable
from iri.runtime import RuntimeKind
from poollet.agent import Agent, AgentIdentity, AgentParts
from poollet.boot import BootRule, BootStarts, LandedFile
from poollet.clock import Clock
from poollet.decryption import host_secrets
from poollet.host_identity import HostIdentity, derive_host_id, identify, read_boot_id
from poollet.link_setup import attach_links
from poollet.runtimes.executor import Executor
from poollet.runtimes.runtime_client import MACHINE_KINDS, VOLUME_KINDS, RuntimeClient
from poollet.runtimes.runtime_poller import RuntimePoller
from poollet.runtimes.runtime_processes import RuntimeProcess
from poollet.runtimes.usage_reader import UsageReader
from poollet.sync.git_sync import GitSync
from poollet.sync.live_policy import Trust
from poollet.sync.report_lease import ReportLease
from poollet.sync.report_publisher import ReportPublisher, name_reporter, read_ref
from poollet.threads import AgentThreads, AgentWorker
from reconciler.gitstore.bootstrap import open_store
from reconciler.gitstore.effective_settings import read_effective_settings, read_settings, settings_blob
from reconciler.gitstore.errors import InUseError
from reconciler.gitstore.redaction import SecretValue
from reconciler.gitstore.remote import address as addresses
from reconciler.gitstore.remote.access import RemoteAccess, from_environment
from reconciler.gitstore.remote.transport import RemoteUnavailable
from reconciler.gitstore.repo import Refs, Repo, Snapshot
from reconciler.gitstore.signatures import signers
from reconciler.gitstore.signatures.signing import load_signer
from reconciler.gitstore.signatures.trust import SignatureMode
from reconciler.gitstore.signatures.verifier import Verifier
from reconciler.gitstore.store import Store
from reconciler.gitstore.waker import Waker, WakeReason
from schemas.problem import Problem
from schemas.report import PoolletReport
from schemas.settings import fleet, host
from schemas.settings.duration import milliseconds
from schemas.settings.fleet import FleetSettings
from schemas.settings.host import PoolletSettings, PoolSettings

MACHINE_ID = Path("/etc/machine-id")
HEADS = "refs/heads/"


class SetupError(Exception):
    """The settings do not go together with this host. `cure` says what to do."""

    def __init__(self, cause: str, cure: str) -> None:
        super().__init__(cause)
        self.cause, self.cure = cause, cure


@dataclass(frozen=True)
class HostInputs:
    """What the process is given from outside."""

    environment: Mapping[str, str]
    here: Path
    clock: Clock
    chance: random.Random
    version: str


def open_repo(one: host.RepoSettings, refs: Refs, ambient: HostInputs) -> Store:
    """Raises RepoError, or OSError when the mirror cannot be written."""
    return open_store(
        addresses.parse_address(one.url, ambient.here),
        from_environment(ambient.environment, access(one)),
        refs,
        mirrors=Path(one.mirror),
        ambient=ambient.environment,
        sign=load_signer(one.signing_key or "", ambient.environment),
    )


def access(one: host.RepoSettings) -> RemoteAccess:
    """How to log in to the remote, by the names of files; their content is read when git needs it. The
    proxy's address may contain a password, so it prints as stars."""

    def path(text: str | None) -> Path | None:
        return Path(text) if text else None

    return RemoteAccess(
        username=one.username or "",
        token_file=path(one.token_file),
        ca_file=path(one.ca_file),
        certificate_file=path(one.certificate_file),
        key_file=path(one.key_file),
        identity=path(one.identity),
        known_hosts=path(one.known_hosts),
        proxy=SecretValue(one.proxy) if one.proxy else None,
    )


def fleet_settings(
    one: host.RepoSettings, ambient: HostInputs
) -> FleetSettings | RemoteUnavailable | tuple[Problem, ...]:
    """The fleet's settings on the target branch, or on the source while there is no target branch; else what is wrong with
    them."""
    refs = Refs(source=HEADS + one.source, target=HEADS + one.target, reports=None)
    repo = open_repo(one, refs, ambient)
    try:
        snapshot = repo.snapshot()
        if isinstance(snapshot, RemoteUnavailable):
            return snapshot
        return _settings_at(repo, snapshot)
    finally:
        repo.close()


def _settings_at(repo: Repo, snapshot: Snapshot) -> FleetSettings | tuple[Problem, ...]:
    """`live` comes first, because the poollet acts on `live`. Where it has no settings that can be used,
    those of the source count, as on a fleet whose reconciler has not run yet. A symbolic link counts as no
    file."""
    blob = settings_blob(repo.file(snapshot.target, fleet.PATH)) if snapshot.target else None
    settings, problems = read_settings(repo, blob)
    if settings is not None:
        return settings
    found = read_effective_settings(repo, snapshot.source)
    return found.settings or found.problems or problems


def host_id(settings: PoolletSettings) -> str:
    """Of a host whose hardware id is not known. `live` grants pools to this id, so a host whose id changes gets nothing until a commit
    with `Pool-Host`."""
    return settings.host_id or derive_host_id(read_machine_id())


def read_machine_id() -> str:
    """Stays the same as long as the operating system does."""
    try:
        text = MACHINE_ID.read_text("ascii").strip()
    except (OSError, UnicodeDecodeError):
        text = ""
    if not text:
        raise SetupError(
            f"{MACHINE_ID} is empty or cannot be read", "give this host a hostID in poollet.yaml"
        )
    return text


def identify_host(
    settings: PoolletSettings, reported: PoolletReport | None, connections: Mapping[str, RuntimeClient]
) -> HostIdentity:
    """The one of poollet.yaml, else by machine-id and hardware."""
    if settings.host_id:
        return HostIdentity(settings.host_id)
    file = Path(settings.repo.mirror) / f"{settings.name}.host.json"
    return identify(read_machine_id(), file, reported, [one.runtime for one in connections.values()])


def read_reports(repo: Repo, hosts: Sequence[PoolletSettings]) -> Mapping[str, PoolletReport | None]:
    """Who wrote the report of each host's name last. Only asked where a hostID has to be derived."""
    if all(one.host_id for one in hosts):
        return {}
    snapshot = repo.snapshot()
    if isinstance(snapshot, RemoteUnavailable):
        raise SetupError(f"the remote cannot be used: {snapshot.cause}", snapshot.cure)
    return {one.name: name_reporter(read_ref(repo, snapshot.reports.get(one.name))) for one in hosts}


def lock_name(settings: PoolletSettings) -> int:
    """A lock that a second poollet of the name on this host meets; it lasts as long as the process."""
    folder = Path(settings.repo.mirror)
    folder.mkdir(parents=True, exist_ok=True)
    place = os.open(folder / f"{settings.name}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(place)
        raise InUseError(
            f"a poollet named {settings.name} runs on this host already", "stop that one first"
        ) from None
    return place


def runtimes_of(settings: PoolletSettings) -> tuple[host.RuntimeSettings, ...]:
    """Without any: the one that the well-known sockets lead to."""
    return settings.runtimes or (host.RuntimeSettings(name="default"),)


def pools_of(settings: PoolletSettings, connections: Mapping[str, RuntimeClient]) -> tuple[PoolSettings, ...]:
    """The pools with their runtimes and reach; without any, one of each kind that the first runtime serves."""
    first = runtimes_of(settings)[0].name
    pools = tuple(replace(pool, runtime=pool.runtime or first) for pool in settings.pools)
    if not pools:
        served = set(connections[first].kinds)
        if served.issuperset(MACHINE_KINDS):
            pools += (PoolSettings(name=settings.name, runtime=first),)
        if served.issuperset(VOLUME_KINDS):
            pools += (PoolSettings(name=settings.name, kind="VolumePool", runtime=first),)
    machines = {pool.runtime: pool.name for pool in pools if pool.kind == "MachinePool"}
    return tuple(with_reach(pool, machines.get(pool.runtime)) for pool in pools)


def with_reach(pool: PoolSettings, machine_pool: str | None) -> PoolSettings:
    """A volume pool is reached from the machine pool of its runtime, unless its settings say otherwise; None is from anywhere."""
    if pool.kind == "MachinePool" or pool.reachable_from is not None or machine_pool is None:
        return pool
    return replace(pool, reachable_from=(machine_pool,))


def children(settings: PoolletSettings) -> list[RuntimeProcess]:
    """The runtimes that this poollet starts by itself, each with its sockets; one socket may serve both
    kinds. Raises SetupError for a runtime without a socket, because the poollet would not know where to
    call it."""
    found = []
    for runtime in runtimes_of(settings):
        if runtime.start is None:
            continue
        places = tuple(dict.fromkeys(place for place in (runtime.machine, runtime.volume) if place))
        if not places:
            hint = f"say where it listens: runtimes: [{{name: {runtime.name}, machine: /run/gitvirt/{runtime.name}.sock}}]"
            raise SetupError(f"the runtime {runtime.name} is to be started and has no address", hint)
        found.append(RuntimeProcess(runtime.name, runtime.start, places, runtime.options))
    return found


def connection(runtime: host.RuntimeSettings, ambient: HostInputs) -> RuntimeClient:
    """The client of one runtime, with the kinds that it serves: one without a machine socket is asked for no
    list of machines."""
    try:
        machine, volume = _addresses(runtime, ambient)
    except IRIError as error:
        raise SetupError(str(error), f"see runtimes of poollet.yaml: {runtime.name}") from None
    kinds: tuple[RuntimeKind, ...] = (
        *(MACHINE_KINDS if machine is not None else ()),
        *(VOLUME_KINDS if volume is not None else ()),
    )
    return RuntimeClient(runtime.name, Client(machine, volume), kinds, ambient.clock.moment_ms)


def _addresses(runtime: host.RuntimeSettings, ambient: HostInputs) -> tuple[Address | None, Address | None]:
    """The sockets of machines and of volumes: those that are configured, else the well-known ones of
    IronCore's runtimes."""
    if runtime.machine or runtime.volume:
        machine = parse_runtime(runtime.machine) if runtime.machine else None
        # One socket may serve both; a runtime without volumes answers Unimplemented.
        volume = parse_runtime(runtime.volume) if runtime.volume else machine
        return machine, volume
    machine = discover(MACHINE, None, ambient.environment)
    try:
        return machine, discover(VOLUME, None, ambient.environment)
    except Unavailable:
        return machine, machine


def trust(settings: PoolletSettings, ambient: HostInputs) -> Trust:
    """Whose signatures `live` needs here. This is a setting of the host, so that a push to the repo cannot
    weaken it."""
    known = signers.parse_signers(settings.signatures.signers)
    return Trust(SignatureMode(settings.signatures.mode), Verifier(known, ambient.environment))


def landed_file(settings: PoolletSettings, clock: Clock) -> LandedFile:
    """Beside the mirror, and lost with it."""
    return LandedFile(Path(settings.repo.mirror) / f"{settings.name}.landed", clock)


def boot_starts(settings: PoolletSettings, ambient: HostInputs) -> BootStarts:
    """With connections of its own: it begins before the repo can be reached."""
    times = settings.intervals
    rule = BootRule(settings.boot, milliseconds(times.boot_age), milliseconds(times.boot_wait))
    runtimes = {one.name: connection(one, ambient).runtime for one in runtimes_of(settings)}
    return BootStarts(settings.name, runtimes, rule, landed_file(settings, ambient.clock), ambient.clock)


def build_threads(
    hosts: Sequence[PoolletSettings],
    fleet_wide: FleetSettings,
    ambient: HostInputs,
    starts: Sequence[BootStarts] = (),
) -> AgentThreads:
    """All poollets of one process. Raises RepoError, SetupError, HostSecretsError, OSError.

    They share one GitSync, so they must agree on the repo and on whose signatures count. When a ref moves
    all of them are woken: a pass that finds nothing new costs little.
    """
    first = hosts[0]
    for other in hosts[1:]:
        if (other.repo, other.signatures) != (first.repo, first.signatures):
            raise SetupError(
                f"{other.name} and {first.name} look at different repos", "give each a process of its own"
            )
    prefix = fleet_wide.reports.ref
    refs = Refs(None, HEADS + first.repo.target, tuple(prefix + one.name for one in hosts))
    wakers = [Waker() for _ in hosts]

    def on_moved() -> None:
        for waker in wakers:
            waker.wake(WakeReason.REFS)

    repo = open_repo(first.repo, refs, ambient)
    remote = GitSync(repo, trust(first, ambient), fleet_wide, ambient.clock, on_moved)
    reported = read_reports(repo, hosts)
    members = [
        build_worker(one, remote, waker, ambient, reported.get(one.name))
        for one, waker in zip(hosts, wakers, strict=True)
    ]
    for member, boot in zip(members, starts, strict=False):
        member.agent.on_applied = boot.on_applied
    poll_seconds = milliseconds(first.intervals.poll) / 1000
    running = AgentThreads(remote, members, poll_seconds, ambient.clock, ambient.chance)
    attach_links(running, hosts)
    return running


def build_identity(
    settings: PoolletSettings,
    lease: ReportLease,
    hardware_id: str,
    connections: Mapping[str, RuntimeClient],
    version: str,
) -> AgentIdentity:
    """What the agent says of itself in each report, and its pools."""
    return AgentIdentity(
        name=settings.name,
        host_id=lease.host_id,
        hardware_id=hardware_id,
        boot_id=lease.boot_id,
        instance=lease.instance,
        version=version,
        pools=pools_of(settings, connections),
        secrets=host_secrets(settings),
    )


def build_worker(
    settings: PoolletSettings,
    remote: GitSync,
    waker: Waker,
    ambient: HostInputs,
    reported: PoolletReport | None,
) -> AgentWorker:
    """One poollet of the process: lease, publisher, a client and a poller for each runtime, and the agent.

    `waker` ends the agent's rest; the pollers wake it when lists differ. The publisher is registered
    before the first fetch, so that the first snapshot reads its ref.
    """
    instance = str(uuid.uuid4())
    connections = {one.name: connection(one, ambient) for one in runtimes_of(settings)}
    identity = identify_host(settings, reported, connections)
    assert remote.live.settings is not None, "the fleet's settings were read before"
    ref = remote.live.settings.reports.ref + settings.name
    lease = ReportLease(settings.name, identity.host_id, instance, ref, boot_id=read_boot_id())
    publisher = ReportPublisher(lease, ambient.clock, ambient.chance, milliseconds(settings.intervals.push))
    landed = landed_file(settings, ambient.clock)
    publisher.on_landed = landed.write
    remote.publishers.append(publisher)
    seconds = milliseconds(settings.intervals.list) / 1000
    observers = {
        name: RuntimePoller(found, seconds, lambda: waker.wake(WakeReason.CALLED))
        for name, found in connections.items()
    }
    setup = build_identity(settings, lease, identity.hardware_id, connections, ambient.version)
    runtimes = {name: found.runtime for name, found in connections.items()}
    parts = AgentParts(
        remote=remote,
        publisher=publisher,
        connections=connections,
        executor=lambda on_end, still_valid: Executor(
            runtimes, ambient.clock.moment_ms, ambient.chance, on_end, still_valid=still_valid
        ),
        ask=lambda runtime: observers[runtime].request_list(),
        clock=ambient.clock,
        question_of=landed.question_of,
    )
    usage = UsageReader(connections, ambient.clock.moment_ms)
    return AgentWorker(Agent(setup, parts), tuple(observers.values()), waker, usage)
