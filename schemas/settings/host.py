"""poollet.yaml: the settings of one host's poollet. The file is on the host, not in the repo."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal
from urllib.parse import urlsplit

import msgspec

from schemas.model.quantity import QuantityError
from schemas.model.quantity import parse as parse_quantity
from schemas.problem import Problem, Violation, json_pointer
from schemas.settings.fleet import SignatureSettings, check_signatures
from schemas.settings.settings_file import Section, load


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
    boot_age: str = "0s"
    boot_wait: str = "2m"


class LinkFiles(Section, frozen=True):
    """Key and certificate of this host on the link, each in a file of its own."""

    key: str
    certificate: str


class PoolletSettings(Section, frozen=True):
    """All settings of a poollet, with defaults."""

    name: str
    repo: RepoSettings
    host_id: str | None = msgspec.field(name="hostID", default=None)
    runtimes: tuple[RuntimeSettings, ...] = ()
    pools: tuple[PoolSettings, ...] = ()
    link: LinkFiles | None = None
    volume_secrets_file: str | None = None
    decryption_keys: tuple[str, ...] | None = None
    signatures: SignatureSettings = SignatureSettings()
    boot: Literal["ask", "start"] = "ask"
    intervals: IntervalSettings = IntervalSettings()


def parse(data: bytes, path: str = "poollet.yaml") -> PoolletSettings | tuple[Problem, ...]:
    """The settings in a poollet.yaml, or every problem."""
    return load(
        path,
        data,
        "host.json",
        PoolletSettings,
        check_url,
        check_names,
        check_runtimes,
        check_one_pool_per_runtime,
        check_reserves,
        lambda loaded: check_signatures(loaded.signatures),
    )


def check_url(host: PoolletSettings) -> Iterator[Violation]:
    """GV611 and GV615: no password in the URL, and a valid host and port."""
    try:
        has_password = urlsplit(host.repo.url).password is not None
    except ValueError:
        hint = "check the host and the port"
        yield Violation("/repo/url", "GV615", "the address of the repo is malformed", hint)
        return
    if has_password:
        hint = (
            "write the password to a file that only the poollet can read, and name the file in repo.tokenFile"
        )
        yield Violation("/repo/url", "GV611", "the URL contains a password", hint)


def check_names(host: PoolletSettings) -> Iterator[Violation]:
    """GV612: names of runtimes, and of pools of one kind, are unique."""
    for field, names in (
        ("runtimes", [one.name for one in host.runtimes]),
        ("pools", [f"{one.kind} {one.name}" for one in host.pools]),
    ):
        for index, name in enumerate(names):
            if name in names[:index]:
                yield Violation(f"/{field}/{index}", "GV612", f"duplicate name {name}", "names are unique")


def check_runtimes(host: PoolletSettings) -> Iterator[Violation]:
    """GV613: a pool refers to a listed runtime."""
    known = [runtime.name for runtime in host.runtimes]
    hint = f"the runtimes are: {', '.join(known) or 'none'}"
    for index, pool in enumerate(host.pools):
        if pool.runtime is not None and pool.runtime not in known:
            yield Violation(f"/pools/{index}/runtime", "GV613", f"there is no runtime {pool.runtime}", hint)


def check_one_pool_per_runtime(host: PoolletSettings) -> Iterator[Violation]:
    """GV616: two pools on one runtime would both announce all of its capacity.

    A pool without a runtime uses the first one, so it can collide with a pool that names that runtime.
    """
    taken: dict[tuple[str, str], str] = {}
    for index, pool in enumerate(host.pools):
        runtime = pool.runtime or (host.runtimes[0].name if host.runtimes else "")
        other = taken.setdefault((pool.kind, runtime), pool.name)
        if other != pool.name:
            hint = "a runtime serves one pool of a kind: start a second runtime, or remove one pool"
            message = f"pools {pool.name} and {other} would both announce all of runtime {runtime or 'none'}"
            yield Violation(f"/pools/{index}/runtime", "GV616", message, hint)


def check_reserves(host: PoolletSettings) -> Iterator[Violation]:
    """GV614: reserves are quantities."""
    for index, pool in enumerate(host.pools):
        for resource, written in pool.reserved.items():
            try:
                parse_quantity(written)
            except QuantityError as error:
                where = json_pointer(("pools", index, "reserved", resource))
                yield Violation(where, "GV614", error.message, error.hint)
