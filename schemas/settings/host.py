"""poollet.yaml: the settings of one host's poollet. The file is on the host, not in the repo."""

from __future__ import annotations

from typing import Literal
from urllib.parse import urlsplit

import msgspec

from schemas.model.quantity import QuantityError
from schemas.model.quantity import parse as parse_quantity
from schemas.problem import Problem, Violation, json_pointer
from schemas.settings.fleet import SignatureSettings, check_signatures
from schemas.settings.settings_file import Section, load, locate_problems


class RepoSettings(Section, frozen=True):
    """Address of the repo, credentials and the local mirror."""

    url: str
    identity: str | None = None
    signing_key: str | None = None
    known_hosts: str | None = None
    token_file: str | None = None
    username: str | None = None
    ca_file: str | None = None
    certificate_file: str | None = None
    key_file: str | None = None
    proxy: str | None = None
    target: str = "live"
    source: str = "main"
    mirror: str = "/var/lib/gitvirt/mirror"


class RuntimeSettings(Section, frozen=True):
    """A runtime of this host: its sockets, and how to start it."""

    name: str
    machine: str | None = None
    volume: str | None = None
    start: Literal["libvirt", "simulated"] | None = None
    options: tuple[str, ...] = ()


class PoolSettings(Section, frozen=True):
    """A pool that this host announces."""

    name: str
    kind: Literal["MachinePool", "VolumePool"] = "MachinePool"
    runtime: str | None = None
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    reachable_from: tuple[str, ...] | None = None
    reserved: dict[str, str | int | float] = msgspec.field(default_factory=dict)


class IntervalSettings(Section, frozen=True):
    """How often the poollet polls, lists and reports."""

    poll: str = "10s"
    list: str = "5s"
    push: str = "0s"


class PoolletSettings(Section, frozen=True):
    """All settings of a poollet, with defaults."""

    name: str
    repo: RepoSettings
    host_id: str | None = msgspec.field(name="hostID", default=None)
    runtimes: tuple[RuntimeSettings, ...] = ()
    pools: tuple[PoolSettings, ...] = ()
    volume_secrets_file: str | None = None
    signatures: SignatureSettings = SignatureSettings()
    intervals: IntervalSettings = IntervalSettings()


def parse(data: bytes, path: str = "poollet.yaml") -> PoolletSettings | tuple[Problem, ...]:
    """The settings in a poollet.yaml, or every problem."""
    loaded = load(path, data, "host.json", PoolletSettings)
    if not isinstance(loaded, PoolletSettings):
        return loaded
    found = (
        *check_url(loaded),
        *check_names(loaded),
        *check_runtimes(loaded),
        *check_one_pool_per_runtime(loaded),
        *check_reserves(loaded),
        *check_signatures(loaded.signatures),
    )
    return locate_problems(found, path, data.decode("utf-8")) if found else loaded


def check_url(host: PoolletSettings) -> tuple[Violation, ...]:
    """GV611 and GV615: no password in the URL, and a valid host and port."""
    try:
        if urlsplit(host.repo.url).password is None:
            return ()
    except ValueError:
        hint = "check the host and the port"
        return (Violation("/repo/url", "GV615", "the address of the repo is malformed", hint),)
    hint = "write the password to a file that only the poollet can read, and name the file in repo.tokenFile"
    return (Violation("/repo/url", "GV611", "the URL contains a password", hint),)


def check_names(host: PoolletSettings) -> tuple[Violation, ...]:
    """GV612: names of runtimes, and of pools of one kind, are unique."""
    found = []
    for field, names in (
        ("runtimes", [one.name for one in host.runtimes]),
        ("pools", [f"{one.kind} {one.name}" for one in host.pools]),
    ):
        for index, name in enumerate(names):
            if name in names[:index]:
                found.append(
                    Violation(f"/{field}/{index}", "GV612", f"duplicate name {name}", "names are unique")
                )
    return tuple(found)


def check_runtimes(host: PoolletSettings) -> tuple[Violation, ...]:
    """GV613: a pool refers to a listed runtime."""
    known = [runtime.name for runtime in host.runtimes]
    return tuple(
        Violation(
            f"/pools/{index}/runtime",
            "GV613",
            f"there is no runtime {pool.runtime}",
            f"the runtimes are: {', '.join(known) or 'none'}",
        )
        for index, pool in enumerate(host.pools)
        if pool.runtime is not None and pool.runtime not in known
    )


def check_one_pool_per_runtime(host: PoolletSettings) -> tuple[Violation, ...]:
    """Two pools on one runtime would both announce all of its capacity."""
    found = []
    taken: dict[tuple[str, str], str] = {}
    for index, pool in enumerate(host.pools):
        runtime = pool.runtime or (host.runtimes[0].name if host.runtimes else "")
        other = taken.setdefault((pool.kind, runtime), pool.name)
        if other != pool.name:
            hint = "a runtime serves one pool of a kind: start a second runtime, or remove one pool"
            message = f"pools {pool.name} and {other} would both announce all of runtime {runtime or 'none'}"
            found.append(Violation(f"/pools/{index}/runtime", "GV616", message, hint))
    return tuple(found)


def check_reserves(host: PoolletSettings) -> tuple[Violation, ...]:
    """GV614: reserves are quantities."""
    found = []
    for index, pool in enumerate(host.pools):
        for resource, written in pool.reserved.items():
            try:
                parse_quantity(written)
            except QuantityError as error:
                where = json_pointer(("pools", index, "reserved", resource))
                found.append(Violation(where, "GV614", error.message, error.hint))
    return tuple(found)
