"""`gitvirt poollet join`: the host's ssh key, and its entry for the fleet's gitvirt.yaml, printed or committed to a branch.

A host joins by a reviewed change: the entry permits its pools, and people merge it. So the entry goes to a
new branch and never to the source or target branch. Without `--branch` this command calls no remote.

A second call changes nothing: an existing key is shown again, and an entry that is in the file already
stays as it is.

Must never happen: an existing key is overwritten; the private key is printed.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import subprocess
from importlib.metadata import version
from pathlib import Path

from poollet import bootstrap
from poollet.bootstrap import HEADS, HostInputs
from poollet.cli import settings
from poollet.clock import Clock
from poollet.sync.report_publisher import AUTHOR_MAIL
from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.terminal import Terminal, out, printable
from reconciler.gitstore.errors import RepoError
from reconciler.gitstore.remote.transport import PushConflict, PushRefused, RemoteUnavailable
from reconciler.gitstore.repo import Draft, Identity, Pushed, Refs, Repo, Snapshot, Unchanged
from schemas.settings import fleet
from schemas.settings.fleet import FleetSettings
from schemas.settings.host import PoolletSettings

# ssh-keygen asks for nothing, so a call that takes longer hangs.
KEY_SECONDS = 30
OTHER_KEY = "choose another file with --key FILE"
BY_HAND = "add it by hand: `gitvirt poollet join` without --branch prints it"
# The line `poollets:` with its entries below, the same line with an empty mapping, and how far the entries are indented.
BLOCK = re.compile(r"^poollets:[^\S\n]*(#.*)?$", re.MULTILINE)
EMPTY = re.compile(r"^poollets:[^\S\n]*\{\}[^\S\n]*(#.*)?$", re.MULTILINE)
ENTRY_INDENT = re.compile(r"\n(?:[^\S\n]*(?:#[^\n]*)?\n)*([^\S\n]+)[^\s#]")


def run(arguments: argparse.Namespace) -> int:
    """Show the key if one is named, then print the entry, or commit it with --branch."""
    found = settings.hosts(arguments)
    if len(found) > 1:
        raise CommandError("one host joins at a time", "name one --config", Exit.USAGE)
    one, terminal = found[0], out()
    key = arguments.key or (Path(one.repo.identity) if one.repo.identity else None)
    if key is not None:
        show_key(terminal, key, one)
    if arguments.branch is None:
        terminal.line("its entry for gitvirt.yaml:")
        terminal.line()
        terminal.line("poollets:\n" + entry(one, "  "))
        return Exit.OK
    try:
        commit(one, arguments.branch)
    except RepoError as error:
        raise CommandError(printable(error.cause), printable(error.cure)) from None
    terminal.line(f"the entry is on the branch {arguments.branch}: merge it")
    return Exit.OK


def show_key(terminal: Terminal, key: Path, one: PoolletSettings) -> None:
    """Print the public half of the key and what it is for; the key is created first if it does not exist."""
    public = key.with_name(f"{key.name}.pub")
    if not key.exists():
        make_key(key, one.name)
        terminal.line(f"created the key {key}")
    try:
        text = public.read_text("utf-8").strip()
    except OSError as error:
        raise CommandError(
            f"cannot read {public}: {error.strerror}", "create it again with `ssh-keygen -y`"
        ) from None
    terminal.line("add this key to the Git server, with the right to read the repo and to write")
    terminal.line(f"only this host's report ref (docs/poollet.md): {printable(text)}")
    terminal.line()


def make_key(key: Path, name: str) -> None:
    """Without a passphrase, for this account alone: the poollet uses it unattended. A folder that is created
    for it is closed to others."""
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", f"poollet {name}", "-f", str(key)]
    try:
        key.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=KEY_SECONDS)
    except FileNotFoundError:
        raise CommandError("ssh-keygen is not installed", "install OpenSSH's client") from None
    except OSError as error:
        raise CommandError(f"cannot create the key {key}: {error.strerror}", OTHER_KEY) from None
    except subprocess.TimeoutExpired:
        cause = f"cannot create the key {key}: ssh-keygen did not end within {KEY_SECONDS} s"
        raise CommandError(cause, OTHER_KEY) from None
    if done.returncode != 0:
        raise CommandError(f"cannot create the key {key}: {printable(done.stderr.strip())}", OTHER_KEY)


def entry(one: PoolletSettings, indent: str) -> str:
    """Its lines below `poollets:`. The pools are those that it announces: those of the settings, else one of
    each kind with the host's name, as bootstrap.pools_of does it."""
    machines = [pool.name for pool in one.pools if pool.kind == "MachinePool"]
    volumes = [pool.name for pool in one.pools if pool.kind == "VolumePool"]
    if not one.pools:
        machines = volumes = [one.name]
    lines = [
        f"{indent}{one.name}:",
        f"{indent * 2}pools: [{', '.join(machines)}]",
        f"{indent * 2}volumePools: [{', '.join(volumes)}]",
    ]
    return "\n".join(lines)


