"""poollet.yaml and what the command line puts in its place.

    --config FILE, one or more   each file is one poollet
    none                         /etc/gitvirt/poollet.yaml; --name with --repo needs no file where that does not exist
    --name, --runtime, --socket  replace the setting of the one poollet; with several files they are refused

All is checked before any repo is asked or runtime is started: names, addresses, and that no two files
share a name.

Limits: it reads files and arguments, opens no repo and no socket.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from msgspec.structs import replace

from iri.address import parse
from iri.errors import InvalidArgument
from poollet.cli import CONFIG
from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.findings.outcome import count_words, place
from reconciler.cli.terminal import printable
from schemas.problem import Problem
from schemas.settings import host
from schemas.settings.host import PoolletSettings

# The name becomes the last part of a Git ref and the name of a lock file.
NAME = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")  # as the schema of the file has it


def hosts(arguments: argparse.Namespace) -> list[PoolletSettings]:
    """The settings of each poollet of the process, in the order of the files; a CommandError says what is
    wrong with one."""
    if arguments.name and not NAME.fullmatch(arguments.name):
        cure = "use lower case letters, digits, - and ., with a letter or digit at both ends"
        raise CommandError(f"{printable(arguments.name)!r} is not a name for a poollet", cure, Exit.USAGE)
    files: list[Path] = arguments.config or []
    if not files and arguments.name and arguments.repo and not CONFIG.exists():
        named = [PoolletSettings(name=arguments.name, repo=host.RepoSettings(url=arguments.repo))]
    else:
        named = [read(path) for path in files or [CONFIG]]
    if len(named) > 1 and (arguments.name or arguments.socket or arguments.runtime):
        cure = "write them into the files: several poollets cannot share a name and a runtime"
        raise CommandError("--name, --runtime and --socket need exactly one poollet", cure, Exit.USAGE)
    found = [apply_arguments(one, arguments) for one in named]
    names: set[str] = set()
    for one in found:
        if one.name in names:
            cause = f"two files have the poollet name {one.name}"
            raise CommandError(cause, "give each poollet its own name", Exit.USAGE)
        names.add(one.name)
        check_addresses(one)
    return found


def check_addresses(one: PoolletSettings) -> None:
    """Before any repo is asked or anything is started."""
    for runtime in one.runtimes:
        for address in filter(None, (runtime.machine, runtime.volume)):
            try:
                parse(address)
            except InvalidArgument as error:
                cause = (
                    f"the runtime {printable(runtime.name)} of {printable(one.name)}: {printable(str(error))}"
                )
                raise CommandError(cause, "fix the runtimes of the file", Exit.PROBLEMS) from None


def socket_of(text: str) -> str:
    """A name alone is a file here, as with any other path that is given to a command."""
    try:
        return str(parse(text if "/" in text or ":" in text else f"./{text}")).removeprefix("unix://")
    except InvalidArgument as error:
        raise CommandError(
            f"--socket: {printable(str(error))}", "--socket PATH names the socket of the runtime", Exit.USAGE
        ) from None


def read(path: Path) -> PoolletSettings:
    """One file. Each problem is printed with its place before the CommandError, so that all of them can be
    fixed at once."""
    try:
        data = path.read_bytes()
    except OSError as error:
        cure = "choose another file with --config FILE; see docs/poollet.md for its content"
        raise CommandError(f"cannot read {path}: {error.strerror}", cure) from None
    found = host.parse(data, str(path))
    if isinstance(found, PoolletSettings):
        return found
    for problem in found:
        print(show_values(problem), file=sys.stderr)  # noqa: T201 - findings go before the error that sums them up
    cause = f"{path} has {count_words(len(found), 'problem')}"
    raise CommandError(cause, "fix the file", Exit.PROBLEMS)


def show_values(problem: Problem) -> str:
    """A problem of poollet.yaml as one line, and its hint below it. What came from the file is printed with control
    characters made visible."""
    hint = f"\n  {problem.hint}" if problem.hint else ""
    return printable(f"{place(problem)}: {problem.code} {problem.message}") + printable(hint).replace(
        "\\n", "\n"
    )


def apply_arguments(one: PoolletSettings, arguments: argparse.Namespace) -> PoolletSettings:
    """The settings with the arguments in the place of the file's. `--socket` and `--runtime` are about the
    first runtime; without a volume socket the one socket serves both. A runtime to be started needs a
    socket, because that is how it is found."""
    repo = one.repo
    if arguments.repo:
        repo = replace(repo, url=arguments.repo)
    if arguments.mirror:
        repo = replace(repo, mirror=arguments.mirror)
    runtimes = one.runtimes
    if arguments.runtime or arguments.socket:
        first = runtimes[0] if runtimes else host.RuntimeSettings(name=arguments.runtime or "default")
        socket = socket_of(arguments.socket) if arguments.socket else first.machine
        if socket is None:
            raise CommandError(
                f"--runtime {arguments.runtime} needs a socket", "add --socket PATH", Exit.USAGE
            )
        first = replace(
            first, machine=socket, volume=first.volume or socket, start=arguments.runtime or first.start
        )
        runtimes = (first, *runtimes[1:])
    return replace(one, name=arguments.name or one.name, repo=repo, runtimes=runtimes)