def with_entry(text: str, one: PoolletSettings) -> str:
    """The settings with the entry, nothing else of them moved. A CommandError where that is not possible.

    The text is edited rather than written again, so that comments and layout of people's file stay. The
    result is parsed before it is used: it must hold the known poollets and this one, else the entry is
    left to people.
    """
    known = fleet.parse(text.encode())
    if not isinstance(known, FleetSettings):
        raise CommandError("gitvirt.yaml has problems", "run `gitvirt validate` to see them")
    if one.name in known.poollets:
        return text
    text = EMPTY.sub("poollets:", text, count=1)
    block = BLOCK.search(text)
    if block is None:
        fresh = text.rstrip("\n") + f"\n\npoollets:\n{entry(one, '  ')}\n"
    else:
        found = ENTRY_INDENT.match(text, block.end())
        indent = found[1] if found else "  "
        fresh = f"{text[: block.end()]}\n{entry(one, indent)}{text[block.end() :]}"
    after = fleet.parse(fresh.encode())
    if not isinstance(after, FleetSettings) or after.poollets.keys() != known.poollets.keys() | {one.name}:
        raise CommandError("cannot add the entry to the text of gitvirt.yaml", BY_HAND)
    return fresh


def commit(one: PoolletSettings, branch: str) -> None:
    """Commit the entry to `branch`, which is created from the source branch if it does not exist. Raises
    RepoError and CommandError."""
    ref, source = HEADS + branch, HEADS + one.repo.source
    if ref == source or ref == HEADS + one.repo.target:
        raise CommandError(
            f"{branch} is not a branch to propose on", "name a new branch, and merge it", Exit.USAGE
        )
    ambient = HostInputs(os.environ, Path.cwd(), Clock(), random.SystemRandom(), version("gitvirt"))
    repo = bootstrap.open_repo(one.repo, Refs(source=source, target=ref, reports=None), ambient)
    try:
        snapshot = repo.snapshot()
        if isinstance(snapshot, RemoteUnavailable):
            raise CommandError(printable(snapshot.cause), printable(snapshot.cure))
        commit_entry(repo, snapshot, one, ref, ambient)
    finally:
        repo.close()


def commit_entry(repo: Repo, snapshot: Snapshot, one: PoolletSettings, ref: str, ambient: HostInputs) -> None:
    """One commit with that one file changed. A branch that exists is continued by compare-and-swap, so
    nothing that others pushed to it is lost. An unchanged file is a success: the entry is there."""
    base = snapshot.target or snapshot.source
    file = repo.file(base, fleet.PATH) if base else None
    if file is None:
        raise CommandError("the source branch has no gitvirt.yaml", "`gitvirt init` writes one")
    draft = Draft(
        ref=ref,
        expected=snapshot.target,
        base=base,
        edits={fleet.PATH: with_entry(repo.read(file.id).decode("utf-8", "replace"), one).encode()},
        message=f"poollets: {one.name} joins",
        author=Identity(f"poollet {one.name}", AUTHOR_MAIL),
        time=ambient.clock.now(),
        source=None if snapshot.target else snapshot.source,
    )
    match repo.write([draft]):
        case Pushed() | Unchanged():
            return
        case PushRefused(_, words):
            reason = "; ".join(map(printable, words.splitlines()))
            raise CommandError(f"the server refused the push: {reason}", BY_HAND)
        case RemoteUnavailable(_, cause, cure):
            raise CommandError(printable(cause), printable(cure))
        case PushConflict():
            raise CommandError(f"another writer changed {ref}", "try again")
